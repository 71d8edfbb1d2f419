"""Generated repositories whose authors repeat their mistakes, for the learning benchmark."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

REPEAT, STRANGE = 4, 2
"""Missions of a repository, from 0: the one that repeats the first, and the one with a mistake of another habit."""


class Function(NamedTuple):
    """A function with its tests: expressions and what they give."""

    name: str
    source: str
    checks: Sequence[tuple[str, str]]


class Habit(NamedTuple):
    """A mistake that an author makes again and again."""

    name: str
    right: str
    wrong: str
    functions: Sequence[Function]


class Broken(NamedTuple):
    """One mission: a red tree, and the right text of its module."""

    number: int
    files: Mapping[str, str]
    path: str
    right: str
    probes: Sequence[str]
    """Expressions near those of the tests, which tell right fixes from others."""
    is_repeated: bool


def _function(source: str, *checks: tuple[str, str]) -> Function:
    return Function(source.partition("(")[0].removeprefix("def "), source, checks)


BOUNDS = Habit("bounds", "<=", "<", (
    _function("def fits(count, limit):\n    return count <= limit\n",
              ("fits(3, 3)", "True"), ("fits(2, 3)", "True"), ("fits(9, 3)", "False")),
    _function("def until(values, last):\n    return [value for value in values if value <= last]\n",
              ("until([1, 2, 3], 2)", "[1, 2]"), ("until([5], 2)", "[]"), ("until([0], 2)", "[0]")),
    _function("def grade(points, bound):\n    if points <= bound:\n        return 'low'\n    return 'high'\n",
              ("grade(5, 5)", "'low'"), ("grade(9, 5)", "'high'"), ("grade(1, 5)", "'low'")),
    _function("def refund(days, price):\n    share = 100 if days <= 14 else 50\n    return price * share // 100\n",
              ("refund(14, 80)", "80"), ("refund(15, 80)", "40"), ("refund(2, 80)", "80")),
))  # fmt: skip
LAST = Habit("last index", "len({0}) - 1", "len({0})", (
    _function("def last_place(rows):\n    return len(rows) - 1\n",
              ("last_place([4, 5])", "1"), ("last_place([4])", "0"), ("type(last_place([]))", "int")),
    _function("def gaps(stops):\n    return max(0, len(stops) - 1)\n",
              ("gaps([1, 2, 3])", "2"), ("gaps([])", "0"), ("type(gaps([1]))", "int")),
    _function("def progress(done):\n    return 10 * (len(done) - 1)\n",
              ("progress('abc')", "20"), ("progress('a')", "0"), ("type(progress('ab'))", "int")),
    _function("def pairs(names):\n    return (len(names) - 1) * len(names) // 2\n",
              ("pairs('abc')", "3"), ("pairs('')", "0"), ("type(pairs('ab'))", "int")),
))  # fmt: skip
STRIP = Habit("strip", ".strip().lower()", ".lower()", (
    _function("def key(text):\n    return text.strip().lower()\n",
              ("key(' A ')", "'a'"), ("key('B')", "'b'"), ("key('c')", "'c'")),
    _function("def same(one, other):\n    return one.strip().lower() == other\n",
              ("same(' Yes', 'yes')", "True"), ("same('no', 'yes')", "False"), ("same('YES', 'yes')", "True")),
    _function("def tags(line):\n    return [part.strip().lower() for part in line.split(',')]\n",
              ("tags('A, B')", "['a', 'b']"), ("tags('c')", "['c']"), ("tags('D,E')", "['d', 'e']")),
    _function("def domain(mail):\n    return mail.strip().lower().partition('@')[2]\n",
              ("domain('A@B.org ')", "'b.org'"), ("domain('a@B')", "'b'"), ("domain('a')", "''")),
))  # fmt: skip
BOTH = Habit("both", " and ", " or ", (
    _function("def may_edit(owner, is_open):\n    return bool(owner and is_open)\n",
              ("may_edit(True, False)", "False"), ("may_edit(True, True)", "True"), ("may_edit(False, False)", "False")),
    _function("def in_range(value, low, high):\n    return low < value and value < high\n",
              ("in_range(9, 1, 5)", "False"), ("in_range(3, 1, 5)", "True"), ("in_range(4, 1, 5)", "True")),
    _function("def is_due(paid, days):\n    return not paid and days > 30\n",
              ("is_due(True, 40)", "False"), ("is_due(False, 40)", "True"), ("is_due(True, 0)", "False")),
    _function("def ready(parts, tested):\n    if parts > 2 and tested:\n        return 'go'\n    return 'wait'\n",
              ("ready(5, False)", "'wait'"), ("ready(5, True)", "'go'"), ("ready(0, False)", "'wait'")),
))  # fmt: skip
HABITS = (BOUNDS, LAST, STRIP, BOTH)


def missions(repository: int, seed: int = 1) -> Iterator[Broken]:
    """Yield the missions of one repository, in order: three of its author's habit, one of another, one again.

    Args:
        repository: Its number, which names the author's habit.
        seed: Of the order of the functions.
    """
    chance = random.Random(f"{seed}/{repository}")  # noqa: S311 -- no secret
    own, other = HABITS[repository % len(HABITS)], HABITS[(repository + 1) % len(HABITS)]
    first, second, third, _ = chance.sample(own.functions, 4)
    stranger = chance.choice(other.functions)
    right = {"own.py": own, "other.py": other}
    files = {path: "\n\n".join(f.source for f in habit.functions) for path, habit in right.items()}
    tests = {f"test_{path}": _tests(path, habit) for path, habit in right.items()}
    chosen = [(own, first), (own, second), (other, stranger), (own, third), (own, first)]
    for number, (habit, function) in enumerate(chosen):
        path = "own.py" if habit is own else "other.py"
        broken = files[path].replace(function.source, break_function(habit, function))
        red = {**files, **tests, path: broken}
        probes = [probe for one in habit.functions for probe in _near(one)]
        yield Broken(number, red, path, files[path], probes, is_repeated=number == REPEAT)


def _near(function: Function) -> Iterator[str]:
    """Yield the expressions of a function's checks, and near ones.

    Each number is one lower and one higher, each text and list has its last item removed or twice.
    """
    for expression, _ in function.checks:
        yield expression
        for found in re.finditer(r"'[^']*'|\[[^\]]*\]", expression):
            for near in (f"{found[0]}[:-1]", f"({found[0]} + {found[0]}[-1:])"):
                yield expression[: found.start()] + near + expression[found.end() :]
        for found in re.finditer(r"\d+", expression):
            for step in (-1, 1):
                value = str(int(found[0]) + step)
                yield expression[: found.start()] + value + expression[found.end() :]


def break_function(habit: Habit, function: Function) -> str:
    """Return a function's source with the habit's mistake."""
    if "{0}" not in habit.right:
        return function.source.replace(habit.right, habit.wrong, 1)
    argument = function.source.partition("(")[2].partition(")")[0]
    return function.source.replace(habit.right.format(argument), habit.wrong.format(argument), 1)


def _tests(path: str, habit: Habit) -> str:
    """Return a module with one test for each check."""
    module = path.removesuffix(".py")
    names = ", ".join(function.name for function in habit.functions)
    tests = [
        f"def test_{function.name}_{number}():\n    assert {expression} == {result}\n"
        for function in habit.functions
        for number, (expression, result) in enumerate(function.checks)
    ]
    return "\n\n".join((f"from {module} import {names}\n", *tests))
