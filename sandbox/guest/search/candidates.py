"""Candidates: every template on every suspect place, best first, lazily, and always in the same order."""

from __future__ import annotations

import ast
import heapq
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

from sandbox.guest.search.functions import Unit
from sandbox.guest.search.render import Edit, Source
from sandbox.guest.search.scope import Scope, SeenLiterals

SUSPICION_WEIGHT = 1.5
"""What a wholly unsuspected place adds to a candidate's cost."""


class Candidate(NamedTuple):
    """One edit to one function (or to the module's own level, when `unit` is None)."""

    template: str
    cost: float
    suspicion: float
    line: int
    source: Source
    unit: Unit | None
    edits: Tuple[Edit, ...]
    earlier: str = ""
    """What was edited before, when this is a second edit."""

    def after(self, first: Candidate) -> Candidate:
        """This candidate as the second edit behind a first one."""
        return self._replace(
            template=f"{first.template}+{self.template}", cost=first.cost + self.cost, earlier=f"{first.description}; "
        )

    @property
    def priority(self) -> float:
        """Lower is tried first."""
        return self.cost + SUSPICION_WEIGHT * (1.0 - self.suspicion)

    @property
    def description(self) -> str:
        """`a - b became a + b`, in one short line."""
        start, end = min(e.start for e in self.edits), max(e.end for e in self.edits)
        growth = sum(len(e.text.encode("utf-8")) - (e.end - e.start) for e in self.edits)
        old = self.source.data[start:end].decode("utf-8", "replace").strip()
        new = self.source.render(self.edits)[start : end + growth].decode("utf-8", "replace").strip()
        if not old:
            return f"{self.earlier}`{_short(new)}` added"
        what = f"`{_short(old)}` became `{_short(new)}`" if new else f"`{_short(old)}` removed"
        return self.earlier + what


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."


class Suspicion:
    """How suspect each line of each file is, from 0 to 1.

    Args:
        scores: Path to line to score.
    """

    def __init__(self, scores: Mapping[str, Mapping[int, float]]) -> None:
        self._scores = scores

    def at(self, path: str, lines: Sequence[int]) -> float:
        """The highest score of these lines."""
        known = self._scores.get(path, {})
        return max((known.get(line, 0.0) for line in lines), default=0.0)

    def of_unit(self, unit: Unit) -> float:
        """The highest score inside a function."""
        return self.at(unit.source.path, range(unit.first_line, unit.last_line + 1))


class Generator:
    """Makes candidates of a scope with all templates.

    Args:
        templates: Template modules by name.
        costs: What the host says a template costs, instead of its own COST.
    """

    def __init__(self, templates: Mapping[str, Any], costs: Mapping[str, float]) -> None:
        self._templates = templates
        self._shift = {name: costs.get(name, t.COST) - t.COST for name, t in templates.items()}
        self.cheapest = min((t.COST + self._shift[name] for name, t in templates.items()), default=0.0) - 0.5

    def of_scope(self, scope: Scope, unit: Unit | None, suspicion: Suspicion) -> List[Candidate]:
        """Every candidate of one function, in the order the templates make them."""
        found: Dict[Tuple[Edit, ...], Candidate] = {}
        for node in [*scope.nodes, scope.root]:
            lines = _lines_of(node, scope)
            score = suspicion.at(scope.source.path, lines)
            for name, template in self._templates.items():
                for proposal in template.propose(node, scope):
                    if proposal is None or not _changes(scope.source, proposal.edits):
                        continue
                    cost = proposal.cost + self._shift[name]
                    known = found.get(proposal.edits)
                    if known is None or cost < known.cost:
                        found[proposal.edits] = Candidate(
                            name, cost, score, lines[0], scope.source, unit, proposal.edits
                        )
        return list(found.values())

    def best_first(self, units: Sequence[Unit], suspicion: Suspicion, literals: SeenLiterals) -> Iterator[Candidate]:
        """Candidates of all functions by priority; a function is worked out only when its turn may come."""
        heap: List[Tuple[float, int, int, Candidate | Unit]] = []
        for index, unit in enumerate(units):
            bound = self.cheapest + SUSPICION_WEIGHT * (1.0 - suspicion.of_unit(unit))
            heap.append((bound, index, -1, unit))
        heapq.heapify(heap)
        while heap:
            _, index, _, item = heapq.heappop(heap)
            if isinstance(item, Candidate):
                yield item
                continue
            scope = Scope(item.source, item.node, literals)
            for number, candidate in enumerate(self.of_scope(scope, item, suspicion)):
                heapq.heappush(heap, (candidate.priority, index, number, candidate))


def _lines_of(node: ast.AST, scope: Scope) -> List[int]:
    """The lines whose suspicion is a node's own: all of an expression, the head of a compound statement."""
    while not hasattr(node, "lineno"):
        if node not in scope.source.places:
            return [1]
        node = scope.parent(node)
    first = node.lineno
    last = getattr(node, "end_lineno", None) or first
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        last = max(first, body[0].lineno - 1) if node is not scope.root else last
    lines = list(range(first, min(last, first + 30) + 1))
    statement: ast.AST = node
    while not isinstance(statement, ast.stmt) and statement in scope.source.places:
        statement = scope.parent(statement)
    # A continuation line may never be reported as run; its statement's first line is.
    return lines if node is scope.root else [*lines, getattr(statement, "lineno", first)]


def _changes(source: Source, edits: Sequence[Edit]) -> bool:
    return any(source.data[e.start : e.end] != e.text.encode("utf-8") for e in edits)
