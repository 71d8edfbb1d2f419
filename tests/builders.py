"""Builders of domain values with sensible defaults: `a_mission(outcome=Outcome.FLAKY)` says only what a test is about."""

from typing import Any

from bot.domain.decision import Action, Decision, NextAction, WorkerCall
from bot.domain.diagnosis import Diagnosis, FailureKind, Suspect, Triage
from bot.domain.github import PullRequestState
from bot.domain.lesson import Lesson, RecalledLesson
from bot.domain.mission import Iteration, MissionContext, MissionState, Outcome
from bot.domain.model import ModelCall, Role, Usage
from bot.domain.patch import Candidate, FixAttempt, Rung, TestChange, Verification, VerifiedRun
from bot.domain.plan import AcceptanceCriterion, CriterionType, Plan, PlanStep
from bot.domain.request import (
    CheckRef,
    CommentRef,
    Feedback,
    MissionRequest,
    RepositoryRef,
    Trigger,
)
from bot.domain.verdict import (
    ConfidenceAssessment,
    ConfidenceComponents,
    Critique,
    MetaEvaluation,
    Recommendation,
    Route,
)
from sandbox.types import (
    ChangeAction,
    Fidelity,
    FileChange,
    FileEdit,
    Recipe,
    RunVerdict,
    StepKind,
    TestReport,
    TestResult,
    TestStatus,
    WorkspaceFacts,
)

HEAD = "a" * 40
BASE = "b" * 40
FINGERPRINT = "0123456789abcdef0123456789abcdef"
TEST = "tests/test_math.py::test_add"
OTHER_TEST = "tests/test_math.py::test_sub"
SOURCE = "def add(a, b):\n    return a - b\n"
FIXED_SOURCE = "def add(a, b):\n    return a + b\n"
DIFF = """diff --git a/calculator.py b/calculator.py
--- a/calculator.py
+++ b/calculator.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""


def a_repository(**changes: Any) -> RepositoryRef:
    """A repository the App is installed on."""
    return RepositoryRef(id=42, owner="octo", name="calculator", installation_id=7).with_(**changes)


def a_check(**changes: Any) -> CheckRef:
    """A red job of GitHub Actions."""
    return CheckRef(id=99, name="tests", app_slug="github-actions").with_(**changes)


def a_request(**changes: Any) -> MissionRequest:
    """A red check run asks for a mission."""
    return MissionRequest(
        mission_id="m-0001",
        trigger=Trigger.CHECK_RUN,
        repository=a_repository(),
        head_sha=HEAD,
        head_branch="main",
        check=a_check(),
    ).with_(**changes)


def a_comment(**changes: Any) -> CommentRef:
    """`/metaagent fix` in pull request 5."""
    return CommentRef(id=1234, author="alice", number=5).with_(**changes)


def a_commanded_request(**changes: Any) -> MissionRequest:
    """A comment asks for a mission."""
    return a_request(
        trigger=Trigger.COMMENT,
        comment=a_comment(),
        pull_request=5,
        head_branch="feature/x",
        requested_by="alice",
    ).with_(**changes)


def a_folder_request(folder: str = "/checkout", **changes: Any) -> MissionRequest:
    """The command line asks for a mission on a working tree."""
    return MissionRequest(
        mission_id="m-0002", trigger=Trigger.COMMAND_LINE, folder=folder, command="pytest -q"
    ).with_(**changes)


def a_recipe(**changes: Any) -> Recipe:
    """`pytest -q`, read from the workflow."""
    return Recipe(
        command="pytest -q",
        origin="workflow",
        fidelity=(
            Fidelity(step="Install", treatment="replaced", reason="installed with uv"),
            Fidelity(step="Upload coverage", treatment="dropped", reason="needs a secret"),
        ),
    ).with_(**changes)


def a_model_call(**changes: Any) -> ModelCall:
    """Rung 2 asked a model, which answered."""
    return ModelCall(
        stage="fix",
        role=Role.FIX,
        model="anthropic:strong",
        prompt="fix@1",
        usage=Usage(input_tokens=900, output_tokens=100),
        cost_usd=0.01,
        latency_s=2.0,
    ).with_(**changes)


def a_lint_recipe(command: str = "ruff check .", kind: StepKind = StepKind.LINT) -> Recipe:
    """A failing lint or format step."""
    return a_recipe(command=command, kind=kind)


def facts(**changes: Any) -> WorkspaceFacts:
    """A warm Docker workspace."""
    return WorkspaceFacts(
        backend="docker",
        image="metaagent/python:3.11",
        image_digest="sha256:" + "1" * 64,
        environment_key="2" * 64,
        interpreter="Python 3.11.7",
        head_sha=HEAD,
        base_sha=BASE,
        recipe=a_recipe(),
        files=3,
        open_s=0.4,
        warm=True,
    ).with_(**changes)


def a_failure(**changes: Any) -> TestResult:
    """`test_add` expected 3 and got -1."""
    return TestResult(
        name=TEST,
        status=TestStatus.FAIL,
        output="",
        error_message="assert -1 == 3",
        duration_ms=1.5,
        file="tests/test_math.py",
        line=4,
        test="test_add",
        error="AssertionError",
        traceback="def test_add():\n>   assert add(1, 2) == 3\nE   assert -1 == 3",
        frames=(("tests/test_math.py", 4, "test_add"),),
    ).with_(**changes)


def a_lint_failure(path: str = "calculator.py", rule: str = "F401", **changes: Any) -> TestResult:
    """A linter's finding at a line."""
    return TestResult(
        name=f"{path}:1:{rule}",
        status=TestStatus.FAIL,
        error_message="`os` imported but unused",
        file=path,
        line=1,
        error=rule,
    ).with_(**changes)


