"""What each event comes down to."""

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bot.domain.boxes import Box
from bot.domain.command import Command, Origin, Verb
from bot.domain.request import (
    CheckRef,
    DashboardTouched,
    Feedback,
    HeadMoved,
    Ignored,
    InstallationChange,
    PullRequestOpened,
    RedHead,
)
from bot.errors import DeliveryRejected
from bot.github.events import read_delivery
from bot.github.manifest import DASHBOARD_EVENTS, EVENTS
from bot.intake import guards
from bot.intake.identity import OwnApp
from bot.intake.router import HANDLERS, route
from sandbox.types import TrustTier
from tests.unit.bot.intake import payloads

OWN = OwnApp(app_id=payloads.APP_ID, slug="metaagent")
OTHER = "b" * 40
FORK = {"ref": "feature", "sha": payloads.HEAD, "repo": {"id": 43}}
GONE = {"ref": "feature", "sha": payloads.HEAD, "repo": None}
OURS = {"ref": "metaagent/feature/01234567", "sha": payloads.HEAD, "repo": {"id": 42}}


def routed(payload: dict[str, Any], event: str) -> Any:
    return route(read_delivery(event, "d-1", payloads.encoded(payload)), OWN)


def why_not(payload: dict[str, Any], event: str) -> str:
    decision = routed(payload, event)
    assert isinstance(decision, Ignored), decision
    return decision.reason


# --- a check turned red ------------------------------------------------------------------------------


def test_a_red_check_on_a_branch_makes_its_head_watched() -> None:
    red = routed(payloads.check_run(pull_requests=[payloads.pull_request_link()]), "check_run")
    assert isinstance(red, RedHead)
    assert red.mission_id == f"mission:42:{payloads.HEAD}:auto"
    assert (red.pull_request, red.tier) == (3, TrustTier.BRANCH)
    assert red.check is not None
    assert red.check.is_actions_job
    assert red.repository.full_name == "octo/calculator"
    assert red.repository.installation_id == 7


RED = {
    "check_run": payloads.check_run(),
    "check_suite": payloads.check_suite(),
    "workflow_run": payloads.workflow_run(),
    "workflow_job": payloads.workflow_job(),
    "status": payloads.status(),
}


@pytest.mark.parametrize("event", sorted(RED))
def test_every_event_that_tells_of_a_red_check_asks_for_the_same_mission(event: str) -> None:
    red = routed(RED[event], event)
    assert isinstance(red, RedHead), red
    assert red.mission_id == f"mission:42:{payloads.HEAD}:auto"
    assert (red.head_branch, red.tier, red.delivery_id) == ("feature", TrustTier.BRANCH, "d-1")


@pytest.mark.parametrize("event", sorted(RED))
def test_a_push_to_the_default_branch_has_its_own_tier(event: str) -> None:
    made = {
        "check_run": lambda: payloads.check_run(branch="main"),
        "check_suite": lambda: payloads.check_suite(head_branch="main"),
        "workflow_run": lambda: payloads.workflow_run(head_branch="main", event="push"),
        "workflow_job": lambda: payloads.workflow_job(head_branch="main"),
        "status": lambda: payloads.status(
            branches=[{"name": "main", "commit": {"sha": payloads.HEAD}}]
        ),
    }
    assert routed(made[event](), event).tier is TrustTier.DEFAULT_BRANCH


@pytest.mark.parametrize("event", ["check_run", "check_suite", "workflow_run", "workflow_job"])
@pytest.mark.parametrize(
    "conclusion", ["success", "neutral", "cancelled", "skipped", "stale", None]
)
def test_only_red_conclusions_count(event: str, conclusion: str | None) -> None:
    made = getattr(payloads, event)
    assert "conclusion" in why_not(made(conclusion=conclusion), event)
    assert isinstance(routed(made(conclusion="timed_out"), event), RedHead)


