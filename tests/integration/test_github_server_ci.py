"""The local GitHub's small CI: matrices, several workflows, runs again, forks that wait, logs of whole runs."""

import io
import zipfile

import httpx
import pytest
from githubkit.exception import RequestFailed

from tests.github_server.clients import RED, REPO, installed
from tests.github_server.entities import ACTIONS_BOT, Ci
from tests.github_server.receiver import WebhookReceiver
from tests.github_server.server import LocalGitHub

pytestmark = pytest.mark.shared
NAMES = tuple(f"test (3.{minor})" for minor in range(8, 12))


def test_a_matrix_is_one_run_of_many_jobs_and_failed_ones_run_again(
    local_github: LocalGitHub, receiver: WebhookReceiver, rest: httpx.Client
) -> None:
    local_github.webhook_url = receiver.url
    red = Ci.matrix('[ "$GITHUB_JOB" = "test (3.8)" ] || [ "$GITHUB_RUN_ATTEMPT" = 2 ]', *NAMES)
    local_github.create_repository(
        "octo", "math", RED, ci=[red, Ci.command("true", job="lint", workflow="Lint")]
    )
    sha = local_github.store(REPO).resolve("main") or ""
    assert local_github.settle()
    ended = [
        one.payload["workflow_run"]
        for one in receiver.received
        if one.title == "workflow_run.completed"
    ]
    assert sorted((one["name"], one["conclusion"]) for one in ended) == [
        ("CI", "failure"),
        ("Lint", "success"),
    ]
    assert receiver.titles.count("check_run.completed") == 5
    assert receiver.titles.count("check_suite.completed") == 2
    run = next(one for one in local_github.workflow_runs(sha) if one.name == "CI")
    root = f"repos/octo/math/actions/runs/{run.id}"
    log = httpx.get(rest.get(f"{root}/logs").headers["location"], trust_env=False).content
    assert zipfile.ZipFile(io.BytesIO(log)).namelist() == [
        f"{n}_{name}.txt" for n, name in enumerate(NAMES)
    ]

    local_github.set_app_permissions(
        "octo", {**local_github.world.app.permissions, "actions": "write"}
    )
    client = installed(local_github)
    client.rest.actions.re_run_workflow_failed_jobs("octo", "math", run.id)
    with pytest.raises(RequestFailed):
        client.rest.actions.re_run_workflow_failed_jobs("octo", "math", run.id)
    assert local_github.settle()
    state = client.rest.actions.get_workflow_run("octo", "math", run.id).json()
    assert (state["run_attempt"], state["conclusion"]) == (2, "success")
    assert (state["actor"]["login"], state["triggering_actor"]["login"]) == (
        "octo",
        "metaagent[bot]",
    )
    jobs = client.rest.actions.list_jobs_for_workflow_run("octo", "math", run.id).json()["jobs"]
    assert sorted((one["name"], one["run_attempt"]) for one in jobs) == sorted(
        (name, 1 if name == "test (3.8)" else 2) for name in NAMES
    )
    first = rest.get(f"{root}/attempts/1/jobs").json()["jobs"]
    assert {one["conclusion"] for one in first} == {"success", "failure"}
    runs = client.rest.checks.list_for_ref("octo", "math", sha).json()["check_runs"]
    assert {one["conclusion"] for one in runs} == {"success"}
    assert [
        one.payload["workflow_run"]["run_attempt"]
        for one in receiver.received
        if one.event == "workflow_run"
    ][-1] == 2
    assert receiver.titles.count("workflow_run.requested") == 2


def test_a_run_of_a_forks_pull_request_waits_for_approval(
    local_github: LocalGitHub, receiver: WebhookReceiver, rest: httpx.Client
) -> None:
    local_github.create_repository("octo", "math", RED, ci="false").approves_forks = True
    local_github.fork(REPO, "mona")
    sha = local_github.push("mona/math", "main", {"more.py": ""})
    assert local_github.settle()
    local_github.webhook_url = receiver.url
    local_github.open_pull_request(REPO, "mona:main", user="mona")
    assert local_github.settle()
    heard = receiver.received[-1].payload
    assert (heard["action"], heard["workflow_run"]["conclusion"]) == (
        "requested",
        "action_required",
    )
    assert local_github.check_runs(sha) == []
    run = local_github.workflow_runs(sha)[0]
    assert rest.post(f"repos/octo/math/actions/runs/{run.id}/approve").status_code == 201
    assert local_github.wait_for_check(sha).conclusion == "failure"
    assert run.attempt == 1


def test_what_the_workflows_own_token_pushes_starts_nothing(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    local_github.create_repository(
        "octo", "math", RED, ci=Ci.command("true", events=("push", "pull_request"))
    )
    local_github.settle()
    sha = local_github.push(REPO, "by-token", {"x": ""}, author=ACTIONS_BOT)
    local_github.open_pull_request(REPO, "by-token", user=ACTIONS_BOT)
    assert [(one.event, one.conclusion) for one in local_github.workflow_runs(sha)] == [
        ("pull_request", "action_required")
    ]
    skipped = local_github.push(REPO, "quiet", {"x": "1"}, message="Change [skip ci]")
    assert local_github.workflow_runs(skipped) == []
    local_github.settle()
    assert rest.get("repos/octo/math/actions/runs").json()["total_count"] == 2


def test_buttons_are_pressed_where_they_are_shown(
    local_github: LocalGitHub, receiver: WebhookReceiver
) -> None:
    local_github.create_repository("octo", "math", RED)
    sha = local_github.store(REPO).resolve("main") or ""
    client = installed(local_github)
    button = {"label": "Fix", "description": "Try it.", "identifier": "fix"}
    body = {"name": "MetaAgent", "head_sha": sha, "status": "in_progress", "actions": [button]}
    client.rest.checks.create("octo", "math", data=body)
    (run,) = local_github.own_check_runs(sha)
    with pytest.raises(ValueError, match="shows no button"):
        local_github.press_button(run, "fix", "octo")
    client.rest.checks.update("octo", "math", run.id, data={"conclusion": "neutral"})
    local_github.webhook_url = receiver.url
    local_github.press_button(run, "fix", "octo")
    local_github.press_button(run, "gone", "octo", stale=True)
    local_github.rerequest(run, "octo")
    local_github.rerequest_all(REPO, sha, "octo")
    assert local_github.settle()
    assert receiver.titles == ["check_run.requested_action"] * 2 + [
        "check_run.rerequested",
        "check_suite.rerequested",
    ]
    assert receiver.received[0].payload["requested_action"] == {"identifier": "fix"}


def test_a_pull_request_outlives_its_fork(
    local_github: LocalGitHub, receiver: WebhookReceiver
) -> None:
    local_github.create_repository("octo", "math", RED)
    local_github.fork(REPO, "mona")
    local_github.push("mona/math", "fix", {"more.py": ""})
    local_github.open_pull_request(REPO, "mona:fix", user="mona")
    local_github.delete_repository("mona/math")
    local_github.webhook_url = receiver.url
    local_github.label(REPO, 1, "metaagent:fix")
    local_github.comment(REPO, 1, "octo", "/metaagent fix")
    local_github.close(REPO, 1)
    assert local_github.settle()
    assert receiver.titles == [
        "pull_request.labeled",
        "issue_comment.created",
        "pull_request.closed",
    ]
    assert {
        (head["repo"], head["label"])
        for one in receiver.received
        if one.event == "pull_request" and (head := one.payload["pull_request"]["head"])
    } == {(None, "mona:fix")}
    client = installed(local_github)
    assert client.rest.pulls.list("octo", "math", state="all").json()[0]["head"]["repo"] is None
