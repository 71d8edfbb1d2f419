"""Suggestions: exactly the diff, or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.github import PullRequestFile, Suggestion
from bot.publish.suggestions import suggestions_for
from sandbox.diffs import Original, write_diff
from sandbox.types import FileEdit
from tests.builders import DIFF

WHOLE = "@@ -0,0 +1,60 @@\n"
FILES = (PullRequestFile(path="calculator.py", patch=WHOLE),)


def applied(text: str, suggestions: tuple[Suggestion, ...]) -> str:
    """What the file reads when every suggestion is taken."""
    lines = text.split("\n")
    for one in sorted(suggestions, key=lambda one: one.start_line, reverse=True):
        lines[one.start_line - 1 : one.end_line] = one.text.split("\n") if one.text else []
    return "\n".join(lines)


def diff_of(old: str, new: str, path: str = "calculator.py") -> str:
    edit = FileEdit(path=path, mode="100644", content=new.encode())
    return write_diff([edit], {path: Original(content=old.encode())})


def test_a_replaced_line_is_one_suggestion() -> None:
    assert suggestions_for(DIFF, FILES, why="because") == (
        Suggestion(
            path="calculator.py", start_line=2, end_line=2, text="    return a + b", why="because"
        ),
    )


@pytest.mark.parametrize("patch", ["", "@@ -1 +1 @@\n", "@@ -1,9 +3,7 @@\n", "@@ -1 +0,0 @@\n"])
def test_lines_outside_of_what_the_pull_request_shows_are_not_suggested(patch: str) -> None:
    assert suggestions_for(DIFF, [PullRequestFile(path="calculator.py", patch=patch)]) == ()


def test_a_file_outside_the_pull_request_is_not_suggested() -> None:
    assert suggestions_for(DIFF, [PullRequestFile(path="other.py", patch=WHOLE)]) == ()
    assert suggestions_for(DIFF, [FILES[0].with_(status="removed")]) == ()
    assert suggestions_for(DIFF, ()) == ()


def test_one_part_outside_leaves_nothing_to_suggest() -> None:
    both = DIFF + DIFF.replace("calculator.py", "other.py")
    assert suggestions_for(both, FILES) == ()
    assert len(suggestions_for(both, (*FILES, PullRequestFile(path="other.py", patch=WHOLE)))) == 2


@pytest.mark.parametrize(
    "edit",
    [
        FileEdit(path="new.py", mode="100644", content=b"x\n"),
        FileEdit(path="calculator.py", mode="deleted"),
        FileEdit(path="calculator.py", mode="100755", content=b"y\n"),
        FileEdit(path="calculator.py", mode="100644", content=b"\0"),
        FileEdit(path="calculator.py", mode="100644", content=b"no newline at the end"),
    ],
)
def test_what_is_more_than_changed_lines_is_not_suggested(edit: FileEdit) -> None:
    files = (*FILES, PullRequestFile(path="new.py", patch=WHOLE))
    assert (
        suggestions_for(write_diff([edit], {"calculator.py": Original(content=b"x\n")}), files)
        == ()
    )


def test_an_added_line_takes_its_neighbour_along() -> None:
    (after,) = suggestions_for(diff_of("a\nb\n", "a\nnew\nb\n"), FILES)
    assert (after.start_line, after.end_line, after.text) == (1, 1, "a\nnew")
    (first,) = suggestions_for(diff_of("a\nb\n", "new\na\nb\n"), FILES)
    assert (first.start_line, first.end_line, first.text) == (1, 1, "new\na")


def test_too_many_places_are_not_suggested() -> None:
    old = [f"{n}" for n in range(60)]
    new = [line + "!" if n % 2 else line for n, line in enumerate(old)]
    assert suggestions_for(diff_of("\n".join(old) + "\n", "\n".join(new) + "\n"), FILES) == ()


lines = st.lists(st.sampled_from(["", "a", "- b", "+ c", "@@ d", "```"]), max_size=12)


@given(lines, lines)
def test_taking_every_suggestion_gives_the_fixed_file(before: list[str], after: list[str]) -> None:
    old, new = ("".join(f"{line}\n" for line in text) for text in (before, after))
    suggestions = suggestions_for(diff_of(old, new), FILES)
    if suggestions:
        assert applied(old, suggestions) == new
