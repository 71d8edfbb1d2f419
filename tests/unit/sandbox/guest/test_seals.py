"""Functions that were replaced are told."""

import types
from typing import Any

import pytest

from sandbox.guest.seals import Seals


@pytest.fixture
def judging() -> Any:
    module = types.ModuleType("judging")
    exec(  # noqa: S102 - a module to change
        "class Base:\n    def run(self): pass\n"
        "class Case(Base):\n    def check(self): pass\n    def title(self): pass\n    limit = 3\n"
        "def call(): pass\n"
        "class Ender:\n    def __call__(self): pass\n"
        "end = Ender()\n",
        vars(module),
    )
    return module


def seals(module: Any, **options: Any) -> Seals:
    return Seals(
        [module], frozenset({"title"}), ("compile",), options.get("allowed", lambda value: False)
    )


def test_nothing_changed_is_nothing_told(judging: Any) -> None:
    sealed = seals(judging)
    judging.Case.limit, judging.new = 4, lambda: None
    assert sealed.broken() == []
    assert {function.__name__ for function in sealed.functions()} == {
        "run",
        "check",
        "call",
        "__call__",
    }


@pytest.mark.parametrize(
    ("owner", "name", "told"),
    [
        (None, "call", "judging.call"),
        (None, "Case", "judging.Case"),
        (None, "end", "judging.end"),
        ("Case", "check", "Case.check"),
        ("Base", "run", "Base.run"),
        ("Case", "run", "Case.run"),
        ("Case", "__getattribute__", "Case.__getattribute__"),
        (None, "isinstance", "judging.isinstance"),
    ],
)
def test_what_is_replaced_or_hidden_is_told(
    judging: Any, owner: str | None, name: str, told: str
) -> None:
    sealed = seals(judging)
    setattr(getattr(judging, owner) if owner else judging, name, lambda *_: None)
    assert sealed.broken() == [told]
    assert seals(judging).broken() == []


def test_what_is_taken_away_is_told_and_open_names_are_not(judging: Any) -> None:
    sealed = seals(judging)
    judging.Case.title = lambda self: "x"
    assert sealed.broken() == []
    del judging.call
    assert sealed.broken() == ["judging.call"]


def test_a_plugin_may_replace(judging: Any) -> None:
    allowed = lambda *_: None  # noqa: E731
    sealed = seals(judging, allowed=lambda value: value is allowed)
    judging.call = allowed
    assert sealed.broken() == []


def test_a_name_that_takes_the_place_of_a_removed_one_is_told(judging: Any) -> None:
    sealed = seals(judging)
    del judging.Case.limit
    judging.Case.run = lambda self: None
    assert sealed.broken() == ["Case.run"]


def test_what_changes_after_a_harmless_change_is_told(judging: Any) -> None:
    sealed = seals(judging)
    judging.Case.limit, judging.flag = 4, True
    assert sealed.broken() == []
    judging.flag = lambda: None
    assert sealed.broken() == []
    judging.call, judging.len = judging.flag, judging.flag
    assert sorted(sealed.broken()) == ["judging.call", "judging.len"]


def test_a_flag_that_hides_a_function_may_not_become_one(judging: Any) -> None:
    sealed = seals(judging)
    judging.Case.run = None
    assert sealed.broken() == []
    judging.Case.run = lambda self: None
    assert sealed.broken() == ["Case.run"]


def test_a_plugin_that_replaced_is_asked_again(judging: Any) -> None:
    plugin = lambda *_: None  # noqa: E731
    refused: list[Any] = []
    sealed = seals(judging, allowed=lambda value: value is plugin and value not in refused)
    judging.call = judging.Case.run = plugin
    assert sealed.broken() == []
    refused.append(plugin)
    assert sorted(sealed.broken()) == ["Case.run", "judging.call"]


def test_a_flag_of_the_framework_is_looked_at_once(judging: Any) -> None:
    sealed = seals(judging)
    judging.Case.shown = True
    assert sealed.broken() == []
    [case] = [one for one in sealed._sealed if one.title == "Case."]
    assert case.seen == tuple(vars(judging.Case).values())
