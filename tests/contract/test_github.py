"""The GitHub port: the fake in memory and the gateway on a local GitHub keep the same promises."""

from collections.abc import AsyncIterator

import pytest

from bot.domain.github import BranchCommit, CheckAction, CheckAnnotation, CheckUpdate
from bot.errors import Conflict, GitHubError, NotFound
from sandbox.types import FileEdit
from tests.contract.github_stages import POLICY_PATH, FakeStage, ServerStage, Stage
from tests.github_server.fixtures import app_key, local_github

__all__ = ["app_key", "local_github"]

pytestmark = [pytest.mark.anyio, pytest.mark.shared]
BRANCH = "metaagent/feature-one/01234567"
MARKER = "<!-- metaagent: m-1 -->"
EDITS = (
    FileEdit(path="calculator.py", mode="100644", content=b"def add(a, b):\n    return a + b\n"),
    FileEdit(path="tools/run me.sh", mode="100755", content=b"#!/bin/sh\n\xff\x00"),
    FileEdit(path="README.md", mode="deleted"),
)


@pytest.fixture(params=["fake", "local"])
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    if request.param == "fake":
        yield FakeStage()
        return
    built = ServerStage(request.getfixturevalue("local_github"))
    yield built
    await built.gateway.aclose()


def a_commit(stage: Stage) -> BranchCommit:
    return BranchCommit(
        branch=BRANCH, parent=stage.head, message="calculator: add adds\n\nMetaAgent-Mission: m-1"
    )


async def test_permissions_are_told_by_name(stage: Stage) -> None:
    stage.allow("maintainer", "write")
    assert await stage.github.permission(stage.repository, "maintainer") == "write"
    assert await stage.github.permission(stage.repository, "nobody[bot]") in {"none", "read"}


async def test_a_file_is_read_at_a_ref(stage: Stage) -> None:
    assert await stage.github.read_file(stage.repository, POLICY_PATH, "main") == b"draft: true\n"
    assert await stage.github.read_file(stage.repository, "absent/file.yml", "main") is None


async def test_a_commit_knows_its_parents(stage: Stage) -> None:
    commit = await stage.github.commit(stage.repository, stage.head)
    assert commit.parents == (stage.main,)
    assert commit.message == "Change files"
    with pytest.raises(NotFound):
        await stage.github.commit(stage.repository, "f" * 40)


async def test_a_reusable_workflow_of_others_is_read_at_its_commit(stage: Stage) -> None:
    called = stage.shared_workflow("on: workflow_call\n")
    assert await stage.github.read_called(stage.repository, called) == b"on: workflow_call\n"
    absent = called.with_(sha="d" * 40)
    assert await stage.github.read_called(stage.repository, absent) is None


async def test_a_branch_has_a_head_or_is_not_there(stage: Stage) -> None:
    assert await stage.github.branch_head(stage.repository, "feature/one") == stage.head
    assert await stage.github.branch_head(stage.repository, "feature") is None


async def test_the_merge_base_is_where_the_branch_left(stage: Stage) -> None:
    assert await stage.github.merge_base(stage.repository, stage.main, stage.head) == stage.main


async def test_pull_requests_are_found_by_number_branch_and_commit(stage: Stage) -> None:
    pull = await stage.github.pull_request(stage.repository, stage.pull)
    assert pull is not None
    assert (pull.head_sha, pull.head_ref, pull.base_ref) == (stage.head, "feature/one", "main")
    assert (pull.from_fork, pull.head_repository_id) == (False, stage.repository.id)
    assert [
        p.number for p in await stage.github.pull_requests_from(stage.repository, "feature/one")
    ] == [stage.pull]
    assert [
        p.number for p in await stage.github.pull_requests_at(stage.repository, stage.head)
    ] == [stage.pull]
    assert await stage.github.pull_requests_from(stage.repository, "absent") == ()
    assert await stage.github.pull_request(stage.repository, 4711) is None


async def test_check_runs_of_others_are_seen(stage: Stage) -> None:
    stage.foreign_check("unit tests", "failure")
    (run,) = await stage.github.check_runs(stage.repository, stage.head)
    assert (run.name, run.conclusion, run.app_slug) == ("unit tests", "failure", "other-ci")


async def test_a_job_and_its_log_may_be_absent(stage: Stage) -> None:
    assert await stage.github.failed_job(stage.repository, 4711) is None
    assert await stage.github.job_log(stage.repository, 4711) is None


async def test_one_commit_holds_every_edit(stage: Stage) -> None:
    sha = await stage.github.commit_on_new_branch(stage.repository, a_commit(stage), EDITS)
    assert await stage.github.branch_head(stage.repository, BRANCH) == sha
    commit = await stage.github.commit(stage.repository, sha)
    assert commit.parents == (stage.head,)
    assert "MetaAgent-Mission: m-1" in commit.message
    for edit in EDITS:
        assert stage.file_at(sha, edit.path) == (None if edit.mode == "deleted" else edit.content)


