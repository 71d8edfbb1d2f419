"""A finished mission for each outcome, as the gallery of reports shows it and its tests measure it."""

from typing import Any

from bot.domain.diagnosis import Suspect
from bot.domain.evidence import KeptEvidence
from bot.domain.mission import Confidence, MissionContext, Outcome
from bot.domain.patch import Choice, Mutants, Rival, Rung, TestChange, VerifiedRun
from bot.lessons.calibration import confidence_by_rules
from bot.publish.story import Story, build_story
from sandbox.diffs import Original, write_diff
from sandbox.types import FileEdit, LogReading, LogSignal, TestStatus
from tests.builders import (
    a_candidate,
    a_check,
    a_diagnosis,
    a_failure,
    a_green_report,
    a_mission,
    a_recalled_lesson,
    a_report,
    a_request,
    a_triage,
    a_verification,
    an_attempt,
    an_iteration,
)

PULL = "https://github.com/octo/calculator/pull/17"
RED = """def add(a, b):
    \"\"\"Return the sum.\"\"\"
    return a - b


def is_even(n):
    \"\"\"Return True if two divides n.\"\"\"
    return n % 2 == 1
"""
GREEN = RED.replace("a - b", "a + b").replace("== 1", "== 0")
TESTS = ("tests/test_broken_math.py::test_add", "tests/test_broken_math.py::test_is_even")
OTHERS = tuple(f"tests/test_numbers.py::test_number_{number}" for number in range(12))
ADVICE = {
    Outcome.ENV_UNBUILDABLE: "add `postgres` to `services` of the sandbox, or set `test_command` to a part that needs none",
    Outcome.POLICY: "set `automatic: true` in `.github/metaagent.yml` to allow it",
}
REASONS = {
    Outcome.NOT_REPRODUCED: "`pytest -q` passed in 10 of 10 runs here, in random and in reversed order",
    Outcome.FLAKY: "test_add failed in 3 of 10 runs of the same commit",
    Outcome.BASE_RED: "test_add and test_is_even fail on the base commit bbbbbbbbbbbb too",
    Outcome.INFRA: "the log names an outage: Could not resolve host: packages.example",
    Outcome.ENV_UNBUILDABLE: "the job needs the service `postgres`, which the sandbox does not have",
    Outcome.NEEDS_HUMAN: "`18` became `17` makes every test pass, but so does a fix that behaves differently",
    Outcome.NO_FIX: "no rung found a change that makes both failing tests pass",
    Outcome.BUDGET: "the limit of 20 missions a day of this repository is reached",
    Outcome.STALE: "main moved to cccccccccccc",
    Outcome.DUPLICATE: f"a fix for this failure is already open: {PULL}",
    Outcome.POLICY: "automatic missions are off in this repository",
    Outcome.CANCELLED: "alice stopped it with `/metaagent stop`",
    Outcome.ERROR: "the sandbox's host ran out of disk space",
    Outcome.PARTIAL: "1 of 2 failures is gone, and none is new",
}


def a_red_run() -> Any:
    """Two of fourteen tests fail."""
    failures = tuple(
        a_failure(name=name, test=name.rpartition("::")[2], file="tests/test_broken_math.py")
        for name in TESTS
    )
    outcomes = dict.fromkeys(OTHERS, TestStatus.PASS) | dict.fromkeys(TESTS, TestStatus.FAIL)
    return a_report(
        failures=failures,
        failure_count=2,
        outcomes=outcomes,
        summary="2 failed, 12 passed in 0.1 s",
        raw_output="FAILED tests/test_broken_math.py::test_add - assert -1 == 3\n2 failed, 12 passed",
    )