def test_a_run_that_waits_for_approval_and_a_broken_workflow_file_say_so() -> None:
    assert "maintainer" in why_not(
        payloads.workflow_run(conclusion="action_required"), "workflow_run"
    )
    assert "workflow file" in why_not(
        payloads.workflow_run(conclusion="startup_failure"), "workflow_run"
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"app": {"id": payloads.APP_ID, "slug": "renamed"}}, "our own check"),
        ({"app": {"id": 9, "slug": "metaagent"}}, "our own check"),
        ({"app": {"id": 9, "slug": "codecov"}}, "not tests"),
        ({"branch": "metaagent/feature/01234567"}, "our own branch"),
        ({"branch": "dependabot/pip/x-1"}, "Dependabot"),
        ({"branch": "renovate/x"}, "Renovate"),
        ({"branch": "gh-readonly-queue/main/pr-3-abc"}, "merge queue"),
        ({"branch": "automation/bors/auto"}, "merge queue"),
        ({"branch": "automation/bors/try-merge"}, "merge queue"),
        ({"branch": "mergify/merge-queue/0a1b2c"}, "merge queue"),
        ({"branch": "trunk-merge/pr-3/0a1b2c"}, "merge queue"),
        ({"branch": "gtmq_spec_0a1b2c"}, "merge queue"),
        ({"branch": None}, "fork"),
        ({"branch": ""}, "fork"),
        ({"pull_requests": [payloads.pull_request_link(head_repository=43)]}, "fork"),
    ],
)
def test_checks_that_are_not_ours_to_repair_are_ignored_with_the_reason(
    changes: dict[str, Any], reason: str
) -> None:
    assert reason in why_not(payloads.check_run(**changes), "check_run")
    if "branch" in changes:
        changes = {"head_branch": changes["branch"]}
        assert reason in why_not(payloads.check_suite(**changes), "check_suite")
        assert reason in why_not(payloads.workflow_run(**changes), "workflow_run")
        if changes["head_branch"]:
            assert reason in why_not(payloads.workflow_job(**changes), "workflow_job")
    elif "app" in changes:
        assert reason in why_not(payloads.check_suite(**changes), "check_suite")


@pytest.mark.parametrize("branch", [None, "", "absent"])
def test_a_job_that_names_no_branch_is_not_called_a_fork(branch: str | None) -> None:
    """Its payload says nothing of where the head is; that of the workflow run does."""
    payload = payloads.workflow_job(head_branch=branch)
    if branch == "absent":
        del payload["workflow_job"]["head_branch"]
    reason = why_not(payload, "workflow_job")
    assert "has no branch" in reason
    assert "fork" not in reason


def test_a_branch_that_only_sounds_like_a_merge_queue_is_answered() -> None:
    for branch in ("automation/release", "automation/borscht", "feature/gh-readonly-queue/x"):
        assert isinstance(routed(payloads.check_run(branch=branch), "check_run"), RedHead)


def test_pull_requests_of_other_repositories_are_not_looked_at() -> None:
    elsewhere = payloads.pull_request_link(number=9, head_repository=42, base_repository=43)
    red = routed(payloads.check_run(pull_requests=[elsewhere]), "check_run")
    assert isinstance(red, RedHead)
    assert red.pull_request is None


def test_a_pull_request_whose_head_has_moved_is_not_taken_for_this_commit() -> None:
    link = payloads.pull_request_link()
    link["head"]["sha"] = "c" * 40
    assert routed(payloads.check_run(pull_requests=[link]), "check_run").pull_request is None


@pytest.mark.parametrize("event", ["check_run", "check_suite", "workflow_run"])
def test_pull_requests_that_are_null_are_none(event: str) -> None:
    assert isinstance(routed(getattr(payloads, event)(pull_requests=None), event), RedHead)


@pytest.mark.parametrize("repository", [None, {"id": 43}, {}], ids=["deleted", "fork", "unknown"])
@pytest.mark.parametrize("branch", ["feature", "main"])
def test_a_run_of_a_fork_is_one_whatever_its_branch_is_called(
    repository: object, branch: str
) -> None:
    run = payloads.workflow_run(head_repository=repository, head_branch=branch)
    assert "fork" in why_not(run, "workflow_run")


@pytest.mark.parametrize(
    "event", ["pull_request_target", "issue_comment", "workflow_run", "release", "merge_group"]
)
def test_a_run_that_tests_no_code_of_its_commit_is_ignored(event: str) -> None:
    assert event in why_not(payloads.workflow_run(event=event), "workflow_run")


