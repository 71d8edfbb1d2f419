"""Edits that people accepted, made where the same kind of error appears."""

from typing import Any

import pytest

from bot.domain.lesson import Lesson, RememberedFix
from bot.domain.patch import FixAttempt
from bot.fixers.rung1_search.transferred import try_transferred
from bot.fixers.trials import Failure
from tests.builders import TEST, a_diagnosis, a_lesson, a_report, a_running_mission
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.searching_workspace import SearchingWorkspace

pytestmark = pytest.mark.anyio
SOURCE = (
    "def add(a, b):\n    total = a - b\n    return total\n\n\ndef rest(a, b):\n    return a - b\n"
)


def a_diff(old: str, new: str) -> str:
    return (
        "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n"
        f" def price(net, tax):\n-    return {old}\n+    return {new}\n"
    )


def accepted(old: str = "net - tax", new: str = "net + tax", **changes: Any) -> Lesson:
    """A lesson of another function whose fix was merged."""
    fix = RememberedFix(diff=a_diff(old, new), title=f"use {new}", score=0.9, candidates=208)
    return a_lesson(id="earlier", fate="merged", fix=fix, files=("shop.py",)).with_(**changes)


async def tried(*lessons: Lesson) -> tuple[FixAttempt | None, SearchingWorkspace]:
    workspace = SearchingWorkspace({"calculator.py": SOURCE}, {TEST: ("calculator.py", "a + b")})
    report = a_report()
    context = a_running_mission(test_results=report)
    failure = Failure(context, a_diagnosis(), workspace)
    return await try_transferred(MemoryLessons(*lessons), failure, lessons), workspace


async def test_an_accepted_edit_is_made_in_the_suspect_function_only() -> None:
    found, workspace = await tried(accepted())
    assert found is not None
    (candidate,) = found.candidates
    assert candidate.changes[0].content == SOURCE.replace("total = a - b", "total = a + b")
    assert (candidate.template, candidate.recalled_from) == ("swap_operator", "earlier")
    assert found.recalled
    assert [(r.lesson.id, r.reason) for r in found.recalled_lessons] == [("earlier", "same edit")]
    (request,) = workspace.searches
    assert request.sources == ("given",)
    assert request.most_survivors == 0, "nothing else is left to try"
    assert len(request.given) == 1


@pytest.mark.parametrize(
    "lesson",
    [
        accepted("net * tax", "net / tax"),
        accepted("net - tax", "net"),
        accepted(fix=None),
        accepted(fix=RememberedFix(diff="no diff", title="x", score=0.9)),
    ],
    ids=["its tokens are not there", "it does not help", "no fix", "unreadable"],
)
async def test_without_a_fitting_edit_the_general_search_goes_on(lesson: Lesson) -> None:
    found, _ = await tried(lesson)
    assert found is None
    assert (await tried())[0] is None


async def test_a_few_places_are_tried_at_most() -> None:
    lessons = [accepted(f"net {op} tax", "net + tax", id=op) for op in ("-", "=", "(", ",", ":")]
    _, workspace = await tried(*lessons)
    assert len(workspace.searches[0].given) <= 8
