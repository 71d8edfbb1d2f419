"""What only GitHub can say."""

from typing import Any

import pytest

from bot.domain.github import (
    CheckRunState,
    CommitState,
    FailedJob,
    JobStep,
    PullRequestState,
    WorkflowRunState,
)
from bot.domain.mission import Outcome
from bot.domain.registry import LiveMission, Switch
from bot.domain.request import CommentRef, Depth, MissionRequest, Trigger
from bot.errors import GitHubError, NotPermitted
from bot.intake.admission import admit
from bot.intake.called import MOST_BYTES, MOST_BYTES_IN_ALL, MOST_READ
from sandbox.types import CalledWorkflow, GitSource, TrustTier
from tests.builders import a_check, a_repository
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.memory_registry import MemoryRegistry
from tests.job_logs import begun, ended, text

pytestmark = pytest.mark.anyio
HEAD, BASE, TIP = "a" * 40, "b" * 40, "c" * 40
POLICY = ("main", ".github/metaagent.yml")


@pytest.fixture
def github() -> FakeGitHub:
    fake = FakeGitHub()
    fake.permissions = {"maintainer": "write", "triager": "read"}
    fake.branches = {"feature": HEAD, "main": TIP}
    fake.commits[HEAD] = CommitState(sha=HEAD, parents=(BASE,))
    return fake


def a_pull(**changes: Any) -> PullRequestState:
    return PullRequestState(
        number=3,
        state="open",
        head_sha=HEAD,
        head_ref="feature",
        base_sha=TIP,
        base_ref="main",
        from_fork=False,
    ).with_(**changes)


def automatic(**changes: Any) -> MissionRequest:
    return MissionRequest(
        mission_id="m",
        trigger=Trigger.CHECK_RUN,
        repository=a_repository(),
        head_sha=HEAD,
        head_branch="feature",
        check=a_check(),
    ).with_(**changes)


def commanded(author: str = "maintainer") -> MissionRequest:
    return MissionRequest(
        mission_id="m",
        trigger=Trigger.COMMENT,
        repository=a_repository(),
        pull_request=3,
        comment=CommentRef(id=77, author=author, number=3),
    )


async def test_a_push_is_compared_with_its_first_parent(github: FakeGitHub) -> None:
    admission = await admit(automatic(), github)
    assert admission.admitted
    assert admission.checkout is not None
    source = admission.checkout.source
    assert isinstance(source, GitSource)
    assert (source.sha, source.base_sha, source.repository_id) == (HEAD, BASE, "42")
    assert admission.checkout.name == "calculator"
    assert admission.base_branch is None


async def test_a_pull_request_is_compared_with_its_merge_base(github: FakeGitHub) -> None:
    github.pulls[3] = a_pull()
    github.merge_bases[TIP, HEAD] = "d" * 40
    admission = await admit(automatic(), github)
    assert admission.request.pull_request == 3
    assert admission.base_branch == "main"
    assert admission.checkout is not None
    assert isinstance(admission.checkout.source, GitSource)
    assert admission.checkout.source.base_sha == "d" * 40


async def test_what_is_stored_carries_no_authorization(github: FakeGitHub) -> None:
    admission = await admit(automatic(), github)
    assert admission.checkout is not None
    assert isinstance(admission.checkout.source, GitSource)
    assert admission.checkout.source.authorization is None
    assert "Basic" not in admission.model_dump_json()


async def test_the_failing_step_becomes_a_hint(github: FakeGitHub) -> None:
    steps = (
        JobStep(name="install", number=1, conclusion="success"),
        JobStep(name="pytest", number=2, conclusion="failure"),
    )
    github.jobs[99] = FailedJob(
        id=99, name="tests", run_id=5, workflow_path=".github/workflows/ci.yml", steps=steps
    )
    admission = await admit(automatic(), github)
    assert admission.checkout is not None
    hints = admission.checkout.hints
    assert (hints.job_name, hints.step_name, hints.workflow_path) == (
        "tests",
        "pytest",
        ".github/workflows/ci.yml",
    )
    assert hints.repository == "octo/calculator"
    assert admission.job is not None