def test_who_set_off_a_run_is_kept_unless_it_was_a_push_here() -> None:
    assert routed(payloads.workflow_run(), "workflow_run").actors == ("maintainer", "rerunner")
    same = {"login": "maintainer", "type": "User"}
    assert routed(payloads.workflow_run(triggering_actor=same), "workflow_run").actors == (
        "maintainer",
    )
    assert (
        routed(payloads.workflow_run(actor=None, triggering_actor=None), "workflow_run").actors
        == ()
    )
    assert routed(payloads.workflow_run(event="push"), "workflow_run").actors == ()
    assert routed(payloads.workflow_run(), "workflow_run").workflow_run == 77


@pytest.mark.parametrize("state", ["success", "pending"])
def test_a_status_that_is_not_red_is_ignored(state: str) -> None:
    assert state in why_not(payloads.status(state=state), "status")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"context": "codecov/patch"}, "not about tests"),
        ({"context": "license/cla"}, "not about tests"),
        ({"branches": []}, "fork"),
        ({"branches": None}, "fork"),
        ({"branches": [{"name": "main", "commit": {"sha": "c" * 40}}]}, "fork"),
        (
            {"branches": [{"name": "metaagent/x/1", "commit": {"sha": payloads.HEAD}}]},
            "our own branch",
        ),
        ({"sender": {"login": "metaagent[bot]", "type": "Bot"}}, "our own status"),
    ],
)
def test_statuses_that_are_not_ours_to_repair_are_ignored(
    changes: dict[str, Any], reason: str
) -> None:
    assert reason in why_not(payloads.status(**changes), "status")


def test_a_status_error_counts_and_the_default_branch_is_preferred() -> None:
    heads = [{"name": name, "commit": {"sha": payloads.HEAD}} for name in ("feature", "main")]
    red = routed(payloads.status(state="error", branches=heads), "status")
    assert (red.head_branch, red.check.id, red.check.is_status) == ("main", 0, True)


# --- what is repaired first --------------------------------------------------------------------------


def test_a_job_comes_before_other_ci_tests_before_style_and_the_oldest_first() -> None:
    def check(number: int, name: str, app: str = "github-actions") -> CheckRef:
        return CheckRef(id=number, name=name, app_slug=app)

    other, lint, late, early = (
        check(1, "tests", "circleci"),
        check(2, "lint"),
        check(9, "unit"),
        check(5, "test (3.12)"),
    )
    assert guards.rank_checks((other, lint, late, early)) == (early, late, lint, other)


# --- what people do ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "payload", "origin"),
    [
        ("issue_comment", payloads.comment("/metaagent fix"), Origin.COMMENT),
        (
            "pull_request",
            payloads.pull_request("labeled", label={"name": "metaagent:fix"}),
            Origin.LABEL,
        ),
        (
            "check_run",
            payloads.check_run(app={"id": payloads.APP_ID}, external_id="m")
            | {"action": "rerequested"},
            Origin.BUTTON,
        ),
        (
            "check_suite",
            payloads.check_suite("rerequested", app={"id": payloads.APP_ID}),
            Origin.BUTTON,
        ),
    ],
)
def test_comments_labels_and_buttons_are_commands(
    event: str, payload: dict[str, Any], origin: Origin
) -> None:
    command = routed(payload, event)
    assert isinstance(command, Command), command
    assert command.origin is origin
    assert command.verb in {Verb.FIX, Verb.RETRY}
    assert command.author == "maintainer"


def test_a_suite_is_asked_for_again_by_people_and_by_us_not() -> None:
    other = payloads.check_suite("rerequested")
    assert "another App's" in why_not(other, "check_suite")
    bot = payloads.check_suite("rerequested", app={"id": payloads.APP_ID})
    bot["sender"] = {"login": "x[bot]", "type": "Bot"}
    assert "bot" in why_not(bot, "check_suite")


# --- branches and pull requests ----------------------------------------------------------------------


def test_a_push_moves_a_head() -> None:
    moved = routed(payloads.push(), "push")
    assert isinstance(moved, HeadMoved)
    assert (moved.branch, moved.before, moved.after, moved.pusher) == (
        "feature",
        payloads.HEAD,
        OTHER,
        "maintainer",
    )
    assert not moved.closed


@pytest.mark.parametrize(
    "changes", [{"deleted": True}, {"deleted": True, "after": "0" * 40}, {"after": "0" * 40}]
)
def test_a_deleted_branch_has_no_commit_after(changes: dict[str, Any]) -> None:
    moved = routed(payloads.push(**changes), "push")
    assert isinstance(moved, HeadMoved)
    assert moved.after is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ref": "refs/tags/v1"}, "not a branch"),
        ({"before": "0" * 40, "created": True}, "new"),
        ({"sender": {"login": "metaagent[bot]", "type": "Bot"}}, "our own push"),
    ],
)
def test_pushes_that_end_nothing_are_ignored(changes: dict[str, Any], reason: str) -> None:
    assert reason in why_not(payloads.push(**changes), "push")


