"""The ports of runs, upkeep and hooks: the fake in memory and the gateway keep the same promises."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.github import BranchCommit, PullRequestFile, Suggestion
from bot.errors import Conflict, GitHubError, NotFound, NotPermitted
from sandbox.types import FileEdit
from tests.contract.github_stages import NAME, FakeStage, ServerStage, Stage
from tests.github_server.fixtures import app_key, local_github
from tests.github_server.server import LocalGitHub

__all__ = ["app_key", "local_github"]

pytestmark = [pytest.mark.anyio, pytest.mark.shared]
MARKER = "<!-- metaagent: m-1 -->"
EDIT = FileEdit(path="calculator.py", mode="100644", content=b"def add(a, b):\n    return a + b\n")
SCRIPT = FileEdit(path="run.sh", mode="100755", content=b"#!/bin/sh\n")


@pytest.fixture(params=["fake", "local"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    if request.param == "fake":
        built = FakeStage()
        built.fake.strangers = {"stranger", "octo/team"}
        built.fake.pull_files[1] = (PullRequestFile(path="calculator.py", patch="@@ -1,2 +1,2 @@"),)
        yield built
        return
    served = ServerStage(request.getfixturevalue("local_github"))
    yield served
    await served.gateway.aclose()


async def test_a_run_tells_who_set_it_off_and_runs_again(stage: Stage) -> None:
    assert await stage.github.workflow_run(stage.repository, 4711) is None
    assert await stage.github.runs_at(stage.repository, "e" * 40) == ()
    run, sha = stage.red_run()
    (found,) = await stage.github.runs_at(stage.repository, sha)
    assert found == await stage.github.workflow_run(stage.repository, run)
    assert (found.conclusion, found.event, found.actor, found.run_attempt) == (
        "failure",
        "push",
        "octo",
        1,
    )
    assert not found.from_fork
    await stage.github.rerun_failed_jobs(stage.repository, run)
    again = await stage.github.workflow_run(stage.repository, run)
    assert again is not None
    assert again.run_attempt == 2
    with pytest.raises(NotFound):
        await stage.github.rerun_failed_jobs(stage.repository, 4711)


async def test_a_commit_has_the_newest_status_of_each_context(stage: Stage) -> None:
    assert await stage.github.commit_statuses(stage.repository, stage.head) == ()
    for context, state in (
        ("ci/old", "failure"),
        ("ci/broken", "error"),
        ("ci/fine", "success"),
        ("ci/on", "pending"),
    ):
        stage.status(context, state)
    found = await stage.github.commit_statuses(stage.repository, stage.head)
    assert {one.context for one in found if one.is_red} == {"ci/old", "ci/broken"}
    assert {one.context for one in found if one.is_pending} == {"ci/on"}
    stage.status("ci/on", "success")
    again = await stage.github.commit_statuses(stage.repository, stage.head)
    assert [one.state for one in again if one.context == "ci/on"] == ["success"]
    assert len(again) == len(found)


async def test_an_open_pull_request_is_listed_until_it_is_closed(stage: Stage) -> None:
    assert [pull.number for pull in await stage.github.open_pull_requests(stage.repository)] == [
        stage.pull
    ]
    for _ in range(2):
        await stage.github.close_pull_request(stage.repository, stage.pull)
    assert await stage.github.open_pull_requests(stage.repository) == ()
    pull = await stage.github.pull_request(stage.repository, stage.pull)
    assert pull is not None
    assert pull.state == "closed"
    with pytest.raises(NotFound):
        await stage.github.close_pull_request(stage.repository, 4711)


async def test_a_branch_is_deleted_only_where_we_left_it(stage: Stage) -> None:
    sha = stage.push("metaagent/x")
    assert not await stage.github.delete_branch(
        stage.repository, "metaagent/x", expected=stage.main
    )
    assert await stage.github.branch_head(stage.repository, "metaagent/x") == sha
    for _ in range(2):
        assert await stage.github.delete_branch(stage.repository, "metaagent/x", expected=sha)
    assert await stage.github.branch_head(stage.repository, "metaagent/x") is None


@pytest.mark.parametrize("edits", [(EDIT,), (EDIT, SCRIPT)], ids=["by mutation", "with a mode"])
async def test_a_commit_on_a_branch_is_made_once_and_never_forced(
    stage: Stage, edits: tuple[FileEdit, ...]
) -> None:
    commit = BranchCommit(
        branch="feature/one", parent=stage.head, message="Fix add\n\nMetaAgent-Mission: m-1"
    )
    sha = await stage.github.commit_on_branch(stage.repository, commit, edits)
    assert await stage.github.commit_on_branch(stage.repository, commit, edits) == sha
    assert await stage.github.branch_head(stage.repository, "feature/one") == sha
    made = await stage.github.commit(stage.repository, sha)
    assert made.parents == (stage.head,)
    assert made.message == commit.message
    for edit in edits:
        assert stage.file_at(sha, edit.path) == edit.content
    with pytest.raises(Conflict):
        await stage.github.commit_on_branch(
            stage.repository, commit.with_(message="another"), edits
        )
    with pytest.raises(Conflict):
        await stage.github.commit_on_branch(stage.repository, commit.with_(branch="absent"), edits)
    assert await stage.github.branch_head(stage.repository, "feature/one") == sha


async def test_suggestions_are_one_review_inside_the_diff(stage: Stage) -> None:
    (file,) = await stage.github.pull_request_files(stage.repository, stage.pull)
    assert (file.path, file.status) == ("calculator.py", "modified")
    assert file.patch.startswith("@@")
    one = Suggestion(
        path="calculator.py",
        start_line=1,
        end_line=2,
        text="def add(a, b):\n    return a + b\n",
        why="it",
    )
    words = {"head_sha": stage.head, "body": f"A fix {MARKER}"}
    first = await stage.github.suggest(stage.repository, stage.pull, **words, suggestions=(one,))
    assert (
        await stage.github.suggest(stage.repository, stage.pull, **words, suggestions=(one,))
        == first
    )
    ((body, comments),) = stage.reviews()
    assert body.startswith("A fix")
    assert comments == 1
    elsewhere = one.with_(path="README.md", start_line=1, end_line=1)
    with pytest.raises(GitHubError):
        await stage.github.suggest(
            stage.repository, stage.pull, head_sha=stage.head, body="B", suggestions=(elsewhere,)
        )
    assert len(stage.reviews()) == 1


async def test_a_review_thread_is_answered_once(stage: Stage) -> None:
    first = stage.review_comment_as("octo", "why?")
    second = stage.review_comment_as("octo", "/metaagent fix", reply_to=first)
    for _ in range(2):
        await stage.github.reply_in_review(
            stage.repository, stage.pull, second, f"yes {MARKER}", marker=MARKER
        )
        await stage.github.react_in_review(stage.repository, second, "eyes")
    assert stage.answers() == [(first, f"yes {MARKER}")]


async def test_labels_come_and_go_whatever_they_are_called(stage: Stage) -> None:
    names = ("metaagent:needs-human", "a/b c#d?%20é")
    await stage.github.add_labels(stage.repository, stage.pull, names)
    await stage.github.add_labels(stage.repository, stage.pull, ())
    await stage.github.add_labels(stage.repository, stage.pull, names[:1])
    assert set(await stage.github.labels(stage.repository, stage.pull)) == set(names)
    for _ in range(2):
        await stage.github.remove_label(stage.repository, stage.pull, names[1])
    assert await stage.github.labels(stage.repository, stage.pull) == names[:1]


async def test_reviewers_that_cannot_be_asked_are_left_out(stage: Stage) -> None:
    stage.allow("maintainer", "write")
    await stage.github.request_reviewers(stage.repository, stage.pull, ())
    await stage.github.request_reviewers(
        stage.repository, stage.pull, ("stranger", "maintainer", "octo/team")
    )
    await stage.github.request_reviewers(stage.repository, stage.pull, ("stranger",))
    assert stage.asked() == ["maintainer"]


async def test_a_branch_tells_what_it_demands(stage: Stage) -> None:
    assert await stage.github.branch_rules(
        stage.repository, "main"
    ) == await stage.github.branch_rules(stage.repository, "feature/one")
    stage.demand("main", "pull_request")
    rules = await stage.github.branch_rules(stage.repository, "main")
    assert (rules.needs_pull_request, rules.needs_signature, rules.names) == (
        True,
        False,
        ("pull_request",),
    )


BOARD = "<!-- metaagent:dashboard -->"


async def test_an_issue_of_ours_is_found_by_its_marker_and_changed(stage: Stage) -> None:
    stage.grant(issues="write")
    github, here = stage.github, stage.repository
    stage.issue_as("octo", "Theirs", BOARD)
    assert await github.own_issue(here, BOARD) is None
    number = await github.open_issue(here, title="Ours", body=f"{BOARD}\nfirst")
    other = await github.open_issue(here, title="Another", body="nothing")
    found = await github.own_issue(here, BOARD)
    assert found is not None
    assert (found.number, found.is_open, found.body) == (number, True, f"{BOARD}\nfirst")
    await github.update_issue(here, number, body=f"{BOARD}\nsecond")
    for _ in range(2):
        await github.update_issue(here, number, is_open=False)
    closed = await github.own_issue(here, BOARD)
    assert closed is not None
    assert (closed.is_open, closed.body) == (False, f"{BOARD}\nsecond")
    # An open one is the dashboard, even if a closed one is newer.
    await github.update_issue(here, other, body=BOARD, is_open=True)
    opened = await github.own_issue(here, BOARD)
    assert opened is not None
    assert opened.number == other
    with pytest.raises(NotFound):
        await github.update_issue(here, 4711, body="x")


async def test_an_issue_needs_its_own_permission(local_github: LocalGitHub) -> None:
    served = ServerStage(local_github)
    with pytest.raises(NotPermitted, match="issues:write"):
        await served.gateway.open_issue(served.repository, title="Ours", body="x")
    number = local_github.open_issue(NAME, "Theirs", "octo").number
    with pytest.raises(NotPermitted):
        await served.gateway.comment(served.repository, number, "x", marker="<!-- m -->")
    served.grant(issues="write")
    await served.gateway.comment(served.repository, number, "x", marker="<!-- m -->")
    assert len(served.comments(number)) == 1
    looks = local_github.faults.add("GET", f"/issues/{number}/comments", 0, times=9)
    await served.gateway.comment(
        served.repository, number, "x", marker="<!-- m -->", is_pull_request=False
    )
    assert looks.times == 8, "the right permission is tried first"
    local_github.repository(NAME).has_issues = False
    with pytest.raises(NotFound, match="disabled"):
        await served.gateway.open_issue(served.repository, title="Ours", body="x")
    local_github.repository(NAME).has_issues = True
    number = await served.gateway.open_issue(served.repository, title="Ours", body="x")
    local_github.delete_issue(NAME, number)
    with pytest.raises(NotFound):
        await served.gateway.update_issue(served.repository, number, body="y")
    await served.gateway.aclose()


async def test_the_app_knows_its_deliveries_and_where_it_is_installed(stage: Stage) -> None:
    stage.event()
    begun = datetime.now(UTC) - timedelta(minutes=5)
    newest, *_ = await stage.github.deliveries(since=begun)
    assert (newest.event, newest.action, newest.redelivery) == ("issue_comment", "created", False)
    assert await stage.github.deliveries(since=begun + timedelta(hours=1)) == ()
    assert len(await stage.github.deliveries(since=begun, most=1)) == 1
    event, body = await stage.github.delivery_payload(newest.id)
    assert event == "issue_comment"
    assert b'"created"' in body
    with pytest.raises(NotFound):
        await stage.github.delivery_payload(4711)
    (installation,) = await stage.github.installations()
    assert (installation.account, installation.suspended) == ("octo", False)
    assert installation.permissions["contents"] == "write"
    (repository,) = await stage.github.repositories(installation.id)
    assert (repository.id, repository.full_name) == (stage.repository.id, "octo/calculator")
    assert repository.installation_id == installation.id


async def test_rights_are_given_back_and_asked_for_anew(stage: Stage) -> None:
    assert await stage.github.branch_head(stage.repository, "main") == stage.main
    await stage.github.release(stage.repository)
    assert await stage.github.branch_head(stage.repository, "main") == stage.main
