"""Edits on top of edits become edits of the original; edits of several candidates are joined."""

import random

import pytest

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.candidates.splicing import changes_on_disk, compose, join_candidates
from sandbox.guest.search.source.plain import PlainSource
from sandbox.guest.search.source.render import TextEdit, splice

SOURCE = PlainSource("shop.py", b"def price(n):\n    return n - 1\n\nRATE = 3\n")
OTHER = PlainSource("rates.py", b"RATE = 7\n")


def candidate(
    edits: tuple[TextEdit, ...], source: PlainSource = SOURCE, template: str = "one"
) -> CandidatePatch:
    return CandidatePatch(template, 1.0, 0.5, 2, source, None, edits)


def some_edits(chance: random.Random, length: int) -> tuple[TextEdit, ...]:
    places = sorted(chance.sample(range(length + 1), min(length + 1, 4)))
    edits = [
        TextEdit(start, end, "".join(chance.choices("xyz", k=chance.randint(0, 3))))
        for start, end in zip(places[::2], places[1::2], strict=False)
    ]
    return tuple(edits[: chance.randint(1, 2)])


def test_composed_edits_make_what_both_steps_make() -> None:
    chance = random.Random(3)  # noqa: S311 - the same texts every time
    for _ in range(2000):
        data = bytes(chance.choices(b"abcdef", k=chance.randint(4, 14)))
        first = some_edits(chance, len(data))
        middle = splice(data, first)
        if len(middle) < 2:
            continue
        second = some_edits(chance, len(middle))
        assert splice(data, compose(data, first, second)) == splice(middle, second)


def test_a_second_edit_far_from_the_first_stays_an_edit_of_its_own() -> None:
    start = SOURCE.data.index(b"- 1")
    first = (TextEdit(start, start + 3, "+ 100"),)
    rendered = SOURCE.render(first)
    at = rendered.index(b"3\n")
    assert len(compose(SOURCE.data, first, (TextEdit(at, at + 1, "4"),))) == 2


def test_a_second_edit_includes_the_first() -> None:
    start = SOURCE.data.index(b"1")
    first = candidate((TextEdit(start, start + 1, "2"),))
    edited = PlainSource("shop.py", SOURCE.render(first.edits))
    at = edited.data.index(b"- 2")
    ((source, edits),) = changes_on_disk(candidate((TextEdit(at, at + 3, "+ 2"),), edited), first)
    assert source is SOURCE
    assert SOURCE.render(edits) == SOURCE.data.replace(b"- 1", b"+ 2")


def test_candidates_of_several_files_are_joined() -> None:
    start = SOURCE.data.index(b"1")
    both = join_candidates([
        candidate((TextEdit(start, start + 1, "2"),)),
        candidate((TextEdit(7, 8, "8"),), OTHER, "two"),
    ])  # fmt: skip
    assert both is not None
    assert both.template == "one+two"
    assert both.files() == {"shop.py": SOURCE.data.replace(b"1", b"2"), "rates.py": b"RATE = 8\n"}
    assert both.cost == pytest.approx(2.0)


def test_candidates_that_touch_the_same_bytes_are_not_joined() -> None:
    assert (
        join_candidates([candidate((TextEdit(0, 3, "x"),)), candidate((TextEdit(2, 5, "y"),))])
        is None
    )
