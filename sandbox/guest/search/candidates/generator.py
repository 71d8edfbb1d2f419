"""Generate candidate patches lazily, by priority and in a deterministic order."""

from __future__ import annotations

import ast
import heapq
from itertools import islice
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

from sandbox.guest.search.source.functions import Unit
from sandbox.guest.search.source.render import SourceFile, TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits, SeenLiterals

SUSPICION_WEIGHT = 1.5
"""Cost added to a candidate on a line with suspiciousness 0."""
MAX_PER_NODE, MAX_PER_TEMPLATE, MAX_PER_UNIT = 1200, 12_000, 40_000
"""Maximum proposals of one template per node and per function, and candidates per function."""
Observed = Callable[[str, int, int], Mapping[str, Tuple[str, ...]]]


class CandidatePatch(NamedTuple):
    """A set of edits tried together.

    The edits belong to one function, or to whole files when `unit` is None.
    """

    template: str
    cost: float
    suspicion: float
    line: int
    source: SourceFile
    unit: Unit | None
    edits: Tuple[TextEdit, ...]
    prefix: str = ""
    """Description of the first edit, when this is a second edit."""
    more: Tuple[Tuple[SourceFile, Tuple[TextEdit, ...]], ...] = ()
    """Edits of further files."""
    summary: str = ""
    """Explicit description; by default it is derived from the old and new text."""
    head_start: float = 0.0
    """Reduction of the priority value, for candidates to try sooner than their cost suggests."""
    origin: str = ""
    """Name of its source, or `second_edit` or `joined`; see `sandbox.types.CandidateOrigin`."""

    @property
    def changes(self) -> Tuple[Tuple[SourceFile, Tuple[TextEdit, ...]], ...]:
        """Return all files with their edits."""
        return ((self.source, self.edits), *self.more)

    @property
    def is_revert(self) -> bool:
        """Return True if the candidate only reverts part of the commit under test."""
        return self.template.startswith("undo_")

    def files(self) -> Dict[str, bytes]:
        """Return the full content of every edited file after the edits, by path."""
        return {source.path: source.render(edits) for source, edits in self.changes}

    def after(self, first: CandidatePatch) -> CandidatePatch:
        """Return this candidate as the second edit after `first`."""
        return self._replace(
            template=f"{first.template}+{self.template}",
            cost=first.cost + self.cost,
            prefix=f"{first.description}; ",
            origin="second_edit",
        )

    @property
    def priority(self) -> float:
        """Return the priority; lower values are tried first."""
        # Suspiciousness and plausibility of the edit are traded off in one number.
        return self.cost - self.head_start + SUSPICION_WEIGHT * (1.0 - self.suspicion)

    @property
    def description(self) -> str:
        """Return a one-line description such as "`a - b` became `a + b`"."""
        if self.summary:
            return self.prefix + self.summary
        # One span around all edits is shorter to read than each edit by itself.
        start, end = min(e.start for e in self.edits), max(e.end for e in self.edits)
        growth = sum(len(e.text.encode("utf-8")) - (e.end - e.start) for e in self.edits)
        old = self.source.data[start:end].decode("utf-8", "replace").strip()
        new = (
            self.source.render(self.edits)[start : end + growth].decode("utf-8", "replace").strip()
        )
        if not old:
            return f"{self.prefix}`{_short(new)}` added"
        what = f"`{_short(old)}` became `{_short(new)}`" if new else f"`{_short(old)}` removed"
        return self.prefix + what


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."


class LowerBound(NamedTuple):
    """A lower bound for a source's next candidate, yielded before that candidate is computed."""

    priority: float


Feed = Iterator[Union[CandidatePatch, LowerBound]]
"""Candidates of one source, best first."""


class Suspicion:
    """Suspiciousness of lines, from 0 to 1.

    Args:
        scores: Scores by path and line.
    """

    def __init__(self, scores: Mapping[str, Mapping[int, float]]) -> None:
        self._scores = scores

    def at(self, path: str, lines: Sequence[int]) -> float:
        """Return the highest score among these lines."""
        known = self._scores.get(path, {})
        return max((known.get(line, 0.0) for line in lines), default=0.0)

    def of_unit(self, unit: Unit) -> float:
        """Return the highest score inside a function."""
        return self.at(unit.source.path, range(unit.first_line, unit.last_line + 1))


