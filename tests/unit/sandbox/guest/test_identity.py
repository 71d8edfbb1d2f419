"""Whether a test is what its file says."""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandbox.guest.identity import Origins, definitions, rewriting

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
    assert definitions(ast.parse(SOURCE)) == {"test_plain": 4, "test_marked": 7, "TestThis::test_method": 17}


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
    assert definitions(ast.parse("from elsewhere import *\ndef test_plain():\n    pass\n")) == {"test_plain": 2}


def item(path: Path, name: str, function: object) -> SimpleNamespace:
    return SimpleNamespace(path=path, nodeid=f"a/{path.name}::{name}", _obj=function)


@pytest.fixture
def module(tmp_path: Path) -> dict[str, object]:
    path = tmp_path / "test_a.py"
    path.write_text(SOURCE)
    names: dict[str, object] = {"PATH": path}
    exec(compile(SOURCE, str(path), "exec"), names)  # noqa: S102 - what importing it does
    return names


def test_the_function_of_the_file_is_itself(module: dict[str, object]) -> None:
    path, origins = module["PATH"], Origins()
    assert isinstance(path, Path)
    for name in ("test_plain", "test_marked", "test_decorated"):
        assert not origins.exchanged(item(path, name, module[name]))
    assert not origins.exchanged(item(path, "test_marked[1]", module["test_marked"]))
    assert not origins.exchanged(item(path, "test_elsewhere", lambda: None))


def test_another_function_in_its_place_is_told(module: dict[str, object]) -> None:
    path, origins = module["PATH"], Origins()
    assert isinstance(path, Path)

    def wrapper() -> None:
        """Says what it wraps, but comes from no installed plugin."""

    wrapper.__wrapped__ = module["test_plain"]  # type: ignore[attr-defined]
    for other in (lambda: None, wrapper, module["test_marked"], None, 1):
        assert origins.exchanged(item(path, "test_plain", other))


def test_what_makes_code_of_tests_is_watched() -> None:
    assert {"compile", "rewrite_asserts", "AssertionRewritingHook.exec_module"} <= set(rewriting())
    assert rewriting() == rewriting()
