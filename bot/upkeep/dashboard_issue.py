"""Keeps a repository's dashboard issue up to date, if its policy wants one."""

import asyncio
import logging
from datetime import datetime, timedelta

from bot.domain.boxes import DASHBOARD_MARKER
from bot.domain.github import IssueState
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import DashboardDue, RepositoryRef
from bot.errors import GitHubError, NotFound, NotPermitted, QueueError
from bot.ports import Services
from bot.publish.dashboard_issue import OFF, TITLE, read_board, render_off

READ_AGAIN = timedelta(hours=1)
"""Time after which a policy that wants no dashboard issue is read again."""

log = logging.getLogger(__name__)


class DashboardIssues:
    """The dashboard issues of all repositories.

    A change makes an issue due at the end of the present interval. There is one piece of work for
    each repository and interval, in all processes together, so a text is written at most once in
    it. Reading a policy takes several requests to GitHub, and most want no such issue; one that
    does not is read again after an hour, or when a push changes it.

    Args:
        services: The services to use.
        every_s: Length of an interval, in seconds.
    """

    def __init__(self, services: Services, every_s: float) -> None:
        self._services = services
        self._every_s = every_s
        self._unwanted_until: dict[int, datetime] = {}
        """Time by repository."""
        self._locks: dict[int, asyncio.Lock] = {}

    async def changed(self, repository: RepositoryRef | None, *, policy: bool = False) -> None:
        """Make a repository's issue due; a failure is logged, and the sweep does it later.

        Args:
            repository: The repository; None does nothing.
            policy: True if its policy changed.
        """
        if repository is None:
            return
        if policy:
            self._unwanted_until.pop(repository.id, None)
        if self._is_unwanted(repository):
            return
        now = self._services.clock.now().timestamp()
        turn = int(now // self._every_s)
        due = DashboardDue(repository=repository, turn=turn)
        try:
            await self._services.queue.notice(due, delay_s=(turn + 1) * self._every_s - now)
        except QueueError as error:
            log.warning("updating a dashboard issue failed: %s", error.message)

    async def look_after(self, repository: RepositoryRef) -> None:
        """Make a repository's issue due if its policy wants one: it may have been deleted.

        Raises:
            GitHubError: GitHub refused, failed or could not be reached.
        """
        if self._is_unwanted(repository):
            return
        if (await self._services.read_policy(repository)).dashboard_issue:
            await self.changed(repository)
        else:
            self._forget(repository)

    async def refresh(self, due: DashboardDue) -> None:
        """Write the issue if its text changed.

        An issue that a person closed stays as it is. Without the right to write issues, changes
        are ignored for an hour. If GitHub fails or limits us, the next change or sweep writes it.

        Raises:
            StoreError: registry or records could not be read.
        """
        try:
            await self._write(due.repository)
        except GitHubError as error:
            log.warning("%s: no dashboard issue: %s", due.repository.full_name, error.message)

    async def _write(self, repository: RepositoryRef) -> None:
        self._unwanted_until.pop(repository.id, None)
        policy = await self._services.read_policy(repository)
        try:
            # A late one of an earlier interval must not open a second issue.
            async with self._locks.setdefault(repository.id, asyncio.Lock()):
                await self._refresh(repository, policy)
        except (NotPermitted, NotFound) as error:
            if policy.dashboard_issue:
                advice = "grant `issues: write` to the App, and enable issues in the repository"
                log.warning(
                    "%s: no dashboard issue: %s (%s)", repository.full_name, error.message, advice
                )
            self._forget(repository)
        if not policy.dashboard_issue or policy.mode == "staged":
            self._forget(repository)

    async def _refresh(self, repository: RepositoryRef, policy: RepositoryPolicy) -> None:
        github = self._services.github
        if policy.mode == "staged":
            return
        issue = await github.own_issue(repository, DASHBOARD_MARKER)
        if not policy.dashboard_issue:
            if issue is not None and not _is_off(issue):
                await github.update_issue(
                    repository, issue.number, body=render_off(), is_open=False
                )
            return
        if issue is not None and not issue.is_open and not _is_off(issue):
            return  # a person closed it
        body = (await read_board(repository, policy, self._services)).render()
        if issue is None:
            number = await github.open_issue(repository, title=TITLE, body=body)
            log.info("%s: dashboard issue #%d opened", repository.full_name, number)
        elif not issue.is_open:
            await github.update_issue(repository, issue.number, body=body, is_open=True)
        elif not _is_same(issue, body):
            await github.update_issue(repository, issue.number, body=body)

    def _forget(self, repository: RepositoryRef) -> None:
        self._unwanted_until[repository.id] = self._services.clock.now() + READ_AGAIN

    def _is_unwanted(self, repository: RepositoryRef) -> bool:
        until = self._unwanted_until.get(repository.id)
        return until is not None and until > self._services.clock.now()


def _is_off(issue: IssueState) -> bool:
    """Return True if we closed the issue, because the policy did not want it."""
    return issue.body.startswith(OFF)


def _is_same(issue: IssueState, body: str) -> bool:
    """Return True if GitHub has this text; browsers change the ends of lines."""
    return issue.body.replace("\r\n", "\n").rstrip() == body.rstrip()
