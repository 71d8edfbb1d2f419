"""fix, explain, reproduce, retry and rerun: what is asked for, and what stands in the way."""

from typing import Any

import pytest

from bot.domain.command import Command
from bot.domain.github import WorkflowRunState
from bot.domain.registry import LiveMission
from bot.domain.request import Depth, MissionRequest, Trigger
from bot.errors import GitHubError, NotPermitted
from sandbox.types import TrustTier
from tests.builders import HEAD, a_repository
from tests.unit.bot.conversation.desks import (
    BRANCH,
    PULL,
    Office,
    a_command,
    a_label,
    a_press,
    a_red_pull,
)

pytestmark = pytest.mark.anyio


async def requested(
    words: str, office: Office | None = None, command: Command | None = None
) -> MissionRequest:
    office = office or Office()
    reply = await office.ask(command or a_command(words))
    assert reply.ok, reply.text
    (request,) = office.queue.requests.values()
    assert reply.mission_id == request.mission_id
    return request


@pytest.mark.parametrize(
    ("verb", "depth"),
    [
        ("fix", Depth.FIX),
        ("explain", Depth.EXPLAIN),
        ("reproduce", Depth.REPRODUCE),
        ("retry", Depth.FIX),
    ],
)
async def test_a_mission_is_asked_for_on_the_head_as_it_is_now(verb: str, depth: Depth) -> None:
    request = await requested(verb)
    assert request.mission_id == "mission:42:pr5:c1234"
    assert (request.depth, request.trigger, request.requested_by) == (
        depth,
        Trigger.COMMENT,
        "alice",
    )
    assert (request.head_sha, request.head_branch, request.pull_request) == (HEAD, BRANCH, PULL)
    assert request.tier is TrustTier.BRANCH
    assert request.check is None
    assert request.comment is not None


async def test_another_try_has_another_seed_and_the_same_one_each_time() -> None:
    seeds = {(await requested("retry")).seed for _ in range(2)}
    assert len(seeds) == 1
    assert seeds != {0}
    other = await requested("retry", command=a_command("retry", command_id="command:42:c9"))
    assert other.seed not in seeds


@pytest.mark.parametrize(
    ("words", "check"),
    [
        ("fix lint", 98),
        ("fix LINT", 98),
        ("fix tests (3.11)", 99),
        ("fix 3.12", 100),
        ("explain --check=lint", 98),
        ("fix lint --check=Lint", 98),
    ],
)
async def test_a_check_is_meant_by_its_name_or_a_part_of_it(words: str, check: int) -> None:
    request = await requested(words)
    assert request.check is not None
    assert request.check.id == check


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fix tests", "several red checks: `tests (3.11)`, `tests (3.12)`"),
        ("fix docs", "No red check is named `docs`. Red now: `lint`"),
        ("fix lint --check=tests", "Which check do you mean"),
        ("fix --rungs=7", "`--rungs` takes"),
        ("fix --rungs=", "`--rungs` takes"),
        ("fix --time-limit=true", "`--time-limit` takes seconds, 1 to 600: `--time-limit=60`"),
        ("fix --time-limit=601", "`--time-limit` takes"),
        ("fix --time-limit=²", "`--time-limit` takes"),
        ("fix --test=", "`--test` takes"),
        ("fix --colour=red", "Unknown option `--colour`"),
        ("apply --rungs=1", "Options of `apply`: `--mission`"),
        ("status --check=lint", "Options of `status`: none"),
    ],
)
async def test_what_is_not_clear_is_said_and_nothing_is_begun(words: str, said: str) -> None:
    office = Office()
    reply = await office.say(words)
    assert said in reply.text
    assert not reply.ok
    assert office.queue.requests == {}


async def test_options_reach_the_mission() -> None:
    command = a_command("fix").with_(
        options={
            "rungs": "1, 0",
            "time-limit": "60",
            "test": "python -m pytest -q tests/test_a.py",
        }
    )
    request = await requested("", command=command)
    assert (request.rungs, request.time_limit_s) == ((0, 1), 60.0)
    assert request.command == "python -m pytest -q tests/test_a.py"


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (a_command("fix calculator.py"), "calculator.py"),
        (a_command("explain src/calculator.py:12"), "src/calculator.py:12"),
        (a_command("fix", path="calculator.py", line=3), "calculator.py:3"),
        (a_command("fix lint", path="calculator.py", line=3), "calculator.py:3"),
        (a_command("fix lint"), ""),
    ],
)
async def test_a_file_or_the_line_of_a_thread_says_where_to_look(
    command: Command, hint: str
) -> None:
    assert (await requested("", command=command)).hint == hint


async def test_a_check_that_is_ours_or_no_test_is_not_meant() -> None:
    office = Office()
    lint = office.github.other_checks[0]
    office.github.other_checks = [
        lint.with_(app_slug="metaagent"),
        lint.with_(app_slug="codecov", name="lint too"),
    ]
    assert "No check is red" in (await office.say("fix lint")).text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state": "closed"}, "no longer open"),
        ({"author": "metaagent[bot]", "head_ref": "metaagent/x/1"}, "one of our fixes"),
    ],
)
async def test_some_pull_requests_are_not_worked_on(changes: dict[str, Any], said: str) -> None:
    office = Office()
    office.github.pulls[PULL] = a_red_pull(**changes)
    assert said in (await office.say("fix")).text
    assert office.queue.requests == {}


