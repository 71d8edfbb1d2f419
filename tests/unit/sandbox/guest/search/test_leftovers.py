"""Leftovers: what was changed is noticed and put back, whatever kind of container it stands in."""

import collections
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sandbox.guest.search.leftovers import RESTORED, SAME, Leftovers

MODULE = """
import functools, random
NUMBERS = [1, [2, 3]]
NAMES = {"a": {"b": 1}}
SEEN = set()
QUEUE = __import__("collections").deque([1])

class Thing:
    kinds = []
    def __init__(self): self.parts = []

class Colour(__import__("enum").Enum):
    RED = 1

ONE = Thing()

def remember(value, known=[]):
    known.append(value)

@functools.lru_cache(maxsize=None)
def square(n): return n * n
"""


@pytest.fixture
def module(tmp_path: Any) -> Iterator[types.ModuleType]:
    """A module of a repository in a folder of its own."""
    path = tmp_path / "thing_for_leftovers.py"
    path.write_text(MODULE)
    found = types.ModuleType("thing_for_leftovers")
    found.__file__ = str(path)
    sys.modules[found.__name__] = found
    exec(compile(MODULE, str(path), "exec"), found.__dict__)  # noqa: S102  # the text above
    yield found
    del sys.modules[found.__name__]


def leftovers(module: types.ModuleType, more: tuple[object, ...] = ()) -> Leftovers:
    return Leftovers(str(module.__file__).rsplit("/", 1)[0], more)


CHANGES: dict[str, Callable[[Any], object]] = {
    "a list": lambda m: m.NUMBERS.append(4),
    "a list inside": lambda m: m.NUMBERS[1].clear(),
    "a dictionary": lambda m: m.NAMES.pop("a"),
    "a dictionary inside": lambda m: m.NAMES["a"].update(c=2),
    "a set": lambda m: m.SEEN.add(1),
    "a queue": lambda m: m.QUEUE.append(2),
    "a name": lambda m: setattr(m, "NUMBERS", []),
    "a new name": lambda m: setattr(m, "MORE", 1),
    "a class": lambda m: setattr(m.Thing, "kinds", [1]),
    "a list of a class": lambda m: m.Thing.kinds.append(1),
    "a method": lambda m: setattr(m.Thing, "method", lambda self: 1),
    "an object": lambda m: m.ONE.parts.append(1),
    "a new attribute": lambda m: setattr(m.ONE, "more", 1),
    "a default": lambda m: m.remember(1),
    "a cache": lambda m: m.square(3),
    "random numbers": lambda _: random.random(),  # noqa: S311
    "the path": lambda _: sys.path.append("/nowhere"),
    "the limit of recursion": lambda _: sys.setrecursionlimit(sys.getrecursionlimit() + 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noticed_and_put_back(change: str, module: types.ModuleType) -> None:
    before = repr((module.NUMBERS, module.NAMES, module.SEEN, module.QUEUE, module.ONE.parts, module.Thing.kinds))
    state = leftovers(module)
    assert state.put_back() == SAME
    CHANGES[change](module)
    assert state.put_back() == RESTORED
    assert state.put_back() == SAME
    after = repr((module.NUMBERS, module.NAMES, module.SEEN, module.QUEUE, module.ONE.parts, module.Thing.kinds))
    assert after == before
    assert module.square.cache_info().currsize == 0


def test_parameters_that_tests_share_are_put_back(module: types.ModuleType) -> None:
    items, counts = [3, 1, 2], collections.Counter("ab")
    state = leftovers(module, ((items, "x"), counts))
    items.sort()
    counts["c"] += 1
    assert state.put_back() == RESTORED
    assert items == [3, 1, 2]
    assert counts == collections.Counter("ab")


def test_modules_of_others_are_left_alone(module: types.ModuleType) -> None:
    state = leftovers(module)
    collections.somebody = 1  # type: ignore[attr-defined]
    assert state.put_back() == SAME
    del collections.somebody  # type: ignore[attr-defined]


def test_a_cache_that_held_something_already_is_emptied(module: types.ModuleType) -> None:
    module.square(2)
    state = leftovers(module)
    module.square(3)
    assert state.put_back() == RESTORED
    assert module.square.cache_info().currsize == 0
    assert state.put_back() == SAME
