"""An edited file put into loaded modules: every function becomes what it is in the file, and no other."""

import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.guest.search.compare.graft import graft

CLOSURE = """def limited(default):
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
PROPERTY = """class A:
    @property
    def x(self):
        return 1

    @x.setter
    def x(self, value):
        self.y = value
"""


class Grafted:
    """A module that is loaded from a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder.resolve() / "grafted_here.py"
        self.module = types.ModuleType("grafted_here")
        self.module.__file__ = str(self.path)
        sys.modules["grafted_here"] = self.module

    def load(self, text: str) -> types.ModuleType:
        self.path.write_text(text)
        exec(compile(text, str(self.path), "exec"), vars(self.module))  # noqa: S102 - our own text
        return self.module

    def graft(self, text: str) -> None:
        assert graft(str(self.path), text.encode())


@pytest.fixture
def grafted(tmp_path: Path) -> Iterator[Grafted]:
    yield Grafted(tmp_path)
    del sys.modules["grafted_here"]


def test_closures_with_cells_of_other_names_stay_as_they_were(grafted: Grafted) -> None:
    old = grafted.load(CLOSURE).double
    grafted.graft(CLOSURE.replace("f(x) + limit", "f(x) - limit"))
    assert old(5) == 7
    grafted.graft(CLOSURE.replace("f(x) + limit", "f(x) + default"))
    assert old(5) == 7, "never the cells of other names"


def test_functions_of_one_qualified_name_are_told_apart(grafted: Grafted) -> None:
    made = grafted.load(PROPERTY).A()
    grafted.graft("import sys\n\n" + PROPERTY.replace("return 1", "return 2"))
    made.x = 5
    assert (made.x, made.y) == (2, 5)


def test_functions_without_a_name_are_told_apart(grafted: Grafted) -> None:
    module = grafted.load(
        "ONE, TWO = (lambda a: a + 1), (lambda a: a + 2)\nTHREE = lambda a: a + 3\n"
    )
    one, two, three = module.ONE, module.TWO, module.THREE
    grafted.graft("\nONE, TWO = (lambda a: a + 10), (lambda a: a + 2)\nTHREE = lambda a: a * 3\n")
    assert (one(1), two(1), three(1)) == (11, 3, 3)