async def test_an_issue_has_no_code() -> None:
    office = Office()
    reply = await office.say("fix", is_pull_request=False)
    assert "pull requests only" in reply.text
    assert "pull_request" not in office.github.calls


async def test_a_fork_is_worked_on_in_its_own_tier() -> None:
    office = Office()
    office.github.pulls[PULL] = a_red_pull(from_fork=True, head_ref="main")
    office.registry.tries = {(42, "main", "m-1")}
    request = await requested("fix", office)
    assert (request.tier, request.head_branch) == (TrustTier.FORK, "main")
    assert office.registry.tries, "the fork's branch is not ours, whatever it is called"


async def test_a_person_who_asks_forgives_earlier_attempts() -> None:
    office = Office()
    office.registry.tries = {(42, BRANCH, "m-1"), (42, "other", "m-2")}
    await office.say("fix")
    assert office.registry.tries == {(42, "other", "m-2")}


def a_live(**changes: Any) -> LiveMission:
    return LiveMission(
        mission_id="mission:42:auto",
        repository=a_repository(),
        head_sha=HEAD,
        branch=BRANCH,
        pull_request=PULL,
    ).with_(**changes)


async def busy(state: str, **changes: Any) -> Office:
    office = Office()
    live = a_live(**changes)
    await office.registry.begin(live)
    office.queue.states[live.mission_id] = state
    return office


@pytest.mark.parametrize("whose", [{"admitted": True}, {"requested_by": "bob"}])
async def test_a_mission_at_work_on_the_same_commit_is_not_doubled(whose: dict[str, Any]) -> None:
    office = await busy("running", **whose)
    reply = await office.say("fix")
    assert "already running" in reply.text
    assert office.queue.requests == {}


@pytest.mark.parametrize("state", ["waiting", "running"])
async def test_an_automatic_mission_that_policy_may_still_end_gives_way_to_a_person(
    state: str,
) -> None:
    office = await busy(state)
    assert (await office.say("fix")).ok
    assert office.queue.states == {
        "mission:42:auto": "cancelled",
        "mission:42:pr5:c1234": "waiting",
    }


@pytest.mark.parametrize("state", ["waiting", "running"])
@pytest.mark.parametrize("words", ["explain", "reproduce"])
async def test_a_question_takes_no_repair_s_place(words: str, state: str) -> None:
    office = await busy(state)
    assert (await office.say(words)).ok
    assert office.queue.states == {"mission:42:auto": state, "mission:42:pr5:c1234": "waiting"}


@pytest.mark.parametrize(
    ("state", "changes"),
    [
        ("done", {}),
        ("running", {"head_sha": "d" * 40}),
        ("running", {"pull_request": 6}),
        ("waiting", {"requested_by": "bob"}),
    ],
)
async def test_other_missions_do_not_stand_in_the_way(state: str, changes: dict[str, Any]) -> None:
    office = await busy(state, **changes)
    assert (await office.say("fix")).ok
    assert office.queue.states["mission:42:auto"] == state


async def test_a_button_asks_for_a_mission_of_its_own_delivery() -> None:
    request = await requested("fix", command=a_press())
    assert (request.mission_id, request.comment, request.pull_request) == (
        "mission:42:bd-1",
        None,
        PULL,
    )


async def test_a_button_on_a_commit_without_a_pull_request_asks_for_its_branch() -> None:
    office = Office()
    office.github.pulls.clear()
    request = await requested("fix", office, a_press(number=None, head_branch="main"))
    assert (request.head_sha, request.head_branch, request.tier) == (
        HEAD,
        "main",
        TrustTier.DEFAULT_BRANCH,
    )


async def test_a_button_finds_the_pull_request_of_its_commit() -> None:
    request = await requested("fix", command=a_press(number=None))
    assert request.pull_request == PULL


@pytest.mark.parametrize("branch", [None, "main"])
@pytest.mark.parametrize("verb", ["fix", "explain", "retry"])
async def test_a_button_on_a_commit_of_a_fork_is_for_the_fork(
    verb: str, branch: str | None
) -> None:
    office = Office()
    office.github.pulls[PULL] = a_red_pull(from_fork=True, head_ref="main")
    request = await requested(verb, office, a_press(verb, number=None, head_branch=branch))
    assert (request.pull_request, request.tier) == (PULL, TrustTier.FORK)


async def test_a_button_on_a_commit_of_nobody_knows_whom_begins_nothing() -> None:
    office = Office()
    office.github.pulls.clear()
    reply = await office.ask(a_press(number=None, head_branch=None))
    assert "is unknown" in reply.text
    assert office.queue.requests == {}


async def test_the_label_is_taken_off_when_its_mission_is_asked_for() -> None:
    office = Office()
    office.github.pull_labels[PULL] = ["metaagent:fix", "bug"]
    await requested("fix", office, a_label())
    assert office.github.pull_labels[PULL] == ["bug"]


