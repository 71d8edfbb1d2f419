"""Candidates outside functions, best first; each statement is expanded when its turn comes."""

from __future__ import annotations

import ast
import heapq
from itertools import count
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Sequence,
    Set,
    Tuple,
    Union,
)

from sandbox.guest.search.candidates.generator import (
    SUSPICION_WEIGHT,
    CandidatePatch,
    LowerBound,
    Suspicion,
    cheapest,
)
from sandbox.guest.search.source.outer_scope import OuterScope, OuterStatement, iterate_statements
from sandbox.guest.search.source.render import SourceFile, TextEdit
from sandbox.guest.search.source.scope import ProposedEdits, SeenLiterals

MAX_PER_STATEMENT = 600
"""Maximum candidates per statement, so that a large table does not use up the time."""
OF_FUNCTIONS = {
    "change_literal": 0.0, "regular_expression": 0.0, "swap_operator": 0.0, "swap_comparison": 0.0,
    "quoting": 0.0, "change_in_text": 0.0, "boolean_logic": 0.0, "negate_condition": 0.0,
    "rename_attribute": 0.0, "add_keyword": 0.0, "off_by_one": 0.1, "swap_operands": 0.1,
    "make_collection": 0.2, "exception_type": 0.2, "comprehension_parts": 0.2,
    "swap_arguments": 0.3, "change_name": 0.4, "isinstance_type": 0.4, "format_text": 0.4,
    "add_attribute": 0.5, "wrap_call": 0.6, "dict_access": 0.6, "change_term": 1.0,
    "slice_index": 1.0, "borrow_expression": 1.0,
}  # fmt: skip
"""Expression templates that also work outside functions, with their additional cost.

Every trial out here imports the project again, hence the cost.
"""
MAX_NODES = 300
"""Maximum nodes considered per statement; those next to literals of failing tests come first."""
SEEN_BONUS = 0.4
"""Cost reduction for a node next to a literal of the failing tests."""
KEY_COST, PATTERN_COST = 0.5, 1.0
"""Additional cost of changing a dictionary key, and of replacing a whole regular expression."""


def outer_candidates(
    source: SourceFile,
    suspicion: Suspicion,
    literals: SeenLiterals,
    *,
    templates: Mapping[str, Any],
    shifts: Mapping[str, float],
) -> Iterator[Union[CandidatePatch, LowerBound]]:
    """Yield the candidates of one file's module and class level by priority.

    A `LowerBound` precedes the file and each statement, so that the caller can try better
    candidates first.

    Args:
        source: The file.
        suspicion: Suspiciousness of lines; statements with score 0 are skipped.
        literals: Literals of the failing tests.
        templates: Templates for this level, and expression templates made for functions.
        shifts: Cost adjustments by template name, set by the host.
    """
    pieces = [(p, suspicion.at(source.path, p.lines)) for p in iterate_statements(source.tree.body)]
    pieces = [(p, score) for p, score in pieces if score > 0]
    if not pieces:
        return
    chosen = [(n, t) for n, t in templates.items() if n in OF_FUNCTIONS or _is_outer(t)]
    makers = [_Maker(n, t, shifts.get(n, 0.0) + OF_FUNCTIONS.get(n, 0.0)) for n, t in chosen]
    least = min((maker.least for maker in makers), default=0.0) - SEEN_BONUS
    heap: List[Tuple[float, int, int, Any]] = []
    for index, (piece, score) in enumerate(pieces):
        # A statement is expanded only when no candidate in the heap can beat it.
        heap.append((least + SUSPICION_WEIGHT * (1.0 - score), index, -1, piece))
    heapq.heapify(heap)
    yield LowerBound(heap[0][0])
    scope = OuterScope(source, literals)
    number = count()
    opened: Dict[int, _Opened] = {}
    while heap:
        priority, index, _, item = heapq.heappop(heap)
        found: Iterable[Tuple[float, Any]]
        if isinstance(item, OuterStatement):
            opened[index] = _Opened(scope.of(item), item, suspicion)
            found = ((opened[index].least(maker), maker) for maker in makers)
        elif isinstance(item, _Maker):
            yield LowerBound(priority)
            found = (
                (candidate.priority, candidate) for candidate in opened[index].candidates(item)
            )
        else:
            if opened[index].is_news(item):
                yield item
            continue
        for cost, what in found:
            heapq.heappush(heap, (cost, index, next(number), what))


class _Maker(NamedTuple):
    """A template with its additional cost at this level."""

    name: str
    template: Any
    shift: float

    @property
    def least(self) -> float:
        """Return the cost of its cheapest proposal."""
        return cheapest(self.template) + self.shift


