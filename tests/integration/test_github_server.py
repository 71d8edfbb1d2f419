"""The local GitHub end to end: its CI, its webhooks and how a fix turns a check green."""

import hashlib
import hmac
import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from githubkit.exception import RequestFailed

from tests.github_server.clients import (
    GREEN,
    RED,
    REPO,
    TESTS,
    app_client,
    fix_by_data_api,
    installed,
)
from tests.github_server.entities import ACTIONS_APP_ID, Ci, Step
from tests.github_server.receiver import WebhookReceiver
from tests.github_server.server import LocalGitHub, Options

pytestmark = pytest.mark.shared


def test_a_red_push_is_told_in_githubs_order_and_a_fix_by_the_data_api_turns_it_green(
    local_github: LocalGitHub, receiver: WebhookReceiver
) -> None:
    local_github.webhook_url = receiver.url
    local_github.create_repository("octo", "math", RED, ci=TESTS)
    sha = local_github.store(REPO).resolve("main")
    assert sha is not None
    red = local_github.wait_for_check(sha, "test")
    assert red.conclusion == "failure"
    assert local_github.settle()
    assert receiver.titles == [
        "push",
        "check_suite.requested",
        "workflow_run.requested",
        "check_run.created",
        "workflow_job.queued",
        "workflow_run.in_progress",
        "workflow_job.in_progress",
        "workflow_job.completed",
        "check_run.completed",
        "workflow_run.completed",
        "check_suite.completed",
    ]

    client = installed(local_github)
    seen = client.rest.checks.get("octo", "math", red.id).json()
    assert (seen["app"]["id"], seen["output"]["title"]) == (ACTIONS_APP_ID, None)
    job = client.rest.actions.get_job_for_workflow_run("octo", "math", red.id).json()
    assert [step["name"] for step in job["steps"] if step["conclusion"] == "failure"] == [
        "Run tests"
    ]
    log = client.rest.actions.download_job_logs_for_workflow_run("octo", "math", red.id)
    assert "FAILED test_broken_math.py::test_add" in log.text
    notes = client.rest.checks.list_annotations("octo", "math", red.id).json()
    assert [note["message"] for note in notes] == ["Process completed with exit code 1."]

    fixed = fix_by_data_api(client, sha, "metaagent/main/1234abcd", {"broken_math.py": GREEN})
    pull = client.rest.pulls.create(
        "octo",
        "math",
        title="Fix add",
        head="metaagent/main/1234abcd",
        base="main",
        body="It subtracted.",
    ).json()
    assert (pull["head"]["sha"], pull["user"]["login"], pull["changed_files"]) == (
        fixed,
        "metaagent[bot]",
        1,
    )
    assert local_github.wait_for_check(fixed, "test").conclusion == "success"
    assert (
        client.rest.repos.get_commit("octo", "math", fixed).json()["files"][0]["filename"]
        == "broken_math.py"
    )
    found = client.rest.repos.list_pull_requests_associated_with_commit(
        "octo", "math", fixed
    ).json()
    assert [one["number"] for one in found] == [pull["number"]]
    compared = client.rest.repos.compare_commits("octo", "math", f"main...{fixed}").json()
    assert (compared["status"], compared["merge_base_commit"]["sha"]) == ("ahead", sha)
    assert local_github.settle()
    assert local_github.violations == []
    assert local_github.checker.checked > 30


def test_webhooks_are_signed_over_the_raw_body(
    local_github: LocalGitHub, receiver: WebhookReceiver
) -> None:
    local_github.webhook_secret = "It's a Secret"
    local_github.webhook_url = receiver.url
    local_github.create_repository("octo", "math", RED)
    one = receiver.wait_for(lambda got: got.event == "push")
    digest = hmac.new(b"It's a Secret", one.body, hashlib.sha256).hexdigest()
    assert one.headers["x-hub-signature-256"] == f"sha256={digest}"
    assert one.headers["x-github-hook-installation-target-type"] == "integration"
    assert one.payload["installation"]["id"] in local_github.world.installations


