"""Check runs and check suites."""

from tests.github_server import events
from tests.github_server.entities import CheckRun, Json
from tests.github_server.errors import ApiError, invalid, not_found
from tests.github_server.render_checks import check_run_json, suite_json
from tests.github_server.render_git import html
from tests.github_server.routing import Call, Reply, Route, page

OUTPUT_LIMIT = 65_535
ACTION_LIMITS = {"label": 20, "description": 40, "identifier": 20}


def create_check_run(call: Call) -> Reply:
    """POST /repos/{owner}/{repo}/check-runs."""
    world, repo, sha = call.world, call.repo, call.field("head_sha")
    if not repo.store.has(sha, "commit"):
        raise invalid(f"No commit found for SHA: {sha}")
    _check_body(call.body)
    app = call.actor.app or world.app.id
    suite = world.suite_for(repo, app, sha, world.branch_of(repo, sha))
    number = world.next_large_id()
    run = CheckRun(number, repo.id, suite.id, app, call.field("name"), sha, world.now())
    _apply(call, run)
    world.check_runs[number] = run
    suite.runs.append(number)
    events.check_run_event(call.hub, run, "created", call.actor.login)
    _tell_completed(call, run, was="new")
    return Reply(check_run_json(world, run), 201)


def _check_body(body: Json) -> None:
    """GitHub's limits on a check run."""
    if body.get("status") == "completed" and not body.get("conclusion"):
        raise invalid(
            'Invalid request.\n\nIf "status" is "completed", then "conclusion" must be one of action_required, '
            "cancelled, failure, neutral, success, skipped, stale, timed_out."
        )
    output = body.get("output") or {}
    for name in ("summary", "text"):
        if len((output.get(name) or "").encode()) > OUTPUT_LIMIT:
            raise invalid(
                f"Invalid request.\n\nOnly {OUTPUT_LIMIT} characters are allowed; {name} was longer."
            )
    if output and ("summary" not in output or not output.get("title")):
        raise invalid(
            'Invalid request.\n\nNo subschema in "anyOf" matched: output needs title and summary.'
        )
    if len(output.get("annotations") or []) > 50:
        raise invalid(
            "Invalid request.\n\nNo more than 50 items are allowed; annotations has more."
        )
    actions = body.get("actions") or []
    if len(actions) > 3:
        raise invalid("Invalid request.\n\nNo more than 3 items are allowed; actions has more.")
    for action in actions:
        for name, limit in ACTION_LIMITS.items():
            if not action.get(name) or len(action[name]) > limit:
                raise invalid(
                    f"Invalid request.\n\nOnly {limit} characters are allowed in actions/{name}."
                )


def _apply(call: Call, run: CheckRun) -> None:
    """Set the fields a request gives."""
    body, now = call.body, call.world.now()
    for name in ("name", "details_url", "external_id", "status", "started_at"):
        if body.get(name) is not None:
            setattr(run, name, body[name])
    if body.get("conclusion"):
        run.status, run.conclusion = "completed", body["conclusion"]
        run.completed_at = body.get("completed_at") or now
    elif body.get("status") in {"queued", "in_progress"}:
        run.conclusion = run.completed_at = None
    if "actions" in body:
        run.actions = body["actions"]
    output = body.get("output") or {}
    for name in ("title", "summary", "text"):
        if name in output:
            setattr(run, name, output[name])
    run.annotations += [_annotation(call, run, one) for one in output.get("annotations") or []]
    run.history.append(
        {
            "status": run.status,
            "conclusion": run.conclusion,
            "title": run.title,
            "summary": run.summary,
        }
    )


def _annotation(call: Call, run: CheckRun, given: Json) -> Json:
    """An annotation with all its fields; updating appends."""
    base = dict.fromkeys(("start_column", "end_column", "title", "raw_details"))
    href = f"{html(call.world, call.repo)}/blob/{run.head_sha}/{given['path']}"
    return {**base, **given, "blob_href": href}


