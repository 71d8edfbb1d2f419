"""What a test or the demo sees of a local GitHub: checks, webhooks, addresses, keys and violations."""

from dataclasses import replace
from pathlib import Path

from tests.github_server import events
from tests.github_server.ci import LocalCi
from tests.github_server.entities import App, CheckRun, Json, WorkflowRun
from tests.github_server.entities_reviews import Status
from tests.github_server.exchange import Checker
from tests.github_server.faults import Faults
from tests.github_server.hub import Hub
from tests.github_server.routes_actions import jobs_of
from tests.github_server.routes_statuses import set_status
from tests.github_server.waiting import wait_until
from tests.github_server.webhooks import Delivery, Webhooks
from tests.github_server.world import World
from tests.patience import HANG_S


class Watching:
    """The part of `Controls` about checks, the App and the conversation."""

    world: World
    hub: Hub
    ci: LocalCi
    checker: Checker

    # --- checks -------------------------------------------------------------------------------

    def check_runs(self, sha: str, app: int | None = None) -> list[CheckRun]:
        """The check runs on a commit, oldest first."""
        with self.world.lock:
            return [
                run
                for run in self.world.check_runs.values()
                if run.head_sha == sha and app in {None, run.app}
            ]

    def own_check_runs(self, sha: str) -> list[CheckRun]:
        """The check runs our App made."""
        return self.check_runs(sha, self.world.app.id)

    def log_of(self, run: CheckRun) -> str:
        """The log of a check run that is a job."""
        return self.world.jobs[run.id].log

    def wait_for_check(
        self, sha: str, name: str | None = None, *, app: int | None = None, timeout: float = HANG_S
    ) -> CheckRun:
        """Wait until a check run on a commit is completed (every one so named, when there are several).

        Raises:
            TimeoutError: it took too long.
        """

        def wanted() -> list[CheckRun]:
            return [run for run in self.check_runs(sha, app) if name in {None, run.name}]

        if not wait_until(
            lambda: bool(wanted()) and all(one.status == "completed" for one in wanted()), timeout
        ):
            raise TimeoutError(f"no completed check run {name or ''} on {sha}: {wanted()}")
        return wanted()[-1]

    def press_button(
        self, run: CheckRun, identifier: str, user: str, *, stale: bool = False
    ) -> None:
        """Press a button of our App's check run; one that is not there (any more) only on a stale page."""
        with self.world.lock:
            shown = (
                {action["identifier"] for action in run.actions}
                if run.status == "completed"
                else set()
            )
            if identifier not in shown and not stale:
                raise ValueError(f"{run.name} shows no button {identifier}: {sorted(shown)}")
            more: Json = {"requested_action": {"identifier": identifier}}
            events.check_run_event(self.hub, run, "requested_action", user, more)

    def rerequest(self, run: CheckRun, user: str) -> None:
        """Press "Re-run" on our App's check run."""
        with self.world.lock:
            events.check_run_event(self.hub, run, "rerequested", user)

    def rerequest_all(self, repo: str, sha: str, user: str) -> None:
        """Press "Re-run all checks" on our App's suite."""
        with self.world.lock:
            suite = self.world.suite_for(self.world.named(repo), self.app_id, sha, None)
            events.check_suite_event(self.hub, suite, "rerequested", user)

    def third_party_check(
        self,
        repo: str,
        sha: str,
        name: str,
        conclusion: str,
        *,
        slug: str = "other-ci",
        text: str | None = None,
    ) -> CheckRun:
        """A completed check run of another CI, with its own details and no log on GitHub."""
        with self.world.lock:
            found = self.world.named(repo)
            app = next((one for one in self.world.apps.values() if one.slug == slug), None)
            app = app or self.world.add_app(
                App(self.world.next_id(), slug, slug, slug, {"checks": "write"})
            )
            suite = self.world.suite_for(found, app.id, sha, self.world.branch_of(found, sha))
            now = self.world.now()
            run = CheckRun(
                self.world.next_large_id(),
                found.id,
                suite.id,
                app.id,
                name,
                sha,
                now,
                external_id="42",
            )
            run.details_url = f"https://ci.example.com/{slug}/42"
            run.title, run.summary, run.text = name, f"{name}: {conclusion}", text
            self.world.check_runs[run.id] = run
            suite.runs.append(run.id)
            events.check_run_event(self.hub, run, "created", found.owner)
            run.status, run.conclusion, run.completed_at = "completed", conclusion, now
            events.check_run_event(self.hub, run, "completed", found.owner)
            events.check_suite_event(self.hub, suite, "completed", found.owner)
        return run

    def status(
        self,
        repo: str,
        sha: str,
        context: str,
        state: str,
        *,
        creator: str = "old-ci",
        target_url: str | None = None,
    ) -> Status:
        """A commit status, as an older CI sets it."""
        with self.world.lock:
            number, found = self.world.next_large_id(), self.world.named(repo)
            text = f"{context}: {state}"
            made = Status(
                number, found.id, sha, state, context, creator, self.world.now(), text, target_url
            )
            set_status(self.hub, made)
        return made

    def rerun(self, run: WorkflowRun, user: str, *, failed: bool = True) -> None:
        """Press "Re-run failed jobs" (or "Re-run all jobs") on a finished run."""
        with self.world.lock:
            jobs = jobs_of(self.world, run, run.attempt)
            names = {job.name for job in jobs if not failed or job.conclusion != "success"}
            self.hub.rerun_ci(run, names, user)

    def workflow_runs(self, sha: str) -> list[WorkflowRun]:
        """The workflow runs on a commit, oldest first."""
        with self.world.lock:
            return [run for run in self.world.runs.values() if run.head_sha == sha]

    def force_conclusions(self, repo: str, *conclusions: str) -> None:
        """Plan the conclusions of the next CI runs of a repository, whatever its commands say (a flaky check)."""
        with self.world.lock:
            found = self.world.named(repo)
            if found.ci is not None:
                past = ("",) * found.ci_runs
                found.ci = replace(found.ci, forced=past + conclusions)

    # --- the App and its webhooks -------------------------------------------------------------

    @property
    def app_id(self) -> int:
        """Our App's id."""
        return self.world.app.id

    @property
    def app_slug(self) -> str:
        """Our App's slug; its bot is `<slug>[bot]`."""
        return self.world.app.slug

    @property
    def private_key_pem(self) -> str:
        """Our App's private key."""
        return self.world.private_key_pem

    @property
    def webhook_secret(self) -> str:
        """The secret that signs webhooks."""
        return self.world.webhook_secret

    @webhook_secret.setter
    def webhook_secret(self, value: str) -> None:
        self.world.webhook_secret = value

    @property
    def webhook_url(self) -> str:
        """Where webhooks go; empty sends none. May be set at any time."""
        return self.hub.webhooks.url

    @webhook_url.setter
    def webhook_url(self, value: str) -> None:
        self.hub.webhooks.url = value

    @property
    def webhooks(self) -> Webhooks:
        """The sender, with its switches: delay, duplicate, hold and release, redeliver."""
        return self.hub.webhooks

    @property
    def deliveries(self) -> list[Delivery]:
        """All webhook deliveries, oldest first."""
        return self.hub.webhooks.log

    @property
    def faults(self) -> Faults:
        """The switches that make the server misbehave."""
        return self.world.faults

    @property
    def api_url(self) -> str:
        """The base URL for clients, with a slash at its end: GitHub Enterprise style."""
        return f"{self.world.api_url}/"

    @property
    def web_url(self) -> str:
        """The root for git and pages."""
        return self.world.web_url

    def clone_url(self, repo: str, token: str | None = None) -> str:
        """The address to clone from and push to."""
        head = self.web_url.replace("://", f"://x-access-token:{token}@") if token else self.web_url
        return f"{head}/{repo}.git"

    @property
    def data(self) -> Path:
        """Where the repositories are."""
        return self.world.data

    # --- checks of the conversation -----------------------------------------------------------

    @property
    def violations(self) -> list[str]:
        """Exchanges and webhooks that break GitHub's description, after all pending checks."""
        return self.checker.drain()

    def forget_violations(self) -> list[str]:
        """The violations so far, which then no longer count: for tests that misbehave on purpose."""
        found = self.checker.drain()
        self.checker.clear()
        return found

    def settle(self, timeout: float = HANG_S) -> bool:
        """Wait until the CI is idle and every webhook has been delivered."""
        return self.ci.wait_idle(timeout) and self.hub.webhooks.drain(timeout)