SHARED = CalledWorkflow(
    repository="org/ci", path=".github/workflows/python.yml", ref="v1", sha="1" * 40
)


async def called_by(
    github: FakeGitHub, *called: CalledWorkflow, name: str = "py / tests"
) -> tuple[CalledWorkflow, ...]:
    """What a mission of a failed job starts with."""
    github.jobs[99] = FailedJob(id=99, name=name, run_id=5, called=called)
    admission = await admit(automatic(), github)
    stored = type(admission).model_validate_json(admission.model_dump_json())
    assert stored == admission, "a resumed mission reads nothing again"
    assert stored.checkout is not None
    return stored.checkout.hints.called


async def test_the_workflows_of_other_repositories_are_read_once(github: FakeGitHub) -> None:
    github.called[f"org/ci/{SHARED.path}@{SHARED.sha}"] = b"jobs: {tests: {}}"
    local = SHARED.with_(repository="octo/shop", ref="refs/pull/3/merge")
    alias = SHARED.with_(ref="main")
    found = await called_by(github, SHARED, local, alias)
    assert found == (
        SHARED.with_(text="jobs: {tests: {}}"),
        alias.with_(text="jobs: {tests: {}}"),
    )
    assert github.calls.count("read_called") == 1
    assert github.released, "no token for the other repository is kept"


async def test_a_job_of_the_repository_itself_reads_no_workflow(github: FakeGitHub) -> None:
    assert await called_by(github, SHARED, name="tests") == ()
    assert "read_called" not in github.calls


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "GitHub does not let us read org/ci: it is private, or gone"),
        (b"#" * (MOST_BYTES + 1), "it is too large"),
        (b"\xff", "it is not UTF-8"),
        (b"a: \x00", "it is not valid YAML"),
    ],
)
async def test_a_workflow_that_cannot_be_used_is_named(
    github: FakeGitHub, content: bytes | None, problem: str
) -> None:
    if content is not None:
        github.called[f"org/ci/{SHARED.path}@{SHARED.sha}"] = content
    (found,) = await called_by(github, SHARED)
    assert (found.text, found.problem) == ("", problem)


async def test_a_refusal_of_a_workflow_is_no_error_but_a_silent_github_is(
    github: FakeGitHub,
) -> None:
    github.faults["read_called"] = [GitHubError("hostile words"), GitHubError("x", retryable=True)]
    (found,) = await called_by(github, SHARED)
    assert found.problem == "GitHub did not serve it"
    with pytest.raises(GitHubError):
        await called_by(github, SHARED)


async def test_only_some_workflows_are_read_and_only_so_much_is_kept(github: FakeGitHub) -> None:
    many = [SHARED.with_(sha=f"{number:040x}") for number in range(MOST_READ + 1)]
    github.called |= {f"org/ci/{one.path}@{one.sha}": b"#" * MOST_BYTES for one in many}
    found = await called_by(github, *many)
    assert github.calls.count("read_called") == MOST_READ
    assert sum(len(one.text) for one in found) == MOST_BYTES_IN_ALL
    assert found[-1].problem == "only 20 workflows of other repositories are read"


RED_LOG = (
    "2026-07-30T10:00:00.1234567Z ##[group]Run pytest -q\n2026-07-30T10:00:01.1234567Z ##[endgroup]\n"
    "2026-07-30T10:00:02.1234567Z FAILED tests/test_a.py::test_x - ValueError: token-hunter2-hunter2\n"
    "2026-07-30T10:00:03.1234567Z ##[error]Process completed with exit code 1.\n"
)


