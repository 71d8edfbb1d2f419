"""Score statements outside functions by the suspicious functions that read what they bind."""

from __future__ import annotations

import ast
from typing import Dict, List, Mapping, Sequence, Set, Tuple

from sandbox.guest.search.locate.code import CodeFile, Modules, names_read
from sandbox.guest.search.locate.weights import (
    AT_IMPORT,
    CLASS,
    DEFAULT,
    HEAD,
    IMPORTS,
    OUTSIDE_BY_ATTRIBUTE,
    OUTSIDE_BY_NAME,
)
from sandbox.guest.search.source.functions import Unit
from sandbox.guest.search.source.outer_scope import OuterStatement
from sandbox.guest.search.source.render import first_line
from sandbox.guest.search.source.scope import FunctionNode

LEAST = 0.05
FOLLOWED = 0.9
"""Factor for each import on the way; it ends import cycles."""
CROWD, LEAST_SHARE = 0.06, 0.4
MOST_STEPS = 4_000
MOST_ELSEWHERE = 3
"""Maximum number of other files that bind an attribute; a more common name is not evidence."""
Scores = Dict[Tuple[str, int], Tuple[float, str]]
"""Score and reason by path and line."""


class Outside:
    """Statements outside functions by the names they bind.

    Args:
        files: The source files.
        modules: Resolves imports.
    """

    def __init__(self, files: Mapping[str, CodeFile], modules: Modules) -> None:
        self._files = files
        self._modules = modules
        self._binders: Dict[Tuple[str, str], List[OuterStatement]] = {}
        self._anywhere: Dict[str, List[Tuple[str, OuterStatement]]] = {}
        self._classes: Dict[Tuple[str, str], List[OuterStatement]] = {}
        for path, file in sorted(files.items()):
            for piece in file.pieces:
                for name in bound_names(piece):
                    self._binders.setdefault((path, name), []).append(piece)
                    if name.startswith("."):
                        self._anywhere.setdefault(name, []).append((path, piece))
                for around in piece.classes:  # nested classes configure the outer one
                    self._classes.setdefault((path, around.name), []).append(piece)

    def scores(
        self, units: Sequence[Tuple[Unit, float]], line_scores: Mapping[Tuple[str, int], float]
    ) -> Scores:
        """Return scores of lines outside functions.

        Args:
            units: Suspicious functions with the score of their best line, highest first.
            line_scores: Scores of the lines that failing tests run.
        """
        scores: Scores = {}
        waiting: List[Tuple[str, str, float, str]] = []
        for unit, best in units:
            path = unit.source.path
            for line, names in head_lines(unit.node).items():
                used = [
                    line_scores.get((path, n), 0.0) * DEFAULT
                    for name in names
                    for n in _uses(name, unit.node)
                ]
                _raise(
                    scores,
                    path,
                    [line],
                    (max([best * HEAD, *used]), f"head of {unit.qualified_name}"),
                )
            for decorator in unit.node.decorator_list:
                for name in names_read(decorator):
                    self._at_import(name, path, best * HEAD * AT_IMPORT, scores)
            why = f"read by {unit.qualified_name}"
            read = [
                (name, max(line_scores.get((path, line), 0.0) for line in lines))
                for name, lines in names_read(unit.node).items()
            ]
            share = self._share(path, [name for name, score in read if score > 0])
            waiting += [(name, path, score * share, why) for name, score in read]
            if len(unit.names) > 1:
                waiting.append(
                    (unit.names[-2], path, best * CLASS, f"class of {unit.qualified_name}")
                )
        # Best scores first: a name is followed once, with the score it is reached by first.
        waiting.sort(key=lambda one: -one[2])
        self._follow(waiting, scores)
        return scores

    def _share(self, path: str, names: Sequence[str]) -> float:
        """Return the share of each name: with many names, each is less likely the cause."""
        kinds = (*FunctionNode, ast.Import, ast.ImportFrom)
        bound = [
            n
            for n in names
            if any(not isinstance(p.statement, kinds) for p in self._binders.get((path, n), ()))
        ]
        return max(LEAST_SHARE, 1.0 / (1.0 + CROWD * max(0, len(bound) - 1)))

    def _follow(self, waiting: List[Tuple[str, str, float, str]], scores: Scores) -> None:
        """Follow definitions to the names they use, and imports to their modules."""
        done: Set[Tuple[str, str]] = set()
        steps = 0
        while waiting and steps < MOST_STEPS:
            steps += 1
            name, path, score, why = waiting.pop(0)
            if (name, path) in done or score < LEAST:
                continue
            done.add((name, path))
            for where, piece in self._bindings(name, path):
                waiting += self._one(where, piece, (name, score, why), scores)

    def _bindings(self, name: str, path: str) -> List[Tuple[str, OuterStatement]]:
        here = [(path, piece) for piece in self._binders.get((path, name), ())]
        if not name.startswith("."):
            return here
        # An attribute may belong to a class in another file, even if a base class binds it here.
        anywhere = self._anywhere.get(name, [])
        elsewhere = [one for one in anywhere if one[0] != path]
        return [*here, *(elsewhere if len(elsewhere) <= MOST_ELSEWHERE else [])]

    def _one(
        self, path: str, piece: OuterStatement, told: Tuple[str, float, str], scores: Scores
    ) -> List[Tuple[str, str, float, str]]:
        name, score, why = told
        factor = OUTSIDE_BY_ATTRIBUTE if name.startswith(".") else OUTSIDE_BY_NAME
        statement = piece.statement
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            _raise(scores, path, piece.lines, (score * IMPORTS, f"imports {name}, {why}"))
            return [(n, p, score, why) for n, p in self._imported(name, statement, path)]
        if isinstance(statement, FunctionNode):
            return []
        _raise(scores, path, piece.lines, (score * factor, f"binds {name.lstrip('.')}, {why}"))
        used = [
            n.id for n in piece.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        ]
        more = [(n, path, score * factor, why) for n in dict.fromkeys(used)]
        for maker in dict.fromkeys(used):
            self._at_import(maker, path, score * factor * AT_IMPORT, scores)
        if isinstance(statement, ast.ClassDef):
            for member in self._classes.get((path, statement.name), ()):
                if not isinstance(member.statement, FunctionNode):
                    reason = (score * factor * 0.8, f"in class {statement.name}, {why}")
                    _raise(scores, path, member.lines, reason)
        return more

    def _at_import(self, name: str, path: str, score: float, scores: Scores) -> None:
        """Score a function that a suspicious statement calls.

        It runs during import, where no test is seen to run it.
        """
        if score < LEAST:
            return
        for where, piece in self._bindings(name, path):
            statement = piece.statement
            if isinstance(statement, ast.ImportFrom):
                for other, place in self._imported(name, statement, where):
                    if (other, place) != (name, where):
                        self._at_import(other, place, score * FOLLOWED, scores)
            elif isinstance(statement, FunctionNode):
                lines = range(
                    first_line(statement.body[0]), (statement.end_lineno or statement.lineno) + 1
                )
                _raise(scores, where, lines, (score, f"{name} runs when the module is imported"))

    def _imported(self, name: str, statement: ast.stmt, path: str) -> List[Tuple[str, str]]:
        if not isinstance(statement, ast.ImportFrom):
            return []
        found = []
        for alias in statement.names:
            if (alias.asname or alias.name) == name:
                place = self._modules.find(statement.module or "", statement.level, path)
                if place in self._files:
                    found.append((alias.name, str(place)))
        return found


