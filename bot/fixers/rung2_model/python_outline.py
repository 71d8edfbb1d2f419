"""Read Python: functions, classes, constants and imports, by its own syntax tree."""

import ast
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import PurePosixPath

from sandbox.changes.syntax import parse
from sandbox.languages.outline import Definition, DefinitionKind, Import, Outline, Span

_NAMES = 20
_STATEMENTS = 3_000

Function = ast.FunctionDef | ast.AsyncFunctionDef


def read_python(path: str, text: str) -> Outline | None:
    """Return what a file defines and imports; None if it cannot be parsed.

    Args:
        path: Its path; relative imports start there.
        text: Its text.
    """
    tree = parse(text)
    if tree is None:
        return None
    imports = (node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    return Outline(
        definitions=tuple(_definitions(tree.body, "")),
        imports=tuple(
            Import(node.lineno, node.end_lineno or node.lineno, tuple(_modules(node, path)))
            for node in imports
        ),
        constants=tuple(_constants(tree.body[:_STATEMENTS])),
    )


def _definitions(body: Iterable[ast.stmt], inside: str) -> Iterator[Definition]:
    for node in body:
        if not isinstance(node, Function | ast.ClassDef):
            continue
        name = f"{inside}{node.name}"
        first = min((decorator.lineno for decorator in node.decorator_list), default=node.lineno)
        yield Definition(
            name=name,
            kind=DefinitionKind.CLASS
            if isinstance(node, ast.ClassDef)
            else DefinitionKind.FUNCTION,
            first=first,
            line=node.lineno,
            body=node.body[0].lineno,
            last=node.end_lineno or node.lineno,
            read_names=partial(_names, node),
            arguments=_arguments(node),
            signature=name,
        )
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{name}.")


def _arguments(node: Function | ast.ClassDef) -> tuple[str, ...]:
    if isinstance(node, ast.ClassDef):
        return ()
    given = node.args
    return tuple(argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _names(tree: ast.AST) -> frozenset[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return frozenset(found)


def _constants(body: Iterable[ast.stmt]) -> Iterator[tuple[str, Span]]:
    """Yield the names that module statements bind, with their lines."""
    for node in body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        span = node.lineno, node.end_lineno or node.lineno
        for target in targets:
            yield from ((one.id, span) for one in ast.walk(target) if isinstance(one, ast.Name))


def _modules(node: ast.Import | ast.ImportFrom, path: str) -> Iterator[str]:
    """Yield imported module names, including names that may be modules."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names[:_NAMES])
        return
    # A relative import drops one path part for each dot.
    folders = PurePosixPath(path).parts[: -node.level] if node.level else ()
    base = ".".join((*folders, *((node.module,) if node.module else ())))
    yield base
    yield from (f"{base}.{alias.name}" for alias in node.names[:_NAMES])