async def test_the_red_job_s_log_is_read_and_its_reading_kept(github: FakeGitHub) -> None:
    step = JobStep(
        name="unit tests",
        number=2,
        conclusion="failure",
        started_at="2026-07-30T10:00:00Z",
        completed_at="2026-07-30T10:00:03Z",
    )
    github.jobs[99] = FailedJob(id=99, name="tests", run_id=5, steps=(step,))
    github.logs[99] = RED_LOG
    admission = await admit(automatic(), github, secrets=("token-hunter2-hunter2",))
    assert admission.ci_log is not None
    assert (admission.ci_log.step, admission.ci_log.command) == ("unit tests", "pytest -q")
    assert admission.ci_log.failing == {"tests/test_a.py::test_x"}
    assert "hunter2" not in admission.model_dump_json()
    assert type(admission).model_validate_json(admission.model_dump_json()) == admission


async def test_of_two_red_steps_the_log_of_the_first_is_read(github: FakeGitHub) -> None:
    log = begun()
    steps = []
    for number, (name, command) in enumerate(
        (("compare", "./ci/compare.sh"), ("report", "cat out/*.log || true")), 1
    ):
        begin = log.moment
        log.step(command, ["the answers differ" if number == 1 else "error: worker 3 failed"], 1)
        steps.append(
            JobStep(
                name=name,
                number=number,
                conclusion="failure",
                started_at=begin,
                completed_at=log.moment,
            )
        )
    ended(log)
    github.jobs[99] = FailedJob(id=99, name="tests", run_id=5, steps=tuple(steps))
    github.logs[99] = text(log)
    admission = await admit(automatic(), github)
    assert admission.ci_log is not None
    assert (admission.ci_log.step, admission.ci_log.command) == ("compare", "./ci/compare.sh")
    assert "the answers differ" in admission.ci_log.excerpt
    assert "worker 3" not in admission.ci_log.excerpt


async def test_a_job_without_a_log_is_admitted_all_the_same(github: FakeGitHub) -> None:
    github.jobs[99] = FailedJob(id=99, name="tests", run_id=5)
    admission = await admit(automatic(), github)
    assert admission.admitted
    assert admission.ci_log is None
    assert "job_log" in github.calls


async def test_a_log_that_github_keeps_to_itself_refuses_nothing(github: FakeGitHub) -> None:
    github.jobs[99] = FailedJob(id=99, name="tests", run_id=5)
    github.faults["job_log"] = [GitHubError("no right to read actions", status=403)]
    admission = await admit(automatic(), github)
    assert admission.admitted
    assert admission.ci_log is None


async def test_a_check_of_another_ci_has_no_job(github: FakeGitHub) -> None:
    admission = await admit(automatic(check=a_check(app_slug="other-ci")), github)
    assert admission.job is None
    assert "failed_job" not in github.calls
    assert "job_log" not in github.calls


async def test_the_policy_comes_from_the_default_branch_only(github: FakeGitHub) -> None:
    github.files["feature", POLICY[1]] = b"enabled: false"
    github.files[POLICY] = b"test_command: make check\nsetup: [make deps]\ncolour: red\n"
    admission = await admit(automatic(), github)
    assert admission.admitted
    assert admission.policy.problems == (".github/metaagent.yml:3: unknown key `colour`",)
    assert admission.checkout is not None
    assert admission.checkout.hints.command == "make check"
    assert admission.checkout.hints.setup == ("make deps",)


@pytest.mark.parametrize(
    "policy", [b"enabled: false", b"automatic: false", b"enabled: perhaps", b"a: [", b"- 1"]
)
async def test_a_repository_that_says_no_is_left_alone(github: FakeGitHub, policy: bytes) -> None:
    github.files[POLICY] = policy
    admission = await admit(automatic(), github)
    assert admission.refusal is Outcome.POLICY
    assert admission.checkout is None
    assert admission.reason


async def test_a_command_is_obeyed_where_automatic_work_is_off(github: FakeGitHub) -> None:
    github.pulls[3] = a_pull()
    github.files[POLICY] = b"automatic: false"
    assert (await admit(commanded(), github)).admitted


