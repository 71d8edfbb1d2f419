"""Candidates outside functions, best first, and the lines out there that suspect functions read."""

from __future__ import annotations

import ast
import heapq
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Set, Tuple

from sandbox.guest.search.candidates import SUSPICION_WEIGHT, Candidate, Suspicion
from sandbox.guest.search.functions import Unit
from sandbox.guest.search.outer_scope import OuterScope, Piece, pieces_of
from sandbox.guest.search.render import Edit, Source, first_line
from sandbox.guest.search.scope import Proposal, SeenLiterals

MOST_OF_PIECE = 600
"""How many candidates one statement may have; a table of a thousand entries must not take all the time."""
OF_FUNCTIONS = {
    "change_literal": 0.0, "regular_expression": 0.0, "swap_operator": 0.0, "swap_comparison": 0.0, "quoting": 0.0,
    "boolean_logic": 0.0, "negate_condition": 0.0, "rename_attribute": 0.0, "add_keyword": 0.0, "off_by_one": 0.1,
    "swap_operands": 0.1, "make_collection": 0.2, "exception_type": 0.2, "comprehension_parts": 0.2,
    "swap_arguments": 0.3, "change_name": 0.4, "isinstance_type": 0.4, "format_text": 0.4, "add_attribute": 0.5,
    "wrap_call": 0.6, "dict_access": 0.6, "change_term": 1.0, "slice_index": 1.0, "borrow_expression": 1.0,
}  # fmt: skip
"""Templates made for functions that know expressions anywhere, and what they cost more out here, where every trial
imports the project anew."""
MOST_NODES = 300
"""How many nodes of one statement are looked at; those beside a literal that the failing tests mention first."""
READ_BY_NAME, READ_BY_ATTRIBUTE = 0.85, 0.7
"""What a definition inherits of the suspicion of a function that reads it."""
SEEN_BONUS = 0.4
"""A place beside a literal that the failing tests mention is tried earlier by so much."""


def outer_candidates(
    source: Source,
    suspicion: Suspicion,
    literals: SeenLiterals,
    *,
    templates: Mapping[str, Any],
    costs: Mapping[str, float],
) -> Iterator[Candidate]:
    """Candidates of one file's module and class level by priority; a statement is worked out when its turn comes.

    Args:
        source: The file.
        suspicion: Scores of lines; a statement without one is left alone.
        literals: What the failing tests mention.
        templates: Those made for this level, and those for functions, which know expressions anywhere.
        costs: What the host says a template costs, instead of its own COST.
    """
    pieces = [(p, suspicion.at(source.path, p.lines)) for p in pieces_of(source.tree.body)]
    pieces = [(p, score) for p, score in pieces if score > 0]
    if not pieces:
        return
    scope = OuterScope(source, literals)
    chosen = [(n, t) for n, t in templates.items() if n in OF_FUNCTIONS or _is_outer(t)]
    makers = [(n, t, costs.get(n, t.COST) - t.COST + OF_FUNCTIONS.get(n, 0.0)) for n, t in chosen]
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
    nodes = sorted(scope.nodes, key=lambda n: not _beside_seen(n, scope)) if len(scope.nodes) > MOST_NODES else scope.nodes
    for node in [*nodes[:MOST_NODES], scope.root]:
        line = getattr(node, "lineno", piece.statement.lineno)
        score = max(whole * 0.97, suspicion.at(scope.source.path, [line])) if node is not scope.root else whole
        bonus = SEEN_BONUS if _beside_seen(node, scope) else 0.0
        for name, template, shift in makers:
            for proposal in template.propose(node, scope):
                if proposal is None or not _changes(scope.source, proposal):
                    continue
                cost = proposal.cost + shift - bonus
                known = found.get(proposal.edits)
                if known is None or cost < known.cost:
                    found[proposal.edits] = Candidate(name, cost, score, line, scope.source, None, proposal.edits)
    cheapest = sorted(found.values(), key=lambda c: c.priority)
    return cheapest[:MOST_OF_PIECE]


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


# --- which lines out there matter -----------------------------------------------------------------


