"""Fixes of earlier missions: tried first on the same failure, and trusted no more than others."""

import pytest

from bot.domain.lesson import Lesson, RecalledLesson, RememberedFix
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Candidate, Rung, RungNote
from bot.domain.policy import RepositoryPolicy
from bot.domain.publication import Publication
from bot.domain.request import Answer
from bot.lessons.reflect import reflect
from bot.mission.remembered import move_patch
from sandbox.changes import parse_patch
from tests.builders import a_lesson
from tests.fakes.scripted_fixer import KnownLessons, ScriptedFixer
from tests.unit.bot.mission.world import ADDS, BROKEN, MENDED, PATH, Stage, a_fix, a_world

EVEN_ONLY = ADDS
"""The file in which only `even` is broken."""
MOVED = f"import os\n\n\ndef other():\n    return os.sep\n\n\n{EVEN_ONLY}"


def whole_fix(files: dict[str, str], _: MissionContext) -> list[Candidate | RungNote]:
    content = files[PATH].replace("== 1", "== 0")
    return [a_fix(content, candidates_tried=208, title="compare with 0")]


def nothing(_: dict[str, str], __: MissionContext) -> list[Candidate | RungNote]:
    return [RungNote(reason="nothing fits", candidates_tried=300)]


async def learned() -> Lesson:
    """The lesson of a mission that repaired `even`."""
    first = await Stage(
        world=a_world(EVEN_ONLY, base=MENDED), fixers=(ScriptedFixer(whole_fix),)
    ).play()
    assert first.outcome is Outcome.FIXED
    _, lesson = reflect(first, Publication(mission_id=first.mission_id), ())
    return lesson.with_(id="first", mission_id="first")


def stage(lesson: Lesson, source: str = EVEN_ONLY, **more: object) -> Stage:
    """A mission on the same failure, whose fixers find nothing."""
    recalled = RecalledLesson(lesson=lesson, score=1.0, reason="same fingerprint")
    given = {"fixers": (ScriptedFixer(nothing),), "recall": KnownLessons(recalled)} | more
    return Stage(world=a_world(source, base=MENDED), **given)  # type: ignore[arg-type]


@pytest.mark.anyio
@pytest.mark.parametrize("source", [EVEN_ONLY, MOVED], ids=["same place", "moved"])
async def test_the_same_failure_is_repaired_by_the_first_candidate(source: str) -> None:
    second = await stage(await learned(), source).play()
    assert (second.outcome, second.candidates_tried) == (Outcome.FIXED, 1)
    assert second.fix is not None
    candidate, verification = second.fix
    assert (candidate.recalled_from, candidate.rung) == ("first", Rung.SEARCH)
    assert {run.sandbox for run in verification.runs} == {1, 2}
    assert verification.control is not None
    assert not verification.control.success


@pytest.mark.anyio
async def test_the_third_time_knows_what_the_first_one_cost() -> None:
    lesson = await learned()
    second = await stage(lesson).play(mission_id="second")
    _, kept = reflect(second, Publication(mission_id="second"), second.lessons)
    assert kept.fix is not None
    assert lesson.fix is not None
    assert (kept.fix.candidates, kept.fix.seconds) == (208, lesson.fix.seconds)


@pytest.mark.anyio
async def test_a_recalled_fix_that_does_not_hold_leaves_every_rung_to_be_asked() -> None:
    lesson = await learned()
    assert lesson.fix is not None
    wrong = lesson.fix.with_(
        diff=lesson.fix.diff.replace("+    return n % 2 == 0", "+    return n")
    )
    fixer = ScriptedFixer(whole_fix)
    second = await stage(lesson.with_(fix=wrong), fixers=(fixer,)).play()
    assert second.outcome is Outcome.FIXED
    assert [i.attempt.recalled for i in second.iterations if i.attempt] == [True, False]
    assert second.fix is not None
    assert second.fix[0].recalled_from == ""


@pytest.mark.anyio
async def test_a_moved_edit_that_does_not_hold_leaves_every_rung_to_be_asked() -> None:
    def moved_first(files: dict[str, str], context: MissionContext) -> list[Candidate | RungNote]:
        if any(one.candidate and one.candidate.recalled_from for one in context.iterations):
            return whole_fix(files, context)
        lesson = RecalledLesson(lesson=a_lesson(id="first"), score=0.9, reason="same edit")
        wrong = a_fix(files[PATH].replace("== 1", "== 7"), recalled_from="first")
        return [RungNote(reason="", recalled_lessons=(lesson,)), wrong]

    fixer = ScriptedFixer(moved_first)
    found = await Stage(world=a_world(EVEN_ONLY, base=MENDED), fixers=(fixer,)).play()
    assert found.outcome is Outcome.FIXED
    assert len(found.iterations) == 2
    assert [one.lesson.id for one in found.lessons] == ["first"], "the report names it"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "changes",
    [
        {"fate": "reverted"},
        {"fate": "closed"},
        {"fingerprint": "another"},
        {"fix": None},
        {"rung": 2},
    ],
    ids=str,
)
async def test_only_an_accepted_fix_of_the_same_failure_is_recalled(
    changes: dict[str, object],
) -> None:
    policy = RepositoryPolicy(rungs=(0, 1))
    lesson = (await learned()).with_(**changes)
    fixer = ScriptedFixer(nothing)
    second = await stage(lesson, policy=policy, fixers=(fixer,)).play()
    assert second.outcome is Outcome.NO_FIX
    assert second.candidates_tried == 300
    assert fixer.budgets


