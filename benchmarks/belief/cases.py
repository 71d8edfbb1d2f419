"""Read the calls that tests make and the results they expect, as a model reads them."""

import ast
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.sets.bug import Bug, relative

_NUMBERED = re.compile(r"\[input_data(\d+)-")
LONGEST = 400


@dataclass(frozen=True)
class Case:
    """One call of a test.

    Attributes:
        function: Name of the called function.
        arguments: The arguments as a literal tuple.
        expected: The expected result as a literal.
        failing: True if the test fails with the bug.
    """

    function: str
    arguments: str
    expected: str
    failing: bool


def read_cases(bug: Bug, folder: Path, hidden: Collection[str]) -> list[Case]:
    """Return the plain calls of the tests that may be seen.

    Args:
        bug: The bug.
        folder: Its tree with all tests.
        hidden: Tests that must not be seen.
    """
    shown = [test for test in bug.tests if test not in hidden]
    numbered = folder / "cases.json"
    if numbered.is_file():
        return list(_numbered(bug, numbered, shown))
    return list(_asserted(bug, folder, shown))


def _numbered(bug: Bug, path: Path, shown: Collection[str]) -> Iterator[Case]:
    lines = path.read_text().splitlines()
    function = bug.targets[0].partition(":")[2]
    for test in shown:
        found = _NUMBERED.search(test)
        if found is None:
            continue
        arguments, expected = json.loads(lines[int(found[1])])
        yield Case(function, repr(tuple(arguments)), repr(expected), failing=test in bug.failing)


def _asserted(bug: Bug, folder: Path, shown: Collection[str]) -> Iterator[Case]:
    bodies: dict[str, dict[str, ast.AST]] = {}
    for test in shown:
        file, name = relative(test)
        if file not in bodies and (folder / file).is_file():
            bodies[file] = dict(_functions(ast.parse((folder / file).read_text()), ""))
        body = bodies.get(file, {}).get(name)
        if body is not None:
            yield from _calls(body, failing=test in bug.failing)


def _functions(parent: ast.AST, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")


def _calls(body: ast.AST, *, failing: bool) -> Iterator[Case]:
    """Yield calls with plain arguments that are compared with a plain value."""
    for node in ast.walk(body):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.Is):
            continue
        call, expected = node.left, node.comparators[0]
        if isinstance(call, ast.Call) and not call.keywords:
            name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func
            function = name if isinstance(name, str) else getattr(name, "id", "")
            try:
                arguments = repr(tuple(ast.literal_eval(one) for one in call.args))
                result = repr(ast.literal_eval(expected))
            except (ValueError, TypeError, SyntaxError):
                continue
            if function and len(arguments) + len(result) < LONGEST:
                yield Case(function, arguments, result, failing=failing)
