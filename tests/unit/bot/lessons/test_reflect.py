"""A lesson from every mission."""

import pytest

from bot.domain.lesson import AlikeEdit
from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.lessons.recall import rank
from bot.lessons.reflect import failures_of, reflect
from sandbox.types import TrustTier
from tests.builders import (
    FINGERPRINT,
    TEST,
    a_candidate,
    a_failure,
    a_folder_request,
    a_mission,
    a_recalled_lesson,
    a_report,
    a_request,
    a_running_mission,
    a_verification,
    an_iteration,
)


def publication(**changes: object) -> Publication:
    return Publication(mission_id="m-0001").with_(**changes)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_leaves_a_lesson(outcome: Outcome) -> None:
    reflection, lesson = reflect(a_mission(outcome), publication(), ())
    assert lesson.outcome == outcome.value
    assert lesson.sentence
    assert reflection.lessons_learned == (lesson.sentence,)
    assert {insight.category for insight in reflection.insights} >= {"efficiency"}
    assert lesson.repository_id == "42"
    assert lesson.fingerprint == FINGERPRINT
    assert lesson.error == "AssertionError"


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_mission_that_never_began_leaves_a_lesson_too(outcome: Outcome) -> None:
    context = MissionContext(
        mission_id="m-9",
        request=a_request(),
        created_at="2026-01-02T03:04:05+00:00",
        target_path="octo/calculator",
    )
    _, lesson = reflect(context.ended(outcome, "nothing was known"), publication(), ())
    assert lesson.error is None
    assert lesson.fingerprint == ""


def test_a_fix_is_remembered_with_template_files_and_confidence() -> None:
    _, lesson = reflect(a_mission(), publication(pull_request=17, outcome=Outcome.FIXED), ())
    assert (lesson.rung, lesson.template, lesson.files) == (1, "swap_operator", ("calculator.py",))
    assert (lesson.fate, lesson.pull_request, lesson.confidence) == ("open", 17, 0.8)
    assert lesson.sentence == f"swap_operator in calculator.py fixed {TEST}: use + in add"


def test_the_rank_is_kept_for_the_correction_and_no_score_set_by_hand() -> None:
    doubted = an_iteration(verification=a_verification(doubts=("slow",)))
    _, lesson = reflect(a_mission(iterations=(doubted,)), publication(), ())
    assert lesson.rank == 0.8 != lesson.confidence
    tool = an_iteration(candidate=a_candidate(ranked=False))
    _, unranked = reflect(a_mission(iterations=(tool,)), publication(), ())
    assert unranked.rank is None


@pytest.mark.parametrize(
    "diff",
    ["", "+key = 'ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'\n", "+\x1b[31m\n", "+x\n" * 30_000],
    ids=["none", "secret", "control character", "too long"],
)
def test_a_diff_that_the_gate_would_change_is_not_kept(diff: str) -> None:
    mission = a_mission()
    (iteration,) = mission.iterations
    assert iteration.verification is not None
    changed = iteration.with_(verification=iteration.verification.with_(diff=diff))
    _, lesson = reflect(mission.with_(iterations=(changed,)), publication(), ())
    assert lesson.fix is None
    _, plain = reflect(mission, publication(), ())
    assert plain.fix is not None
    assert plain.fix.diff == iteration.verification.diff


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - {Outcome.FIXED, Outcome.NEEDS_HUMAN}))
def test_only_a_fix_that_people_saw_is_kept_for_the_next_time(outcome: Outcome) -> None:
    _, lesson = reflect(a_mission(), publication(outcome=outcome), ())
    assert lesson.fix is None


def test_a_fix_told_as_a_duplicate_does_not_claim_the_other_pull_request() -> None:
    _, lesson = reflect(a_mission(), publication(pull_request=17, outcome=Outcome.DUPLICATE), ())
    assert lesson.outcome == "DUPLICATE"
    assert (lesson.fate, lesson.pull_request) == ("unknown", None)


