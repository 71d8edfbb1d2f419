"""Keeps a repository's dashboard issue up to date, if its policy wants one."""

import asyncio
import hashlib
import logging
from contextlib import suppress
from datetime import timedelta

from bot.domain.boxes import DASHBOARD_MARKER
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import DashboardIssue
from bot.domain.request import DashboardDue, DashboardTouched, RepositoryRef
from bot.errors import GitHubError, NotFound, NotPermitted, QueueError, StoreError
from bot.policy.rules import is_misread
from bot.ports import Services
from bot.publish.dashboard_issue import OFF, TITLE, read_board, render_off
from bot.registry.dashboards import StoredDashboards

TRY_AGAIN = timedelta(hours=1)
"""Time after which a missing right is tried again."""
MOST_CLOSED = 300
"""Most closed pull requests that are remembered, the newest ones."""

log = logging.getLogger(__name__)


class DashboardIssues:
    """The dashboard issues of all repositories.

    A change makes an issue due at the end of the present interval. There is one piece of work for
    each repository and interval, in all processes together, so a text is written at most once in
    it. What is known of the policy and the issue is stored, so that neither a repository without
    an issue nor an unchanged issue costs a request to GitHub.

    Args:
        services: The services to use.
        known: What is known of the issues.
        every_s: Length of an interval, in seconds.
    """

    def __init__(self, services: Services, known: StoredDashboards, every_s: float) -> None:
        self._services = services
        self._known = known
        self._every_s = every_s
        self._locks: dict[int, asyncio.Lock] = {}

    async def read_policy(self, repository: RepositoryRef) -> RepositoryPolicy:
        """Read a repository's policy, and learn from it whether an issue is wanted.

        Raises:
            GitHubError: GitHub refused, failed or could not be reached.
            StoreError: our database could not be used.
        """
        policy = await self._services.read_policy(repository)
        await self.learn(repository, policy)
        return policy

    async def learn(
        self, repository: RepositoryRef, policy: RepositoryPolicy, *, is_new: bool = True
    ) -> None:
        """Store a policy that was read; an issue is due if that changed it.

        Args:
            repository: The repository.
            policy: Its policy.
            is_new: False if another policy may have been read since.

        Raises:
            StoreError: our database could not be used.
        """

        def become(known: DashboardIssue) -> DashboardIssue:
            if known.policy is not None and not is_new:
                return known
            learnt = policy
            if is_misread(policy, "dashboard_issue"):
                # Closing the issue for a typo would override the person who opened or closed it.
                learnt = policy.with_(dashboard_issue=known.is_wanted)
            return known.with_(policy=learnt)

        if await self._known.revise(repository.id, become):
            await self.changed(repository)

    async def touched(self, repository: RepositoryRef, touch: DashboardTouched | None) -> None:
        """Note what a person did to the issue, and make it due.

        Args:
            repository: The repository.
            touch: The event; None if a box was ticked.

        Raises:
            StoreError: our database could not be used.
        """

        def become(known: DashboardIssue) -> DashboardIssue:
            if touch is not None and touch.number != known.number:
                return known
            match touch.action if touch is not None else "edited":
                case "closed":
                    return known.with_(closed_by="person")
                case "reopened":
                    return known.with_(closed_by="", digest="")
                case "deleted":
                    return known.with_(number=None, closed_by="", digest="")
                case "edited":
                    return known.with_(digest="")

        await self._known.revise(repository.id, become)
        await self.changed(repository)

    async def note_pull(self, repository: RepositoryRef, number: int, *, is_open: bool) -> None:
        """Note that a pull request was closed, or that a mission for it begins.

        Raises:
            StoreError: our database could not be used.
        """

        def become(known: DashboardIssue) -> DashboardIssue:
            if is_open == (number not in known.closed_pulls):
                return known
            others = (one for one in known.closed_pulls if one != number)
            closed = tuple(others) if is_open else (*others, number)
            return known.with_(closed_pulls=closed[-MOST_CLOSED:])

        if (await self._known.find(repository.id)).is_wanted:
            await self._known.revise(repository.id, become)

    async def changed(self, repository: RepositoryRef | None) -> None:
        """Make a repository's issue due; a failure is logged, and the sweep does it later.

        Args:
            repository: The repository; None does nothing.
        """
        if repository is None:
            return
        now = self._services.clock.now()
        turn = int(now.timestamp() // self._every_s)
        due = DashboardDue(repository=repository, turn=turn)
        try:
            if (await self._known.find(repository.id)).needs_work(now.isoformat()):
                delay_s = (turn + 1) * self._every_s - now.timestamp()
                await self._services.queue.notice(due, delay_s=delay_s)
        except (QueueError, StoreError) as error:
            log.warning("updating a dashboard issue failed: %s", error.message)

    async def refresh(self, due: DashboardDue) -> None:
        """Write the issue if its text changed.

        An issue that a person closed stays as it is. Without the right to write issues, changes
        are ignored for an hour. If GitHub fails or limits us, the next change or sweep writes it.

        Raises:
            StoreError: our database could not be used.
        """
        repository = due.repository
        try:
            # A late one of an earlier interval must not open a second issue.
            async with self._locks.setdefault(repository.id, asyncio.Lock()):
                await self._refresh(repository)
        except (NotPermitted, NotFound) as error:
            advice = "grant `issues: write` to the App, and enable issues in the repository"
            log.warning(
                "%s: no dashboard issue: %s (%s)", repository.full_name, error.message, advice
            )
            until = (self._services.clock.now() + TRY_AGAIN).isoformat()
            await self._known.revise(repository.id, lambda known: known.with_(not_before=until))
        except GitHubError as error:
            log.warning("%s: no dashboard issue: %s", repository.full_name, error.message)

    async def _refresh(self, repository: RepositoryRef) -> None:
        known = await self._known.find(repository.id)
        if known.policy is None or not known.needs_work(self._services.clock.now().isoformat()):
            return
        if not known.is_wanted:
            await self._close(repository, known.number or 0)
            return
        closed = frozenset(known.closed_pulls)
        board = await read_board(repository, known.policy, self._services, closed=closed)
        body = board.render()
        digest = hashlib.sha256(body.encode()).hexdigest()
        if known.number is not None and digest == known.digest and not known.closed_by:
            return
        if known.number is None:
            known = await self._find_again(repository, known)
        if known.closed_by != "person":
            number = await self._write(repository, known, body)
            known = known.with_(number=number, digest=digest)

        def become(now: DashboardIssue) -> DashboardIssue:
            # A person may have closed it meanwhile.
            by = "person" if "person" in {known.closed_by, now.closed_by} else ""
            return now.with_(number=known.number, digest=known.digest, closed_by=by, not_before="")

        await self._known.revise(repository.id, become)

    async def _find_again(self, repository: RepositoryRef, known: DashboardIssue) -> DashboardIssue:
        """Look for an issue that another version, or a process that died, opened."""
        issue = await self._services.github.own_issue(repository, DASHBOARD_MARKER)
        if issue is None:
            return known
        closer = "policy" if issue.body.startswith(OFF) else "person"
        return known.with_(number=issue.number, closed_by="" if issue.is_open else closer)

    async def _write(self, repository: RepositoryRef, known: DashboardIssue, body: str) -> int:
        """Write the text into the issue, or open another one; return its number."""
        github = self._services.github
        if known.number is not None:
            # One that a person closes at this moment stays closed.
            is_open = True if known.closed_by == "policy" else None
            with suppress(NotFound):
                await github.update_issue(repository, known.number, body=body, is_open=is_open)
                return known.number
        number = await github.open_issue(repository, title=TITLE, body=body)
        log.info("%s: dashboard issue #%d opened", repository.full_name, number)
        return number

    async def _close(self, repository: RepositoryRef, number: int) -> None:
        """Close an issue that the policy no longer wants."""
        known: int | None = number
        try:
            await self._services.github.update_issue(
                repository, number, body=render_off(), is_open=False
            )
        except NotFound:
            known = None
        await self._known.revise(
            repository.id, lambda now: now.with_(number=known, closed_by="policy", digest="")
        )
