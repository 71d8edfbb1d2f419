"""What a failing test owes to statements outside functions of its module is run once more, and nothing else."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from sandbox.guest.search.locate.collection import collect_calls

TEXT = """\
import shop

SIZE = shop.size(3)
KIND = "a"
CART = shop.cart(SIZE)
OTHER = shop.other()


def helper():
    return CART


def test_it():
    assert helper() == KIND


@shop.cases(OTHER)
def test_cases(case):
    assert case


class TestCart:
    table = shop.table()

    def test_inside(self):
        assert self.table
"""


@pytest.fixture
def called() -> list[str]:
    return []


@pytest.fixture
def module(tmp_path: Path, called: list[str]) -> Iterator[ModuleType]:
    def made(name: str) -> Any:
        def make(*_: Any) -> Any:
            called.append(name)
            return lambda function: function

        return make

    names = ("size", "cart", "other", "cases", "table")
    shop = SimpleNamespace(**{name: made(name) for name in names})
    loaded = ModuleType("collected_shop_tests")
    loaded.__file__ = str(tmp_path / "test_shop.py")
    (tmp_path / "test_shop.py").write_text(TEXT)
    loaded.__dict__["shop"] = shop
    sys.modules[loaded.__name__] = loaded
    exec(compile(TEXT.partition("\n")[2], loaded.__file__, "exec"), loaded.__dict__)  # noqa: S102 - our own text
    called.clear()
    yield loaded
    del sys.modules[loaded.__name__]


def run(*functions: Any) -> None:
    for call in collect_calls([SimpleNamespace(function=function) for function in functions]):
        call()


def test_what_makes_the_objects_a_test_uses_runs_again_through_helpers(
    module: ModuleType, called: list[str]
) -> None:
    before = module.CART
    run(module.test_it)
    assert called == ["size", "cart"]
    assert module.CART is before


def test_decorators_of_a_test_and_what_they_read_run_again(
    module: ModuleType, called: list[str]
) -> None:
    run(module.test_cases)
    assert called == ["other", "cases"]


def test_the_body_of_a_class_of_tests_runs_again(module: ModuleType, called: list[str]) -> None:
    run(module.TestCart.test_inside)
    assert called == ["table"]


def test_items_without_a_function_have_nothing_behind_them() -> None:
    assert collect_calls([SimpleNamespace(), SimpleNamespace(function=len)]) == []