@pytest.mark.parametrize("now", [TIP, None], ids=["moved", "gone"])
async def test_a_branch_that_is_no_longer_there_is_stale(
    github: FakeGitHub, now: str | None
) -> None:
    github.branches = {"feature": now} if now else {}
    admission = await admit(automatic(), github)
    assert admission.refusal is Outcome.STALE
    assert "feature" in admission.reason


@pytest.mark.parametrize("author", ["triager", "stranger"])
async def test_who_may_not_write_may_not_command_and_is_told_so(
    github: FakeGitHub, author: str
) -> None:
    github.pulls[3] = a_pull()
    admission = await admit(commanded(author), github)
    assert admission.refusal is Outcome.POLICY
    assert author in admission.reason
    assert "maintainer" in admission.advice
    assert admission.request.head_sha == HEAD


async def test_a_command_finds_the_newest_red_check_of_the_head(github: FakeGitHub) -> None:
    github.pulls[3] = a_pull()
    run = CheckRunState(
        id=1, name="old", head_sha=HEAD, conclusion="failure", app_slug="github-actions"
    )
    github.other_checks = [
        run,
        run.with_(id=5, name="newest"),
        run.with_(id=7, name="green", conclusion="success"),
        run.with_(id=8, name="ours", app_slug="metaagent"),
        run.with_(id=9, name="coverage", app_slug="codecov"),
    ]
    github.jobs[5] = FailedJob(id=5, name="newest", run_id=1)
    admission = await admit(commanded(), github)
    assert admission.request.check is not None
    assert admission.request.check.name == "newest"
    assert (admission.request.head_sha, admission.request.head_branch) == (HEAD, "feature")
    assert admission.job is not None


async def test_a_command_without_a_red_check_leaves_it_to_the_tests(github: FakeGitHub) -> None:
    github.pulls[3] = a_pull()
    admission = await admit(commanded(), github)
    assert admission.admitted
    assert admission.request.check is None


async def test_a_fork_is_read_only_and_its_own_tier(github: FakeGitHub) -> None:
    github.pulls[3] = a_pull(from_fork=True, head_ref="main", head_repository_id=4711)
    admission = await admit(commanded(), github)
    assert admission.read_only
    assert admission.checkout is not None
    assert admission.checkout.tier is TrustTier.FORK
    assert admission.checkout.head_repository_id == "4711"


@pytest.mark.parametrize(
    "changes", [{"head_repository_id": 1}, {"from_fork": True, "head_repository_id": None}]
)
async def test_only_a_fork_that_is_there_is_named(
    github: FakeGitHub, changes: dict[str, Any]
) -> None:
    github.pulls[3] = a_pull(**changes)
    admission = await admit(commanded(), github)
    assert admission.checkout is not None
    assert admission.checkout.head_repository_id is None


@pytest.mark.parametrize(
    "changes", [{"state": "closed"}, {"head_ref": "metaagent/feature/01234567"}]
)
async def test_closed_and_own_pull_requests_are_refused(
    github: FakeGitHub, changes: dict[str, Any]
) -> None:
    github.pulls[3] = a_pull(**changes)
    assert (await admit(commanded(), github)).refusal is Outcome.POLICY


async def test_a_number_that_is_an_issue_is_refused(github: FakeGitHub) -> None:
    assert (await admit(commanded(), github)).refusal is Outcome.POLICY


async def test_the_pull_request_of_a_fork_at_the_same_commit_is_not_taken(
    github: FakeGitHub,
) -> None:
    github.pulls[3] = a_pull(from_fork=True)
    admission = await admit(automatic(), github)
    assert admission.request.pull_request is None


async def test_the_branch_of_a_fork_that_is_called_like_one_of_ours_starts_nothing(
    github: FakeGitHub,
) -> None:
    github.pulls[3] = a_pull(from_fork=True, head_ref="main")
    admission = await admit(automatic(head_branch="main"), github)
    assert admission.refusal is Outcome.POLICY
    assert "fork" in admission.reason
    assert "/metaagent fix" in admission.advice


