"""Changes of whole files as edits that the search can try."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.fixers.rung1_search.span_edits import MOST_EDITS, convert_change, line_edits
from bot.fixers.trials import Proposed
from sandbox.changes.proposed import is_valid_proposal
from sandbox.trials import MAX_EDITS
from sandbox.types import FileEdit, GivenChange, apply_spans
from tests.builders import a_change

OLD = "def f(a):\n    return a - 1\n\n\ndef g(a):\n    return f(a)\n"
NEW = OLD.replace("a - 1", "a + 1").replace("return f(a)", "b = f(a)\n    return b")


def a_proposal(**changes: object) -> Proposed:
    return Proposed(id="p", title="adds one", changes=(a_change(),)).with_(**changes)


def of(
    old: bytes | None, new: bytes, path: str = "m.py", mode: str = "100644", **changes: object
) -> GivenChange | None:
    edit = FileEdit.model_validate({"path": path, "mode": mode, "content": new})
    return convert_change(a_proposal(**changes), [edit], {path: old})


def test_only_lines_that_differ_are_edited() -> None:
    first, second = line_edits("m.py", OLD, NEW)
    assert (OLD[first.start : first.end], first.text) == (
        "    return a - 1\n",
        "    return a + 1\n",
    )
    assert (OLD[second.start : second.end], second.text) == (
        "    return f(a)\n",
        "    b = f(a)\n    return b\n",
    )


TEXTS = st.text(st.sampled_from("ab äß😀\n\r\x0b\x0c\u2028\t"), max_size=60)


@settings(max_examples=120, deadline=None)
@given(TEXTS, TEXTS)
def test_the_edits_make_exactly_the_new_text(old: str, new: str) -> None:
    edits = line_edits("m.py", old, new)
    assert apply_spans(old, edits) == new
    assert bool(edits) == (old != new)
    assert not edits or is_valid_proposal("m.py", edits, protected=(), most=MAX_EDITS)


def test_a_change_in_very_many_places_is_one_edit() -> None:
    old = "".join(f"x = {n}\ny = 0\n" for n in range(3 * MOST_EDITS))
    new = old.replace("x", "z")
    (edit,) = line_edits("m.py", old, new)
    assert apply_spans(old, [edit]) == new


def test_larger_changes_cost_more_and_votes_cost_less() -> None:
    small, voted = (
        of(OLD.encode(), OLD.replace("-", "+").encode()),
        of(OLD.encode(), OLD.replace("-", "+").encode(), votes=4),
    )
    large = of(OLD.encode(), (OLD + "\n\nX = 1\n" * 300).encode())
    assert small is not None and voted is not None and large is not None  # noqa: PT018 - one thing: all can be tried
    assert voted.cost < small.cost < large.cost < 3.0
    assert small.description == "adds one"


@pytest.mark.parametrize(
    ("old", "path", "mode"),
    [(None, "m.py", "100644"), (b"x = 1\n", "m.py", "deleted"), (b"[a]\n", "m.toml", "100644"), (b"x = '\xff'\n", "m.py", "100644")],
    ids=["new", "deleted", "not Python", "not UTF-8"],
)  # fmt: skip
def test_what_the_search_cannot_put_into_running_programs_is_not_given(
    old: bytes | None, path: str, mode: str
) -> None:
    assert of(old, b"x = 2\n", path, mode) is None


def test_a_change_that_changes_nothing_is_not_given() -> None:
    assert of(OLD.encode(), OLD.encode()) is None
