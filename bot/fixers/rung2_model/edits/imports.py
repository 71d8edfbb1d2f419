"""Insert imports that new code needs and the file lacks, after the file's own imports."""

import ast
from collections.abc import Sequence

from bot.fixers.rung2_model.edits.lines import Splice
from bot.fixers.rung2_model.edits.symbols import Definition


def new_imports(
    tree: ast.Module | None, statements: Sequence[ast.stmt], used_in: Sequence[ast.AST]
) -> tuple[Splice, ...]:
    """Return a splice with the missing imports; empty if none is missing.

    Args:
        tree: Syntax tree of the file.
        statements: Imports that came with the new code.
        used_in: The new code.
    """
    if tree is None or not used_in:
        return ()
    used = {each.id for node in used_in for each in ast.walk(node) if isinstance(each, ast.Name)}
    bound = {name for each in tree.body for name in bound_by(each)}
    lines: dict[str, None] = {}
    for statement in statements:
        for alias in statement.names if isinstance(statement, ast.Import | ast.ImportFrom) else []:
            name = _bound(alias)
            if name in used and name not in bound:
                # One statement for each name, because other names may be unused.
                lines[_written(statement, alias)] = None
    return (_place(tree, tuple(lines)),) if lines else ()


def bound_by(statement: ast.stmt) -> set[str]:
    """Return the names a statement binds, including nested blocks but not functions or classes."""
    found: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Definition):
            found.add(node.name)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(_bound(alias) for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        waiting += ast.iter_child_nodes(node)
    return found


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.split(".")[0]


def _written(statement: ast.stmt, alias: ast.alias) -> str:
    if isinstance(statement, ast.ImportFrom):
        return ast.unparse(
            ast.ImportFrom(module=statement.module, names=[alias], level=statement.level)
        )
    return ast.unparse(ast.Import(names=[alias]))


def _place(tree: ast.Module, lines: tuple[str, ...]) -> Splice:
    first = next(
        (at for at, each in enumerate(tree.body) if isinstance(each, Definition)), len(tree.body)
    )
    imports = [each for each in tree.body[:first] if isinstance(each, ast.Import | ast.ImportFrom)]
    if imports:
        at = imports[-1].end_lineno or imports[-1].lineno
        return Splice(start=at, end=at, lines=lines)
    documented = ast.get_docstring(tree, clean=False) is not None
    if documented:
        at = tree.body[0].end_lineno or tree.body[0].lineno
        return Splice(start=at, end=at, lines=("", *lines))
    at = tree.body[0].lineno if tree.body else 1
    if tree.body and isinstance(tree.body[0], Definition):
        at = min([at, *(each.lineno for each in tree.body[0].decorator_list)])
    return Splice(start=at - 1, end=at - 1, lines=(*lines, "", ""))