def a_report(**changes: Any) -> TestReport:
    """A red run: one failed, one passed."""
    return TestReport(
        success=False,
        failed=True,
        exit_code=1,
        target="pytest -q",
        summary="1 failed, 1 passed in 0.1 s",
        failure_count=1,
        failures=(a_failure(),),
        raw_output="FAILED tests/test_math.py::test_add - assert -1 == 3\n1 failed, 1 passed",
        verdict=RunVerdict.FAIL,
        runner="pytest",
        outcomes={TEST: TestStatus.FAIL, OTHER_TEST: TestStatus.PASS},
        duration_s=0.1,
    ).with_(**changes)


def a_green_report(**changes: Any) -> TestReport:
    """A green run: two passed."""
    return TestReport(
        success=True,
        failed=False,
        exit_code=0,
        target="pytest -q",
        summary="2 passed in 0.1 s",
        failure_count=0,
        raw_output="2 passed in 0.1 s",
        verdict=RunVerdict.PASS,
        runner="pytest",
        outcomes={TEST: TestStatus.PASS, OTHER_TEST: TestStatus.PASS},
        duration_s=0.1,
    ).with_(**changes)


def a_lint_report(*failures: TestResult, **changes: Any) -> TestReport:
    """A linter that found something."""
    found = failures or (a_lint_failure(),)
    return a_report(
        target="ruff check .",
        summary=f"{len(found)} findings",
        failure_count=len(found),
        failures=found,
        raw_output="calculator.py:1:8: F401 `os` imported but unused",
        runner="diagnostics",
        outcomes={one.name: one.status for one in found},
    ).with_(**changes)


def a_triage(**changes: Any) -> Triage:
    """A bug: red in every run, green on the base commit."""
    return Triage(
        kind=FailureKind.BUG,
        reason="the same test failed in 3 of 3 runs and passes on the base commit",
        report=a_report(),
        runs=3,
        red_runs=3,
        per_test_reds={TEST: 3},
        base_checked=True,
    ).with_(**changes)


def a_diagnosis(**changes: Any) -> Diagnosis:
    """`add` subtracts."""
    return Diagnosis(
        kind=FailureKind.BUG,
        title="test_add expected 3, got -1 in calculator.add",
        cause="calculator.add returns the difference of its arguments, the test expects their sum.",
        failures=(a_failure(),),
        suspects=(
            Suspect(file="calculator.py", line=2, score=0.9, reason="run by the failing test only"),
        ),
        confidence=0.8,
        reasoning="The only line both failing paths share.",
        fingerprint=FINGERPRINT,
    ).with_(**changes)


def a_criterion(**changes: Any) -> AcceptanceCriterion:
    """The failing test passes."""
    return AcceptanceCriterion(
        id="AC-1", description=f"{TEST} passes", type=CriterionType.UNIT, passed=True, check=TEST
    ).with_(**changes)


def a_plan(**changes: Any) -> Plan:
    """Search, then verify."""
    return Plan(
        goal="make test_add pass",
        steps=(
            PlanStep(id="S-1", order=1, description="search for a small change", action="search"),
            PlanStep(
                id="S-2", order=2, description="verify it", action="verify", dependencies=("S-1",)
            ),
        ),
        confidence=0.8,
        acceptance_criteria=(a_criterion(passed=False),),
    ).with_(**changes)


def a_critique(**changes: Any) -> Critique:
    """Approved."""
    return Critique(
        overall=0.9,
        feasibility=0.9,
        correctness=0.9,
        efficiency=0.9,
        safety=0.9,
        strengths=("small",),
        recommendation=Recommendation.APPROVE,
        rationale="no issue found",
    ).with_(**changes)


def a_meta(**changes: Any) -> MetaEvaluation:
    """Nothing to worry about."""
    return MetaEvaluation(reasoning_quality=0.8, confidence_in_reasoning=0.8).with_(**changes)


def a_confidence(**changes: Any) -> ConfidenceAssessment:
    """High enough to execute."""
    return ConfidenceAssessment(
        overall=0.82,
        components=ConfidenceComponents(thought=0.8, plan=0.8, critique=0.9, meta=0.8),
        action=Route.EXECUTE,
        reasoning="0.3 thought + 0.3 plan + 0.2 critique + 0.2 meta",
    ).with_(**changes)


def a_change(
    path: str = "calculator.py", content: str = FIXED_SOURCE, **changes: Any
) -> FileChange:
    """The file's whole new content."""
    return FileChange(action=ChangeAction.REPLACE, path=path, content=content).with_(**changes)


