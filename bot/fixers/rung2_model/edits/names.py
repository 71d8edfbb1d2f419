"""Lint new code only: undefined names, redefinitions and unused imports."""

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Collection, Iterator

from bot.fixers.rung2_model.edits.imports import bound_by
from bot.fixers.rung2_model.edits.symbols import Definition

_GIVEN = frozenset(dir(builtins)) | {
    "__file__", "__path__", "__annotations__", "__class__", "__module__", "__qualname__",
    "__builtins__",
}  # fmt: skip
_UNKNOWABLE = frozenset({"globals", "locals", "vars", "exec", "eval"})
"""With these functions, names may come from anywhere."""

PURE_MODULES = frozenset({
    "__future__", "abc", "bisect", "calendar", "cmath", "collections", "contextlib", "copy",
    "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions", "functools", "heapq",
    "itertools", "json", "keyword", "math", "numbers", "operator", "random", "re", "reprlib",
    "statistics", "string", "textwrap", "time", "types", "typing", "unicodedata", "warnings",
    "weakref",
})  # fmt: skip
"""Modules of the standard library without access to files, processes, the network or the
interpreter. A fix may import them without being doubted."""


def undefined(before: ast.Module | None, after: ast.Module) -> tuple[str, ...]:
    """Return names that the new code reads, that nothing binds and that were not read before.

    Args:
        before: The old file; None for a new file.
        after: The new file.
    """
    if before is None:
        before = ast.Module(body=[], type_ignores=[])
    read = _read(after)
    if _is_open(after) or _UNKNOWABLE & set(read):
        return ()
    return tuple(sorted(set(read) - set(_read(before)) - _bound(after) - _GIVEN))


def redefined(before: ast.Module | None, after: ast.Module) -> tuple[str, ...]:
    """Return definitions that newly occur twice in one body; the first of them is dead code.

    Args:
        before: The old file; None for a new file.
        after: The new file.
    """
    known = Counter(_twice(before)) if before is not None else Counter[str]()
    return tuple(sorted((Counter(_twice(after)) - known).keys()))


def unused_imports(before: ast.Module | None, after: ast.Module) -> tuple[str, ...]:
    """Return new module imports that nothing reads.

    Args:
        before: The old file; None for a new file.
        after: The new file.
    """
    return tuple(sorted(set(_imported(after)) - set(_imported(before)) - set(_read(after))))


def new_modules(before: ast.Module | None, after: ast.Module) -> tuple[str, ...]:
    """Return modules that are newly imported.

    Args:
        before: The old file; None for a new file.
        after: The new file.
    """
    return tuple(sorted(set(_modules(after)) - set(_modules(before))))


def is_familiar(module: str, files: Collection[str]) -> bool:
    """Return True for a module that only computes, or one of the repository's own.

    Args:
        module: First part of its name; empty or dots for a relative import.
        files: All paths of the repository.
    """
    name = module.strip(".")
    if not name or name in PURE_MODULES or module.startswith("."):
        return True
    if name in sys.stdlib_module_names:
        return False
    return any(
        f"/{path}".endswith((f"/{name}.py", f"/{name}/__init__.py")) or f"/{name}/" in f"/{path}"
        for path in files
    )


def _read(tree: ast.AST) -> list[str]:
    found = [
        each.id
        for each in ast.walk(tree)
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Store)
    ]
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and any(
            getattr(target, "id", "") == "__all__" for target in each.targets
        ):
            found += [
                str(item.value) for item in ast.walk(each.value) if isinstance(item, ast.Constant)
            ]
    return found


def _bound(tree: ast.AST) -> set[str]:
    """Return all names bound anywhere in a file.

    Scopes are ignored, so that correct code is never rejected.
    """
    found: set[str] = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.stmt):
            found |= (
                bound_by(each)
                if isinstance(each, Definition | ast.Import | ast.ImportFrom)
                else set()
            )
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, ast.arg):
            found.add(each.arg)
        elif isinstance(each, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and each.name:
            found.add(each.name)
        elif isinstance(each, ast.MatchMapping) and each.rest:
            found.add(each.rest)
        elif isinstance(each, ast.Global | ast.Nonlocal):
            found.update(each.names)
        # These node types exist only since Python 3.12.
        elif type(each).__name__ in {"TypeVar", "ParamSpec", "TypeVarTuple"}:
            found.add(getattr(each, "name", ""))
    return found


def _is_open(tree: ast.AST) -> bool:
    """Return True if there is a star import."""
    return any(
        isinstance(each, ast.ImportFrom) and each.names[0].name == "*" for each in ast.walk(tree)
    )


def _twice(tree: ast.AST) -> Iterator[str]:
    """Yield undecorated definitions that repeat a name in the same body."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        seen: set[str] = set()
        for each in body:
            if isinstance(each, Definition):
                # Decorators such as `@overload` and `@x.setter` repeat names on purpose.
                if each.name in seen and not each.decorator_list:
                    yield f"{getattr(node, 'name', '')}.{each.name}".lstrip(".")
                if not each.decorator_list:
                    seen.add(each.name)


def _imported(tree: ast.Module | None) -> Iterator[str]:
    for each in tree.body if tree is not None else []:
        if (
            isinstance(each, ast.Import | ast.ImportFrom)
            and getattr(each, "module", "") != "__future__"
        ):
            yield from bound_by(each)


def _modules(tree: ast.Module | None) -> Iterator[str]:
    for each in ast.walk(tree) if tree is not None else ():
        if isinstance(each, ast.Import):
            yield from (alias.name.split(".")[0] for alias in each.names)
        elif isinstance(each, ast.ImportFrom):
            yield "." * each.level + (each.module or "").split(".")[0]
