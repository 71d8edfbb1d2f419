"""Which tests the search is given, and a test file without the others."""

import ast
import random
from collections.abc import Callable, Collection, Sequence
from typing import Literal

from benchmarks.sets.bug import Bug, unit_of

Mode = Literal["all", "half", "failing"]
"""`half`: a random half with at least one failing test; `failing`: all failing tests, a random half of the others."""
MODES: tuple[Mode, ...] = ("all", "half", "failing")
_DRAWS = 200


def hidden_tests(
    bug: Bug, mode: Mode, seed: int, unit: Callable[[str], str] = unit_of
) -> frozenset[str]:
    """The tests that the search must not see.

    Args:
        bug: Whose tests.
        mode: How many of them.
        seed: Of the choice; the same bug and seed, the same tests.
        unit: What is hidden together.
    """
    units = list(dict.fromkeys(unit(test) for test in bug.tests))
    red = {unit(test) for test in bug.failing}
    chance = random.Random(f"{seed}/{bug.name}")  # noqa: S311 - which tests are shown is no secret
    shown = set(units)
    if mode == "half":
        shown = _half(units, chance)
        for _ in range(_DRAWS):
            if shown & red:
                break
            shown = _half(units, chance)
        else:
            shown |= {chance.choice(sorted(red))}
    elif mode == "failing":
        shown = _half([one for one in units if one not in red], chance) | red
    return frozenset(test for test in bug.tests if unit(test) not in shown)


def _half(units: Sequence[str], chance: random.Random) -> set[str]:
    return set(chance.sample(units, (len(units) + 1) // 2))


def without(source: str, hidden: Collection[str]) -> str:
    """A test file without some of its test functions.

    Args:
        source: The file's text.
        hidden: Names of functions, `test_this` or `TestIt.test_this`.
    """
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    cuts: list[tuple[int, int, str]] = []
    _cut(tree, "", hidden, cuts)
    for start, end, filler in sorted(cuts, reverse=True):
        lines[start - 1 : end] = [filler] if filler else []
    return "".join(lines)


def _cut(
    parent: ast.Module | ast.ClassDef,
    prefix: str,
    hidden: Collection[str],
    cuts: list[tuple[int, int, str]],
) -> None:
    goes = [
        node
        for node in parent.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and prefix + node.name in hidden
    ]
    empties = isinstance(parent, ast.ClassDef) and len(goes) == len(parent.body)
    for number, node in enumerate(goes):
        start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        filler = " " * node.col_offset + "pass\n" if empties and number == 0 else ""
        cuts.append((start, node.end_lineno or node.lineno, filler))
    for inner in parent.body:
        if isinstance(inner, ast.ClassDef):
            _cut(inner, f"{prefix}{inner.name}.", hidden, cuts)