def test_failed_deliveries_are_listed_and_redelivered_with_the_same_guid(
    local_github: LocalGitHub, receiver: WebhookReceiver
) -> None:
    receiver.status = 500
    local_github.webhook_url = receiver.url
    local_github.create_repository("octo", "math", RED)
    local_github.settle()
    client = app_client(local_github)
    rest = client.rest.apps
    listed = rest.list_webhook_deliveries().json()
    push = next(one for one in listed if one["event"] == "push")
    assert (push["status_code"], push["status"]) == (500, "Invalid HTTP Response: 500")
    assert (
        rest.get_webhook_delivery(push["id"]).json()["request"]["payload"]["ref"]
        == "refs/heads/main"
    )
    receiver.status = 202
    rest.redeliver_webhook_delivery(push["id"])
    local_github.settle()
    again = receiver.received[-1]
    assert (again.event, again.headers["x-github-delivery"]) == ("push", push["guid"])
    assert rest.list_webhook_deliveries().json()[0]["redelivery"] is True


def test_webhooks_can_come_twice_late_and_in_another_order(
    local_github: LocalGitHub, receiver: WebhookReceiver
) -> None:
    local_github.webhook_url = receiver.url
    local_github.webhooks.hold()
    local_github.webhooks.duplicate = True
    local_github.create_repository("octo", "math", RED)
    assert receiver.received == []
    local_github.webhooks.release(lambda held: list(reversed(held)))
    local_github.settle()
    assert receiver.titles == ["check_suite.requested", "check_suite.requested", "push", "push"]
    assert len({one.headers["x-github-delivery"] for one in receiver.received}) == 2


def test_webhooks_go_to_loopback_only(local_github: LocalGitHub) -> None:
    with pytest.raises(ValueError, match="loopback"):
        local_github.webhook_url = "http://192.0.2.1/webhook"


def test_a_fork_pull_request_has_checks_without_pull_requests(
    local_github: LocalGitHub, receiver: WebhookReceiver
) -> None:
    local_github.create_repository("octo", "math", RED, ci="false")
    local_github.fork(REPO, "mona")
    sha = local_github.push("mona/math", "main", {"broken_math.py": GREEN})
    local_github.settle()
    local_github.webhook_url = receiver.url
    local_github.open_pull_request(REPO, "mona:main", user="mona")
    local_github.wait_for_check(sha)
    done = receiver.wait_for(lambda got: got.title == "workflow_run.completed").payload[
        "workflow_run"
    ]
    assert (done["event"], done["head_branch"], done["pull_requests"]) == (
        "pull_request",
        "main",
        [],
    )
    assert done["head_repository"]["full_name"] == "mona/math"
    check = receiver.wait_for(lambda got: got.title == "check_run.completed").payload["check_run"]
    assert (check["check_suite"]["head_branch"], check["pull_requests"]) == (None, [])
    assert local_github.store(REPO).ref("refs/pull/1/head") == sha
    second = local_github.push("mona/math", "main", {"more.py": ""})
    local_github.wait_for_check(second)
    moved = receiver.wait_for(lambda got: got.title == "pull_request.synchronize").payload
    assert moved["after"] == second


def test_the_ci_reads_workflow_files_and_stops_at_the_first_failing_step(
    local_github: LocalGitHub,
) -> None:
    workflow = (
        "name: Tests\non: [push]\njobs:\n  unit:\n    name: unit (3.11)\n    steps:\n"
        "      - uses: actions/checkout@v6\n      - name: Install\n        run: python -m pip install -r requirements.txt\n"
        "      - name: Lint\n        run: echo '::error file=a.py,line=3,title=Bad::no, wrong'; exit 3\n"
        "      - name: Test\n        run: pytest\n"
    )
    local_github.create_repository("octo", "math", {**RED, ".github/workflows/tests.yml": workflow})
    run = local_github.wait_for_check(local_github.store(REPO).resolve("main") or "", "unit (3.11)")
    steps = local_github.world.jobs[run.id].steps
    assert [(one["name"], one["conclusion"]) for one in steps[2:5]] == [
        ("Install", "success"),
        ("Lint", "failure"),
        ("Test", "skipped"),
    ]
    assert [(one["path"], one["start_line"], one["message"]) for one in run.annotations] == [
        ("a.py", 3, "no, wrong"),
        (".github", 1, "Process completed with exit code 3."),
    ]
    assert "##[error]no, wrong" in local_github.log_of(run)
    client = installed(local_github)
    assert client.rest.checks.list_annotations("octo", "math", run.id).json()[0]["title"] == "Bad"
    job = client.rest.actions.get_job_for_workflow_run("octo", "math", run.id).json()
    jobs = client.rest.actions.list_jobs_for_workflow_run("octo", "math", job["run_id"]).json()
    assert [one["id"] for one in jobs["jobs"]] == [run.id]
    assert (
        client.rest.actions.get_workflow_run("octo", "math", job["run_id"])
        .json()["path"]
        .endswith("tests.yml")
    )


