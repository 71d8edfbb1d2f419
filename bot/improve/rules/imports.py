"""Unused and obsolete imports of the standard library, and unused local names."""

import ast
import sys
from collections.abc import Callable, Iterator

from bot.improve.rules.source import Block, PythonFile, Rule, SpliceEdit, bound_by, own_nodes

Import = ast.Import | ast.ImportFrom

_WITH_EFFECTS = frozenset(
    {"__future__", "antigravity", "this", "readline", "rlcompleter", "site", "cgitb", "encodings"}
    | {"idlelib", "lib2to3", "turtledemo", "test", "tkinter", "turtle", "sitecustomize"}
)
"""Modules whose import does more than bind a name, or may fail on purpose."""

_MANDATORY = frozenset(
    {"absolute_import", "division", "generators", "generator_stop", "nested_scopes"}
    | {"print_function", "unicode_literals", "with_statement"}
)
"""Names of `__future__` that change nothing in a supported version of Python."""


def _old_futures(source: PythonFile) -> Iterator[SpliceEdit]:
    if not source.is_reflective:
        yield from _without_names(source.tree.body, _is_old, source)


def _is_old(alias: ast.alias, statement: Import, source: PythonFile) -> bool:
    """Return True if the name changes nothing, and nothing mentions it."""
    is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    if not is_future or alias.name not in _MANDATORY or alias.asname:
        return False
    inside = source.count_word(alias.name, *source.span(statement))
    is_exported = bool({alias.name, "*"} & source.exported)
    return source.count_word(alias.name) == inside and not is_exported


def _unused_imports(source: PythonFile) -> Iterator[SpliceEdit]:
    name = source.path.rsplit("/", 1)[-1]
    # A package's `__init__` imports names for others.
    if name == "__init__.py" or source.is_reflective or {"*"} & (source.bound | source.exported):
        return
    # An import inside of `try` may be a probe, and one in a class body is an attribute.
    for block in (source.tree.body, *(function.body for function in source.functions)):
        yield from _without_names(block, _is_unused, source)


def _without_names(
    block: Block, is_useless: Callable[[ast.alias, Import, PythonFile], bool], source: PythonFile
) -> Iterator[SpliceEdit]:
    """Yield the edits that remove names from the imports of a block; one statement stays."""
    left = len(block)
    for statement in block:
        if not isinstance(statement, Import):
            continue
        useless = [alias for alias in statement.names if is_useless(alias, statement, source)]
        lines = source.whole_lines(statement, statement)
        if len(useless) == len(statement.names) and left > 1 and lines is not None:
            left -= 1
            yield SpliceEdit(start=lines[0], end=lines[1])
        elif useless and statement.lineno == statement.end_lineno:
            yield from _narrowed(statement, useless, source)


def _narrowed(
    statement: Import, unused: list[ast.alias], source: PythonFile
) -> Iterator[SpliceEdit]:
    """Yield the edit that keeps the used names of an import on one line."""
    kept = [alias for alias in statement.names if alias not in unused]
    # A comment on the line may be about any of the names.
    if not kept or source.whole_lines(statement, statement) is None:
        return
    start, end = source.span(statement.names[0])[0], source.span(statement.names[-1])[1]
    parts = [source.content[slice(*source.span(alias))] for alias in kept]
    yield SpliceEdit(start=start, end=end, text=b", ".join(parts))


def _is_unused(alias: ast.alias, statement: Import, source: PythonFile) -> bool:
    """Return True if nothing mentions the name, not even a string, a comment or another file."""
    module = alias.name if isinstance(statement, ast.Import) else statement.module or ""
    if isinstance(statement, ast.ImportFrom) and statement.level:
        return False
    root = module.split(".")[0]
    if root in _WITH_EFFECTS or root not in sys.stdlib_module_names:
        return False
    # `import a.b` also binds a submodule; `import a as a` exports the name on purpose.
    if (isinstance(statement, ast.Import) and "." in alias.name) or alias.asname == alias.name:
        return False
    bound = alias.asname or alias.name
    inside = source.count_word(bound, *source.span(statement))
    return bound not in source.exported and source.count_word(bound) == inside


def _unused_variables(source: PythonFile) -> Iterator[SpliceEdit]:
    if source.is_reflective:
        return
    for function in source.functions:
        declared = {
            name
            for node in own_nodes(function)
            if isinstance(node, ast.Global | ast.Nonlocal)
            for name in bound_by(node)
        }
        own = set(map(id, own_nodes(function)))
        for block in source.blocks(function):
            left = len(block)
            for statement in block:
                if id(statement) in own and left > 1:
                    found = list(_unused_variable(statement, function, declared, source))
                    left -= len(found)
                    yield from found


def _unused_variable(
    statement: ast.stmt, function: ast.AST, declared: set[str], source: PythonFile
) -> Iterator[SpliceEdit]:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or target.id.startswith("_") or target.id in declared:
        return
    lines = source.whole_lines(statement, statement)
    if not isinstance(function, ast.stmt) or lines is None or not _is_literal(statement.value):
        return
    if source.count_word(target.id, *source.span(function)) == 1:
        yield SpliceEdit(start=lines[0], end=lines[1])


def _is_literal(value: ast.expr) -> bool:
    """Return True for a value that is made without running any code."""
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        return all(map(_is_literal, value.elts))
    return isinstance(value, ast.Constant)


def _unused_exception_names(source: PythonFile) -> Iterator[SpliceEdit]:
    if source.is_reflective:
        return
    for handler in source.nodes:
        if not isinstance(handler, ast.ExceptHandler) or not handler.name or handler.type is None:
            continue
        start, end = source.span(handler.type)[1], source.span(handler.body[0])[0]
        head = source.content[start:end]
        name = handler.name.encode()
        before, _, after = head.partition(b" as " + name)
        # The name is deleted after the block: another use of it anywhere could notice.
        if before.strip(b" )") or not after or source.count_word(handler.name) > 1:
            continue
        at = start + len(before)
        yield SpliceEdit(start=at, end=at + len(b" as " + name))


RULES = (
    Rule(
        "unused-import",
        "remove {things}",
        "unused import",
        "no code, string or comment of the file mentions the name, no other file takes it from "
        "here, and importing the module of the standard library has no effect",
        _unused_imports,
    ),
    Rule(
        "old-future-import",
        "remove {things}",
        "obsolete future import",
        "every supported version of Python behaves so without it, and nothing mentions the name",
        _old_futures,
    ),
    Rule(
        "unused-variable",
        "remove {things}",
        "unused variable",
        "the value is a literal, and the function never mentions the name again",
        _unused_variables,
    ),
    Rule(
        "unused-exception-name",
        "remove {things}",
        "unused exception name",
        "the file never mentions the name of the caught exception",
        _unused_exception_names,
    ),
)
