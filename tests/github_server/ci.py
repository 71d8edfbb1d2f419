"""The small CI: runs a repository's steps in a temporary clone and tells it the way GitHub Actions does."""

import re
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.github_server import events
from tests.github_server.entities import ACTIONS_APP_ID, CheckRun, Ci, Job, Json, Suite, WorkflowRun
from tests.github_server.hub import Hub, Trigger
from tests.github_server.runner import JobLog, Outcome, run_steps
from tests.github_server.workflows import ci_of

COMMAND = re.compile(r"^::(?P<level>error|warning|notice)(?: (?P<options>[^:]*(?::(?!:)[^:]*)*))?::(?P<message>.*)$")
LEVELS = {"error": "failure", "warning": "warning", "notice": "notice"}
BOT = "github-actions[bot]"


@dataclass(slots=True)
class Work:
    """One job to run."""

    ci: Ci
    trigger: Trigger
    run: WorkflowRun
    job: Job
    check: CheckRun
    ordinal: int


class LocalCi:
    """Runs jobs on two threads."""

    def __init__(self, hub: Hub, python: Path, folder: Path) -> None:
        self._hub = hub
        self._python = python
        self._folder = folder
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="ci")
        self._active = 0
        self._triggers: dict[int, tuple[Ci, Trigger]] = {}
        self._changed = threading.Condition()

    def stop(self) -> None:
        """Start nothing more and wait for what runs."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def wait_idle(self, timeout: float = 60.0) -> bool:
        """Wait until no job is queued or running."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._active, timeout)

    # --- starting -----------------------------------------------------------------------------

    def start(self, trigger: Trigger) -> None:
        """Start a run if the commit's workflow wants this event; called under the world's lock."""
        repo = trigger.repository
        forked = trigger.head_repository is not repo
        ci = ci_of(repo, trigger.sha)
        # Actions is off in forks until somebody turns it on; a fork's pull request runs in the base repository.
        if ci is None or repo.parent is not None or not (trigger.event in ci.events or forked):
            return
        world = self._hub.world
        repo.ci_runs += 1
        now = world.now()
        branch = None if forked else trigger.branch
        suite = Suite(world.next_large_id(), repo.id, ACTIONS_APP_ID, trigger.sha, branch, trigger.before, now, now)
        world.suites[suite.id] = suite
        workflow = world.workflow_ids.setdefault((repo.id, ci.path), world.next_id())
        run = WorkflowRun(
            world.next_large_id(),
            repo.id,
            suite.id,
            workflow,
            ci.workflow,
            ci.path,
            repo.ci_runs,
            trigger.event,
            trigger.sha,
            trigger.branch,
            trigger.head_repository.id,
            trigger.actor,
            now,
            now,
        )
        world.runs[run.id] = run
        self._triggers[run.id] = (ci, trigger)
        events.workflow_run_event(self._hub, run, "requested")
        self._queue(run)

    def rerun(self, run: WorkflowRun) -> None:
        """Run again as the next attempt; the suite forgets the old attempt's check runs. Called under the lock."""
        run.attempt += 1
        run.status, run.conclusion, run.updated_at = "queued", None, self._hub.world.now()
        self._hub.world.suites[run.suite].runs.clear()
        self._triggers[run.id][1].repository.ci_runs += 1
        self._queue(run)

    def _queue(self, run: WorkflowRun) -> None:
        ci, trigger = self._triggers[run.id]
        world = self._hub.world
        number, now = world.next_large_id(), world.now()
        job = Job(number, run.id, ci.job, now, now, run.attempt)
        check = CheckRun(number, run.repository, run.suite, ACTIONS_APP_ID, ci.job, run.head_sha, now)
        world.jobs[number], world.check_runs[number] = job, check
        world.suites[run.suite].runs.append(number)
        run.jobs.append(number)
        events.check_run_event(self._hub, check, "created", run.actor)
        events.workflow_job_event(self._hub, job, "queued")
        with self._changed:
            self._active += 1
        self._pool.submit(self._guarded, Work(ci, trigger, run, job, check, trigger.repository.ci_runs))

    # --- running ------------------------------------------------------------------------------

    def _guarded(self, work: Work) -> None:
        try:
            self._run(work)
        except Exception:  # noqa: BLE001 - a bug of the CI must fail the test, not end in a lost future
            self._hub.report(f"the local CI failed: {traceback.format_exc(limit=-4)}")
        finally:
            with self._changed:
                self._active -= 1
                self._changed.notify_all()

    def _run(self, work: Work) -> None:
        world, job, run = self._hub.world, work.job, work.run
        with world.lock:
            now = world.now()
            job.status = work.check.status = run.status = "in_progress"
            job.started_at = work.check.started_at = run.updated_at = now
            job.steps = [_step_json(1, "Set up job", "in_progress", None, now)]
            events.workflow_run_event(self._hub, run, "in_progress")
            events.workflow_job_event(self._hub, job, "in_progress")
        environment = {
            "GITHUB_REPOSITORY": work.trigger.repository.full_name,
            "GITHUB_SHA": run.head_sha,
            "GITHUB_REF_NAME": run.head_branch,
            "GITHUB_RUN_ID": str(run.id),
            "GITHUB_RUN_NUMBER": str(work.ordinal),
            "GITHUB_RUN_ATTEMPT": str(run.attempt),
        }
        source = work.trigger.repository.store.path
        log, outcomes = run_steps(work.ci, source, run.head_sha, self._python, (self._folder, environment))
        with world.lock:
            self._finish(work, log, outcomes)

    def _finish(self, work: Work, log: JobLog, outcomes: list[Outcome]) -> None:
        world, job, run, check = self._hub.world, work.job, work.run, work.check
        conclusion = _forced(work, log, outcomes) or _worst(outcomes)
        now = world.now()
        job.steps = _steps(outcomes, now)
        job.log = log.text()
        check.annotations = annotations(log.lines, outcomes)
        job.completed_at = check.completed_at = run.updated_at = world.suites[run.suite].updated_at = now
        job.status = check.status = run.status = "completed"
        job.conclusion = check.conclusion = run.conclusion = conclusion
        events.workflow_job_event(self._hub, job, "completed")
        events.check_run_event(self._hub, check, "completed", run.actor)
        events.workflow_run_event(self._hub, run, "completed")
        events.check_suite_event(self._hub, world.suites[run.suite], "completed", run.actor)