def test_a_person_who_pushes_to_a_branch_of_ours_is_heard() -> None:
    moved = routed(payloads.push(ref=f"refs/heads/{OURS['ref']}"), "push")
    assert isinstance(moved, HeadMoved)
    assert moved.branch == OURS["ref"]


def test_a_synchronized_pull_request_moves_a_head_and_a_fork_s_is_marked() -> None:
    moved = routed(
        payloads.pull_request("synchronize", before=OTHER, after=payloads.HEAD), "pull_request"
    )
    assert isinstance(moved, HeadMoved)
    assert (moved.before, moved.after, moved.pull_request, moved.from_fork) == (
        OTHER,
        payloads.HEAD,
        3,
        False,
    )
    for head in (FORK, GONE):
        assert routed(payloads.pull_request("synchronize", head=head), "pull_request").from_fork


@pytest.mark.parametrize("head", [None, FORK, GONE], ids=["here", "fork", "deleted fork"])
def test_a_closed_pull_request_of_a_person_ends_work_on_it(head: dict[str, Any] | None) -> None:
    moved = routed(
        payloads.pull_request("closed", **({"head": head} if head else {})), "pull_request"
    )
    assert isinstance(moved, HeadMoved)
    assert (moved.closed, moved.pull_request, moved.from_fork) == (True, 3, head is not None)


@pytest.mark.parametrize("merged", [True, False])
def test_the_end_of_our_pull_request_is_feedback(*, merged: bool) -> None:
    feedback = routed(
        payloads.closed_pull_request(merged=merged, merge_commit_sha=OTHER), "pull_request"
    )
    assert isinstance(feedback, Feedback)
    assert (feedback.merged, feedback.pull_request, feedback.by) == (merged, 8, "maintainer")
    assert feedback.merge_sha == (OTHER if merged else None)


def test_our_pull_request_that_is_opened_again_is_feedback() -> None:
    payload = payloads.closed_pull_request(merged=False) | {"action": "reopened"}
    assert routed(payload, "pull_request").fate == "reopened"


def test_a_merged_revert_is_feedback_on_what_it_undoes() -> None:
    head = {"ref": "revert-8-metaagent/feature/01234567", "sha": payloads.HEAD, "repo": {"id": 42}}
    feedback = routed(payloads.pull_request("closed", head=head, merged=True), "pull_request")
    assert isinstance(feedback, Feedback)
    assert (feedback.fate, feedback.pull_request, feedback.branch) == ("reverted", 8, OURS["ref"])
    for other in ({"merged": False}, {"merged": True, "head": head | {"repo": {"id": 43}}}):
        assert isinstance(
            routed(payloads.pull_request("closed", **{"head": head, **other}), "pull_request"),
            HeadMoved,
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"head": OURS | {"repo": {"id": 43}}},
        {"head": OURS | {"repo": None}},
        {"user": {"login": "stranger", "type": "User"}},
        {"user": None},
    ],
)
def test_what_only_looks_like_our_pull_request_is_no_feedback(changes: dict[str, Any]) -> None:
    assert why_not(payloads.closed_pull_request(**changes), "pull_request")


def test_a_pull_request_that_is_opened_again_is_looked_at_for_red_checks() -> None:
    red = routed(payloads.pull_request("reopened"), "pull_request")
    assert isinstance(red, RedHead)
    assert (red.check, red.pull_request) == (None, 3)
    # What was ended by closing it is begun anew, once for each time.
    assert red.mission_id == f"mission:42:{payloads.HEAD}:auto:{red.delivery_id}"
    assert "fork" in why_not(payloads.pull_request("reopened", head=FORK), "pull_request")


def test_a_new_pull_request_may_change_the_policy() -> None:
    opened = routed(payloads.pull_request("opened", head=FORK), "pull_request")
    assert isinstance(opened, PullRequestOpened)
    assert (opened.pull_request, opened.head_sha) == (3, payloads.HEAD)
    assert (opened.repository.full_name, opened.delivery_id) == ("octo/calculator", "d-1")
    ours = payloads.pull_request("opened") | {"sender": {"login": "metaagent[bot]", "type": "Bot"}}
    assert "our own" in why_not(ours, "pull_request")