def a_fix(outcome: Outcome, *, large: bool = False) -> dict[str, Any]:
    """The change, verified four times; with `large`, one that no page can hold."""
    more = "".join(f"\n\ndef made_{n}():\n    return {n}\n" for n in range(2000 if large else 0))
    edit = FileEdit(path="broken_math.py", mode="100644", content=(GREEN + more).encode())
    green = a_green_report(outcomes=dict.fromkeys((*TESTS, *OTHERS), TestStatus.PASS))
    labels = (
        ("failing tests", 1),
        ("full command", 1),
        ("full command again", 2),
        ("other order", 2),
    )
    partial = outcome is Outcome.PARTIAL
    many = tuple(f"tests/test_all.py::test_case[{n}]" for n in range(300 if large else 0))
    table = tuple(
        TestChange(
            name=name,
            before=TestStatus.FAIL,
            after=TestStatus.FAIL if partial and name == TESTS[1] else TestStatus.PASS,
        )
        for name in (*TESTS, *many)
    )
    verification = a_verification(
        green=not partial,
        partial=partial,
        reason=REASONS.get(outcome, "both failures are gone in 4 runs, and nothing else changed"),
        diff=write_diff([edit], {"broken_math.py": Original(content=RED.encode())}),
        edits=(edit,),
        table=table,
        runs=tuple(
            VerifiedRun(label=label, report=green, sandbox=sandbox)  # type: ignore[arg-type]
            for label, sandbox in labels
        ),
        control=a_red_run(),
        doubts=tuple(f"broken_math.py: doubt {n}" for n in range(30 if large else 0)),
    )
    candidate = a_candidate(
        rung=Rung.SEARCH,
        template="undo_part",
        title="broken_math.py: `-` became `+`; `== 1` became `== 0`",
        explanation="`-` became `+` at broken_math.py:3 (undo_part). 191 candidates tried.",
        candidates_tried=191,
        plausible=3,
        inputs=40,
        mutants=Mutants(tried=6, killed=6),
        held_out=4,
        score=0.93,
        rivals=tuple(
            Rival(
                template="swap",
                path="broken_math.py",
                line=8,
                description=f"`n % 2 == 1` became `not n % 2` ({n})",
                distinguishing_input="is_even('')",
                results=("raises TypeError", "False"),
            )
            for n in range(9 if large else 0)
        ),
    )
    suspect = Suspect(
        file="broken_math.py",
        line=3,
        score=0.9,
        reason="changed by the commit that turned the check red",
    )
    diagnosis = a_diagnosis(
        title="test_add expected 3, got -1 from add(1, 2) in broken_math.add (and 1 more)",
        cause="test_add expected 3, got -1 from add(1, 2) in broken_math.add",
        suspects=(suspect,),
    )
    found = an_iteration(candidate=candidate, verification=verification, diagnosis=diagnosis)
    if outcome not in {Outcome.FIXED, Outcome.PARTIAL, Outcome.NEEDS_HUMAN}:
        attempt = an_attempt(candidates=(), candidates_tried=191)
        found = found.with_(
            candidate=None,
            verification=None,
            attempt=attempt if outcome is Outcome.NO_FIX else None,
        )
    return {"iterations": (found,), "test_results": a_red_run()}


def a_told_mission(outcome: Outcome, **changes: Any) -> MissionContext:
    """A mission with this outcome, as it ends in practice."""
    check = a_check(details_url="https://github.com/octo/calculator/actions/runs/1/job/99")
    request = a_request(check=check, pull_request=5 if outcome is Outcome.NEEDS_HUMAN else None)
    never_run = {Outcome.POLICY, Outcome.BUDGET, Outcome.ENV_UNBUILDABLE, Outcome.INFRA}
    nothing: dict[str, Any] = {"iterations": (), "test_results": None, "triage": None}
    fix = nothing if outcome in never_run else a_fix(outcome)
    by_outcome: dict[Outcome, dict[str, Any]] = {
        Outcome.FLAKY: {"triage": a_triage(runs=10, red_runs=3, per_test_reds={TESTS[0]: 3})},
        Outcome.NOT_REPRODUCED: {"triage": a_triage(runs=10, red_runs=0), "iterations": ()},
        Outcome.INFRA: {
            "ci_log": LogReading(
                step="pip install -r requirements.txt",
                excerpt="Could not resolve host: packages.example",
                signals=(LogSignal.NETWORK,),
                signs={LogSignal.NETWORK: "Could not resolve host: packages.example"},
                exit_code=1,
            )
        },
        Outcome.NEEDS_HUMAN: {
            "question": "Is a person of 18 years an adult? is_adult(17) gives True with 1 and False with 2.",
            "choices": (
                Choice(title="`18` became `17`", diff="-18\n+17", rung=Rung.SEARCH),
                Choice(title="`>` became `>=`", diff="->\n+>=", rung=Rung.SEARCH),
            ),
        },
        Outcome.FIXED: {"lessons": (a_recalled_lesson(),)},
        Outcome.ERROR: {"error_reference": "m-0001:OSError"},
    }
    ended = by_outcome.get(outcome, {})
    told = a_mission(
        outcome, request=request, advice=ADVICE.get(outcome, ""), reason=REASONS.get(outcome, "")
    )
    return told.with_(**{**fix, **ended, **changes})


def a_told_story(outcome: Outcome, **changes: Any) -> Story:
    """A story as the service publishes it: with a bundle and the rules' confidence."""
    context = a_told_mission(outcome, **changes)
    bundle = KeptEvidence(name=context.mission_id, sha256="5" * 64, size=9, until="2026-02-01")
    confidence = confidence_by_rules(context) if context.fix else Confidence()
    story = build_story(context, confidence=confidence, bundle=bundle)
    if outcome is Outcome.NEEDS_HUMAN:
        story = story.with_(choices=tuple(choice.title for choice in context.choices))
    return story