def a_run(**changes: Any) -> WorkflowRunState:
    return WorkflowRunState(id=7, name="CI", head_sha=HEAD, conclusion="failure").with_(**changes)


async def test_failed_runs_run_again() -> None:
    office = Office()
    runs = (
        a_run(),
        a_run(id=8, name="Docs", conclusion="timed_out"),
        a_run(id=9, name="Lint", conclusion="success"),
    )
    office.github.runs = {run.id: run for run in runs}
    reply = await office.say("rerun")
    assert sorted(office.github.reruns) == [7, 8]
    assert "`CI`, attempt 2" in reply.text
    assert (await office.say("rerun")).text.startswith("Nothing has failed")


async def test_one_workflow_can_be_named() -> None:
    office = Office()
    office.github.runs = {7: a_run(), 8: a_run(id=8, name="Docs")}
    await office.say("rerun docs")
    assert office.github.reruns == [8]
    assert "No failed workflow is named `nope`" in (await office.say("rerun nope")).text


@pytest.mark.parametrize(
    ("runs", "checks", "said"),
    [
        ((), "failure", "from another CI"),
        ((), "success", "No run has failed"),
        ((a_run(status="in_progress", conclusion=None),), "failure", "still running: `CI`"),
    ],
)
async def test_where_nothing_can_run_again_it_says_why(
    runs: tuple[Any, ...], checks: str, said: str
) -> None:
    office = Office()
    office.github.runs = {run.id: run for run in runs}
    office.github.other_checks = [
        office.github.other_checks[0].with_(conclusion=checks, app_slug="circleci")
    ]
    reply = await office.say("rerun")
    assert said in reply.text
    assert not reply.ok


async def test_the_missing_permission_is_named() -> None:
    office = Office()
    office.github.runs = {7: a_run()}
    office.github.faults["rerun_failed_jobs"] = [
        NotPermitted("Resource not accessible by integration", status=403)
    ]
    assert "`actions: write`" in (await office.say("rerun")).text


async def test_a_run_that_was_started_before_the_answer_was_lost_is_not_started_twice() -> None:
    office = Office()
    office.github.runs = {7: a_run()}
    office.github.after["rerun_failed_jobs"] = [GitHubError("time ran out", retryable=True)]
    await office.say("rerun")
    await office.say("rerun")
    assert office.github.reruns == [7]


@pytest.mark.parametrize(
    ("words", "path"),
    [("improve", ""), ("improve src/stock.py", "src/stock.py"), ("improve src/", "src/")],
)
async def test_an_improvement_is_asked_for_on_the_branch_of_the_pull_request(
    words: str, path: str
) -> None:
    request = await requested(words)
    assert request.mission_id == "mission:42:improve:c1234"
    assert (request.improve, request.head_branch, request.head_sha) == (path, BRANCH, HEAD)
    assert (request.trigger, request.requested_by) == (Trigger.COMMENT, "alice")
    assert (request.check, request.hint) == (None, "")


async def test_in_an_issue_the_default_branch_is_improved() -> None:
    command = a_command("improve stock.py", number=9, is_pull_request=False)
    request = await requested("", command=command)
    assert (request.head_branch, request.head_sha) == ("main", "b" * 40)
    assert (request.tier, request.pull_request) == (TrustTier.DEFAULT_BRANCH, None)
    assert request.comment is not None, "the answer goes to the issue"


async def test_a_file_of_a_review_thread_is_meant_without_a_path() -> None:
    request = await requested("", command=a_command("improve", path="src/a.py", line=3))
    assert (request.improve, request.hint) == ("src/a.py", "")


@pytest.mark.parametrize(
    ("pull", "said"),
    [
        ({"from_fork": True}, "A fork's branch cannot be improved"),
        ({"state": "closed"}, "no longer open"),
        ({"head_ref": "metaagent/main/0123", "author": "metaagent[bot]"}, "one of our fixes"),
    ],
)
async def test_where_nothing_can_be_improved_that_is_said(pull: dict[str, Any], said: str) -> None:
    office = Office()
    office.github.pulls[PULL] = a_red_pull(**pull)
    reply = await office.say("improve")
    assert said in reply.text
    assert office.queue.requests == {}


async def test_an_improvement_neither_replaces_nor_hinders_a_repair() -> None:
    office = Office()
    automatic = MissionRequest(
        mission_id="mission:42:auto",
        trigger=Trigger.CHECK_RUN,
        repository=a_repository(),
        head_sha=HEAD,
        head_branch=BRANCH,
    )
    await office.queue.submit(automatic)
    await office.say("improve", command_id="command:42:c1")
    await office.registry.begin(
        LiveMission(
            mission_id="mission:42:improve:c1",
            repository=a_repository(),
            head_sha=HEAD,
            branch=BRANCH,
            requested_by="alice",
            admitted=True,
        )
    )
    office.queue.states["mission:42:improve:c1"] = "running"
    assert office.queue.states["mission:42:auto"] == "waiting"
    reply = await office.say("fix", command_id="command:42:c2")
    assert reply.ok, reply.text