# --- installations and the rest ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "action", ["created", "deleted", "suspend", "unsuspend", "new_permissions_accepted"]
)
def test_an_installation_s_change_is_passed_on(action: str) -> None:
    change = routed(payloads.installation(action, repositories=[{"id": 42}]), "installation")
    assert isinstance(change, InstallationChange)
    assert (change.installation_id, change.account, change.action) == (7, "octo", action)
    assert change.added == ((42,) if action == "created" else ())
    assert change.removed == ((42,) if action == "deleted" else ())


def test_an_installation_on_a_whole_enterprise_is_heard() -> None:
    on_all = {"id": 7, "account": {"id": 1, "slug": "octo-corp", "name": "Octo Corp"}}
    change = routed(payloads.installation("suspend", installation=on_all), "installation")
    assert (change.installation_id, change.account, change.action) == (7, "octo-corp", "suspend")


def test_repositories_that_come_and_go_are_named() -> None:
    both = {"repositories_added": [{"id": 1}, {"id": 2}], "repositories_removed": [{"id": 3}]}
    change = routed(payloads.installation("added", **both), "installation_repositories")
    assert (change.added, change.removed) == ((1, 2), (3,))


def test_a_ping_says_whether_it_is_ours() -> None:
    assert "works" in why_not(
        {"zen": "x", "hook": {"app_id": payloads.APP_ID, "events": ["push"]}}, "ping"
    )
    assert "METAAGENT_APP_ID" in why_not({"zen": "x", "hook": {"app_id": 9}}, "ping")
    assert "works" in why_not({"zen": "x"}, "ping")


SOUND = {
    "check_run": payloads.check_run(pull_requests=[payloads.pull_request_link()]),
    "check_suite": payloads.check_suite(),
    "workflow_run": payloads.workflow_run(pull_requests=[payloads.pull_request_link()]),
    "workflow_job": payloads.workflow_job(),
    "status": payloads.status(),
    "push": payloads.push(),
    "pull_request": payloads.pull_request("closed", merged=True),
    "issue_comment": payloads.comment("/metaagent fix"),
    "installation": payloads.installation("deleted", repositories=[{"id": 42}]),
    "installation_repositories": payloads.installation("added", repositories_added=[{"id": 1}]),
    "ping": {"zen": "x", "hook_id": 1, "hook": {"app_id": 1, "events": ["push"]}},
}


def bent(value: Any, spoil: Callable[[Any, Any], None]) -> Iterator[None]:
    """Spoil each place of a payload in turn, and put it back."""
    places = (
        list(value)
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else []
    )
    for place in places:
        kept = value[place]
        yield from bent(kept, spoil)
        spoil(value, place)
        yield
        value[place] = kept


@pytest.mark.parametrize("event", sorted(SOUND))
@pytest.mark.parametrize(
    "wrong", [None, 7, -1, 2**70, "", "x" * 10_000, "\x00\u202e", [], [None], {}, True, 1.5]
)
def test_a_payload_with_anything_wrong_in_any_place_is_decided_or_rejected(
    event: str, wrong: object
) -> None:
    payload = copy.deepcopy(SOUND[event])

    def spoil(value: Any, place: Any) -> None:
        value[place] = wrong

    tried = 0
    for _ in bent(payload, spoil):
        tried += 1
        with contextlib.suppress(DeliveryRejected):
            routed(payload, event)
    assert tried > 3


def test_an_unknown_action_of_a_known_event_is_no_error() -> None:
    assert "check_run.invented" in why_not(
        {**payloads.check_run(), "action": "invented"}, "check_run"
    )


# --- a box of the dashboard was ticked -----------------------------------------------------------

CANCEL = Box(verb=Verb.STOP, number=5).row("**Cancel** the mission")
TURN_OFF = Box(verb=Verb.OFF, target="repository").row("**Turn off** MetaAgent here")
AT_BRANCH = Box(verb=Verb.RETRY, head_sha=payloads.HEAD, head_branch="a--b").row("Try again")
BOARD = f"<!-- metaagent:dashboard -->\n{CANCEL}\n{TURN_OFF}\n{AT_BRANCH}"


