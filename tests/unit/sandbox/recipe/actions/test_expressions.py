"""GitHub's expression language as data."""

import math
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.recipe.actions.expressions import evaluate
from sandbox.recipe.actions.templates import evaluate_condition, resolve, resolve_value
from sandbox.recipe.actions.values import (
    Unknown,
    Value,
    as_text,
    equal,
    from_json,
    has_unknown,
    is_true,
    to_json,
)

CONTEXT: dict[str, Value] = {
    "matrix": {
        "os": "ubuntu-latest",
        "python-version": "3.11",
        "n": 3.1,
        "list": [1, 2],
        "deep": [{"b": 1}, {"b": 2}],
    },
    "env": {"A": "x"},
    "secrets": Unknown(("secrets",)),
    "github": {"workspace": "/w", "event": Unknown(("github.event",))},
}
KNOWN: dict[str, Value] = {
    "true": True,
    "null": None,
    "-9.2": -9.2,
    "0xff": 255,
    "-2.99e-2": -0.0299,
    "'It''s open source!'": "It's open source!",
    "matrix.os == 'UBUNTU-Latest'": True,
    "matrix['python-version']": "3.11",
    "MATRIX.OS": "ubuntu-latest",
    "matrix.nothing": None,
    "matrix.nothing.more": None,
    "matrix.list[1]": 2,
    "matrix.list[7]": None,
    "matrix.deep.*.b": [1, 2],
    "startsWith(matrix.os, 'UBU') && 'yes' || 'no'": "yes",
    "endsWith(matrix.os, 'LATEST')": True,
    "contains(matrix.os, 'buntu')": True,
    "contains(fromJSON('[\"a\", 1]'), 'A')": True,
    "format('{0}-{{{1}}}', matrix.n, 2)": "3.1-{2}",
    "join(matrix.list, '-')": "1-2",
    "toJSON(matrix.os)": '"ubuntu-latest"',
    "fromJSON('[1,2]')[1]": 2,
    'fromJSON(\'{"a": {"b": true}}\').a.b': True,
    "null == 0": True,
    "'' == 0": True,
    "'abc' == 1": False,
    "true == 1": True,
    "'a' < 'B'": True,
    "1 <= 1 && 2 >= 2 && !(2 > 3) && 1 != 2": True,
    "NaN == NaN": False,
    "!matrix.nothing": True,
    "!!1": True,
    "success() && !failure() && always() && !cancelled()": True,
    "'a' || 'b'": "a",
    "'' || 'b'": "b",
    "'a' && 'b'": "b",
    "0 && 'b'": 0,
    "true || false && false": True,
    "case(false, 1, true, 2, 3)": 2,
}


@pytest.mark.parametrize("expression", KNOWN)
def test_an_expression_has_the_value_github_gives_it(expression: str) -> None:
    value = evaluate(expression, CONTEXT)
    assert (value, type(value)) == (KNOWN[expression], type(KNOWN[expression]))


UNKNOWN: dict[str, tuple[tuple[str, ...], bool | None]] = {
    "secrets.TOKEN": (("secrets.TOKEN",), None),
    "github.event.pull_request.number": (("github.event.pull_request.number",), None),
    "secrets.A || secrets.B": (("secrets.A", "secrets.B"), None),
    "secrets.A && false": (("secrets.A",), False),
    "secrets.A || true": (("secrets.A",), True),
    "secrets.A == 'x'": (("secrets.A",), None),
    "!secrets.A": (("secrets.A",), None),
    "format('{0}', secrets.A)": (("secrets.A",), None),
    "hashFiles('**/lock')": (("hashFiles()",), None),
    "nothing.of.this": (("nothing.of.this",), None),
    "strange('x')": (("strange()",), None),
    "contains('x')": (("contains()",), None),
    "matrix[secrets.A]": (("secrets.A",), None),
}


@pytest.mark.parametrize("expression", UNKNOWN)
def test_what_only_github_knows_is_named(expression: str) -> None:
    value = evaluate(expression, CONTEXT)
    assert isinstance(value, Unknown)
    assert (value.names, value.truth) == UNKNOWN[expression]


