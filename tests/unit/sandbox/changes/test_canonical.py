"""Which programs count as the same change written differently."""

import pytest

from sandbox.changes import canonical_form

CLAMP = """
def clamp(value, low, high):
    if value > high:
        return high
    return max(value, low)
"""
SAME = {
    "layout and comments": CLAMP.replace("return high", "return (high)  # the top"),
    "docstring": CLAMP.replace("    if", '    """Keep a value in its bounds."""\n    if'),
    "flipped comparison": CLAMP.replace("value > high", "high < value"),
    "negation": CLAMP.replace("value > high", "not value <= high"),
    "else": CLAMP.replace("    return max", "    else:\n        return max"),
    "conditional expression": """
def clamp(value, low, high):
    return high if value > high else max(value, low)
""",
    "opposite conditional expression": """
def clamp(value, low, high):
    return max(value, low) if value <= high else high
""",
    "local variable": """
def clamp(value, low, high):
    result = high if value > high else max(value, low)
    return result
""",
}
OTHER = {
    "boundary": CLAMP.replace(">", ">="),
    "argument": CLAMP.replace("max(value, low)", "max(low, value)"),
    "name of an argument": CLAMP.replace("high", "top"),
    "result": CLAMP.replace("return high", "return low"),
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_rewritings_that_behave_alike_are_equal(text: str) -> None:
    assert canonical_form(text) == canonical_form(CLAMP)


@pytest.mark.parametrize("text", OTHER.values(), ids=OTHER)
def test_other_behaviour_is_not_equal(text: str) -> None:
    assert canonical_form(text) != canonical_form(CLAMP)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x += 1", "x = x + 1"),
        ("y = 1 + x", "y = x + 1"),
        ("y = x + -1", "y = x - 1"),
        ("f(not a == b)", "f(b != a)"),
        ("f(not not a)", "f(a)"),
        ("f(not a in b)", "f(a not in b)"),
        (
            "def f(n):\n    total = 0\n    for i in n:\n        total += i\n    return g(total, i)",
            "def f(n):\n    t = 0\n    for x in n:\n        t = t + x\n    return g(t, x)",
        ),
    ],
)
def test_equivalent_expressions_and_statements_are_equal(one: str, other: str) -> None:
    assert canonical_form(one) == canonical_form(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("self.x += 1", "self.x = self.x + 1"),
        ("y = a + b", "y = b + a"),
        ("f(a < b < c)", "f(b < a < c)"),
        ("def f():\n    global a\n    a = 1", "def f():\n    global b\n    b = 1"),
    ],
)
def test_what_may_differ_is_kept_apart(one: str, other: str) -> None:
    assert canonical_form(one) != canonical_form(other)


@pytest.mark.parametrize("text", ["def f(:", "(" * 500, "\0"])
def test_what_cannot_be_parsed_has_no_form(text: str) -> None:
    assert canonical_form(text) is None


def test_a_number_that_python_does_not_write_has_no_form() -> None:
    assert canonical_form("x = 0x" + "f" * 4000) is None
    assert canonical_form("x = 0x" + "f" * 2048) is not None
