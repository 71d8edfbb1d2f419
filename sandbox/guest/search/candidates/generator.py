"""Candidates: every template on every suspect place, best first, lazily, and always in the same order."""

from __future__ import annotations

import ast
import heapq
from itertools import islice
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

from sandbox.guest.search.source.functions import Unit
from sandbox.guest.search.source.render import Edit, Source
from sandbox.guest.search.source.scope import Proposal, Scope, SeenLiterals

SUSPICION_WEIGHT = 1.5
"""What a wholly unsuspected place adds to a candidate's cost."""
MOST_OF_NODE, MOST_OF_TEMPLATE, MOST_OF_UNIT = 1200, 12_000, 40_000
"""Bounds of what one template makes of one node and of one function, and of what one function gives at all."""
Observed = Callable[[str, int, int], Mapping[str, Tuple[str, ...]]]


class Candidate(NamedTuple):
    """Edits that belong together: of one function, or of whole files when `unit` is None."""

    template: str
    cost: float
    suspicion: float
    line: int
    source: Source
    unit: Unit | None
    edits: Tuple[Edit, ...]
    earlier: str = ""
    """What was edited before, when this is a second edit."""
    more: Tuple[Tuple[Source, Tuple[Edit, ...]], ...] = ()
    """Edits of further files."""
    said: str = ""
    """Its description, where the maker knows better words than old and new text."""
    early: float = 0.0
    """How much sooner it is tried than its cost says."""

    @property
    def changes(self) -> Tuple[Tuple[Source, Tuple[Edit, ...]], ...]:
        """All files and their edits."""
        return ((self.source, self.edits), *self.more)

    @property
    def undoes(self) -> bool:
        """Whether it is nothing but an undoing of what the commit changed."""
        return self.template.startswith("undo_")

    def files(self) -> Dict[str, bytes]:
        """Every edited file, whole, as it is with the edits."""
        return {source.path: source.render(edits) for source, edits in self.changes}

    def after(self, first: Candidate) -> Candidate:
        """This candidate as the second edit behind a first one."""
        return self._replace(
            template=f"{first.template}+{self.template}", cost=first.cost + self.cost, earlier=f"{first.description}; "
        )

    @property
    def priority(self) -> float:
        """Lower is tried first."""
        return self.cost - self.early + SUSPICION_WEIGHT * (1.0 - self.suspicion)

    @property
    def description(self) -> str:
        """`a - b became a + b`, in one short line."""
        if self.said:
            return self.earlier + self.said
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


class Later(NamedTuple):
    """What a source gives in place of a candidate: before it works out the next one, which costs this at least."""

    priority: float


