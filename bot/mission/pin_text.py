"""Write a test that pins one call, in the style of the file it joins. Pure."""

import ast
import io
import re
from collections.abc import Iterator
from typing import NamedTuple

from sandbox.changes.syntax import parse, unparse
from sandbox.types import KnownCall

MOST_RESULT = 60
"""Longest expected result, in characters."""
MOST_LINE = 88
_IDENTITY = frozenset({"True", "False", "None"})


class Reference(NamedTuple):
    """A name for a function in a test file."""

    name: str
    """`fits`, or `shop.fits`."""
    statement: str
    """The import statement that a script needs."""
    is_imported: bool
    """The test file has the import already."""


class PinnedCall(NamedTuple):
    """A call as a test writes it."""

    reference: Reference
    text: str
    function: str


def write_call(call: KnownCall, tests: str) -> PinnedCall | None:
    """Return a call as the tests of a file would write it; None if they cannot reach the function.

    Args:
        call: A call of a plain function.
        tests: The text of the test file.
    """
    tree = parse(tests)
    if tree is None or not call.function.isidentifier():
        return None
    reference = next(iter(sorted(_references(tree, call), key=lambda r: not r.is_imported)), None)
    try:
        positional, named = ast.literal_eval(call.arguments)
        parts = [repr(one) for one in positional]
        parts += [f"{name}={value!r}" for name, value in named.items()]
    except (ValueError, SyntaxError, TypeError, AttributeError, MemoryError, RecursionError):
        return None
    if reference is None:
        return None
    return PinnedCall(reference, f"{reference.name}({', '.join(parts)})", call.function)


def add_test(tests: str, failing: str, call: PinnedCall, result: str) -> tuple[str, str] | None:
    """Return the test file with one more test, and the new test's name; None if it has no place.

    Existing lines stay as they are. The test becomes a method if the failing test is one.

    Args:
        tests: The text of the test file.
        failing: The name of the failing test: `tests/test_math.py::TestAdd::test_zero`.
        call: The call to pin.
        result: Its result as a literal.
    """
    tree = parse(tests)
    path, *parts = re.sub(r"\[.*", "", failing, flags=re.DOTALL).split("::")
    if tree is None or not parts or len(result) > MOST_RESULT:
        return None
    name = _free_name(f"test_{call.function}_regression", tests)
    if len(parts) == 1:
        body = _body(call, result, indent="    ", is_unittest=False)
        new = f"{tests.rstrip()}\n\n\ndef {name}():\n{body}"
        return (new, f"{path}::{name}") if _fits(body) else None
    owner = next(
        (one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == parts[0]), None
    )
    if owner is None or owner.end_lineno is None or len(parts) != 2:  # noqa: PLR2004
        return None
    indent = " " * owner.body[0].col_offset
    is_unittest = any("TestCase" in unparse(base) for base in owner.bases)
    body = _body(call, result, indent=2 * indent, is_unittest=is_unittest)
    # Lines as Python counts them: `splitlines` also ends one at a form feed.
    lines = list(io.StringIO(tests, newline=""))
    before = "".join(lines[: owner.end_lineno]).rstrip("\n")
    method = f"\n\n{indent}def {name}(self):\n{body}"
    rest = "".join(lines[owner.end_lineno :])
    return (f"{before}{method}{rest}", f"{path}::{parts[0]}::{name}") if _fits(body) else None


def _body(call: PinnedCall, result: str, *, indent: str, is_unittest: bool) -> str:
    lines = [] if call.reference.is_imported else [call.reference.statement, ""]
    if is_unittest:
        lines.append(f"self.assertEqual({call.text}, {result})")
    else:
        lines.append(f"assert {call.text} {'is' if result in _IDENTITY else '=='} {result}")
    return "".join(f"{indent}{line}\n" if line else "\n" for line in lines)


def _fits(body: str) -> bool:
    return all(len(line) <= MOST_LINE for line in body.splitlines())


def _free_name(wanted: str, text: str) -> str:
    """Return the name, or the name with a number, that the file does not contain yet."""
    numbered = (f"{wanted}_{number}" for number in range(2, 100))
    return next((name for name in (wanted, *numbered) if name not in text), wanted)


def _references(tree: ast.Module, call: KnownCall) -> Iterator[Reference]:
    """Yield the ways in which a test file may name a function, by its imports."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if alias.name == call.function and _may_hold(node.module, call.path):
                    yield Reference(alias.asname or alias.name, ast.unparse(node), is_imported=True)
            if _is_module(node.module, call.path):
                statement = f"from {node.module} import {call.function}"
                yield Reference(call.function, statement, is_imported=False)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if _is_module(alias.name, call.path):
                    name = f"{alias.asname or alias.name}.{call.function}"
                    yield Reference(name, ast.unparse(node), is_imported=True)


def _is_module(module: str, path: str) -> bool:
    """Return True if a dotted name is the module of a file."""
    name = module.replace(".", "/")
    return f"/{path}".endswith((f"/{name}.py", f"/{name}/__init__.py"))


def _may_hold(module: str, path: str) -> bool:
    """Return True if a module is that of a file, or a package that may export its names."""
    return _is_module(module, path) or f"/{module.partition('.')[0]}/" in f"/{path}"
