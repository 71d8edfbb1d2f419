"""Live functions: which part of an edited function each gets, and when only an import can make them anew."""

import types
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.lanes.swap import SwapLane
from sandbox.guest.search.source.functions import LiveFunctions, Unit, list_units
from sandbox.guest.search.source.render import SourceFile, TextEdit

DECORATOR = """def limited(default):
    limit = 3
    def around(f):
        def wrapper(x):
            return f(x) + limit
        return wrapper
    return around


@limited(10)
def double(x):
    return 2 * x
"""
FACTORY = """def by(key):
    return lambda item: item[0]


KEY = by("a")
"""
TWO = """def pair(flag):
    one = lambda item: item[0]
    two = lambda item: item[1]
    return one, two


ONE, TWO = pair(True)
"""


class World:
    """A module that was imported, and its first function."""

    made = 0

    def __init__(self, text: str) -> None:
        World.made += 1
        filename = f"/live_{World.made}.py"  # functions of other tests may still be alive
        self.text = text
        self.names: dict[str, Any] = {}
        types.FunctionType(compile(text, filename, "exec"), self.names)()
        self.unit: Unit = list_units(SourceFile(filename[1:], text.encode()), filename)[0]
        self.live = LiveFunctions()

    def edited(self, old: str, new: str) -> types.CodeType:
        at = self.text.index(old)
        code = self.unit.compile([TextEdit(at, at + len(old), new)])
        assert code is not None
        return code

    def takes(self, old: str, new: str) -> bool:
        return self.live.takes(self.unit, self.edited(old, new))

    def swap(self, old: str, new: str) -> None:
        for function, code in self.live.swaps(self.unit, self.edited(old, new)):
            function.__code__ = code


def test_a_closure_that_asks_for_the_same_cells_gets_its_new_code() -> None:
    world = World(DECORATOR)
    assert world.takes("f(x) + limit", "f(x) - limit")
    world.swap("f(x) + limit", "f(x) - limit")
    assert world.names["double"](5) == 7


@pytest.mark.parametrize("new", ["f(x) + default", "f(x) + 1", "f(x) + limit + default"])
def test_a_closure_that_asks_for_other_cells_has_to_be_imported_anew(new: str) -> None:
    world = World(DECORATOR)
    assert not world.takes("f(x) + limit", new)
    world.swap("f(x) + limit", new)
    assert world.names["double"](5) == 13, "never the cells of other names"


def test_functions_without_a_name_that_were_made_by_an_import_get_their_new_code() -> None:
    world = World(FACTORY)
    assert world.takes("item[0]", "item[1]")
    world.swap("item[0]", "item[1]")
    assert world.names["KEY"]("xy") == "y"
    assert not World(FACTORY).takes("item[0]", "item[key]")
    assert not World(FACTORY).takes("lambda item: item[0]", "key")


def test_functions_without_a_name_that_stay_as_they_are_are_left_alone() -> None:
    world = World(TWO)
    swaps = world.live.swaps(world.unit, world.edited("return one, two", "return two, one"))
    assert [function.__name__ for function, _ in swaps] == ["pair"]


def test_each_of_several_gets_its_own() -> None:
    world = World(TWO)
    assert world.takes("item[1]", "item[-1]")
    world.swap("item[1]", "item[-1]")
    assert (world.names["ONE"]("abc"), world.names["TWO"]("abc")) == ("a", "c")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("lambda item: item[0]", "len"),
        (
            "one = lambda item: item[0]\n    two = lambda item: item[1]",
            "two = lambda item: item[1]\n    one = lambda item: item[0]",
        ),
        ("one = lambda", "key = lambda: 0\n    one = lambda"),
    ],
)
def test_where_they_may_have_changed_places_they_are_imported_anew(old: str, new: str) -> None:
    assert not World(TWO).takes(old, new)


def test_those_of_one_line_are_told_by_where_they_stand() -> None:
    text = "def pair(x=lambda a: a + 1):\n    return (lambda a: a + 1), (lambda a: a + 1)\n\n\nONE, OTHER = pair()\n"
    world = World(text)
    assert world.takes("a + 1), (", "a + 3), (")
    world.swap("a + 1), (", "a + 3), (")
    assert (world.names["ONE"](1), world.names["OTHER"](1)) == (4, 2)


def test_those_of_one_line_that_cannot_be_told_apart_are_imported_anew() -> None:
    text = "def pair():\n    return (lambda a: a + 1), (lambda a: a + 1)\n\n\nONE, OTHER = pair()\n"
    world = World(text)
    for function in (world.names["ONE"], world.names["OTHER"]):
        function.__code__ = function.__code__.replace(
            co_linetable=b""
        )  # as where columns are not kept
    assert not world.takes("a + 1", "a + 4")
    assert world.takes("return", "pass; return"), (
        "what is equal and stays as it is needs no telling apart"
    )


def test_those_that_call_what_the_module_imports_are_known_again() -> None:
    world = World(
        "import math\n\n\ndef down():\n    return lambda x: math.floor(x)\n\n\nKEY = down()\n"
    )
    assert world.takes("math.floor", "math.ceil")
    world.swap("math.floor", "math.ceil")
    assert world.names["KEY"](1.5) == 2


def test_a_function_that_is_not_alive_is_not_taken() -> None:
    assert not World("def outer():\n    return 1\n\n\ndel outer\n").takes("1", "2")


def test_what_cannot_be_swapped_is_left_to_other_lanes() -> None:
    world = World(DECORATOR)
    items = SimpleNamespace(names=["a"])
    facts: Any = SimpleNamespace(items=items, live=world.live, tests_through=lambda _: ([0], []))
    candidate = CandidatePatch("t", 1.0, 1.0, 1, world.unit.source, world.unit, ())
    lane = SwapLane(facts)
    assert lane.ready(candidate, world.edited("f(x) + limit", "f(x) + default"), None) is None
    assert lane.ready(candidate, world.edited("f(x) + limit", "f(x) - limit"), None) is not None