def names_loaded(unit: Unit) -> List[str]:
    """Names and attributes that a function reads and does not bind itself; attributes have a dot in front."""
    inside = list(ast.walk(unit.node))
    stored = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    stored |= {n.arg for n in inside if isinstance(n, ast.arg)}
    names = [n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id not in stored]
    names += ["." + n.attr for n in inside if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)]
    return list(dict.fromkeys(names))


def outer_scores(
    sources: Mapping[str, Source], units: Sequence[Unit], suspicion: Suspicion
) -> Dict[str, Dict[int, float]]:
    """Scores of lines outside functions: heads of suspect functions, and definitions these functions read.

    Args:
        sources: Files by path; definitions are also followed into these through imports.
        units: The suspect functions.
        suspicion: Scores of their lines.
    """
    scores: Dict[str, Dict[int, float]] = {}
    pieces = {path: list(pieces_of(source.tree.body)) for path, source in sorted(sources.items())}
    for unit in units:
        score = suspicion.of_unit(unit)
        if score <= 0 or unit.source.path not in pieces:
            continue
        _raise(scores, unit.source.path, range(unit.first_line, first_line(unit.node.body[0])), score * 0.95)
        if len(unit.names) > 1:
            classes = [p for p in pieces[unit.source.path] if _is_class(p, unit.names[-2])]
            for piece in classes:
                _raise(scores, unit.source.path, piece.lines, score * READ_BY_ATTRIBUTE)
        _follow(names_loaded(unit), unit.source.path, score, pieces=pieces, scores=scores)
    return scores


def _is_class(piece: Piece, name: str) -> bool:
    return isinstance(piece.statement, ast.ClassDef) and piece.statement.name == name


def _follow(
    names: Sequence[str],
    path: str,
    score: float,
    *,
    pieces: Mapping[str, Sequence[Piece]],
    scores: Dict[str, Dict[int, float]],
) -> None:
    """Raise what these names lead to; constants lead on to the constants they are made of."""
    waiting = [(name, path, score) for name in names]
    done: Set[Tuple[str, str]] = set()
    while waiting:
        name, where, value = waiting.pop(0)
        if (name, where) in done or value < 0.1:
            continue
        done.add((name, where))
        factor = READ_BY_ATTRIBUTE if name.startswith(".") else READ_BY_NAME
        for piece in pieces.get(where, ()):
            if name not in _binds(piece):
                continue
            _raise(scores, where, piece.lines, value * factor)
            if isinstance(piece.statement, ast.ImportFrom):
                waiting += [(n, p, value) for n, p in _imported(name, piece.statement, pieces)]
            elif isinstance(piece.statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.ClassDef)):
                used = [n.id for n in piece.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
                waiting += [(n, where, value * factor) for n in used]


def _binds(piece: Piece) -> List[str]:
    """What a piece binds: plain names at module level, names with a dot in front inside classes."""
    statement = piece.statement
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        names = [statement.name]
    else:
        names = [n.id for n in piece.nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        call = statement.value if isinstance(statement, ast.Expr) else None
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
        ):
            names.append(call.func.value.id)  # `TABLE.update(...)`, `register.add(...)`
        names += [
            n.value.id
            for n in piece.nodes
            if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)
        ]
    return ["." + name for name in names] if piece.classes else [*names, *("." + name for name in names)]


def _imported(name: str, statement: ast.ImportFrom, pieces: Mapping[str, Sequence[Piece]]) -> Iterator[Tuple[str, str]]:
    tail = (statement.module or "").replace(".", "/")
    for alias in statement.names:
        if (alias.asname or alias.name) == name:
            for path in pieces:
                stem = path[: -len("/__init__.py")] if path.endswith("/__init__.py") else path[:-3]
                if tail and (stem == tail or stem.endswith("/" + tail)):
                    yield alias.name, path


def _raise(scores: Dict[str, Dict[int, float]], path: str, lines: range, score: float) -> None:
    of_file = scores.setdefault(path, {})
    for line in lines:
        of_file[line] = max(of_file.get(line, 0.0), score)