@pytest.mark.anyio
async def test_nothing_is_recalled_beside_a_persons_choice() -> None:
    answer = Answer(proposal_id="p", choice=1)
    second = await stage(await learned()).play(answer=answer)
    assert second.outcome is Outcome.NO_FIX


@pytest.mark.anyio
async def test_a_host_that_runs_no_candidates_recalls_only_fixes_of_tools() -> None:
    tools = ScriptedFixer(nothing, rung=Rung.TOOLS)
    second = await stage(await learned(), fixers=(tools,)).play()
    assert second.outcome is Outcome.NO_FIX


@pytest.mark.anyio
async def test_a_recalled_fix_keeps_to_the_policy() -> None:
    policy = RepositoryPolicy(paths_protected=(PATH,))
    second = await stage(await learned(), policy=policy).play()
    assert second.outcome is not Outcome.FIXED


def by_model(count: int) -> KnownLessons:
    """Accepted fixes of another failure with the same error, all by a model."""
    fix = RememberedFix(diff="no diff", title="x", score=0.9)
    lesson = a_lesson(rung=2, fate="merged", fix=fix, fingerprint="another")
    known = (lesson.with_(id=f"m-{number}") for number in range(count))
    return KnownLessons(
        *(RecalledLesson(lesson=o, score=0.5, reason="similar words") for o in known)
    )


@pytest.mark.anyio
@pytest.mark.parametrize(("count", "winner"), [(3, Rung.MODEL), (2, Rung.SEARCH)])
async def test_the_rung_that_alone_repaired_such_errors_is_asked_first(
    count: int, winner: Rung
) -> None:
    search = ScriptedFixer(lambda f, c: [a_fix(MENDED)])
    model = ScriptedFixer(lambda f, c: [a_fix(MENDED, rung=Rung.MODEL)], rung=Rung.MODEL)
    world = a_world(EVEN_ONLY, base=MENDED)
    play = Stage(world=world, fixers=(search, model), recall=by_model(count))
    found = await play.play(rungs=(0, 1, 2))
    assert found.fix is not None
    assert found.fix[0].rung is winner
    assert bool(search.budgets) is (winner is Rung.SEARCH)


@pytest.mark.anyio
async def test_after_a_rejected_fix_of_the_first_rung_the_cheaper_ones_are_asked() -> None:
    search = ScriptedFixer(whole_fix)
    wrong = EVEN_ONLY.replace("== 1", "== 7")
    model = ScriptedFixer(lambda f, c: [a_fix(wrong, rung=Rung.MODEL)], rung=Rung.MODEL)
    world = a_world(EVEN_ONLY, base=MENDED)
    play = Stage(world=world, fixers=(search, model), recall=by_model(3))
    found = await play.play(rungs=(0, 1, 2))
    assert found.outcome is Outcome.FIXED
    assert found.fix is not None
    assert found.fix[0].rung is Rung.SEARCH


def moved(diff: str, text: str) -> str | None:
    (file,) = parse_patch(diff.encode())
    return move_patch(file, text)


HUNK = (
    " ",
    " ",
    " def even(n):",
    "-    return n % 2 == 1",
    "+    return n % 2 == 0",
    " ",
    " ",
)
DIFF = "\n".join(("--- a/calc.py", "+++ b/calc.py", "@@ -5,6 +5,6 @@", *HUNK, ""))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (EVEN_ONLY, MENDED),
        (MOVED, MOVED.replace("== 1", "== 0")),
        (f"x = 1\n{BROKEN[BROKEN.index('def even') :]}", None),
        ("def even(n):\n    return n % 2 == 1\n", "def even(n):\n    return n % 2 == 0\n"),
        (
            "class A:\n    def even(n):\n        return n % 2 == 1\n",
            "class A:\n    def even(n):\n        return n % 2 == 0\n",
        ),
        ("a = 1\nreturn n % 2 == 1\nb = 2", "a = 1\nreturn n % 2 == 0\nb = 2"),
    ],
)
def test_a_patch_follows_its_lines(before: str, after: str | None) -> None:
    expected = after or before.replace("== 1", "== 0")
    assert moved(DIFF, before) == expected


def test_of_two_places_with_all_context_the_nearest_is_taken() -> None:
    twice = f"{EVEN_ONLY}\n\n{EVEN_ONLY}"
    found = moved(DIFF, twice)
    assert found is not None
    assert found.index("== 0") < found.index("== 1")


@pytest.mark.parametrize(
    "text",
    ["", MENDED, "return n % 2 == 1\nx = 1\nreturn n % 2 == 1\n"],
    ids=["empty", "repaired already", "two places without context"],
)
def test_a_patch_without_its_one_place_does_not_fit(text: str) -> None:
    assert moved(DIFF, text) is None


def test_a_pure_insertion_needs_context() -> None:
    diff = "--- a/c.py\n+++ b/c.py\n@@ -1,2 +1,3 @@\n import os\n+import sys\n x = 1\n"
    assert moved(diff, "y = 0\nimport os\nx = 1\n") == "y = 0\nimport os\nimport sys\nx = 1\n"
    assert moved(diff, "y = 0\n") is None
