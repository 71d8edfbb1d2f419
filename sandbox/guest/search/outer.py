"""Candidates outside functions, best first: a statement is worked out when its turn comes."""

from __future__ import annotations

import ast
import heapq
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from sandbox.guest.search.candidates import SUSPICION_WEIGHT, Candidate, Suspicion
from sandbox.guest.search.outer_scope import OuterScope, Piece, pieces_of
from sandbox.guest.search.render import Edit, Source
from sandbox.guest.search.scope import Proposal, SeenLiterals

MOST_OF_PIECE = 600
"""How many candidates one statement may have; a table of a thousand entries must not take all the time."""
OF_FUNCTIONS = {
    "change_literal": 0.0, "regular_expression": 0.0, "swap_operator": 0.0, "swap_comparison": 0.0, "quoting": 0.0,
    "change_in_text": 0.0,
    "boolean_logic": 0.0, "negate_condition": 0.0, "rename_attribute": 0.0, "add_keyword": 0.0, "off_by_one": 0.1,
    "swap_operands": 0.1, "make_collection": 0.2, "exception_type": 0.2, "comprehension_parts": 0.2,
    "swap_arguments": 0.3, "change_name": 0.4, "isinstance_type": 0.4, "format_text": 0.4, "add_attribute": 0.5,
    "wrap_call": 0.6, "dict_access": 0.6, "change_term": 1.0, "slice_index": 1.0, "borrow_expression": 1.0,
}  # fmt: skip
"""Templates made for functions that know expressions anywhere, and what they cost more out here, where every trial
imports the project anew."""
MOST_NODES = 300
"""How many nodes of one statement are looked at; those beside a literal that the failing tests mention first."""
SEEN_BONUS = 0.4
"""A place beside a literal that the failing tests mention is tried earlier by so much."""
KEY_COST, PATTERN_COST = 0.5, 1.0
"""What another key for an entry costs more; and another text altogether for a regular expression."""


def outer_candidates(
    source: Source,
    suspicion: Suspicion,
    literals: SeenLiterals,
    *,
    templates: Mapping[str, Any],
    shifts: Mapping[str, float],
) -> Iterator[Candidate]:
    """Candidates of one file's module and class level by priority; a statement is worked out when its turn comes.

    Args:
        source: The file.
        suspicion: Scores of lines; a statement without one is left alone.
        literals: What the failing tests mention.
        templates: Those made for this level, and those for functions, which know expressions anywhere.
        shifts: What the host adds to what a template costs.
    """
    pieces = [(p, suspicion.at(source.path, p.lines)) for p in pieces_of(source.tree.body)]
    pieces = [(p, score) for p, score in pieces if score > 0]
    if not pieces:
        return
    scope = OuterScope(source, literals)
    chosen = [(n, t) for n, t in templates.items() if n in OF_FUNCTIONS or _is_outer(t)]
    makers = [(n, t, shifts.get(n, 0.0) + OF_FUNCTIONS.get(n, 0.0)) for n, t in chosen]
    cheapest = min((t.COST + shift for _, t, shift in makers), default=0.0) - 0.5 - SEEN_BONUS
    heap: List[Tuple[float, int, int, Any]] = []
    for index, (piece, score) in enumerate(pieces):
        heap.append((cheapest + SUSPICION_WEIGHT * (1.0 - score), index, -1, piece))
    heapq.heapify(heap)
    while heap:
        _, index, _, item = heapq.heappop(heap)
        if isinstance(item, Candidate):
            yield item
            continue
        for number, candidate in enumerate(_of_piece(scope.of(item), item, suspicion, makers)):
            heapq.heappush(heap, (candidate.priority, index, number, candidate))


def _is_outer(template: Any) -> bool:
    return str(template.__name__).rpartition(".")[0].endswith(".outer")


def _of_piece(
    scope: OuterScope, piece: Piece, suspicion: Suspicion, makers: Sequence[Tuple[str, Any, float]]
) -> List[Candidate]:
    found: Dict[Tuple[Edit, ...], Candidate] = {}
    whole = suspicion.at(scope.source.path, piece.lines)
    for node in [*_chosen(scope), scope.root]:
        line = getattr(node, "lineno", piece.statement.lineno)
        score = max(whole * 0.97, suspicion.at(scope.source.path, [line])) if node is not scope.root else whole
        extra = _extra_cost(node, scope)
        for name, template, shift in makers:
            if name in OF_FUNCTIONS and _is_for_outer_alone(node, scope):
                continue
            for proposal in template.propose(node, scope):
                if proposal is None or not _changes(scope.source, proposal):
                    continue
                cost = proposal.cost + shift + (extra if name != "regular_expression" else 0.0)
                known = found.get(proposal.edits)
                if known is None or cost < known.cost:
                    found[proposal.edits] = Candidate(name, cost, score, line, scope.source, None, proposal.edits)
    cheapest = sorted(found.values(), key=lambda c: c.priority)
    return cheapest[:MOST_OF_PIECE]


def _chosen(scope: OuterScope) -> Sequence[ast.AST]:
    """A piece's nodes; of very many, those beside a seen literal and then the first."""
    if len(scope.nodes) <= MOST_NODES:
        return scope.nodes
    return sorted(scope.nodes, key=lambda n: not _beside_seen(n, scope))[:MOST_NODES]


def _is_for_outer_alone(node: ast.AST, scope: OuterScope) -> bool:
    """Decorators and base classes are names with a meaning of their own."""
    place = scope.source.places.get(node)
    return place is not None and place.field in ("decorator_list", "bases")


def _extra_cost(node: ast.AST, scope: OuterScope) -> float:
    place = scope.source.places.get(node)
    extra = -SEEN_BONUS if _beside_seen(node, scope) else 0.0
    if place is not None and isinstance(place.parent, ast.Dict) and place.field == "keys":
        extra += KEY_COST
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)) and _is_pattern(node, scope):
        extra += PATTERN_COST
    return extra


def _is_pattern(node: ast.Constant, scope: OuterScope) -> bool:
    parent = scope.source.places[node].parent
    called = getattr(parent.func, "value", None) if isinstance(parent, ast.Call) else None
    return isinstance(called, ast.Name) and called.id in ("re", "regex")


def _changes(source: Source, proposal: Proposal) -> bool:
    return any(source.data[e.start : e.end] != e.text.encode("utf-8") for e in proposal.edits)


def _beside_seen(node: ast.AST, scope: OuterScope) -> bool:
    """Whether a node, or the key or value that belongs to it, is a literal of the failing tests."""
    values = {n.value for n in _beside(node, scope) if isinstance(n, ast.Constant) and isinstance(n.value, (str, int))}
    seen = {*scope.literals.strings, *scope.literals.numbers} - {0, 1, ""}
    return any(value in seen for value in values if not isinstance(value, bool))


def _beside(node: ast.AST, scope: OuterScope) -> Iterator[ast.AST]:
    yield node
    place = scope.source.places.get(node)
    if place and isinstance(place.parent, ast.Dict) and place.position is not None:
        pair = (place.parent.keys[place.position], place.parent.values[place.position])
        yield from (n for n in pair if n is not None and n is not node)
