"""One red repository from push to outcome, watched from outside as a person would watch it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.demo.repositories import BrokenRepository
from tests.github_server.entities import CheckRun, Issue
from tests.github_server.server import LocalGitHub

ACTIONS_APP = 15368
POLL_S = 0.02
PATIENCE = 8
"""Factor on all waits: a busy machine is slow, and what never comes only costs a failing run time."""


@dataclass
class Told:
    """What a person sees at the end of a mission."""

    name: str
    sha: str
    own_check: CheckRun
    pull_request: Issue | None
    seconds_to_check: float
    """From the moment the red check was complete to our completed check run."""
    seconds_to_pull_request: float | None
    fix_ci: str | None
    """The conclusion of the CI on the fix branch."""

    @property
    def outcome(self) -> str:
        """The outcome as our check run names it."""
        return (self.own_check.title or "").split(" ", 1)[0].rstrip(":")


def wait(until: Callable[[], bool], timeout: float, what: str) -> float:
    """Seconds until something is so.

    Raises:
        TimeoutError: it never was.
    """
    start = time.monotonic()
    timeout *= PATIENCE
    while not until():
        if time.monotonic() - start > timeout:
            raise TimeoutError(f"waited {timeout:.0f} s for {what}")
        time.sleep(POLL_S)
    return time.monotonic() - start


def push_green(github: LocalGitHub, broken: BrokenRepository, owner: str = "acme") -> str:
    """Make the repository with its green commit; its full name."""
    github.create_repository(owner, broken.name, broken.green)
    return f"{owner}/{broken.name}"


def push_red(github: LocalGitHub, broken: BrokenRepository, owner: str = "acme") -> str:
    """Push the commit that breaks it; returns the SHA once its CI is red."""
    sha = github.push(f"{owner}/{broken.name}", "main", broken.red, message="Tidy up")
    run = wait_for_ci(github, sha)
    if run.conclusion != "failure":
        raise AssertionError(f"{broken.name}: the CI of the red commit ended as {run.conclusion}")
    return sha


def wait_for_ci(github: LocalGitHub, sha: str, timeout: float = 60.0 * PATIENCE) -> CheckRun:
    """The CI's check run of a commit, completed."""
    return github.wait_for_check(sha, app=ACTIONS_APP, timeout=timeout)


def watch(
    github: LocalGitHub,
    broken: BrokenRepository,
    sha: str,
    *,
    owner: str = "acme",
    timeout: float = 120,
) -> Told:
    """Wait for our check run on a red commit, and for the CI of the fix when there is one."""
    repo = f"{owner}/{broken.name}"
    start = time.monotonic()
    to_pull_request: float | None = None

    def told() -> bool:
        nonlocal to_pull_request
        if to_pull_request is None and github.pull_requests(repo):
            to_pull_request = time.monotonic() - start
        return any(run.status == "completed" for run in github.own_check_runs(sha))

    wait(told, timeout, f"our check run on {broken.name}")
    seconds = time.monotonic() - start
    pulls = github.pull_requests(repo)
    if pulls and to_pull_request is None:
        to_pull_request = seconds
    pull = pulls[-1] if pulls else None
    fix_ci = None
    if pull is not None and pull.pull is not None:
        fix_ci = wait_for_ci(github, pull.pull.head_sha).conclusion
    own = next(run for run in github.own_check_runs(sha) if run.status == "completed")
    return Told(broken.name, sha, own, pull, seconds, to_pull_request, fix_ci)


def problems_of(broken: BrokenRepository, told: Told) -> list[str]:
    """What differs from how the mission must end; empty when all is well."""
    expected, found = broken.expected, []
    if told.outcome != expected["outcome"]:
        found.append(
            f"ended as {told.outcome or told.own_check.title!r}, not as {expected['outcome']}"
        )
    if (told.pull_request is not None) != (expected["outcome"] == "FIXED"):
        found.append(
            "a pull request was opened" if told.pull_request else "no pull request was opened"
        )
    if told.pull_request is not None and told.fix_ci != "success":
        found.append(f"the CI of the fix ended as {told.fix_ci}")
    if told.own_check.conclusion != "neutral":
        found.append(f"our check run is {told.own_check.conclusion}, not neutral")
    return found
