"""Sharing: which expressions meet, which may be evaluated in vain, and that sharing says what running each would say."""

import ast
import math
import types
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.guest.search.execution.shared.chooser import CHOOSE, Chooser, same
from sandbox.guest.search.execution.shared.outcomes import Outcomes, Separate
from sandbox.guest.search.execution.shared.purity import Checks, Impure, Unsafe, checked, is_pure
from sandbox.guest.search.execution.shared.sites import TRUTH, ExpressionSite, Sites
from sandbox.guest.search.process.limits import TICK_NAME
from sandbox.guest.search.source.functions import Unit, list_units
from sandbox.guest.search.source.render import SourceFile, TextEdit

TEXT = """def f(items, low, high):
    total = 0
    for item in items:
        if low <= item < high:
            total = total + item * 2
        elif item == high:
            return total - low
    return total
"""


def unit(text: str = TEXT) -> Unit:
    return list_units(SourceFile("f.py", text.encode()), "/f.py")[0]


def edit_of(old: str, new: str, text: str = TEXT, nth: int = 0) -> TextEdit:
    at = -1
    for _ in range(nth + 1):
        at = text.index(old, at + 1)
    return TextEdit(at, at + len(old), new)


def site_text(site: ExpressionSite | None, text: str = TEXT) -> str | None:
    return text[site.start : site.end] if site is not None else None


@pytest.mark.parametrize(
    ("old", "meets"),
    [
        ("<", "low <= item < high"),
        ("item * 2", "total + item * 2"),
        ("2", "total + item * 2"),
        ("low)", None),
        ("total - low", "total - low"),
        ("0", "0"),
        ("for item", None),
    ],
)
def test_edits_meet_at_the_widest_expression_without_effects(old: str, meets: str | None) -> None:
    if old not in TEXT:
        assert meets is None
        return
    start = TEXT.index(old, TEXT.index(":"))
    assert site_text(Sites(unit()).of(TextEdit(start, start + len(old), "x"))) == meets


def test_a_call_of_unknown_code_parts_the_expressions_inside() -> None:
    text = "def f(a, b):\n    return g(a + b) * 2\n"
    sites = Sites(unit(text))
    assert site_text(sites.of(edit_of("a + b", "a", text)), text) == "a + b"
    assert site_text(sites.of(edit_of("g(a + b) * 2", "a", text)), text) == "g(a + b) * 2"


@pytest.mark.parametrize(
    "text",
    [
        "a", "1", "a + b * 2", "a.b.c", "a[1:b]", "not a", "a if b else c", "len(a) > max(b, 1)", "a.lower()", "a is b",
        "[x for x in a if x]", "any(x == b for x in a)", "f'{a}-{b:>3}'", "{a: b}", "(a, b)", "a ** 2",
    ],
)  # fmt: skip
def test_an_expression_without_effects_is_pure(text: str) -> None:
    assert is_pure(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    "text",
    [
        "g(a)", "a.pop()", "a.append(1)", "next(a)", "(x := 1)", "lambda: 1", "a ** b", "a << b", "sorted(a, key=b)",
        "print(a)", "open(a)", "[*a]", "a.__b", "(yield)", "{**a}",
    ],
)  # fmt: skip
def test_an_expression_that_may_run_code_is_impure(text: str) -> None:
    with pytest.raises(Impure):
        checked(ast.parse(f"{text}", mode="eval").body)


class Loud:
    """Its operators and attributes run code."""

    plain = 1

    def __add__(self, other: object) -> object:
        raise AssertionError

    @property
    def loud(self) -> int:
        raise AssertionError


class Quiet:
    """It has nothing of the kind."""

    def __init__(self) -> None:
        self.value = 3


def test_operands_that_run_code_are_refused() -> None:
    checks = Checks()
    assert checks.get(Quiet(), "value") == 3
    assert checks.get(Loud(), "plain") == 1
    assert checks.get(math, "pi") == math.pi
    assert checks.operand([1]) == [1]
    assert isinstance(checks.operand(Quiet()), Quiet)
    asks: list[Callable[[], object]] = [
        lambda: checks.get(Loud(), "loud"),
        lambda: checks.operand(Loud()),
        lambda: checks.operand(iter([1])),
        lambda: checks.method(Loud(), "lower"),
        lambda: checks.function(print, "len"),
    ]
    for ask in asks:
        with pytest.raises(Unsafe):
            ask()


VALUES = [
    0,
    0.0,
    -0.0,
    1,
    True,
    1.0,
    "1",
    b"1",
    None,
    (),
    (0,),
    (0.0,),
    (False,),
    float("nan"),
    range(2),
    range(3),
]


@pytest.mark.parametrize("one", range(len(VALUES)))
def test_only_the_same_is_the_same(one: int) -> None:
    assert [n for n, value in enumerate(VALUES) if same(VALUES[one], value)] == [one]


def test_mutable_values_are_the_same_only_when_they_are_one() -> None:
    items: list[int] = []
    assert same(items, items)
    assert same((items,), (items,))
    assert not same([], [])


