"""Templates outside functions propose the edits of their tables, nothing else, and never raise."""

from functools import cache
from typing import Any

import pytest

from sandbox.guest.search.candidates.generator import cheapest
from sandbox.guest.search.candidates.templates.outer import load_outer_templates
from sandbox.guest.search.source.outer_scope import OuterScope
from sandbox.guest.search.source.render import SourceFile
from sandbox.guest.search.source.scope import SeenLiterals

TEMPLATES: dict[str, Any] = load_outer_templates()
CHANGES = [
    (name, old, new) for name, template in TEMPLATES.items() for old, new in template.CHANGES
]
UNTOUCHED = [(name, old) for name, template in TEMPLATES.items() for old in template.UNTOUCHED]


@cache
def proposed(name: str, text: str) -> tuple[tuple[float, str], ...]:
    source = SourceFile("module.py", text.encode())
    scope = OuterScope(source, SeenLiterals((42,), ("seen",)))
    found = []
    for piece in scope.pieces():
        narrow = scope.of(piece)
        for node in [*narrow.nodes, narrow.root]:
            proposals = [p for p in TEMPLATES[name].propose(node, narrow) if p is not None]
            found += [(p.cost, source.render(p.edits).decode()) for p in proposals]
    return tuple(found)


def results(name: str, text: str) -> list[str]:
    return [result for _, result in proposed(name, text)]


@pytest.mark.parametrize(("name", "old"), [(name, old) for name, old, _ in CHANGES])
def test_nothing_costs_less_than_an_outer_template_says(name: str, old: str) -> None:
    """A statement is worked out when its cheapest candidate may be next: one that is cheaper would come too late."""
    assert all(cost >= cheapest(TEMPLATES[name]) - 1e-9 for cost, _ in proposed(name, old))


@pytest.mark.parametrize(("name", "old", "new"), CHANGES)
def test_an_outer_template_makes_the_change_its_table_shows(name: str, old: str, new: str) -> None:
    assert new in results(name, old)


@pytest.mark.parametrize(("name", "old"), UNTOUCHED)
def test_an_outer_template_leaves_alone_what_its_table_shows(name: str, old: str) -> None:
    assert [result for result in results(name, old) if result != old] == []


@pytest.mark.parametrize("name", TEMPLATES)
def test_an_outer_template_has_a_sentence_a_cost_and_both_tables(name: str) -> None:
    template = TEMPLATES[name]
    assert template.__doc__
    assert template.CHANGES
    assert template.UNTOUCHED
    assert 0 < template.COST < 5


@pytest.mark.parametrize(("name", "old", "new"), CHANGES)
def test_lines_around_stay_byte_for_byte(name: str, old: str, new: str) -> None:
    odd = (
        "'''Doc.'''\r\nimport odd\r\n#  odd   spacing\t \r\n"
        + old.replace("\n", "\r\n")
        + "\r\nz  = ( 2 ) # kept\r\n"
    )
    for result in results(name, odd):
        assert result.startswith("'''Doc.'''\r\n")
        assert "#  odd   spacing\t \r\n" in result
