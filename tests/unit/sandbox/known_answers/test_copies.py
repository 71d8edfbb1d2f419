"""Copies do what their originals do, and then give the answer that was decided for them."""

import ast
import asyncio
import inspect
import re
from random import Random
from typing import Any

import pytest

from sandbox.known_answers.copies import Copy, Qualname, Rewritten, add_copies, replace_originals

PLAIN = "def test_a():\n    x = [1]\n    assert x, 'no'\n    assert len(x) == 1\n"
SEEDS = range(12)


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - the same copies in every run


def copied(source: str, *names: str, seed: int = 0, number: int = 1) -> Rewritten:
    wanted: dict[Qualname, int] = {tuple(name.split("::")): number for name in names}
    made = add_copies(source, wanted, seeded(seed))
    assert made is not None
    return made


def run(text: str, name: Qualname, *arguments: object) -> bool:
    """Return whether a function of a module returns instead of raising AssertionError."""
    module: dict[str, Any] = {"__name__": "module"}
    exec(compile(text, "module.py", "exec"), module)  # noqa: S102 - a test's own text
    found: Any = module[name[0]]
    for part in name[1:]:
        found = getattr(found() if inspect.isclass(found) else found, part)
    try:
        done = found(*arguments)
        if inspect.iscoroutine(done):
            asyncio.run(done)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("source", "name", "arguments"),
    [
        (PLAIN, "test_a", ()),
        ("def test_a():\n    'doc'\n    assert 1\n", "test_a", ()),
        ("def test_a(): pass\n", "test_a", ()),
        ("def test_a(x):\n    if x:\n        return\n    assert x is None\n", "test_a", (True,)),
        ("def test_a(x):\n    if x:\n        return\n    assert x is None\n", "test_a", (None,)),
        ("def test_a():\n    try:\n        return 1\n    finally:\n        x = 1\n", "test_a", ()),
        (
            "def test_a():\n    def f():\n        return 4\n    assert f() == 4\n    assert (lambda: f())()\n",
            "test_a",
            (),
        ),
        (
            "class T:\n    def test_a(self):\n        super().__init__()\n        assert self\n",
            "T::test_a",
            (),
        ),
        ("class A:\n\tclass B:\n\t\tdef test_a(self):\n\t\t\tassert self\n", "A::B::test_a", ()),
        (
            "def test_a():\n    t = __import__('unittest').TestCase()\n    t.assertEqual('ab' + 'c', 'abc')\n",
            "test_a",
            (),
        ),
        (
            "def test_a():\n    assert f'{5:>{3}}' == '  5' and -2 == [1, -2][1] and True is True\n",
            "test_a",
            (),
        ),
        ("async def test_a():\n    assert 1\n", "test_a", ()),
        ('def test_a():\n    assert f"""{1}\n b""" == "1\\n b"\n', "test_a", ()),
        (
            "def test_a():\n    for i in range(3):\n        if i == 2:\n            assert i > 1\n",
            "test_a",
            (),
        ),
    ],
)
def test_both_kinds_give_their_answer(
    source: str, name: str, arguments: tuple[object, ...], seed: int
) -> None:
    made = copied(source, name, seed=seed, number=2)
    assert sorted(copy.passes for copy in made.copies) == [False, False, True, True]
    for copy in made.copies:
        assert run(made.text, copy.name, *arguments) is copy.passes, ast.unparse(
            ast.parse(made.text)
        )
    assert run(made.text, tuple(name.split("::")), *arguments)
    for passes in (True, False):
        wanted: Qualname = tuple(name.split("::"))
        replaced = replace_originals(source, [wanted], seeded(seed), passes=passes)
        assert replaced is not None
        assert replaced.copies == (Copy(original=wanted, name=wanted, passes=passes),)
        assert run(replaced.text, wanted, *arguments) is passes


