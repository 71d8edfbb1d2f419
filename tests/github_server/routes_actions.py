"""Workflow runs, jobs and their logs."""

import hashlib
import hmac
import io
import time
import zipfile

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
    wanted = {name: query.get(name) for name in ("event", "status", "head_sha")} | {
        "head_branch": query.get("branch")
    }
    runs = [
        run
        for run in sorted(call.world.runs.values(), key=lambda run: -run.id)
        if run.repository == call.repo.id
        and all(value in {None, getattr(run, name)} for name, value in wanted.items())
    ]
    return page(call, [workflow_run_json(call.world, run) for run in runs], "workflow_runs")


def get_run(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/runs/{run_id}."""
    return Reply(workflow_run_json(call.world, _run(call)))


def get_attempt(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}: the latest one only."""
    run = _run(call)
    if call.number("attempt_number") != run.attempt:
        raise not_found()
    return Reply(workflow_run_json(call.world, run))


def jobs_of(world: World, run: WorkflowRun, attempt: int) -> list[Job]:
    """The jobs of an attempt: those it ran, and the others as they ended before."""
    jobs = [world.jobs[number] for number in run.jobs]
    return list({job.name: job for job in jobs if job.attempt <= attempt}.values())


def list_jobs(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs."""
    run = _run(call)
    every = [call.world.jobs[number] for number in run.jobs]
    chosen = every if call.query.get("filter") == "all" else jobs_of(call.world, run, run.attempt)
    return page(call, [job_json(call.world, job) for job in chosen], "jobs")


def list_attempt_jobs(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs."""
    run, attempt = _run(call), call.number("attempt_number")
    if not 1 <= attempt <= run.attempt:
        raise not_found()
    return page(
        call, [job_json(call.world, job) for job in jobs_of(call.world, run, attempt)], "jobs"
    )


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
    return _signed(call, f"/logs/{job.id}.txt")


def _signed(call: Call, path: str) -> Reply:
    """302 to a signed address of the blob store."""
    expires = int(time.time()) + SIGNED_FOR
    location = f"{call.world.blob_url}{path}?se={expires}&sig={sign(call.world, path, expires)}"
    return Reply(status=302, headers={"location": location})


def get_run_logs(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/actions/runs/{run_id}/logs (and of an attempt): 302 to a zip file."""
    run = _run(call)
    attempt = call.number("attempt_number") if "attempt_number" in call.params else run.attempt
    if run.status != "completed" or not run.jobs or not 1 <= attempt <= run.attempt:
        raise not_found()
    return _signed(call, f"/runs/{run.id}/{attempt}.zip")


def zip_of(world: World, run: WorkflowRun, attempt: int) -> bytes:
    """The logs of all jobs of an attempt, one file each."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, job in enumerate(jobs_of(world, run, attempt)):
            archive.writestr(f"{number}_{job.name.replace('/', '')}.txt", job.log)
    return found.getvalue()


def _again(call: Call, run: WorkflowRun, names: set[str]) -> Reply:
    """Run jobs again, unless the run is not at its end."""
    if run.status != "completed":
        raise ApiError(403, "The workflow run is already running")
    call.hub.rerun_ci(run, names, call.actor.login)
    return Reply({}, 201)


def rerun(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun."""
    run = _run(call)
    return _again(call, run, {job.name for job in jobs_of(call.world, run, run.attempt)})


def rerun_failed(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs."""
    run = _run(call)
    red = {job.name for job in jobs_of(call.world, run, run.attempt) if job.conclusion != "success"}
    if not red and run.status == "completed":
        raise ApiError(403, "The workflow run has no failed jobs to re-run")
    return _again(call, run, red)


def rerun_job(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/actions/jobs/{job_id}/rerun."""
    job = _job(call)
    return _again(call, call.world.runs[job.run], {job.name})


def approve(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/actions/runs/{run_id}/approve: for runs that wait for it."""
    run = _run(call)
    if run.conclusion != "action_required":
        raise ApiError(
            403, "This run is not from a fork pull request, or is not awaiting approval."
        )
    return _again(call, run, set())


ACTIONS = "/repos/{owner}/{repo}/actions"
ROUTES = (
    Route("GET", f"{ACTIONS}/runs", list_runs),
    Route("GET", f"{ACTIONS}/runs/{{run_id}}", get_run),
    Route("GET", f"{ACTIONS}/runs/{{run_id}}/jobs", list_jobs),
    Route("GET", f"{ACTIONS}/runs/{{run_id}}/attempts/{{attempt_number}}/jobs", list_attempt_jobs),
    Route("POST", f"{ACTIONS}/runs/{{run_id}}/rerun", rerun),
    Route("GET", f"{ACTIONS}/runs/{{run_id}}/attempts/{{attempt_number}}", get_attempt),
    Route("GET", f"{ACTIONS}/runs/{{run_id}}/attempts/{{attempt_number}}/logs", get_run_logs),
    Route("GET", f"{ACTIONS}/runs/{{run_id}}/logs", get_run_logs),
    Route("POST", f"{ACTIONS}/runs/{{run_id}}/rerun-failed-jobs", rerun_failed),
    Route("POST", f"{ACTIONS}/runs/{{run_id}}/approve", approve),
    Route("POST", f"{ACTIONS}/jobs/{{job_id}}/rerun", rerun_job),
    Route("GET", f"{ACTIONS}/jobs/{{job_id}}", get_job),
    Route("GET", f"{ACTIONS}/jobs/{{job_id}}/logs", get_job_logs),
)
