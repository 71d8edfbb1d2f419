"""A test is what its file says, or it is told."""

import ast
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandbox.guest.compiled import Compiled
from sandbox.guest.identity import Origins, compiling_functions, definitions

SOURCE = """
import pytest, functools

def test_plain():
    pass

@pytest.mark.parametrize("x", [1])
@pytest.mark.slow
def test_marked(x):
    pass

@functools.lru_cache
def test_decorated():
    pass

class TestThis:
    def test_method(self):
        pass

def test_twice():
    pass

test_twice = 1
if True:
    def test_inner():
        pass
"""


def test_only_what_is_plainly_defined_once_has_a_line() -> None:
    assert definitions(ast.parse(SOURCE)) == {
        "test_plain": 4,
        "test_marked": 7,
        "TestThis::test_method": 17,
    }


@pytest.mark.parametrize(
    "after",
    [
        "from elsewhere import test_plain",
        "from elsewhere import other as test_plain",
        "import test_plain.more",
        "if True:\n    from elsewhere import test_plain",
        "from elsewhere import *",
        "try:\n    pass\nexcept OSError as test_plain:\n    pass",
        "with open('x') as test_plain:\n    pass",
    ],
)
def test_a_name_that_gets_another_meaning_has_no_line(after: str) -> None:
    assert definitions(ast.parse(f"def test_plain():\n    pass\n\n{after}\n")) == {}


def test_what_is_defined_below_a_star_keeps_its_line() -> None:
    assert definitions(ast.parse("from elsewhere import *\ndef test_plain():\n    pass\n")) == {
        "test_plain": 2
    }


def item(path: Path, name: str, function: object) -> SimpleNamespace:
    return SimpleNamespace(path=path, nodeid=f"a/{path.name}::{name}", _obj=function)


@pytest.fixture
def module(tmp_path: Path) -> dict[str, object]:
    path = tmp_path / "test_a.py"
    path.write_text(SOURCE)
    names: dict[str, object] = {"PATH": path, "__name__": "test_a"}
    exec(compile(SOURCE, str(path), "exec"), names)  # noqa: S102 - what importing it does
    return names


def test_the_function_of_the_file_is_itself(module: dict[str, object]) -> None:
    path, origins = module["PATH"], Origins(Compiled(()))
    assert isinstance(path, Path)
    for name in ("test_plain", "test_marked", "test_decorated"):
        assert not origins.exchanged(item(path, name, module[name]))
    assert not origins.exchanged(item(path, "test_marked[1]", module["test_marked"]))
    assert not origins.exchanged(item(path, "test_elsewhere", lambda: None))


def test_another_function_in_its_place_is_told(module: dict[str, object]) -> None:
    path, origins = module["PATH"], Origins(Compiled(()))
    assert isinstance(path, Path)

    def wrapper() -> None:
        """Says what it wraps, but comes from no installed plugin."""

    wrapper.__wrapped__ = module["test_plain"]  # type: ignore[attr-defined]
    for other in (lambda: None, wrapper, module["test_marked"], None, 1):
        assert origins.exchanged(item(path, "test_plain", other))


def test_other_code_or_other_names_behind_the_same_place_are_told(
    module: dict[str, object],
) -> None:
    path, function, origins = module["PATH"], module["test_plain"], Origins(Compiled(()))
    assert isinstance(path, Path)
    assert isinstance(function, types.FunctionType)
    code = (lambda: None).__code__.replace(
        co_filename=function.__code__.co_filename,
        co_firstlineno=4,
        co_name="test_plain",
        co_qualname="test_plain",
    )
    same_but_true = function.__code__.replace(co_consts=(True,))
    for other in (code, same_but_true):
        assert origins.exchanged(item(path, "test_plain", types.FunctionType(other, module)))
    imported = types.ModuleType("exchanged_test_a")
    imported.__file__ = module["__file__"] = str(path)
    module["__name__"] = imported.__name__
    sys.modules[imported.__name__] = imported
    try:
        assert origins.exchanged(item(path, "test_plain", function))
    finally:
        del sys.modules[imported.__name__]
    assert not origins.exchanged(item(path, "test_plain", function))


def test_a_target_counts_as_it_was_at_the_start(module: dict[str, object]) -> None:
    path = module["PATH"]
    assert isinstance(path, Path)
    origins = Origins(Compiled([f"{path}::test_plain"]))
    path.write_text(SOURCE.replace("def test_plain():\n    pass", "def test_plain():\n    return"))
    later: dict[str, object] = {"__name__": "test_a"}
    exec(compile(path.read_text().replace("return", "1 + 1; pass"), str(path), "exec"), later)  # noqa: S102
    assert not origins.exchanged(item(path, "test_plain", module["test_plain"]))
    assert origins.exchanged(item(path, "test_plain", later["test_marked"]))


def test_what_makes_code_of_tests_is_watched() -> None:
    assert {"compile", "rewrite_asserts", "AssertionRewritingHook.exec_module"} <= set(
        compiling_functions()
    )
    assert compiling_functions() == compiling_functions()
