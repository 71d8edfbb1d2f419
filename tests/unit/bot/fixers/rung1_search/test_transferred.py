"""Edits that people accepted, made where the same kind of error appears."""

from pathlib import Path
from typing import Any

import pytest

from bot.domain.lesson import AlikeEdit, Lesson, RememberedFix
from bot.domain.mission import Iteration, MissionContext
from bot.domain.patch import Candidate, FixBudget, RungNote
from bot.fixers.rung1_search.engine import SearchFixer
from bot.lessons.stored import StoredLessons
from bot.ports import Recall
from tests.builders import TEST, a_candidate, a_diagnosis, a_lesson, a_report, a_running_mission
from tests.databases import a_database
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.searching_workspace import SearchingWorkspace

pytestmark = pytest.mark.anyio
SOURCE = (
    "def add(a, b):\n    total = a - b\n    return total\n\n\ndef rest(a, b):\n    return a - b\n"
)
MENDED = SOURCE.replace("total = a - b", "total = a + b")


def a_diff(old: str, new: str) -> str:
    return (
        "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n"
        f" def price(net, tax):\n-    return {old}\n+    return {new}\n"
    )


def accepted(old: str = "net - tax", new: str = "net + tax", **changes: Any) -> Lesson:
    """A lesson of another function whose fix was merged."""
    fix = RememberedFix(diff=a_diff(old, new), title=f"use {new}", score=0.9, candidates=208)
    return a_lesson(id="earlier", fate="merged", fix=fix, files=("shop.py",)).with_(**changes)


async def proposed(
    *lessons: Lesson, context: MissionContext | None = None, recall: Recall | None = None
) -> tuple[list[Candidate | RungNote], SearchingWorkspace]:
    """What the search proposes; its own replacement writes the right text another way."""
    workspace = SearchingWorkspace(
        {"calculator.py": SOURCE}, {TEST: ("calculator.py", "a + b")}, [("a - b", "0 + a + b")]
    )
    context = context or a_running_mission(test_results=a_report())
    fixer = SearchFixer(recall or MemoryLessons(*lessons))
    asked = fixer.propose(context, a_diagnosis(), workspace, FixBudget())
    return [one async for one in asked], workspace


async def test_an_edit_of_another_repository_comes_without_the_code_around_it(
    tmp_path: Path,
) -> None:
    store = StoredLessons(a_database(tmp_path), shared=True)
    await store.remember(accepted(repository_id="7", files=("private.py",)))
    (note, candidate), _ = await proposed(recall=store)
    assert isinstance(candidate, Candidate)
    assert candidate.changes[0].content == MENDED
    assert isinstance(note, RungNote)
    (recalled,) = note.recalled_lessons
    assert recalled.lesson.id == candidate.recalled_from
    kept = recalled.model_dump_json() + candidate.with_(changes=()).model_dump_json()
    assert "net" not in kept
    assert "price" not in kept
    assert "private" not in kept


async def test_an_accepted_edit_is_made_in_the_suspect_function_and_ends_the_search() -> None:
    (note, candidate), workspace = await proposed(accepted())
    assert isinstance(candidate, Candidate)
    assert candidate.changes[0].content == MENDED
    assert (candidate.template, candidate.recalled_from) == ("swap_operator", "earlier")
    assert isinstance(note, RungNote)
    assert [(r.lesson.id, r.reason) for r in note.recalled_lessons] == [("earlier", "same edit")]
    (request,) = workspace.searches
    assert request.given_may_end
    assert len(request.given) == 1


@pytest.mark.parametrize(
    "lesson",
    [
        accepted("net * tax", "net / tax"),
        accepted("net - tax", "net"),
        accepted(fix=None),
        accepted(fix=RememberedFix(diff="no diff", title="x", score=0.9)),
        accepted(error="KeyError"),
        accepted(fate="open"),
    ],
    ids=["its tokens are not there", "no help", "no fix", "unreadable", "other error", "undecided"],
)
async def test_without_a_fitting_edit_the_same_search_goes_on(lesson: Lesson) -> None:
    (candidate,), workspace = await proposed(lesson)
    assert isinstance(candidate, Candidate)
    assert (candidate.template, candidate.recalled_from) == ("change_text", "")
    assert len(workspace.searches) == 1, "the set-up is paid once"


async def test_another_way_to_write_the_accepted_fix_fits_this_place() -> None:
    other = AlikeEdit(template="swap_operator", diff=a_diff("net - tax", "net + tax"))
    lesson = accepted("net - 14", "net - 15", template="change_literal")
    assert lesson.fix is not None
    (candidate,), _ = await proposed(lesson)
    assert candidate == (await proposed())[0][0]
    (_, found), _ = await proposed(lesson.with_(fix=lesson.fix.with_(alike=(other,))))
    assert isinstance(found, Candidate)
    assert (found.template, found.recalled_from) == ("swap_operator", "earlier")


async def test_a_test_whose_fix_was_refused_gets_the_whole_search() -> None:
    refused = accepted(id="refused", fate="closed", tests=(TEST,))
    (candidate,), _ = await proposed(accepted(), refused)
    assert isinstance(candidate, Candidate)
    assert candidate.recalled_from == ""


async def test_after_a_rejected_edit_the_whole_search_runs() -> None:
    tried = Iteration(number=1, candidate=a_candidate(recalled_from="earlier"))
    context = a_running_mission(test_results=a_report(), iterations=(tried,))
    (candidate,), _ = await proposed(accepted(), context=context)
    assert isinstance(candidate, Candidate)
    assert candidate.recalled_from == ""


async def test_a_few_places_are_tried_at_most() -> None:
    lessons = [accepted(f"net {op} tax", "net + tax", id=op) for op in ("-", "=", "(", ",", ":")]
    _, workspace = await proposed(*lessons)
    assert len(workspace.searches[0].given) <= 12