def _forced(work: Work, log: JobLog, outcomes: list[Outcome]) -> str | None:
    """The conclusion the test planned for this run, written into the log and the last step."""
    if work.ordinal > len(work.ci.forced):
        return None
    conclusion = work.ci.forced[work.ordinal - 1]
    if conclusion == "failure" and _worst(outcomes) == "success":
        log.add("##[error]Process completed with exit code 1.")
    outcomes[-1].conclusion = "success" if conclusion == "success" else "failure"
    return conclusion


def _worst(outcomes: list[Outcome]) -> str:
    """The job's conclusion."""
    found = {outcome.conclusion for outcome in outcomes}
    if "cancelled" in found:
        return "timed_out"
    return "failure" if "failure" in found else "success"


def _step_json(number: int, name: str, status: str, conclusion: str | None, started: str) -> Json:
    completed = started if conclusion and conclusion != "skipped" else None
    begun = None if conclusion == "skipped" else started
    return {
        "name": name,
        "status": status,
        "conclusion": conclusion,
        "number": number,
        "started_at": begun,
        "completed_at": completed,
    }


def _steps(outcomes: list[Outcome], now: str) -> list[Json]:
    """All steps of a finished job, with the ones every job has."""
    names = [("Set up job", "success"), ("Check out the commit", "success")]
    names += [(outcome.name, outcome.conclusion) for outcome in outcomes]
    names.append(("Complete job", "success"))
    return [_step_json(number, name, "completed", result, now) for number, (name, result) in enumerate(names, 1)]


def annotations(lines: list[str], outcomes: list[Outcome]) -> list[Json]:
    """Annotations from workflow commands in the log, and the exit status GitHub always adds."""
    found = [one for line in lines if (match := COMMAND.match(line)) and (one := _annotation(match))]
    for outcome in outcomes:
        if outcome.conclusion == "failure":
            text = f"Process completed with exit code {outcome.status or 1}."
            found.append(_annotation_json(".github", 1, "failure", text, ""))
    return found[:50]


def _annotation(match: re.Match[str]) -> Json:
    options = dict(pair.split("=", 1) for pair in (match["options"] or "").split(",") if "=" in pair)
    line = options.get("line", "1")
    number = int(line) if line.isdigit() else 1
    return _annotation_json(
        options.get("file", ".github"), number, LEVELS[match["level"]], match["message"], options.get("title", "")
    )


def _annotation_json(path: str, line: int, level: str, message: str, title: str) -> Json:
    return {
        "path": path,
        "start_line": line,
        "end_line": line,
        "start_column": None,
        "end_column": None,
        "annotation_level": level,
        "title": title,
        "message": message,
        "raw_details": "",
        "blob_href": "",
    }


Waiter = Callable[[], bool]


def wait_until(condition: Waiter, timeout: float) -> bool:
    """Poll a condition."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