def shared(text: str, edits: list[TextEdit]) -> tuple[Callable[..., Any], Chooser]:
    """A function with a choice among edits, and who makes it."""
    sites = Sites(unit(text))
    places = {sites.of(edit) for edit in edits}
    assert len(places) == 1
    site = places.pop()
    assert site is not None
    alternatives = [sites.alternative(site, edit) for edit in edits]
    assert None not in alternatives
    code = sites.compile(site, [a for a in alternatives if a is not None])
    assert code is not None
    chooser = Chooser()
    names = {
        CHOOSE: chooser.value,
        TRUTH: chooser.truth,
        TICK_NAME: lambda: True,
        **Checks().names(),
    }
    return types.FunctionType(code, {"__builtins__": __builtins__, **names}), chooser


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...], wanted: object) -> str:
    try:
        return "pass" if function(*arguments) == wanted else "fail"
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, Unsafe):
        return "fail"


CONDITIONS = [
    ("low <= item < high", new)
    for new in (
        "low < item < high", "low <= item <= high", "low <= item", "item < high", "low > item", "not low <= item < high",
        "item", "low", "item in items", "low <= items[0] < high", "item.real", "items[item]", "low / item > 1",
    )
]  # fmt: skip
SUMS = [
    ("total + item * 2", new)
    for new in ("total - item * 2", "total + item", "total + item * 3", "total", "item * 2", "total + low * 2",
                "total // item", "total + len(items)", "total + items[5]", "max(total, item)")
]  # fmt: skip
NUMBERS = st.integers(-3, 6)


@pytest.mark.parametrize("pairs", [CONDITIONS, SUMS], ids=["condition", "sum"])
@settings(max_examples=120, deadline=None)
@given(
    tests=st.lists(
        st.tuples(st.lists(NUMBERS, max_size=6), NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=4
    )
)
def test_sharing_says_what_running_each_says(
    pairs: list[tuple[str, str]], tests: list[tuple[list[int], int, int, int]]
) -> None:
    edits = [edit_of(*pair) for pair in pairs]
    function, chooser = shared(TEXT, edits)
    outcomes = Outcomes(
        len(edits),
        chooser,
        lambda _, test: (outcome(function, tests[test][:3], tests[test][3]), False),
    )
    for number, edit in enumerate(edits):
        code = unit().compile([edit])
        assert code is not None
        alone = types.FunctionType(code, {})
        for test, (items, low, high, wanted) in enumerate(tests):
            try:
                assert outcomes.of(number, test) == outcome(alone, (items, low, high), wanted)
            except Separate:
                continue
    assert outcomes.runs <= len(edits) * len(tests)


def test_alternatives_that_agree_share_one_run() -> None:
    edits = [edit_of(*pair) for pair in (*CONDITIONS[:1], ("low <= item < high", "0 < item < 100"))]
    function, chooser = shared(TEXT, [*edits, edit_of("low <= item < high", "low == item")])
    outcomes = Outcomes(3, chooser, lambda _, __: (outcome(function, ([1, 2], 0, 9), 6), False))
    assert [outcomes.of(n, 0) for n in range(3)] == ["pass", "pass", "fail"]
    assert outcomes.runs == 2


def test_what_cannot_be_looked_at_in_vain_is_left_to_run_by_itself() -> None:
    text = "def f(a, b):\n    return a\n"
    function, chooser = shared(text, [edit_of("return a", f"return {new}", text)._replace(start=24, end=25, text=new) for new in ("b", "a + b", "b.loud")])  # fmt: skip
    outcomes = Outcomes(3, chooser, lambda _, __: (outcome(function, (1, Loud()), 2), False))
    assert outcomes.of(0, 0) == "fail"
    for number in (1, 2):
        with pytest.raises(Separate):
            outcomes.of(number, 0)


def test_a_test_that_takes_too_long_while_others_look_on_is_run_again_by_itself() -> None:
    chooser = Chooser()

    def looks_on(_leader: int, _test: int) -> tuple[str, bool]:
        for _ in range(600):
            chooser.value(lambda _: 1)
        return "timeout", False

    outcomes = Outcomes(2, chooser, looks_on)
    with pytest.raises(Separate):
        outcomes.of(0, 0)
    alone = Outcomes(2, Chooser(), lambda _, __: ("timeout", False))
    assert alone.of(0, 0) == "timeout"
    endless = Outcomes(2, Chooser(), lambda _, __: ("timeout", True))
    assert endless.of(0, 0) == "timeout"


def test_an_edit_that_is_more_than_an_expression_does_not_share() -> None:
    sites = Sites(unit())
    edit = edit_of("total + item * 2", "total + item * 2; low = 1")
    site = sites.of(edit)
    assert site is not None
    assert sites.alternative(site, edit) is None


def test_an_edit_that_binds_looser_than_its_place_does_not_share() -> None:
    text = "def f(a, b):\n    return g(a) * 2 + g(b)\n"
    sites = Sites(unit(text))
    loose = edit_of("g(a)", "a or b", text)
    site = sites.of(loose)
    assert site is not None
    assert sites.alternative(site, loose) is None
    assert sites.alternative(site, edit_of("g(a)", "(a or b)", text)) is not None