async def test_the_same_commit_again_is_the_same_commit(stage: Stage) -> None:
    first = await stage.github.commit_on_new_branch(stage.repository, a_commit(stage), EDITS)
    assert (
        await stage.github.commit_on_new_branch(stage.repository, a_commit(stage), EDITS) == first
    )


async def test_a_branch_that_holds_something_else_is_a_conflict(stage: Stage) -> None:
    stage.push(BRANCH)
    with pytest.raises(Conflict):
        await stage.github.commit_on_new_branch(stage.repository, a_commit(stage), EDITS)


async def test_a_pull_request_is_opened_once(stage: Stage) -> None:
    await stage.github.commit_on_new_branch(stage.repository, a_commit(stage), EDITS)
    words = {
        "head": BRANCH,
        "base": "feature/one",
        "title": "Fix add",
        "body": f"{MARKER}\nbecause",
    }
    pull = await stage.github.open_pull_request(stage.repository, **words, draft=False)
    assert (pull.state, pull.base_ref, pull.head_ref) == ("open", "feature/one", BRANCH)
    with pytest.raises(Conflict):
        await stage.github.open_pull_request(stage.repository, **words, draft=False)
    await stage.github.update_pull_request(
        stage.repository, pull.number, title="Fix add again", body="new words"
    )
    changed = await stage.github.pull_request(stage.repository, pull.number)
    assert changed is not None
    assert changed.body == "new words"


async def test_a_comment_is_made_once_and_then_updated(stage: Stage) -> None:
    first = await stage.github.comment(
        stage.repository, stage.pull, f"looking\n{MARKER}", marker=MARKER
    )
    second = await stage.github.comment(
        stage.repository, stage.pull, f"done\n{MARKER}", marker=MARKER
    )
    assert first == second
    assert stage.comments(stage.pull) == [("metaagent[bot]", f"done\n{MARKER}")]


async def test_somebody_elses_comment_with_our_marker_is_left_alone(stage: Stage) -> None:
    stage.comment_as("joker", f"mine {MARKER}")
    await stage.github.comment(stage.repository, stage.pull, f"ours {MARKER}", marker=MARKER)
    assert stage.comments(stage.pull) == [
        ("joker", f"mine {MARKER}"),
        ("metaagent[bot]", f"ours {MARKER}"),
    ]


async def test_a_reaction_twice_is_no_error(stage: Stage) -> None:
    comment = stage.comment_as("octo", "/metaagent fix")
    await stage.github.react(stage.repository, comment, "eyes")
    await stage.github.react(stage.repository, comment, "eyes")


async def test_our_check_run_is_one_per_mission_and_never_more_than_neutral(stage: Stage) -> None:
    update = CheckUpdate(status="in_progress", title="looking", summary="…", external_id="m-1")
    first = await stage.github.publish_check(stage.repository, stage.head, update)
    note = CheckAnnotation(path="calculator.py", line=2, message="the cause")
    done = CheckUpdate(
        status="completed", title="fixed", summary="done", annotations=(note,), external_id="m-1"
    )
    assert await stage.github.publish_check(stage.repository, stage.head, done) == first
    (run,) = await stage.github.check_runs(stage.repository, stage.head)
    assert (run.id, run.status, run.conclusion) == (first, "completed", "neutral")
    other = await stage.github.publish_check(
        stage.repository, stage.head, update.with_(external_id="m-2")
    )
    assert other != first
    named = await stage.github.publish_check(
        stage.repository, stage.head, done.with_(name="MetaAgent policy")
    )
    assert named not in {first, other}
    assert await stage.github.publish_check(stage.repository, stage.head, done) == first


async def test_a_finished_check_run_shows_its_buttons(stage: Stage) -> None:
    buttons = (CheckAction(label="Fix", description="Try a repair", identifier="fix"),)
    update = CheckUpdate(
        status="completed", title="t", summary="s", actions=buttons, external_id="m-1"
    )
    check = await stage.github.publish_check(stage.repository, stage.head, update)
    assert stage.buttons(check) == ["fix"]


async def test_the_right_to_fetch_comes_without_user_information_in_the_address(
    stage: Stage,
) -> None:
    source = await stage.github.clone_source(stage.repository)
    assert source.url.endswith("octo/calculator.git")
    assert "@" not in source.url
    assert source.authorization.startswith("Basic ")
    assert source.authorization not in repr(source)


async def test_what_is_not_there_is_an_error_of_ours(stage: Stage) -> None:
    with pytest.raises(GitHubError):
        await stage.github.update_pull_request(stage.repository, 4711, title="x")