async def test_an_admission_survives_its_json(github: FakeGitHub) -> None:
    admission = await admit(automatic(), github)
    assert type(admission).model_validate_json(admission.model_dump_json()) == admission


async def test_who_set_off_the_run_is_asked_of_github(github: FakeGitHub) -> None:
    github.runs[1] = WorkflowRunState(
        id=1,
        event="pull_request",
        head_sha=HEAD,
        conclusion="failure",
        actor="maintainer",
        triggering_actor="triager",
    )
    admission = await admit(automatic(), github)
    assert admission.refusal is Outcome.POLICY
    assert "triager" in admission.reason
    github.faults["runs_at"] = [NotPermitted("no right to read actions")]
    assert (await admit(automatic(), github)).admitted


async def test_a_skipped_commit_starts_nothing_unasked(github: FakeGitHub) -> None:
    github.pulls[3] = a_pull()
    github.commits[HEAD] = CommitState(sha=HEAD, parents=(BASE,), message="wip [skip metaagent]")
    assert "skip" in (await admit(automatic(), github)).reason
    assert (await admit(commanded(), github)).admitted


async def test_somebody_who_turned_us_off_is_heard(github: FakeGitHub) -> None:
    github.pulls[3] = a_pull()
    registry = MemoryRegistry()
    await registry.switch(Switch(repository_id=42, pull_request=3, off=True, by="maintainer"))
    admission = await admit(automatic(), github, registry=registry)
    assert admission.reason == "maintainer turned MetaAgent off for this pull request"
    assert (await admit(commanded(), github, registry=registry)).admitted


async def test_a_mission_is_not_counted_against_itself(github: FakeGitHub) -> None:
    github.files[POLICY] = b"limits: {attempts: 2}"
    registry = MemoryRegistry()
    for name, admitted in (("m", True), ("m2", True), ("m3", False)):
        live = LiveMission(
            mission_id=name, repository=a_repository(), head_sha=HEAD, branch="feature"
        )
        await registry.begin(live)
        admission = await admit(automatic(mission_id=name), github, registry=registry)
        assert admission.admitted is admitted, admission.reason
    await registry.forgive(42, branch="feature")
    assert (await admit(automatic(mission_id="m4"), github, registry=registry)).admitted


async def test_the_owner_s_defaults_are_asked_for_too(github: FakeGitHub) -> None:
    github.files["HEAD", "metaagent.yml"] = b"automatic: false"
    admission = await admit(automatic(), github)
    assert "octo/.github/metaagent.yml:1" in admission.reason


async def test_a_button_on_a_commit_without_a_pull_request_is_obeyed(github: FakeGitHub) -> None:
    pressed = automatic(trigger=Trigger.COMMENT, requested_by="maintainer", check=None)
    admission = await admit(pressed, github)
    assert admission.admitted, admission.reason
    assert admission.checkout is not None
    assert isinstance(admission.checkout.source, GitSource)
    assert admission.checkout.source.base_sha == BASE
    refused = await admit(pressed.with_(requested_by="triager"), github)
    assert refused.refusal is Outcome.POLICY
    assert "triager" in refused.reason


async def test_a_check_a_person_named_is_kept(github: FakeGitHub) -> None:
    github.pulls[3] = a_pull()
    github.other_checks = [CheckRunState(id=5, name="newest", head_sha=HEAD, conclusion="failure")]
    admission = await admit(commanded().with_(check=a_check(name="named")), github)
    assert admission.request.check == a_check(name="named")


async def test_nothing_is_pushed_where_no_fix_was_asked_for(github: FakeGitHub) -> None:
    github.pulls[3] = a_pull()
    assert not (await admit(commanded(), github)).read_only
    assert (await admit(commanded().with_(depth=Depth.EXPLAIN), github)).read_only
