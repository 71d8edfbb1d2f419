"""Check suites, check runs, workflow runs and jobs in GitHub's JSON."""

from urllib.parse import quote

from tests.github_server.entities import CheckRun, Job, Json, Repository, Suite, WorkflowRun
from tests.github_server.render import (
    app_json,
    minimal_repository_json,
    node,
    repository_json,
    user_json,
)
from tests.github_server.render_git import api, html, simple_commit_json
from tests.github_server.render_pulls import pull_minimal_json
from tests.github_server.world import World

SHORT_SUITE = (
    "id",
    "node_id",
    "head_branch",
    "head_sha",
    "status",
    "conclusion",
    "url",
    "before",
    "after",
    "pull_requests",
    "app",
    "created_at",
    "updated_at",
)


def pulls_of(world: World, repo: Repository, sha: str, branch: str | None) -> list[Json]:
    """`pull_requests[]` of a check: same-repository pull requests only, as for forks it stays empty."""
    if branch is None:
        return []
    return [pull_minimal_json(world, issue) for issue in world.pulls_with_head(repo, sha, branch)]


def suite_json(world: World, suite: Suite) -> Json:
    """A check suite."""
    repo = world.repositories[suite.repository]
    status, conclusion = world.suite_state(suite)
    url = f"{api(world, repo)}/check-suites/{suite.id}"
    return {
        "id": suite.id,
        "node_id": node("CS", suite.id),
        "head_branch": suite.head_branch,
        "head_sha": suite.head_sha,
        "status": status,
        "conclusion": conclusion,
        "url": url,
        "before": suite.before,
        "after": suite.head_sha,
        "pull_requests": pulls_of(world, repo, suite.head_sha, suite.head_branch),
        "app": app_json(world, world.apps[suite.app]),
        "repository": repository_json(world, repo),
        "created_at": suite.created_at,
        "updated_at": suite.updated_at,
        "head_commit": simple_commit_json(repo, suite.head_sha),
        "latest_check_runs_count": len(suite.runs),
        "check_runs_url": f"{url}/check-runs",
        "rerequestable": True,
        "runs_rerequestable": suite.app != world.app.id,
    }


def check_run_html(world: World, run: CheckRun) -> str:
    """The page of a check run: the job's page for GitHub Actions."""
    repo = world.repositories[run.repository]
    job = world.jobs.get(run.id)
    return f"{html(world, repo)}/" + (
        f"actions/runs/{job.run}/job/{job.id}" if job else f"runs/{run.id}"
    )


def check_run_json(world: World, run: CheckRun, *, full_suite: bool = False) -> Json:
    """A check run; webhooks carry the suite in it, REST only the suite's id."""
    repo, suite = world.repositories[run.repository], world.suites[run.suite]
    url, page = f"{api(world, repo)}/check-runs/{run.id}", check_run_html(world, run)
    whole = suite_json(world, suite)
    return {
        "id": run.id,
        "node_id": node("CR", run.id),
        "name": run.name,
        "head_sha": run.head_sha,
        "external_id": run.external_id,
        "url": url,
        "html_url": page,
        "details_url": run.details_url or page,
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": len(run.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {name: whole[name] for name in SHORT_SUITE}
        if full_suite
        else {"id": suite.id},
        "app": whole["app"],
        "pull_requests": whole["pull_requests"],
    }


def workflow_json(world: World, run: WorkflowRun) -> Json:
    """The workflow of a run."""
    repo = world.repositories[run.repository]
    return {
        "id": run.workflow_id,
        "node_id": node("W", run.workflow_id),
        "name": run.name,
        "path": run.path,
        "state": "active",
        "created_at": repo.created_at,
        "updated_at": repo.created_at,
        "url": f"{api(world, repo)}/actions/workflows/{run.workflow_id}",
        "html_url": f"{html(world, repo)}/blob/{repo.default_branch}/{run.path}",
        "badge_url": f"{html(world, repo)}/workflows/{quote(run.name)}/badge.svg",
    }


def workflow_run_json(world: World, run: WorkflowRun) -> Json:
    """A run of a workflow."""
    repo = world.repositories[run.repository]
    head = world.repositories.get(run.head_repository, repo)
    url = f"{api(world, repo)}/actions/runs/{run.id}"
    branch = run.head_branch if head is repo else None
    return {
        "id": run.id,
        "name": run.name,
        "node_id": node("WFR", run.id),
        "head_branch": run.head_branch,
        "head_sha": run.head_sha,
        "path": run.path,
        "display_title": simple_commit_json(repo, run.head_sha)["message"].partition("\n")[0],
        "run_number": run.number,
        "run_attempt": run.attempt,
        "event": run.event,
        "status": run.status,
        "conclusion": run.conclusion,
        "workflow_id": run.workflow_id,
        "check_suite_id": run.suite,
        "check_suite_node_id": node("CS", run.suite),
        "url": url,
        "html_url": f"{html(world, repo)}/actions/runs/{run.id}",
        "pull_requests": pulls_of(world, repo, run.head_sha, branch),
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "actor": user_json(world, run.actor),
        "triggering_actor": user_json(world, run.triggering_actor),
        "referenced_workflows": run.referenced,
        "run_started_at": run.created_at,
        "jobs_url": f"{url}/jobs",
        "logs_url": f"{url}/logs",
        "check_suite_url": f"{api(world, repo)}/check-suites/{run.suite}",
        "artifacts_url": f"{url}/artifacts",
        "cancel_url": f"{url}/cancel",
        "rerun_url": f"{url}/rerun",
        "previous_attempt_url": f"{url}/attempts/{run.attempt - 1}" if run.attempt > 1 else None,
        "workflow_url": f"{api(world, repo)}/actions/workflows/{run.workflow_id}",
        "head_commit": simple_commit_json(repo, run.head_sha),
        "repository": minimal_repository_json(world, repo),
        "head_repository": minimal_repository_json(world, head),
    }


def job_json(world: World, job: Job) -> Json:
    """A job."""
    run = world.runs[job.run]
    repo = world.repositories[run.repository]
    root = api(world, repo)
    started = job.status != "queued"
    return {
        "id": job.id,
        "run_id": run.id,
        "run_url": f"{root}/actions/runs/{run.id}",
        "run_attempt": job.attempt,
        "workflow_name": run.name,
        "head_branch": run.head_branch,
        "node_id": node("CR", job.id),
        "head_sha": run.head_sha,
        "url": f"{root}/actions/jobs/{job.id}",
        "html_url": f"{html(world, repo)}/actions/runs/{run.id}/job/{job.id}",
        "status": job.status,
        "conclusion": job.conclusion,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
        "name": job.name,
        "steps": [dict(step) for step in job.steps],
        "check_run_url": f"{root}/check-runs/{job.id}",
        "labels": ["ubuntu-latest"],
        "runner_id": 1 if started else None,
        "runner_name": "local runner 1" if started else None,
        "runner_group_id": 0 if started else None,
        "runner_group_name": "GitHub Actions" if started else None,
    }