def _tell_completed(call: Call, run: CheckRun, was: str) -> None:
    """Send what a newly completed run makes GitHub send."""
    if run.status != "completed" or was == "completed":
        return
    events.check_run_event(call.hub, run, "completed", call.actor.login)
    suite = call.world.suites[run.suite]
    suite.updated_at = call.world.now()
    if call.world.suite_state(suite)[0] == "completed":
        events.check_suite_event(call.hub, suite, "completed", call.actor.login)


def find_run(call: Call) -> CheckRun:
    """The check run in the path, if it is this repository's."""
    run = call.world.check_runs.get(call.number("check_run_id"))
    if run is None or run.repository != call.repo.id:
        raise not_found()
    return run


def get_check_run(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/check-runs/{check_run_id}."""
    return Reply(check_run_json(call.world, find_run(call)))


def update_check_run(call: Call) -> Reply:
    """PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}: only the App that made it may."""
    run, app = find_run(call), call.actor.app or call.world.app.id
    if run.app != app:
        raise ApiError(
            403,
            f"Invalid app_id `{app}` - check run can only be modified by the GitHub App that created it.",
        )
    was = run.status
    _check_body(call.body)
    _apply(call, run)
    _tell_completed(call, run, was)
    return Reply(check_run_json(call.world, run))


def list_annotations(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations."""
    return page(call, find_run(call).annotations)


def _filtered(call: Call, runs: list[CheckRun]) -> Reply:
    """A list of check runs by the query's filters; `latest` keeps the newest of each name and App."""
    query = call.query
    wanted = {
        "name": query.get("check_name"),
        "status": query.get("status"),
        "app": query.get("app_id"),
    }
    kept = [
        run
        for run in runs
        if all(value in {None, str(getattr(run, name))} for name, value in wanted.items())
    ]
    if query.get("filter", "latest") == "latest":
        kept = list(
            {
                (run.suite, run.app, run.name): run for run in sorted(kept, key=lambda run: run.id)
            }.values()
        )
    kept.sort(key=lambda run: -run.id)
    return page(call, [check_run_json(call.world, run) for run in kept], "check_runs")


def list_for_ref(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/commits/{ref}/check-runs."""
    sha = call.repo.store.resolve(call.params["ref"])
    if sha is None:
        raise invalid(f"No commit found for SHA: {call.params['ref']}")
    runs = [
        run
        for run in call.world.check_runs.values()
        if (run.repository, run.head_sha) == (call.repo.id, sha)
    ]
    return _filtered(call, runs)


def get_suite(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/check-suites/{check_suite_id}."""
    suite = call.world.suites.get(call.number("check_suite_id"))
    if suite is None or suite.repository != call.repo.id:
        raise not_found()
    return Reply(suite_json(call.world, suite))


def list_for_suite(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/check-suites/{check_suite_id}/check-runs."""
    number = call.number("check_suite_id")
    runs = [
        run
        for run in call.world.check_runs.values()
        if (run.repository, run.suite) == (call.repo.id, number)
    ]
    return _filtered(call, runs)


def list_suites_for_ref(call: Call) -> Reply:
    """GET /repos/{owner}/{repo}/commits/{ref}/check-suites."""
    sha = call.repo.store.resolve(call.params["ref"])
    suites = [
        one
        for one in call.world.suites.values()
        if (one.repository, one.head_sha) == (call.repo.id, sha)
    ]
    return page(call, [suite_json(call.world, one) for one in suites], "check_suites")


REPO = "/repos/{owner}/{repo}"
ROUTES = (
    Route("POST", f"{REPO}/check-runs", create_check_run),
    Route("GET", f"{REPO}/check-runs/{{check_run_id}}", get_check_run),
    Route("PATCH", f"{REPO}/check-runs/{{check_run_id}}", update_check_run),
    Route("GET", f"{REPO}/check-runs/{{check_run_id}}/annotations", list_annotations),
    Route("GET", f"{REPO}/commits/{{ref}}/check-runs", list_for_ref),
    Route("GET", f"{REPO}/commits/{{ref}}/check-suites", list_suites_for_ref),
    Route("GET", f"{REPO}/check-suites/{{check_suite_id}}", get_suite),
    Route("GET", f"{REPO}/check-suites/{{check_suite_id}}/check-runs", list_for_suite),
)
