"""The small CI: runs a repository's workflows in temporary clones and tells it the way GitHub Actions does."""

import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.github_server import events
from tests.github_server.entities import (
    ACTIONS_APP_ID,
    ACTIONS_BOT,
    WORST_FIRST,
    CheckRun,
    Ci,
    Job,
    Suite,
    WorkflowRun,
)
from tests.github_server.hub import Hub, Trigger
from tests.github_server.job_results import annotations, forced, step_json, steps_json, worst
from tests.github_server.runner import JobLog, Outcome, run_steps
from tests.github_server.workflows import workflows_of
from tests.patience import HANG_S

SKIP = ("[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]")


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

    def wait_idle(self, timeout: float = HANG_S) -> bool:
        """Wait until no job is queued or running."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._active, timeout)

    # --- starting -----------------------------------------------------------------------------

    def start(self, trigger: Trigger) -> None:
        """Start a run of every workflow of the commit that wants this event; called under the world's lock."""
        repo = trigger.repository
        # Actions is off in forks until somebody turns it on; a fork's pull request runs in the base repository.
        if repo.parent is not None or any(
            mark in repo.store.commit(trigger.sha).message for mark in SKIP
        ):
            return
        made_by_token = trigger.actor == ACTIONS_BOT
        if made_by_token and trigger.event == "push":
            return  # what GITHUB_TOKEN pushes starts nothing
        for ci in workflows_of(repo, trigger.tested):
            if trigger.event in ci.events or trigger.forked:
                self._start(
                    ci, trigger, waits=made_by_token or (trigger.forked and repo.approves_forks)
                )

    def _start(self, ci: Ci, trigger: Trigger, *, waits: bool) -> None:
        """A new run; one that waits for a person's approval has no jobs yet."""
        world, repo = self._hub.world, trigger.repository
        repo.ci_runs += 1
        now = world.now()
        branch = None if trigger.forked else trigger.branch
        suite = Suite(
            world.next_large_id(),
            repo.id,
            ACTIONS_APP_ID,
            trigger.sha,
            branch,
            trigger.before,
            now,
            now,
        )
        world.suites[suite.id] = suite
        run = WorkflowRun(
            world.next_large_id(),
            repo.id,
            suite.id,
            world.workflow_ids.setdefault((repo.id, ci.path), world.next_id()),
            ci.workflow,
            ci.path,
            repo.ci_runs,
            trigger.event,
            trigger.sha,
            trigger.branch,
            trigger.head_repository.id,
            trigger.actor,
            trigger.actor,
            now,
            now,
        )
        world.runs[run.id] = run
        self._triggers[run.id] = (ci, trigger)
        if waits:
            run.status, run.conclusion = "completed", "action_required"
        events.workflow_run_event(self._hub, run, "requested")
        if not waits:
            self._queue(run, ci.jobs)

    def rerun(self, run: WorkflowRun, names: set[str], actor: str) -> None:
        """Run jobs again as the next attempt (or, approved now, as the first); called under the lock."""
        ci, trigger = self._triggers[run.id]
        waited = run.conclusion == "action_required"
        run.attempt += not waited
        run.status, run.conclusion, run.updated_at = "queued", None, self._hub.world.now()
        run.triggering_actor = run.actor if waited else actor
        suite, jobs = self._hub.world.suites[run.suite], self._hub.world.jobs
        suite.runs = [
            number for number in suite.runs if number not in jobs or jobs[number].name not in names
        ]
        trigger.repository.ci_runs += not waited
        self._queue(run, tuple(one for one in ci.jobs if waited or one.job in names))

    def _queue(self, run: WorkflowRun, jobs: tuple[Ci, ...]) -> None:
        _, trigger = self._triggers[run.id]
        world, now = self._hub.world, self._hub.world.now()
        works = []
        for ci in jobs:
            number = world.next_large_id()
            job = Job(number, run.id, ci.job, now, now, run.attempt)
            check = CheckRun(
                number, run.repository, run.suite, ACTIONS_APP_ID, ci.job, run.head_sha, now
            )
            world.jobs[number], world.check_runs[number] = job, check
            world.suites[run.suite].runs.append(number)
            run.jobs.append(number)
            works.append(Work(ci, trigger, run, job, check, trigger.repository.ci_runs))
            events.check_run_event(self._hub, check, "created", run.actor)
            events.workflow_job_event(self._hub, job, "queued")
        with self._changed:
            self._active += len(works)
        for work in works:
            self._pool.submit(self._guarded, work)

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
            now, first = world.now(), run.status == "queued"
            job.status = work.check.status = run.status = "in_progress"
            job.started_at = work.check.started_at = run.updated_at = now
            job.steps = [step_json(1, "Set up job", "in_progress", None, now)]
            if first:
                events.workflow_run_event(self._hub, run, "in_progress")
            events.workflow_job_event(self._hub, job, "in_progress")
        environment = {
            "GITHUB_REPOSITORY": work.trigger.repository.full_name,
            "GITHUB_SHA": work.trigger.tested,
            "GITHUB_REF_NAME": run.head_branch,
            "GITHUB_JOB": job.name,
            "GITHUB_RUN_ID": str(run.id),
            "GITHUB_RUN_NUMBER": str(work.ordinal),
            "GITHUB_RUN_ATTEMPT": str(run.attempt),
        }
        source = work.trigger.repository.store.path
        log, outcomes = run_steps(
            work.ci, source, work.trigger.tested, self._python, (self._folder, environment)
        )
        with world.lock:
            self._finish(work, log, outcomes)

    def _finish(self, work: Work, log: JobLog, outcomes: list[Outcome]) -> None:
        world, job, run, check = self._hub.world, work.job, work.run, work.check
        planned = self._triggers[run.id][0].forced
        conclusion = (
            forced(planned[work.ordinal - 1], log, outcomes) if work.ordinal <= len(planned) else ""
        ) or worst(outcomes)
        now = world.now()
        job.steps = steps_json(outcomes, now)
        job.log = log.text()
        check.annotations = annotations(log.lines, outcomes)
        job.completed_at = check.completed_at = run.updated_at = world.suites[
            run.suite
        ].updated_at = now
        job.status = check.status = "completed"
        job.conclusion = check.conclusion = conclusion
        events.workflow_job_event(self._hub, job, "completed")
        events.check_run_event(self._hub, check, "completed", run.actor)
        ends = [
            world.jobs[number] for number in world.suites[run.suite].runs if number in world.jobs
        ]
        if any(one.status != "completed" for one in ends):
            return
        run.status, run.conclusion = (
            "completed",
            min((one.conclusion or "success" for one in ends), key=WORST_FIRST.index),
        )
        events.workflow_run_event(self._hub, run, "completed")
        events.check_suite_event(self._hub, world.suites[run.suite], "completed", run.actor)
