"""A change a person chose is proposed as it was shown, once, and only where it fits."""

from typing import Any

import pytest

from bot.domain.lesson import AlikeEdit
from bot.domain.patch import Candidate, Choice, FixBudget, Rung, RungNote
from bot.domain.registry import ProposedChange
from bot.fixers.chosen import ChosenFixer
from bot.publish.fix_records import proposed as as_stored
from sandbox.types import ChangeAction, FileEdit
from tests.builders import FIXED_SOURCE, HEAD, SOURCE, a_diagnosis, a_request, a_running_mission
from tests.fakes.fake_workspace import FakeWorkspace

pytestmark = pytest.mark.anyio


def a_choice(*edits: FileEdit, **changes: Any) -> ProposedChange:
    shown = edits or (FileEdit(path="calculator.py", mode="100644", content=FIXED_SOURCE.encode()),)
    return ProposedChange(
        title="use + for -",
        diff="",
        edits=shown,
        patch_id="patch-1",
        rung=1,
        template="swap_operator",
    ).with_(**changes)


async def proposed(
    change: ProposedChange | None, head: str = HEAD, **files: str
) -> list[Candidate | RungNote]:
    fixer = ChosenFixer(change, head)
    workspace = FakeWorkspace({"calculator.py": SOURCE} | files)
    context = a_running_mission(request=a_request())
    return [one async for one in fixer.propose(context, a_diagnosis(), workspace, FixBudget())]


async def test_the_very_change_is_proposed() -> None:
    (candidate,) = await proposed(a_choice())
    assert isinstance(candidate, Candidate)
    assert (candidate.rung, candidate.template, candidate.title) == (
        Rung.SEARCH,
        "swap_operator",
        "use + for -",
    )
    (change,) = candidate.changes
    assert (change.action, change.path, change.content) == (
        ChangeAction.REPLACE,
        "calculator.py",
        FIXED_SOURCE,
    )
    assert candidate.confident
    assert candidate.rivals == ()


async def test_other_ways_to_write_it_stay_with_it_for_the_next_failure() -> None:
    edit = AlikeEdit(template="swap_operands", diff="+return b + a\n")
    choice = Choice(title="x", diff="", edits=a_choice().edits, rung=Rung.SEARCH, alike=(edit,))
    (candidate,) = await proposed(as_stored(choice))
    assert isinstance(candidate, Candidate)
    assert candidate.alike == (edit,)


async def test_files_are_made_and_taken_away_too() -> None:
    edits = (
        FileEdit(path="new.py", mode="100644", content=b"1\n"),
        FileEdit(path="calculator.py", mode="deleted"),
    )
    (candidate,) = await proposed(a_choice(*edits))
    assert isinstance(candidate, Candidate)
    assert [change.action for change in candidate.changes] == [
        ChangeAction.CREATE,
        ChangeAction.DELETE,
    ]


@pytest.mark.parametrize(
    ("change", "head", "why"),
    [
        (None, HEAD, "no longer stored"),
        (a_choice(), "d" * 40, "moved on"),
        (
            a_choice(FileEdit(path="calculator.py", mode="100644", content=SOURCE.encode())),
            HEAD,
            "already contains",
        ),
        (a_choice(FileEdit(path="gone.py", mode="deleted")), HEAD, "already contains"),
        (
            a_choice(FileEdit(path="calculator.py", mode="100644", content=b"\xff\xfe")),
            HEAD,
            "not text",
        ),
    ],
    ids=range(5),
)
async def test_where_it_does_not_fit_a_note_says_why(
    change: ProposedChange | None, head: str, why: str
) -> None:
    (note,) = await proposed(change, head)
    assert isinstance(note, RungNote)
    assert why in note.reason


async def test_it_stands_on_the_rung_it_came_from() -> None:
    assert [ChosenFixer(a_choice(rung=rung), HEAD).rung for rung in (0, 1, 2)] == list(Rung)
    assert ChosenFixer(None, None).name == "choice"