HELPED = """
import contextlib, unittest


class Quiet(unittest.TestCase):
    assertEqual = assertIn = lambda self, *values: None


@contextlib.contextmanager
def raises(error):
    with contextlib.suppress(error):
        yield


class Case(Quiet):
    def test_equal(self):
        self.assertEqual(1 + 1, 3)

    def test_in(self):
        self.assertIn(1, [2])

    def test_block(self):
        with raises(ValueError):
            int("1")
"""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["test_equal", "test_in", "test_block"])
def test_a_helper_that_accepts_everything_passes_a_copy_that_must_fail(
    name: str, seed: int
) -> None:
    """It passes the copy with the negated assertion. There is always one: among two, or in place."""
    made = copied(HELPED, f"Case::{name}", seed=seed, number=2)
    wrong = [copy.name[-1] for copy in made.copies if not copy.passes]
    in_place = replace_originals(HELPED, [("Case", name)], seeded(seed), passes=False, negates=True)
    assert in_place is not None
    assert sorted(_passes(made.text, each) for each in wrong) == [False, True]
    assert _passes(in_place.text, name)


def _passes(text: str, name: str) -> bool:
    module: dict[str, Any] = {"__name__": "module"}
    exec(compile(text, "module.py", "exec"), module)  # noqa: S102 - a test's own text
    return bool(module["Case"](name).run().wasSuccessful())


def test_a_red_original_has_only_red_copies() -> None:
    made = copied("def test_a():\n    assert 1 == 2\n", "test_a", number=8)
    outcomes = {copy.passes: run(made.text, copy.name) for copy in made.copies if copy.passes}
    assert outcomes == {True: False}


def test_copies_carry_decorators_and_new_names_that_begin_like_the_original() -> None:
    source = "def mark(f):\n    return f\n@mark\ndef test_a(x=1):\n    assert x\n"
    made = copied(source, "test_a")
    for copy in made.copies:
        assert copy.name[0].startswith("test_a_")
        assert f"@mark\ndef {copy.name[0]}(x=1):" in made.text
    assert len({copy.name for copy in made.copies}) == 2


def test_no_text_or_order_gives_an_answer_away() -> None:
    """Assertions of the original appear in no copy as they were, and the kinds come in both orders."""
    orders = set()
    for seed in SEEDS:
        made = copied("def test_a(x=1):\n    assert x == 1\n", "test_a", seed=seed)
        assert made.text.count("    assert x == 1\n") == 1
        assert len(re.findall(r"x == 1(?!\d| -)", made.text)) == 1
        orders.add(tuple(copy.passes for copy in made.copies))
    assert orders == {(True, False), (False, True)}


def test_an_example_in_a_docstring_is_not_run_again() -> None:
    made = copied("def test_a():\n    '''\n    >>> 1\n    1\n    '''\n    assert 1\n", "test_a")
    assert made.text.count(">>> 1") == 1


@pytest.mark.parametrize(
    "source",
    [
        "def test_b():\n    pass\n",
        "test_a = lambda: None\n",
        "def test_a():\n    yield 1\n",
        "class test_a:\n    pass\n",
        "def test_a(:\n",
        "x = " + "(" * 200 + "1" + ")" * 200,
    ],
)
def test_what_is_no_plain_function_is_not_copied(source: str) -> None:
    assert add_copies(source, {("test_a",): 1}, seeded(0)) is None
    assert replace_originals(source, [("test_a",)], seeded(0), passes=True) is None


def test_of_two_definitions_the_last_one_counts() -> None:
    made = copied("def test_a():\n    assert 0\ndef test_a():\n    assert 1\n", "test_a")
    assert [run(made.text, copy.name) for copy in made.copies] == [
        copy.passes for copy in made.copies
    ]


def test_a_function_with_a_very_long_chain_is_not_copied() -> None:
    source = f"def test_a():\n    assert {' + '.join(['1'] * 900)}\n"
    wanted: dict[Qualname, int] = {("test_a",): 1}
    assert add_copies(source, wanted, seeded(1)) is None
    assert replace_originals(source, wanted, seeded(1), passes=True) is None