def test_a_job_over_its_time_is_ended(local_github: LocalGitHub) -> None:
    ci = Ci((Step("Sleep", "sleep 30"),), timeout=0.3)
    local_github.create_repository("octo", "math", RED, ci=ci)
    run = local_github.wait_for_check(local_github.store(REPO).resolve("main") or "")
    assert run.conclusion == "timed_out"


def test_a_check_can_be_flaky_and_be_run_again(local_github: LocalGitHub) -> None:
    local_github.create_repository("octo", "math", RED, ci="true")
    local_github.force_conclusions(REPO, "success", "failure")
    conclusions = []
    local_github.settle()
    for number in range(2):
        sha = local_github.push(REPO, "main", {"x": str(number)})
        conclusions.append(local_github.wait_for_check(sha).conclusion)
    assert conclusions == ["success", "failure"]
    run = next(one for one in local_github.world.runs.values() if one.conclusion == "failure")
    app_permissions = {**local_github.world.app.permissions, "actions": "write"}
    local_github.set_app_permissions("octo", app_permissions)
    client = installed(local_github)
    client.rest.actions.re_run_workflow_failed_jobs("octo", "math", run.id)
    local_github.settle()
    assert (run.attempt, run.conclusion) == (2, "success")


def test_the_server_runs_without_githubs_description(tmp_path: Path, app_key: str) -> None:
    with LocalGitHub(Options(tmp_path / "data", private_key_pem=app_key)) as github:
        assert "not checked" in github.describe()
        github.create_repository("octo", "math", RED)
        client = installed(github, {"contents": "read"})
        assert client.rest.repos.get("octo", "math").json()["full_name"] == REPO
        with pytest.raises(RequestFailed) as refused:
            client.rest.pulls.create("octo", "math", title="t", head="a", base="main")
        assert refused.value.response.status_code == 403
        assert github.violations == []


def test_the_app_hears_of_its_installation(
    local_github: LocalGitHub, receiver: WebhookReceiver
) -> None:
    local_github.create_repository("octo", "math", RED)
    local_github.webhook_url = receiver.url
    local_github.suspend("octo")
    local_github.push(REPO, "main", {"silent.py": ""})
    local_github.suspend("octo", suspended=False)
    local_github.set_app_permissions("octo", {"metadata": "read"})
    local_github.uninstall("octo")
    assert local_github.settle()
    assert receiver.titles == [
        f"installation.{one}"
        for one in ("suspend", "unsuspend", "new_permissions_accepted", "deleted")
    ]
    assert receiver.received[0].payload["repositories"][0]["full_name"] == REPO


def test_the_start_command_says_where_it_is(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.github_server",
        "--port",
        "0",
        "--data",
        str(tmp_path / "data"),
    ]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            ready = json.loads(process.stdout.readline() if process.stdout else "")
            answer = httpx.get(f"{ready['api_url']}meta", trust_env=False)
            assert answer.json()["hooks"] == ["127.0.0.0/8", "::1/128"]
            assert Path(ready["private_key_file"]).stat().st_mode & 0o777 == 0o600
        finally:
            process.terminate()
        assert process.wait(20) == 0