class Generator:
    """Applies all templates to functions.

    Args:
        templates: Template modules by name.
        shifts: Cost adjustments by template name, set by the host.
    """

    def __init__(self, templates: Mapping[str, Any], shifts: Mapping[str, float]) -> None:
        self._templates = templates
        self._shift = {name: shifts.get(name, 0.0) for name in templates}
        # A lower bound per template lets the queue postpone all its work.
        self._least = {name: cheapest(t) + self._shift[name] for name, t in templates.items()}
        self.cheapest = min(self._least.values(), default=0.0)

    def of_scope(
        self, scope: CodeScope, unit: Unit | None, suspicion: Suspicion
    ) -> List[CandidatePatch]:
        """Return every candidate of one function, in template order."""
        found: Dict[Tuple[TextEdit, ...], CandidatePatch] = {}
        for node in [*scope.nodes, scope.root]:
            lines = _coverage_lines(node, scope)
            score = suspicion.at(scope.source.path, lines)
            for name in self._templates:
                for cost, proposal in self.proposals(name, node, scope):
                    candidate = _weighed(
                        CandidatePatch(name, cost, score, lines[0], scope.source, unit, ()),
                        proposal,
                        scope,
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
    ) -> Iterator[CandidatePatch]:
        """Yield the candidates of all functions by priority, expanding nodes lazily.

        Args:
            units: The functions.
            suspicion: Suspiciousness of their lines.
            literals: Literals of the failing tests.
            observed: Returns the runtime types of names for a path, first line and last line.
        """
        queue = _Queue()
        _introduce(units)
        for index, unit in enumerate(units):
            queue.push(
                self.cheapest + SUSPICION_WEIGHT * (1.0 - suspicion.of_unit(unit)),
                index,
                _Whole(unit),
            )
        opened: Dict[int, _Opened] = {}
        # Best-first search over lower bounds: a function, then its templates, then single
        # proposals.
        while queue:
            priority, index, item = queue.pop()
            if isinstance(item, _Whole):
                unit = item.unit
                kinds = (
                    observed(unit.source.path, unit.first_line, unit.last_line)
                    if observed
                    else None
                )
                opened[index] = _Opened(unit, CodeScope(unit.source, unit.node, literals, kinds))
                self._open(opened[index].scope, suspicion, index, queue)
            elif isinstance(item, _Part):
                self._expand(item, opened[index].scope, index, queue)
            elif isinstance(item, CandidatePatch):
                yield item
            else:
                candidate = opened[index].candidate(item)
                # The style model added cost, so the candidate goes back to wait for its turn.
                if candidate is not None and candidate.priority > priority + 1e-9:
                    queue.push(candidate.priority, index, candidate)
                elif candidate is not None:
                    yield candidate

    def _open(self, scope: CodeScope, suspicion: Suspicion, index: int, queue: _Queue) -> None:
        """Enqueue every template once for each distinct suspiciousness score."""
        groups: Dict[float, List[Tuple[int, ast.AST]]] = {}
        for node in [*scope.nodes, scope.root]:
            lines = _coverage_lines(node, scope)
            groups.setdefault(suspicion.at(scope.source.path, lines), []).append((lines[0], node))
        for score, nodes in groups.items():
            for name, least in self._least.items():
                queue.push(
                    least + SUSPICION_WEIGHT * (1.0 - score), index, _Part(name, score, nodes)
                )

    def _expand(self, part: _Part, scope: CodeScope, index: int, queue: _Queue) -> None:
        beyond = SUSPICION_WEIGHT * (1.0 - part.score)
        made = 0
        for line, node in part.nodes:
            for cost, proposal in islice(self.proposals(part.template, node, scope), MAX_PER_NODE):
                queue.push(
                    cost + beyond, index, _Raw(part.template, cost, part.score, line, proposal)
                )
                made += 1
            # A long generated function must not starve the others.
            if made > MAX_PER_TEMPLATE:
                return

    def proposals(
        self, name: str, node: ast.AST, scope: CodeScope
    ) -> Iterator[Tuple[float, ProposedEdits]]:
        """Yield the proposals of one template for one node, with their costs.

        Args:
            name: The template.
            node: The node.
            scope: Its function.
        """
        shift, least = self._shift[name], self._least[name]
        try:
            for proposal in self._templates[name].propose(node, scope):
                if proposal is not None:
                    yield max(least, proposal.cost + shift), proposal
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
            return  # a template that cannot handle this code loses only its own candidates


