"""The program uses all of its own code: nothing is kept alive by its tests alone."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.tracked import text_of, tracked

PROGRAM = tracked("bot/**.py", "sandbox/**.py")
OTHERS = tracked("bot/**.html", "benchmarks/**.py", "scripts/*", "pyproject.toml")
USED_ELSEWHERE = {
    "CHANGES": "the tables of a template are its tests",
    "UNTOUCHED": "the tables of a template are its tests",
    "OLD_ONLY": "the tables of a template are its tests",
    "RecordingChat": "docs/howto/models.md tells how to record answers with it",
    "down_revision": "Alembic reads it",
    "pedantic": "tests of a repository call it on the stand-in for `benchmark`",
    "used_bytes": "what the tests of the memory limit measure",
}
"""Names that no code of ours uses, and why they are there."""
PLAIN = {"property", "staticmethod", "classmethod", "contextmanager", "asynccontextmanager"}
"""Decorators that register nothing; one that does is a use."""
HOOK = re.compile(r"(?:pytest|visit|handle)_\w+|__\w+__")
"""Methods that a library calls by their names."""


def definitions(tree: ast.Module) -> Iterator[str]:
    """Functions, classes, methods and constants of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and (
            {ast.unparse(decorator) for decorator in node.decorator_list} <= PLAIN
        ):
            yield node.name
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def uses(tree: ast.Module) -> Iterator[str]:
    """Names that a module reads, also in text; an import or `__all__` alone is no use."""
    left_out: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            left_out.add(node.value)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            left_out.update(ast.walk(node.value))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.alias(name=name, asname=str()):
                yield name
            case ast.Constant(value=str(text)) if node not in left_out:
                yield from re.findall(r"\w+", text)


def test_no_code_is_used_by_tests_only() -> None:
    used = {name for path in PROGRAM for name in uses(ast.parse(text_of(path)))}
    used |= {word for path in OTHERS for word in re.findall(r"\w+", text_of(path))}
    unused = {
        name
        for path in PROGRAM
        for name in definitions(ast.parse(text_of(path)))
        if name not in used and not HOOK.fullmatch(name)
    }
    assert unused == USED_ELSEWHERE.keys(), "use it or remove it, or take it off the list"
