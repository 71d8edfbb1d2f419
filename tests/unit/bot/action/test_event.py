"""Which commit a step of a workflow works on, for every event, and when it has nothing to do."""

from typing import Any

import pytest

from bot.action.event import ActionEvent, RunnerFacts, read_event
from bot.domain.request import Ignored
from bot.errors import UsageError
from tests.builders import BASE, HEAD

HERE = {"id": 42, "full_name": "octo/calculator", "default_branch": "main"}
FORK = {"id": 43, "full_name": "mallory/calculator"}


def runner(event: str, **more: str) -> RunnerFacts:
    given = {"repository": "octo/calculator", "sha": HEAD, "ref": "refs/heads/main", "actor": "ann"}
    return RunnerFacts(event_name=event, **{**given, **more})


def pull(**more: Any) -> dict[str, Any]:
    head = {"ref": "faster", "sha": HEAD, "repo": HERE}
    return {
        "repository": HERE,
        "pull_request": {"number": 5, "state": "open", "head": {**head, **more}},
    }


def run(**more: Any) -> dict[str, Any]:
    told = {
        "id": 1,
        "conclusion": "failure",
        "head_sha": HEAD,
        "head_branch": "faster",
        "head_repository": HERE,
    }
    return {"repository": HERE, "workflow_run": {**told, "actor": {"login": "bea"}, **more}}


def read(payload: dict[str, Any], facts: RunnerFacts) -> ActionEvent:
    found = read_event(payload, facts, branch_prefix="metaagent/")
    assert isinstance(found, ActionEvent)
    return found


def ignored(payload: dict[str, Any], facts: RunnerFacts) -> str:
    found = read_event(payload, facts, branch_prefix="metaagent/")
    assert isinstance(found, Ignored)
    return found.reason


def test_a_push_is_about_the_checked_out_commit() -> None:
    found = read({"repository": HERE}, runner("push", triggering_actor="bea"))
    assert (found.head_sha, found.head_branch, found.place) == (HEAD, "main", "workspace")
    assert found.repository is not None
    assert (found.repository.id, found.actors, found.needs_writers) == (42, ("ann", "bea"), False)


def test_a_tag_has_no_branch() -> None:
    assert read({"repository": HERE}, runner("push", ref="refs/tags/v1")).head_branch is None


@pytest.mark.parametrize(
    "branch", ["gh-readonly-queue/main/pr-5-0123", "automation/bors/auto-merge"]
)
def test_a_merge_queues_branch_takes_no_fix(branch: str) -> None:
    queued = read({"repository": HERE}, runner("merge_group", ref=f"refs/heads/{branch}"))
    assert (queued.head_sha, queued.head_branch) == (HEAD, None)
    assert read(run(head_branch=branch), runner("workflow_run")).head_branch is None


def test_a_pull_request_is_about_its_head_and_not_about_the_merge() -> None:
    found = read(pull(), runner("pull_request", sha=BASE, ref="refs/pull/5/merge"))
    assert (found.head_sha, found.head_branch, found.pull_request) == (HEAD, "faster", 5)
    assert (found.place, found.from_fork, found.needs_writers) == ("workspace", False, True)


@pytest.mark.parametrize("repo", [FORK, None])
def test_a_head_elsewhere_is_a_fork_s_also_when_it_was_deleted(repo: dict[str, Any] | None) -> None:
    found = read(pull(repo=repo), runner("pull_request"))
    assert (found.from_fork, found.head_repository_id) == (True, repo["id"] if repo else None)


def test_with_pull_request_target_the_checkout_is_not_what_failed() -> None:
    assert read(pull(), runner("pull_request_target")).place == "remote"


def test_a_red_run_is_fetched_and_names_who_set_it_off() -> None:
    links = [
        {"number": 9, "base": {"repo": {"id": 43}}},
        {"number": 5, "base": {"repo": {"id": 42}}},
    ]
    found = read(run(pull_requests=links), runner("workflow_run", sha=BASE))
    assert (found.head_sha, found.place, found.workflow_run) == (HEAD, "remote", 1)
    assert found.pull_request == 5, "a pull request of a fork of this repository is none of ours"
    assert found.actors == ("ann", "bea")


def test_a_fork_s_branch_may_be_called_like_ours() -> None:
    assert read(run(head_repository=FORK, head_branch="main"), runner("workflow_run")).from_fork
    assert read(
        run(head_repository=FORK, head_branch="metaagent/x"), runner("workflow_run")
    ).from_fork


@pytest.mark.parametrize(
    ("payload", "event", "reason"),
    [
        (run(conclusion="success"), "workflow_run", "ended success"),
        (run(conclusion=None), "workflow_run", "without a conclusion"),
        ({"repository": HERE, "deleted": True}, "push", "deleted"),
        ({"repository": HERE}, "issue_comment", "issue_comment is not handled"),
        ({}, "", "a run without an event"),
        (pull(ref="metaagent/main/12345678"), "pull_request", "one of MetaAgent's branches"),
        (run(head_branch="metaagent/main/12345678"), "workflow_run", "one of MetaAgent's branches"),
    ],
)
def test_nothing_to_do_has_a_reason(payload: dict[str, Any], event: str, reason: str) -> None:
    assert reason in ignored(payload, runner(event))


def test_a_closed_pull_request_is_left_alone() -> None:
    payload = pull()
    payload["pull_request"]["state"] = "closed"
    assert "not open" in ignored(payload, runner("pull_request"))


def test_without_a_payload_the_runner_says_which_repository_it_is() -> None:
    found = read({}, runner("workflow_dispatch", repository_id="7")).repository
    assert found is not None
    assert (found.id, found.full_name) == (7, "octo/calculator")
    assert read({}, runner("workflow_dispatch", repository="")).repository is None


def test_a_payload_that_is_none_is_named() -> None:
    with pytest.raises(UsageError, match=r"workflow_run\.head_sha"):
        read(run(head_sha="main; rm -rf"), runner("workflow_run"))


def test_the_runner_s_variables_are_read_by_name() -> None:
    facts = RunnerFacts.of(
        {"GITHUB_EVENT_NAME": "push", "GITHUB_TRIGGERING_ACTOR": "ann", "PATH": "/bin"}
    )
    assert (facts.event_name, facts.triggering_actor, facts.sha) == ("push", "ann", "")
