"""Workflow runs, jobs and their logs."""

import hashlib
import hmac
import time

from tests.github_server.entities import Job, WorkflowRun
from tests.github_server.errors import ApiError, not_found
from tests.github_server.render_checks import job_json, workflow_run_json
from tests.github_server.routing import Call, Reply, Route, page
from tests.github_server.world import World

SIGNED_FOR = 60


def _run(call: Call) -> WorkflowRun:
    found = call.world.runs.get(call.number("run_id"))
    if found is None or found.repository != call.repo.id:
        raise not_found()
    return found


def _job(call: Call) -> Job:
    found = call.world.jobs.get(call.number("job_id"))
    if found is None or call.world.runs[found.run].repository != call.repo.id:
        raise not_found()
    return found


def list_runs(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/runs."""
    query = call.query
    wanted = {name: query.get(name) for name in ("event", "status", "head_sha")} | {"head_branch": query.get("branch")}
    runs = [
        run
        for run in sorted(call.world.runs.values(), key=lambda run: -run.id)
        if run.repository == call.repo.id and all(value in {None, getattr(run, name)} for name, value in wanted.items())
    ]
    return page(call, [workflow_run_json(call.world, run) for run in runs], "workflow_runs")


def get_run(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/runs/{run_id}."""
    return Reply(workflow_run_json(call.world, _run(call)))


def _jobs(call: Call, attempt: int | None) -> Reply:
    run = _run(call)
    jobs = [call.world.jobs[number] for number in run.jobs]
    chosen = [job for job in jobs if attempt in {None, job.attempt}]
    return page(call, [job_json(call.world, job) for job in chosen], "jobs")


def list_jobs(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs."""
    return _jobs(call, None if call.query.get("filter") == "all" else _run(call).attempt)


def list_attempt_jobs(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs."""
    return _jobs(call, call.number("attempt_number"))


def get_job(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/jobs/{job_id}."""
    return Reply(job_json(call.world, _job(call)))


def sign(world: World, path: str, expires: int) -> str:
    """The signature of a blob's address."""
    return hmac.new(world.blob_key, f"{path}?{expires}".encode(), hashlib.sha256).hexdigest()


def get_job_logs(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs: 302 to a signed address that lives a minute."""
    job = _job(call)
    if job.status != "completed":
        raise not_found()
    misses = call.world.log_requests.get(job.id, 0)
    call.world.log_requests[job.id] = misses + 1
    if misses < call.world.faults.log_misses:
        raise not_found()
    path, expires = f"/logs/{job.id}.txt", int(time.time()) + SIGNED_FOR
    location = f"{call.world.blob_url}{path}?se={expires}&sig={sign(call.world, path, expires)}"
    return Reply(status=302, headers={"location": location})


def rerun(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs (and /rerun)."""
    run = _run(call)
    if run.status != "completed":
        raise ApiError(403, "The workflow run is already running")
    call.hub.rerun_ci(run)
    return Reply({}, 201)


ACTIONS = "/repos/{owner}/{repo}/actions"
ROUTES = (
    Route("GET", f"{ACTIONS}/runs", list_runs),
    Route("GET", f"{ACTIONS}/runs/{{run_id}}", get_run),
    Route("GET", f"{ACTIONS}/runs/{{run_id}}/jobs", list_jobs),
    Route("GET", f"{ACTIONS}/runs/{{run_id}}/attempts/{{attempt_number}}/jobs", list_attempt_jobs),
    Route("POST", f"{ACTIONS}/runs/{{run_id}}/rerun", rerun),
    Route("POST", f"{ACTIONS}/runs/{{run_id}}/rerun-failed-jobs", rerun),
    Route("GET", f"{ACTIONS}/jobs/{{job_id}}", get_job),
    Route("GET", f"{ACTIONS}/jobs/{{job_id}}/logs", get_job_logs),
)