class _Opened:
    """A statement whose candidates are being generated.

    Args:
        scope: Scope of the statement.
        piece: The statement.
        suspicion: Suspiciousness of lines.
    """

    def __init__(self, scope: OuterScope, piece: OuterStatement, suspicion: Suspicion) -> None:
        self._scope = scope
        self._whole = suspicion.at(scope.source.path, piece.lines)
        self._nodes: List[Tuple[ast.AST, int, float, float]] = []
        for node in [*_choose(scope), scope.root]:
            line = getattr(node, "lineno", piece.statement.lineno)
            # Coverage may report only a statement's first line, so its nodes inherit the score,
            # slightly reduced: proposals for the whole statement go first.
            score = max(self._whole * 0.97, suspicion.at(scope.source.path, [line]))
            self._nodes.append((
                node, line, self._whole if node is scope.root else score, _extra_cost(node, scope)
            ))  # fmt: skip
        self._extra = min(extra for *_, extra in self._nodes)
        self._given: Set[Tuple[TextEdit, ...]] = set()

    def least(self, maker: _Maker) -> float:
        """Return a lower bound for the priority of a template's candidates."""
        return maker.least + min(self._extra, 0.0) + SUSPICION_WEIGHT * (1.0 - self._whole)

    def candidates(self, maker: _Maker) -> Iterator[CandidatePatch]:
        """Yield the candidates of a template."""
        source = self._scope.source
        for node, line, score, extra in self._nodes:
            if maker.name in OF_FUNCTIONS and _is_for_outer_alone(node, self._scope):
                continue
            # The extra cost of whole patterns does not apply to changes of single tokens.
            more = maker.shift + (extra if maker.name != "regular_expression" else 0.0)
            for proposal in maker.template.propose(node, self._scope):
                if proposal is not None and _changes(source, proposal):
                    yield CandidatePatch(
                        maker.name, proposal.cost + more, score, line, source, None, proposal.edits
                    )

    def is_news(self, candidate: CandidatePatch) -> bool:
        """Return True if the edits are new and the limit per statement is not reached."""
        news = candidate.edits not in self._given and len(self._given) < MAX_PER_STATEMENT
        self._given.add(candidate.edits)
        return news


def _is_outer(template: Any) -> bool:
    return str(template.__name__).rpartition(".")[0].endswith(".outer")


def _choose(scope: OuterScope) -> Sequence[ast.AST]:
    """Return the nodes to consider; of many, those next to a seen literal first."""
    if len(scope.nodes) <= MAX_NODES:
        return scope.nodes
    return sorted(scope.nodes, key=lambda n: not _beside_seen(n, scope))[:MAX_NODES]


def _is_for_outer_alone(node: ast.AST, scope: OuterScope) -> bool:
    """Return True for decorators and bases, which only templates of this level may change."""
    place = scope.source.places.get(node)
    return place is not None and place.field in ("decorator_list", "bases")


def _extra_cost(node: ast.AST, scope: OuterScope) -> float:
    place = scope.source.places.get(node)
    extra = -SEEN_BONUS if _beside_seen(node, scope) else 0.0
    if place is not None and isinstance(place.parent, ast.Dict) and place.field == "keys":
        extra += KEY_COST
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (str, bytes))
        and _is_pattern(node, scope)
    ):
        extra += PATTERN_COST
    return extra


def _is_pattern(node: ast.Constant, scope: OuterScope) -> bool:
    parent = scope.source.places[node].parent
    called = getattr(parent.func, "value", None) if isinstance(parent, ast.Call) else None
    return isinstance(called, ast.Name) and called.id in ("re", "regex")


def _changes(source: SourceFile, proposal: ProposedEdits) -> bool:
    return any(source.data[e.start : e.end] != e.text.encode("utf-8") for e in proposal.edits)


def _beside_seen(node: ast.AST, scope: OuterScope) -> bool:
    """Return True if a node, or its dictionary key or value, is a literal of the failing tests."""
    values = {
        n.value
        for n in _beside(node, scope)
        if isinstance(n, ast.Constant) and isinstance(n.value, (str, int))
    }
    # 0, 1 and the empty string occur everywhere and say nothing.
    seen = {*scope.literals.strings, *scope.literals.numbers} - {0, 1, ""}
    return any(value in seen for value in values if not isinstance(value, bool))


def _beside(node: ast.AST, scope: OuterScope) -> Iterator[ast.AST]:
    yield node
    place = scope.source.places.get(node)
    if place and isinstance(place.parent, ast.Dict) and place.position is not None:
        pair = (place.parent.keys[place.position], place.parent.values[place.position])
        yield from (n for n in pair if n is not None and n is not node)