def board(*rows: str) -> str:
    """The dashboard with ticks, as a browser sends it."""
    text = BOARD
    for row in rows:
        text = text.replace(row, row.replace("- [ ]", "- [x]", 1))
    return text.replace("\n", "\r\n")


def test_a_ticked_box_is_a_command_of_who_ticked_it() -> None:
    command = routed(payloads.issue_edited(board(CANCEL), BOARD, login="alice"), "issues")
    assert isinstance(command, Command)
    assert (command.verb, command.author, command.origin) == (Verb.STOP, "alice", Origin.BOX)
    assert (command.number, command.is_pull_request, command.box) == (5, True, CANCEL)
    assert command.command_id == "command:42:xd-1"


def test_only_a_new_tick_counts_and_only_one() -> None:
    edited = payloads.issue_edited(board(CANCEL, TURN_OFF), board(CANCEL))
    command = routed(edited, "issues")
    assert isinstance(command, Command)
    assert (command.verb, command.target) == (Verb.OFF, "repository")
    assert (command.number, command.is_pull_request) == (9, False)


@pytest.mark.parametrize(
    ("body", "before"),
    [
        (board(CANCEL), board(CANCEL)),
        (BOARD, board(CANCEL)),
        (board(CANCEL).replace("%7B", "%5B"), BOARD),
        (board(CANCEL).replace("dashboard", "board"), BOARD),
        ("nothing of ours", BOARD),
    ],
)
def test_an_edit_without_a_new_tick_is_overwritten(body: str, before: str) -> None:
    touched = routed(payloads.issue_edited(body, before), "issues")
    assert isinstance(touched, DashboardTouched)
    assert (touched.number, touched.action) == (9, "edited")


@pytest.mark.parametrize("action", ["closed", "reopened", "deleted"])
def test_what_a_person_does_to_the_dashboard_is_noted(action: str) -> None:
    touched = routed(payloads.issue_state(action, login="bob", state="closed"), "issues")
    assert isinstance(touched, DashboardTouched)
    assert (touched.number, touched.action) == (9, action)
    assert "not our" in why_not(payloads.issue_state(action, author="mallory"), "issues")
    ours = payloads.issue_state(action, login="metaagent[bot]", type="Bot")
    assert "we did it" in why_not(ours, "issues")


def test_a_box_about_a_branch_names_its_commit() -> None:
    command = routed(payloads.issue_edited(board(AT_BRANCH), BOARD), "issues")
    assert isinstance(command, Command)
    assert (command.number, command.head_sha, command.head_branch) == (None, payloads.HEAD, "a--b")
    assert "--" not in AT_BRANCH.removeprefix("- [ ] <!--").partition("-->")[0]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"author": "mallory"}, "not our dashboard"),
        ({"login": "metaagent[bot]", "type": "Bot"}, "we did it"),
        ({"login": "other", "type": "Bot"}, "bots"),
        ({"state": "closed"}, "no text"),
        ({"before": None}, "no text"),
    ],
)
def test_no_other_edit_is_a_command(changes: dict[str, Any], reason: str) -> None:
    given = {"body": board(CANCEL), "before": BOARD, **changes}
    assert reason in why_not(payloads.issue_edited(**given), "issues")


@pytest.mark.parametrize(
    ("paths", "touched"),
    [
        ({"modified": [".github/metaagent.yml"]}, True),
        ({"removed": ["pyproject.toml"]}, True),
        ({"added": ["src/a.py"], "modified": None}, False),
    ],
)
def test_a_push_tells_whether_it_may_change_the_policy(paths: Any, *, touched: bool) -> None:
    moved = routed(payloads.push(commits=[{}, paths]), "push")
    assert isinstance(moved, HeadMoved)
    assert moved.touches_policy is touched


def test_an_unknown_event_is_no_error() -> None:
    assert "star" in why_not({"starred_at": None}, "star")


@pytest.mark.parametrize("event", ["push", "status"])
def test_an_action_that_an_old_payload_names_does_not_matter(event: str) -> None:
    assert not isinstance(routed({**getattr(payloads, event)(), "action": event}, event), Ignored)


def test_every_event_of_the_app_is_routed() -> None:
    automatic = {"installation", "installation_repositories", "ping"}
    assert {event for event, _ in HANDLERS} == {*EVENTS, *DASHBOARD_EVENTS, *automatic}