def test_the_next_like_mission_recalls_it() -> None:
    _, lesson = reflect(a_mission(), publication(), ())
    by_fingerprint = rank([lesson], fingerprint=FINGERPRINT, error=None, words=(), limit=1)
    by_words = rank(
        [lesson],
        fingerprint="",
        error=None,
        words=("assert -1 == 3 in test_add of calculator",),
        limit=1,
    )
    assert by_fingerprint[0].reason == "same fingerprint"
    assert by_words[0].reason == "similar words"


def test_a_lesson_that_helped_is_said_to_have_helped() -> None:
    reflection, _ = reflect(a_mission(), publication(), (a_recalled_lesson(),))
    assert any(insight.impact == "memory led to the fix" for insight in reflection.insights)


def test_only_gated_text_is_kept() -> None:
    hostile = "\x1b[31m" + "token ghp_" + "a1B2" * 9 + "\u202e\n" + "x" * 5000
    failure = a_failure(name=hostile, error=hostile, error_message=hostile, file=hostile)
    iteration = an_iteration(candidate=a_candidate(title=hostile, template=hostile))
    context = a_mission(
        iterations=(iteration,), test_results=a_report(failures=(failure,)), reason=hostile
    )
    reflection, lesson = reflect(context, publication(), ())
    for text in (lesson.model_dump_json(), reflection.model_dump_json()):
        assert "ghp_a1B2" not in text
        assert "\\u001b" not in text
        assert "\u202e" not in text
        assert len(text) < 10_000


def test_forks_and_folders_keep_to_themselves() -> None:
    _, fork = reflect(a_mission(request=a_request(tier=TrustTier.FORK)), publication(), ())
    _, folder = reflect(a_mission(request=a_folder_request("/a")), publication(), ())
    assert (fork.repository_id, folder.repository_id) == ("42:fork", "local:/a")


def test_what_failed_is_found_at_whatever_stage_it_is_known() -> None:
    assert failures_of(a_running_mission()) == (a_failure(),)
    assert failures_of(a_running_mission(test_results=None)) == (a_failure(),)
    assert failures_of(a_running_mission(test_results=None, triage=None)) == ()


@pytest.mark.parametrize(
    ("outcome", "area"),
    [
        (Outcome.NO_FIX, "execution"),
        (Outcome.BUDGET, "planning"),
        (Outcome.ENV_UNBUILDABLE, "tool-usage"),
        (Outcome.ERROR, "execution"),
    ],
)
def test_what_went_wrong_suggests_what_to_do_better(outcome: Outcome, area: str) -> None:
    reflection, _ = reflect(a_mission(outcome), publication(), ())
    assert [one.area for one in reflection.improvements] == [area]


def test_several_behaviours_suggest_a_test() -> None:
    reflection, _ = reflect(
        a_mission(iterations=(an_iteration(candidate=a_candidate(behaviours=2)),)),
        publication(),
        (),
    )
    assert "distinguishes the 2 passing behaviours" in reflection.improvements[0].suggestion


def test_the_review_has_the_steps_with_their_results_and_durations() -> None:
    mission = a_mission()
    reflection, _ = reflect(mission, publication(), ())
    steps = {step.name: step for step in reflection.steps}
    assert list(steps) == ["triage", "analyze", "plan", "critique", "decide", "fix", "verify"]
    assert reflection.seconds == mission.seconds
    verification = mission.iterations[0].verification
    attempt = mission.iterations[0].attempt
    assert verification is not None
    assert attempt is not None
    assert (steps["verify"].result, steps["verify"].seconds) == (
        verification.reason,
        verification.seconds,
    )
    assert steps["fix"].seconds == attempt.seconds
    assert "of 12 candidates" in steps["fix"].result


def test_other_ways_to_write_the_fix_are_kept_unless_they_contain_a_secret() -> None:
    plain = AlikeEdit(template="swap_operator", diff="+return a + b\n")
    secret = plain.with_(diff="+key = 'ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'\n")
    mission = a_mission()
    (iteration,) = mission.iterations
    changed = iteration.with_(candidate=a_candidate(alike=(plain, secret)))
    _, lesson = reflect(mission.with_(iterations=(changed,)), publication(), ())
    assert lesson.fix is not None
    assert lesson.fix.alike == (plain,)