def head_lines(node: ast.AST) -> Dict[int, List[str]]:
    """Return the lines of a function's defaults and decorators, with the parameters."""
    arguments = node.args  # type: ignore[attr-defined]
    plain = [*getattr(arguments, "posonlyargs", ()), *arguments.args]
    pairs = [*zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults)]
    pairs += [*zip(arguments.kwonlyargs, arguments.kw_defaults)]
    parts = [(default, [parameter.arg]) for parameter, default in pairs if default is not None]
    parts += [(decorator, []) for decorator in node.decorator_list]  # type: ignore[attr-defined]
    found: Dict[int, List[str]] = {}
    for part, names in parts:
        for line in range(part.lineno, (part.end_lineno or part.lineno) + 1):
            found.setdefault(line, []).extend(names)
    return found


def _uses(name: str, node: ast.AST) -> List[int]:
    return [
        n.lineno
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
    ]


def bound_names(piece: OuterStatement) -> List[str]:
    """Return the names that a statement binds; a leading dot means readable as an attribute."""
    statement = piece.statement
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
    if isinstance(statement, (*FunctionNode, ast.ClassDef)):
        names = [statement.name]
    else:
        names = [
            n.id for n in piece.nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        ]
        names += _filled(piece)
    names = list(dict.fromkeys(names))
    return (
        ["." + name for name in names]
        if piece.classes
        else [*names, *("." + name for name in names)]
    )


def _filled(piece: OuterStatement) -> List[str]:
    """Return names that are filled: `TABLE.update(...)`, `TABLE[key] = value`."""
    call = piece.statement.value if isinstance(piece.statement, ast.Expr) else None
    places: List[ast.AST] = []
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        places.append(call.func.value)
    places += [
        n.value
        for n in piece.nodes
        if isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load)
    ]
    return [place.id for place in places if isinstance(place, ast.Name)]


def _raise(scores: Scores, path: str, lines: Sequence[int], told: Tuple[float, str]) -> None:
    for line in lines:
        if told[0] > scores.get((path, line), (0.0, ""))[0]:
            scores[path, line] = told