def _introduce(units: Sequence[Unit]) -> None:
    """Give every file access to functions of other files that share a name with its own."""
    namesakes: Dict[str, List[Tuple[SourceFile, ast.AST]]] = {}
    for unit in units:
        namesakes.setdefault(unit.node.name, []).append((unit.source, unit.node))
    for unit in units:
        unit.source.notes["namesakes"] = namesakes


class _Whole(NamedTuple):
    """A function that has not been parsed into a scope yet."""

    unit: Unit


class _Part(NamedTuple):
    """A template to be applied to nodes of equal suspiciousness."""

    template: str
    score: float
    nodes: List[Tuple[int, ast.AST]]


class _Raw(NamedTuple):
    """A proposal whose edits have not been rendered and weighed yet."""

    template: str
    cost: float
    score: float
    line: int
    proposal: ProposedEdits


class _Queue:
    """A priority queue that keeps insertion order among equals."""

    def __init__(self) -> None:
        self._heap: List[Tuple[float, int, int, Any]] = []
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def push(self, priority: float, index: int, item: Any) -> None:
        """Add an item."""
        self._count += 1
        heapq.heappush(self._heap, (priority, index, self._count, item))

    def pop(self) -> Tuple[float, int, Any]:
        """Remove and return the item with the lowest priority value."""
        priority, index, _, item = heapq.heappop(self._heap)
        return priority, index, item


class _Opened:
    """A function whose candidates are being generated."""

    def __init__(self, unit: Unit, scope: CodeScope) -> None:
        self.unit = unit
        self.scope = scope
        self._seen: Set[Tuple[TextEdit, ...]] = set()

    def candidate(self, raw: _Raw) -> Optional[CandidatePatch]:
        """Return the weighed candidate.

        Returns None if it is a duplicate, changes nothing, cannot work or exceeds the limit per
        function.
        """
        empty = CandidatePatch(
            raw.template, raw.cost, raw.score, raw.line, self.scope.source, self.unit, ()
        )
        candidate = _weighed(empty, raw.proposal, self.scope)
        if candidate is None or candidate.edits in self._seen or len(self._seen) >= MAX_PER_UNIT:
            return None
        self._seen.add(candidate.edits)
        return candidate


def _weighed(
    candidate: CandidatePatch, proposal: ProposedEdits, scope: CodeScope
) -> Optional[CandidatePatch]:
    """Return the candidate with its edits and style cost, or None if it is invalid."""
    try:
        edits = proposal.edits
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None
    if not edits or not _changes(scope.source, edits):
        return None
    extra = scope.plausibility.extra_cost(edits) if scope.is_function else 0.0
    return (
        candidate._replace(edits=edits, cost=candidate.cost + extra) if extra is not None else None
    )


def cheapest(template: Any) -> float:
    """Return the lowest cost of a template's proposals: CHEAPEST if defined, otherwise COST."""
    return float(getattr(template, "CHEAPEST", template.COST))


def _coverage_lines(node: ast.AST, scope: CodeScope) -> List[int]:
    """Return the lines whose coverage decides a node's suspiciousness.

    These are all lines of an expression, but only the header of a compound statement.
    """
    # Nodes such as `arguments` and `comprehension` have no position of their own.
    while not hasattr(node, "lineno"):
        if node not in scope.source.places:
            return [1]
        node = scope.parent(node)
    first = node.lineno
    last = getattr(node, "end_lineno", None) or first
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        last = max(first, body[0].lineno - 1) if node is not scope.root else last
    # A long literal must not collect the suspiciousness of a whole region.
    lines = list(range(first, min(last, first + 30) + 1))
    statement: ast.AST = node
    while not isinstance(statement, ast.stmt) and statement in scope.source.places:
        statement = scope.parent(statement)
    # A continuation line may never be reported as run; its statement's first line is.
    return lines if node is scope.root else [*lines, getattr(statement, "lineno", first)]


def _changes(source: SourceFile, edits: Sequence[TextEdit]) -> bool:
    return any(source.data[e.start : e.end] != e.text.encode("utf-8") for e in edits)