Feed = Iterator[Union[Candidate, Later]]
"""The candidates of one source, best first."""


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
        shifts: What the host adds to what a template costs.
    """

    def __init__(self, templates: Mapping[str, Any], shifts: Mapping[str, float]) -> None:
        self._templates = templates
        self._shift = {name: shifts.get(name, 0.0) for name in templates}
        self._least = {name: cheapest(t) + self._shift[name] for name, t in templates.items()}
        self.cheapest = min(self._least.values(), default=0.0)

    def of_scope(self, scope: Scope, unit: Unit | None, suspicion: Suspicion) -> List[Candidate]:
        """Every candidate of one function, in the order the templates make them."""
        found: Dict[Tuple[Edit, ...], Candidate] = {}
        for node in [*scope.nodes, scope.root]:
            lines = _lines_of(node, scope)
            score = suspicion.at(scope.source.path, lines)
            for name in self._templates:
                for cost, proposal in self._proposals(name, node, scope):
                    candidate = _weighed(
                        Candidate(name, cost, score, lines[0], scope.source, unit, ()), proposal, scope
                    )
                    known = found.get(candidate.edits) if candidate else None
                    if candidate and (known is None or candidate.cost < known.cost):
                        found[candidate.edits] = candidate
        return list(found.values())

    def best_first(
        self,
        units: Sequence[Unit],
        suspicion: Suspicion,
        literals: SeenLiterals,
        observed: Optional[Observed] = None,
    ) -> Iterator[Candidate]:
        """Candidates of all functions by priority; nothing is worked out before its turn may come.

        Args:
            units: The functions.
            suspicion: How suspect their lines are.
            literals: What the failing tests mention.
            observed: Tells for a file and its lines from first to last what names held while tests ran.
        """
        queue = _Queue()
        _introduce(units)
        for index, unit in enumerate(units):
            queue.put(self.cheapest + SUSPICION_WEIGHT * (1.0 - suspicion.of_unit(unit)), index, _Whole(unit))
        opened: Dict[int, _Opened] = {}
        while queue:
            priority, index, item = queue.take()
            if isinstance(item, _Whole):
                unit = item.unit
                kinds = observed(unit.source.path, unit.first_line, unit.last_line) if observed else None
                opened[index] = _Opened(unit, Scope(unit.source, unit.node, literals, kinds))
                self._open(opened[index].scope, suspicion, index, queue)
            elif isinstance(item, _Part):
                self._expand(item, opened[index].scope, index, queue)
            elif isinstance(item, Candidate):
                yield item
            else:
                candidate = opened[index].candidate(item)
                if candidate is not None and candidate.priority > priority + 1e-9:
                    queue.put(candidate.priority, index, candidate)
                elif candidate is not None:
                    yield candidate

    def _open(self, scope: Scope, suspicion: Suspicion, index: int, queue: _Queue) -> None:
        """Put every template into the queue, once for each degree of suspicion."""
        groups: Dict[float, List[Tuple[int, ast.AST]]] = {}
        for node in [*scope.nodes, scope.root]:
            lines = _lines_of(node, scope)
            groups.setdefault(suspicion.at(scope.source.path, lines), []).append((lines[0], node))
        for score, nodes in groups.items():
            for name, least in self._least.items():
                queue.put(least + SUSPICION_WEIGHT * (1.0 - score), index, _Part(name, score, nodes))

    def _expand(self, part: _Part, scope: Scope, index: int, queue: _Queue) -> None:
        beyond = SUSPICION_WEIGHT * (1.0 - part.score)
        made = 0
        for line, node in part.nodes:
            for cost, proposal in islice(self._proposals(part.template, node, scope), MOST_OF_NODE):
                queue.put(cost + beyond, index, _Raw(part.template, cost, part.score, line, proposal))
                made += 1
            if made > MOST_OF_TEMPLATE:
                return

    def _proposals(self, name: str, node: ast.AST, scope: Scope) -> Iterator[Tuple[float, Proposal]]:
        shift, least = self._shift[name], self._least[name]
        try:
            for proposal in self._templates[name].propose(node, scope):
                if proposal is not None:
                    yield max(least, proposal.cost + shift), proposal
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
            return  # code that a template did not reckon with costs its own candidates only


def _introduce(units: Sequence[Unit]) -> None:
    """Every file gets to know the functions of the others that have the name of one of its own."""
    namesakes: Dict[str, List[Tuple[Source, ast.AST]]] = {}
    for unit in units:
        namesakes.setdefault(unit.node.name, []).append((unit.source, unit.node))
    for unit in units:
        unit.source.notes["namesakes"] = namesakes


class _Whole(NamedTuple):
    """A function nobody looked into yet."""

    unit: Unit


class _Part(NamedTuple):
    """A template that has not been asked yet about equally suspect nodes."""

    template: str
    score: float
    nodes: List[Tuple[int, ast.AST]]


class _Raw(NamedTuple):
    """A proposal that has not been weighed yet."""

    template: str
    cost: float
    score: float
    line: int
    proposal: Proposal


class _Queue:
    """Things by priority; of equals, the one that was put first."""

    def __init__(self) -> None:
        self._heap: List[Tuple[float, int, int, Any]] = []
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def put(self, priority: float, index: int, item: Any) -> None:
        """Put something in."""
        self._count += 1
        heapq.heappush(self._heap, (priority, index, self._count, item))

    def take(self) -> Tuple[float, int, Any]:
        """Take the best out."""
        priority, index, _, item = heapq.heappop(self._heap)
        return priority, index, item


class _Opened:
    """A function whose candidates are being taken."""

    def __init__(self, unit: Unit, scope: Scope) -> None:
        self.unit = unit
        self.scope = scope
        self._seen: Set[Tuple[Edit, ...]] = set()

    def candidate(self, raw: _Raw) -> Optional[Candidate]:
        """A weighed candidate; None when it changes nothing, is known, cannot work, or is one too many."""
        empty = Candidate(raw.template, raw.cost, raw.score, raw.line, self.scope.source, self.unit, ())
        candidate = _weighed(empty, raw.proposal, self.scope)
        if candidate is None or candidate.edits in self._seen or len(self._seen) >= MOST_OF_UNIT:
            return None
        self._seen.add(candidate.edits)
        return candidate


def _weighed(candidate: Candidate, proposal: Proposal, scope: Scope) -> Optional[Candidate]:
    """A candidate with its edits, and what their sense adds to its cost."""
    try:
        edits = proposal.edits
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None
    if not edits or not _changes(scope.source, edits):
        return None
    extra = scope.sense.extra_cost(edits) if scope.is_function else 0.0
    return candidate._replace(edits=edits, cost=candidate.cost + extra) if extra is not None else None


def cheapest(template: Any) -> float:
    """The lowest cost a template asks for: CHEAPEST where it says so, otherwise its COST."""
    return float(getattr(template, "CHEAPEST", template.COST))


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