def a_candidate(**changes: Any) -> Candidate:
    """`+` for `-`, found by the search."""
    return Candidate(
        id="c-1",
        rung=Rung.SEARCH,
        fixer="search",
        template="swap_operator",
        title="use + in add",
        explanation="`-` became `+`",
        changes=(a_change(),),
        candidates_tried=12,
        score=0.8,
        confident=True,
        ranked=True,
        seconds=1.2,
    ).with_(**changes)


def a_verification(**changes: Any) -> Verification:
    """Green in a fresh workspace, four times."""
    return Verification(
        green=True,
        reason="every critical criterion passed, nothing else changed",
        runs=(
            VerifiedRun(label="failing tests", report=a_green_report()),
            VerifiedRun(label="full command", report=a_green_report()),
            VerifiedRun(label="full command again", report=a_green_report()),
            VerifiedRun(label="other order", report=a_green_report()),
        ),
        table=(TestChange(name=TEST, before=TestStatus.FAIL, after=TestStatus.PASS),),
        diff=DIFF,
        edits=(FileEdit(path="calculator.py", mode="100644", content=FIXED_SOURCE.encode()),),
        seconds=2.5,
        not_verified=("other Python versions of the matrix",),
    ).with_(**changes)


def a_next_action(**changes: Any) -> NextAction:
    """Run the search."""
    return NextAction(
        decision=Decision(action=Action.RUN_WORKER, reason="confidence allows it"),
        worker_call=WorkerCall(worker_type="search"),
    ).with_(**changes)


def an_attempt(**changes: Any) -> FixAttempt:
    """One climb that found one candidate."""
    return FixAttempt(
        candidates=(a_candidate(),),
        candidates_tried=12,
        seconds=1.2,
        rungs=(0, 1),
        notes=("rung 0 (tools): the failing step runs no tool that fixes its findings",),
    ).with_(**changes)


def an_iteration(**changes: Any) -> Iteration:
    """One turn of the loop that ended green."""
    return Iteration(
        number=1,
        diagnosis=a_diagnosis(),
        plan=a_plan(),
        critique=a_critique(),
        meta=a_meta(),
        confidence=a_confidence(),
        next_action=a_next_action(),
        attempt=an_attempt(),
        candidate=a_candidate(),
        verification=a_verification(),
    ).with_(**changes)


def a_running_mission(**changes: Any) -> MissionContext:
    """Triaged, not yet iterated."""
    return MissionContext(
        mission_id="m-0001",
        request=a_request(),
        created_at="2026-01-02T03:04:05+00:00",
        target_path="octo/calculator",
        test_command="pytest -q",
        state=MissionState.RUNNING,
        facts=facts(),
        triage=a_triage(),
        test_results=a_report(),
    ).with_(**changes)


def a_mission(outcome: Outcome = Outcome.FIXED, **changes: Any) -> MissionContext:
    """A finished mission. FIXED carries the verified fix, PARTIAL a partial one, every other outcome none."""
    fix: dict[Outcome, dict[str, Any]] = {
        Outcome.FIXED: {},
        Outcome.PARTIAL: {
            "verification": a_verification(green=False, partial=True, reason="1 of 2 failures gone")
        },
    }
    iteration = an_iteration(
        **fix.get(outcome, {"attempt": None, "candidate": None, "verification": None})
    )
    context = a_running_mission(
        iterations=(iteration,),
        acceptance_criteria=(a_criterion(passed=outcome is Outcome.FIXED),),
        seconds=6.5,
    )
    return context.ended(outcome, f"it ended {outcome.value}").with_(**changes)


def a_lesson(**changes: Any) -> Lesson:
    """`swap_operator` fixed `test_add`."""
    return Lesson(
        id="m-0001",
        mission_id="m-0001",
        created_at="2026-01-02T03:04:05+00:00",
        repository_id="42",
        fingerprint=FINGERPRINT,
        outcome="FIXED",
        error="AssertionError",
        tests=(TEST,),
        files=("calculator.py",),
        rung=1,
        template="swap_operator",
        sentence="swap_operator in calculator.py fixed test_add",
        keywords=("calculator", "add", "sum"),
    ).with_(**changes)


def a_recalled_lesson(**changes: Any) -> RecalledLesson:
    """The same failure was fixed before."""
    return RecalledLesson(lesson=a_lesson(), score=1.0, reason="same fingerprint").with_(**changes)


def a_pull_request(**changes: Any) -> PullRequestState:
    """An open pull request of ours."""
    return PullRequestState(
        number=17,
        state="open",
        head_sha="c" * 40,
        head_ref="metaagent/main/01234567",
        base_sha=HEAD,
        base_ref="main",
        from_fork=False,
        author="metaagent[bot]",
        url="https://github.example/octo/calculator/pull/17",
    ).with_(**changes)


def a_feedback(**changes: Any) -> Feedback:
    """Our pull request was merged."""
    return Feedback(
        repository=a_repository(), pull_request=17, merged=True, branch="metaagent/main/01234567"
    ).with_(**changes)
