"""Guided templates propose the edits of their tables, only for their exceptions, and never raise."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from sandbox.guest.search.candidates.lookups import Lookups
from sandbox.guest.search.candidates.spots import FailureContext, find_spots
from sandbox.guest.search.candidates.templates.guided import load_guided_templates
from sandbox.guest.search.session.failures import FailureRecord
from sandbox.guest.search.source.render import SourceFile

TEMPLATES: dict[str, Any] = load_guided_templates()
CHANGES = [(name, *row) for name, template in TEMPLATES.items() for row in template.CHANGES]
UNTOUCHED = [(name, *row) for name, template in TEMPLATES.items() for row in template.UNTOUCHED]
BASES = {
    "ModuleNotFoundError": ["ImportError"],
    "UnboundLocalError": ["NameError"],
    "DeprecationWarning": ["Warning"],
}


def opener(text: str) -> Callable[[str], SourceFile | None]:
    source = SourceFile("module.py", text.encode())
    return lambda path: source if path == "module.py" else None


def results(
    name: str, said: str, line: int | None, text: str, extra: dict[str, Any] | None = None
) -> list[str]:
    kind, _, message = said.partition(": ")
    frames = (("module.py", line, "f"),) if line else (("test_module.py", 1, "test"),)
    failure = FailureRecord(kind, message, frames, {"bases": BASES.get(kind, []), **(extra or {})})
    open_source = opener(text)
    view = FailureContext(failure, find_spots(failure, open_source), open_source, lookups())
    changes = list(TEMPLATES[name].propose(view))
    return [change.source.render(change.edits).decode() for change in changes]


@cache
def lookups() -> Lookups:
    return Lookups("/nowhere", seconds=60.0)


@pytest.mark.parametrize("row", CHANGES, ids=lambda row: f"{row[0]}: {row[1]}"[:60])
def test_a_guided_template_makes_the_change_its_table_shows(row: tuple[Any, ...]) -> None:
    name, said, line, old, new, *extra = row
    made = results(name, said, line, old, *extra)
    assert new in made, "\n----\n".join(made[:30])


@pytest.mark.parametrize("row", UNTOUCHED, ids=lambda row: f"{row[0]}: {row[1]}"[:60])
def test_a_guided_template_leaves_alone_what_its_table_shows(row: tuple[Any, ...]) -> None:
    name, said, line, old, *extra = row
    assert results(name, said, line, old, *extra) == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_guided_template_has_a_sentence_a_cost_and_both_tables(name: str) -> None:
    template = TEMPLATES[name]
    assert template.__doc__
    assert template.CHANGES
    assert template.UNTOUCHED
    assert 0 < template.COST < 2
