"""Doubts that the syntax tree of a patch raises, and patches that raise none."""

import ast

import pytest

from sandbox.guest.search.candidates.doubts import doubts_about, doubts_between
from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.source.render import SourceFile, TextEdit
from sandbox.guest.search.source.scope import NO_LITERALS, SeenLiterals

OLD = """\
def f(items, low):
    if not items:
        raise ValueError("empty")
    if low > 3:
        return None
    try:
        total = sum(items)
    except TypeError:
        raise
    assert total is not None
    return total + low
"""


def find_doubts(old: str, new: str, literals: SeenLiterals = NO_LITERALS) -> list[str]:
    assert OLD.count(old) == 1
    return doubts_between(ast.parse(OLD), ast.parse(OLD.replace(old, new)), literals)


@pytest.mark.parametrize(
    ("old", "new", "doubt"),
    [
        ("if low > 3", "if False", "makes a condition constant"),
        ("if low > 3", "if low > low", "makes a condition constant"),
        ("if low > 3", "if low > 3 and False", "makes a condition constant"),
        ("if low > 3", "if low and not low", "makes a condition constant"),
        ('raise ValueError("empty")', "pass", "removes a raise"),
        ("    assert total is not None\n", "", "removes an assert"),
        (
            "    except TypeError:\n        raise",
            "    except TypeError:\n        pass\n    if items:\n        raise",
            "swallows exceptions",
        ),
        ("except TypeError", "except Exception", "swallows exceptions"),
        ("    return total + low", "    return total\n    return low", "makes code unreachable"),
        ("    if low > 3:\n        return None\n", "", "deletes a guard"),
        (
            "    return total + low",
            (
                "    try:\n        return total + low\n    except TypeError:\n        total = 0\n"
                "    return total"
            ),
            "catches an exception that was raised",
        ),
        (
            "    return total",
            "    if not low:\n        return []\n    return total",
            "returns early",
        ),
        ("    return total", "    if not low:\n        return\n    return total", "returns early"),
        (
            "    return total",
            "    for item in items:\n        if not item:\n            return None\n    return total",
            "returns early",
        ),
        (
            "    return total",
            "    while True:\n        if not low:\n            return\n        break\n    return total",
            "returns early",
        ),
        (
            "    return total + low",
            "    for _ in items:\n        if not low:\n            break\n        return total + low",
            "returns early",
        ),
        (
            "sum(items)",
            "sum(items) if hasattr(items, 'sum') else 0",
            "tests for an attribute",
        ),
        ("sum(items)", "getattr(items, 'total', 0)", "tests for an attribute"),
        ("return total + low", "return 7", "replaces a computed value by a constant"),
    ],
)
def test_patches_that_only_hide_the_failure_are_doubted(old: str, new: str, doubt: str) -> None:
    assert any(one.startswith(doubt) for one in find_doubts(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("low > 3", "low >= 3"),
        ("sum(items)", "sum(items[1:])"),
        ("total + low", "total - low"),
        ("if low > 3", "if low is None or low > 3"),
        ("    return total + low", "    if low:\n        return low\n    return total + low"),
        ("except TypeError", "except (TypeError, ValueError)"),
        ("sum(items)", "getattr(items, 'total')"),
        (
            "    return total",
            "    while True:\n        if total > low:\n            break\n        total += 1\n    return total",
        ),
        ("    return total", "    if low is None:\n        raise TypeError(low)\n    return total"),
        (
            "    return total",
            "    if low is None:\n        low = 0\n        return 0\n    return total",
        ),
        ("return None", "return low"),
    ],
)
def test_plain_edits_are_not_doubted(old: str, new: str) -> None:
    assert find_doubts(old, new) == []


def test_a_new_loop_at_the_end_of_a_function_may_return() -> None:
    old = "def f(self):\n    pass\n"
    new = "def f(self):\n    while True:\n        if self.done():\n            return\n        self.step()\n"
    assert doubts_between(ast.parse(old), ast.parse(new), NO_LITERALS) == []


def test_a_body_that_only_gives_a_constant_is_empty() -> None:
    new = "def f(items, low):\n    return None\n"
    assert "empties a body" in doubts_between(ast.parse(OLD), ast.parse(new), NO_LITERALS)


def test_a_value_of_the_failing_test_in_a_comparison_is_a_special_case() -> None:
    seen = SeenLiterals(numbers=(42.0, 42), strings=("north",))
    assert find_doubts("if low > 3", "if low == 42", seen) == [
        "uses a literal of the failing test in a comparison: 42"
    ]
    assert find_doubts("low > 3", "low > 42", seen) == ["takes a value from the failing test: 42"]
    assert find_doubts("return total + low", "return total + 41", seen) == []
    assert find_doubts("if low > 3", "if low == 0", SeenLiterals(numbers=(0,))) == []


def test_a_file_that_does_not_parse_is_not_doubted() -> None:
    source = SourceFile("a.py", b"x = 1\n")
    candidate = CandidatePatch("t", 1.0, 1.0, 1, source, None, (TextEdit(0, 1, "x ="),))
    assert doubts_about(candidate, NO_LITERALS) == []


def test_every_edited_file_is_looked_at() -> None:
    one, two = SourceFile("a.py", b"x = 1\n"), SourceFile("b.py", b"if x:\n    y = 2\n")
    candidate = CandidatePatch(
        "t",
        1.0,
        1.0,
        1,
        one,
        None,
        (TextEdit(4, 5, "2"),),
        more=((two, (TextEdit(3, 4, "True"),)),),
    )
    assert doubts_about(candidate, NO_LITERALS) == ["makes a condition constant"]
