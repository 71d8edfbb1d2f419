"""Leftovers: what was changed is noticed and put back, whatever kind of container it stands in."""

import collections
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typing_extensions import override

from sandbox.guest.search.session.state_snapshot import RESTORED, SAME, StateSnapshot

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


def leftovers(module: types.ModuleType, more: tuple[object, ...] = ()) -> StateSnapshot:
    return StateSnapshot(str(module.__file__).rsplit("/", 1)[0], more)


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
    before = repr(
        (
            module.NUMBERS,
            module.NAMES,
            module.SEEN,
            module.QUEUE,
            module.ONE.parts,
            module.Thing.kinds,
        )
    )
    state = leftovers(module)
    assert state.restore() == SAME
    CHANGES[change](module)
    assert state.restore() == RESTORED
    assert state.restore() == SAME
    after = repr(
        (
            module.NUMBERS,
            module.NAMES,
            module.SEEN,
            module.QUEUE,
            module.ONE.parts,
            module.Thing.kinds,
        )
    )
    assert after == before
    assert module.square.cache_info().currsize == 0


def test_parameters_that_tests_share_are_put_back(module: types.ModuleType) -> None:
    items, counts = [3, 1, 2], collections.Counter("ab")
    state = leftovers(module, ((items, "x"), counts))
    items.sort()
    counts["c"] += 1
    assert state.restore() == RESTORED
    assert items == [3, 1, 2]
    assert counts == collections.Counter("ab")


def test_modules_of_others_are_left_alone(module: types.ModuleType) -> None:
    state = leftovers(module)
    collections.somebody = 1  # type: ignore[attr-defined]
    assert state.restore() == SAME
    del collections.somebody  # type: ignore[attr-defined]


def test_a_cache_that_held_something_already_is_emptied(module: types.ModuleType) -> None:
    module.square(2)
    state = leftovers(module)
    module.square(3)
    assert state.restore() == RESTORED
    assert module.square.cache_info().currsize == 0
    assert state.restore() == SAME


HELD = """
import collections, functools

def memoize(function):
    results, calls, last = {}, 0, None
    def asked(value):
        nonlocal calls, last
        calls += 1
        last = value
        if value not in results:
            results[value] = function(value)
        return results[value]
    def late():
        return later
    asked.forget = lambda: later
    if calls:
        later = 1
    def keep(value):
        nonlocal later
        later = value
    asked.keep = keep
    return asked

@memoize
def cube(n): return n ** 3

def counted(n):
    counted.calls = getattr(counted, "calls", 0) + 1
    return n

@functools.lru_cache(maxsize=1)
def last(n): return n

@functools.lru_cache(maxsize=None)
def behind(n, known=[]):
    known.append(n)

class Names(dict):
    def __ne__(self, other): raise TypeError
    def __setitem__(self, key, value): raise TypeError
    def items(self): return [("nobody", 0)]

class Line(list):
    def __iter__(self): return iter(())

class Kinds(set): pass
class Waiting(collections.deque): pass
class Sorted(collections.OrderedDict): pass
class Counts(collections.Counter): pass
class Pair(collections.namedtuple("Pair", "left right")): pass

class Slotted:
    __slots__ = ("value", "later", "parts")
    def __init__(self): self.value, self.parts = 1, []

class Asking(Slotted):
    __slots__ = ()
    def __getattr__(self, name): raise AttributeError(name)

class Odd:
    def __eq__(self, other): raise TypeError
    __hash__ = None

NAMES, LINE, KINDS, WAITING = Names(a=1), Line([1]), Kinds([1]), Waiting([1])
SORTED, COUNTS, PAIR = Sorted(a=1, b=2), Counts("aab"), Pair([1], 2)
NAMES.owner = []
SLOTTED, ASKING, ODD = Slotted(), Asking(), [Odd()]
last(1)
"""

HELD_CHANGES: dict[str, Callable[[Any], object]] = {
    "a dictionary in a closure": lambda m: m.cube(3),
    "an empty cell": lambda m: m.cube.keep(3),
    "the first attribute of a function": lambda m: m.counted(1),
    "another value in a full cache": lambda m: m.last(2),
    "the default behind a cache": lambda m: m.behind(1),
    "a dictionary of its own class": lambda m: dict.__setitem__(m.NAMES, "b", 2),
    "its attribute": lambda m: m.NAMES.owner.append(1),
    "a list of its own class": lambda m: m.LINE.append(2),
    "a set of its own class": lambda m: m.KINDS.add(2),
    "a queue of its own class": lambda m: m.WAITING.append(2),
    "an ordered dictionary of its own class": lambda m: m.SORTED.pop("a"),
    "a counter of its own class": lambda m: m.COUNTS.update("a"),
    "a list in a named tuple": lambda m: m.PAIR.left.append(2),
    "a slot": lambda m: setattr(m.SLOTTED, "value", 2),
    "a slot that is emptied": lambda m: delattr(m.SLOTTED, "value"),
    "an empty slot": lambda m: setattr(m.SLOTTED, "later", 2),
    "an empty slot of who is asked": lambda m: setattr(m.ASKING, "later", 2),
    "a list in a slot": lambda m: m.SLOTTED.parts.append(1),
    "what will not be compared": lambda m: m.ODD.__setitem__(0, m.Odd()),
}


def held(m: Any) -> object:
    """Everything there is in that module, as far as it tells."""
    cells = [cell for cell in m.cube.__closure__ if cell != types.CellType()]
    return (
        [cell.cell_contents for cell in cells if type(cell.cell_contents) in (dict, int)],
        m.cube.forget.__closure__[0] == types.CellType(),
        (vars(m.counted), m.last.cache_info().currsize < 2, m.behind.__wrapped__.__defaults__),
        (dict(dict.items(m.NAMES)), m.NAMES.owner, list.copy(m.LINE), m.KINDS, m.WAITING),
        (list(m.SORTED), m.SORTED["b"], dict(m.COUNTS), m.PAIR),
        [
            [getattr(o, name, "nothing") for name in ("value", "later", "parts")]
            for o in (m.SLOTTED, m.ASKING)
        ],
        id(m.ODD[0]),
    )


@pytest.mark.parametrize("change", HELD_CHANGES)
def test_what_hides_is_noticed_and_put_back(change: str, tmp_path: Any) -> None:
    module: Any = types.ModuleType("held_for_leftovers")
    module.__file__ = str(tmp_path / "held_for_leftovers.py")
    sys.modules[module.__name__] = module
    try:
        exec(compile(HELD, module.__file__, "exec"), module.__dict__)  # noqa: S102  # the text above
        before = repr(held(module))
        state = StateSnapshot(str(tmp_path))
        assert state.restore() == SAME
        kept = module.ODD[0]
        HELD_CHANGES[change](module)
        assert state.restore() == RESTORED
        assert state.restore() == SAME
        assert repr(held(module)) == before
        assert module.ODD[0] is kept
    finally:
        del sys.modules[module.__name__]


class OutOfContext:
    """A proxy as web frameworks have them: outside of a request every attribute raises."""

    @override
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("Working outside of request context.")


def test_a_proxy_that_answers_nothing_is_left_alone(module: types.ModuleType) -> None:
    request = vars(module)["request"] = OutOfContext()
    kept = leftovers(module, (request,))
    module.NUMBERS.append(4)
    assert kept.restore() == RESTORED
    assert module.NUMBERS == [1, [2, 3]]