@pytest.mark.parametrize(
    "expression", ["(1", "1 2", "a b", "'open", "a.", "f(1,", "]", "&&", "a ==", "@", "'x' y", ""]
)
def test_what_is_no_expression_is_unknown(expression: str) -> None:
    value = evaluate(expression, CONTEXT)
    assert isinstance(value, Unknown)
    assert "expression" in value.names[0]


def test_a_text_keeps_what_stands_around_its_expressions() -> None:
    text, unknown = resolve(
        "a ${{ matrix.os }} $X ${{ 'x}}y' }} }} ${{ secrets.T }}! ${{ open", CONTEXT
    )
    assert text == "a ubuntu-latest $X x}}y }} ! ${{ open"
    assert unknown == Unknown(("secrets.T",))


def test_one_expression_alone_keeps_its_type() -> None:
    assert resolve_value(" ${{ fromJSON('[1]') }} ", CONTEXT) == [1]
    assert resolve_value("x${{ 1 }}", CONTEXT) == "x1"
    assert resolve_value(value=True, context=CONTEXT) is True


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("matrix.os == 'ubuntu-latest'", True),
        ("${{ matrix.os == 'windows' }}", False),
        ("${{ matrix.os }} == 'ubuntu-latest'", True),
        ("", True),
        ("github.event.number", None),
        ("always()", True),
        ("github.event.x && failure()", False),
    ],
)
def test_a_condition_holds_or_does_not_or_only_github_knows(text: str, holds: bool | None) -> None:  # noqa: FBT001
    context = {**CONTEXT, "matrix": {"os": "ubuntu-latest"}}
    if text.startswith("${{ matrix.os }} =="):
        # as GitHub does: the pieces are one expression
        assert is_true(evaluate_condition(text, context)) is True
        return
    assert is_true(evaluate_condition(text, context)) is holds


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        alphabet=string.ascii_letters + string.digits + "().,'[]!=<>&|* \"{}$-_@\n\0é", max_size=80
    )
)
def test_no_text_makes_the_evaluator_fail(text: str) -> None:
    evaluate(text, CONTEXT)
    resolve("${{" + text + "}}", CONTEXT)
    resolve(text, CONTEXT)
    evaluate_condition(text, CONTEXT)


PLAIN = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20)
NESTED = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(NESTED)
def test_json_comes_back_as_it_went(value: Any) -> None:
    assert from_json(to_json(value)) == value


@settings(max_examples=100, deadline=None)
@given(PLAIN)
def test_every_value_equals_itself_and_survives_a_literal(value: Any) -> None:
    assert equal(value, value)
    quoted = as_text(value).replace("'", "''")
    assert evaluate(f"'{quoted}'", {}) == as_text(value)
    assert is_true(value) is bool(value)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(["true", "false", "secrets.A", "''", "'x'", "0"]), min_size=1, max_size=6
    ),
    st.data(),
)
def test_a_known_truth_never_contradicts_any_value_of_the_unknown(
    parts: list[str], data: st.DataObject
) -> None:
    expression = parts[0]
    for part in parts[1:]:
        expression = f"({expression}) {data.draw(st.sampled_from(['&&', '||']))} {part}"
    truth = is_true(evaluate(expression, {"secrets": Unknown(("secrets",))}))
    if truth is not None:
        for secret in ("", "x"):
            assert is_true(evaluate(expression, {"secrets": {"A": secret}})) is truth


def test_depth_and_length_are_bounded() -> None:
    for text in (
        "(" * 5_000 + "1" + ")" * 5_000,
        "!" * 5_000 + "1",
        "a" * 50_000,
        "1 ||" * 3_000 + "1",
        "x[" * 900,
    ):
        evaluate(text, CONTEXT)
    assert evaluate("!" * 101 + "1", {}) is False


def test_numbers_are_written_as_github_writes_them() -> None:
    assert [
        as_text(value) for value in (3.0, 3.1, 1e20, math.nan, math.inf, True, None, [1], {"a": 1})
    ] == [
        *("3", "3.1", "1e+20", "NaN", "Infinity", "true", "", "Array", "Object"),
    ]


def test_the_unknown_inside_a_list_is_seen() -> None:
    assert has_unknown([1, {"a": Unknown(("x",))}]) == Unknown(("x",))
    assert has_unknown([1, {"a": 2}]) is None
