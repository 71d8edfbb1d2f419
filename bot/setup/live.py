"""Checks that need GitHub: permissions, events, webhook deliveries, CI on our commits."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Protocol

from bot.domain.github import HookDelivery, InstallationRef
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError
from bot.github.app_facts import AppEventsReply, Workflow
from bot.github.gateway import NEEDED
from bot.github.manifest import DASHBOARD_EVENTS, DASHBOARD_PERMISSIONS, EVENTS, OPTIONAL
from bot.ports import AppHooks, Clock, GitHub
from bot.setup.ci_triggers import WorkflowTriggers, read_triggers
from bot.setup.finding import SetupFinding

LOOKED_BACK = timedelta(days=3)
"""Time for which GitHub keeps deliveries."""
MOST_DELIVERIES = 300
MOST_REPOSITORIES = 20
_LEVELS = ("none", "read", "write", "admin")
_OUR_BRANCH, _FEATURE_BRANCH = "metaagent/fix/some-test", "feature/some-work"
_REASONS = {
    401: "the secret differs: set METAAGENT_WEBHOOK_SECRET to the App's, or change the App's",
    404: "the address is wrong: it must end in /webhook",
    413: "the body was too large: check webhook_max_bytes and the limits of the proxy",
    502: "GitHub cannot reach it: check firewall, host name and certificate",
    504: "no answer within ten seconds: is `metaagent serve` running?",
}


class AppData(Protocol):
    """GitHub's data about the App."""

    async def app(self) -> AppEventsReply:
        """Return the App's permissions and events."""
        ...

    async def hook_url(self) -> str:
        """Return the webhooks' target URL."""
        ...

    async def workflows(self, repository: RepositoryRef) -> tuple[Workflow, ...]:
        """Return a repository's workflows."""
        ...


Ask = Callable[[], Awaitable[list[SetupFinding]]]
"""A check that asks GitHub."""


@dataclass(frozen=True)
class LiveChecks:
    """The live checks and the services they need."""

    github: GitHub
    hooks: AppHooks
    facts: AppData
    clock: Clock
    public_url: str | None = None

    async def findings(self) -> list[SetupFinding]:
        """Return all findings, in the order in which to fix them."""
        found = [
            *await self._run_check("events", self._events),
            *await self._run_check("webhook", self._webhook),
        ]
        try:
            installations = await self.hooks.installations()
        except GitHubError as error:
            return [*found, _failed("installations", error)]
        if not installations:
            page = (await self.facts.app()).html_url
            advice = f"install it at {page}/installations/new"
            found.append(
                SetupFinding(
                    subject="installations",
                    state="missing",
                    message="not installed anywhere",
                    advice=advice,
                )
            )
        for one in installations:
            found += _installation(one)
        return [
            *found,
            *await self._repositories([one for one in installations if not one.suspended]),
        ]

    async def _events(self) -> list[SetupFinding]:
        return [events_finding("events", (await self.facts.app()).events)]

    async def _webhook(self) -> list[SetupFinding]:
        url = await self.facts.hook_url()
        if not url:
            advice = "set it in the App's settings to https://<your host>/webhook"
            return [
                SetupFinding(
                    subject="webhook",
                    state="missing",
                    message="the App has no webhook URL",
                    advice=advice,
                )
            ]
        wanted = f"{self.public_url.rstrip('/')}/webhook" if self.public_url else url
        if url != wanted:
            message = f"webhooks go to {url}, not to {wanted}"
            return [
                SetupFinding(
                    subject="webhook",
                    state="missing",
                    message=message,
                    advice="change one of the two",
                )
            ]
        since = self.clock.now() - LOOKED_BACK
        return [
            deliveries_finding(url, await self.hooks.deliveries(since=since, most=MOST_DELIVERIES))
        ]

    async def _repositories(self, installations: Sequence[InstallationRef]) -> list[SetupFinding]:
        found: list[SetupFinding] = []
        repositories: list[RepositoryRef] = []
        for installation in installations:
            try:
                repositories += await self.hooks.repositories(installation.id)
            except GitHubError as error:
                found.append(_failed(f"repositories of {installation.account}", error))
        for repository in repositories[:MOST_REPOSITORIES]:
            found += await self._run_check(repository.full_name, partial(self._ci, repository))
        if len(repositories) > MOST_REPOSITORIES:
            message = f"checked the first {MOST_REPOSITORIES} of {len(repositories)}"
            found.append(SetupFinding(subject="repositories", state="note", message=message))
        return found

    async def _ci(self, repository: RepositoryRef) -> list[SetupFinding]:
        """Return the finding about CI on our commits."""
        workflows = [
            one
            for one in await self.facts.workflows(repository)
            if one.path.startswith(".github/workflows/")
        ]
        read: list[WorkflowTriggers] = []
        for one in workflows:
            content = await self.github.read_file(repository, one.path, repository.default_branch)
            if content is not None and one.is_active:
                branches = {"default_branch": repository.default_branch, "our_branch": _OUR_BRANCH}
                read.append(
                    read_triggers(one.path, content, **branches, feature_branch=_FEATURE_BRANCH)
                )
        off = [one.path for one in workflows if not one.is_active]
        return [ci_finding(repository, read, switched_off=off)]

    async def _run_check(self, subject: str, ask: Ask) -> list[SetupFinding]:
        try:
            return await ask()
        except GitHubError as error:
            return [_failed(subject, error)]


def events_finding(subject: str, events: Iterable[str]) -> SetupFinding:
    """Check that the App is subscribed to all needed events."""
    lacking = sorted(set(EVENTS) - set(events))
    if not lacking:
        return SetupFinding(subject=subject, state="ok", message="subscribed to all needed events")
    advice = "subscribe to them in the App's settings, under permissions and events"
    return SetupFinding(
        subject=subject,
        state="missing",
        message=f"not subscribed to {', '.join(lacking)}",
        advice=advice,
    )


def deliveries_finding(url: str, deliveries: Sequence[HookDelivery]) -> SetupFinding:
    """Check that webhooks arrive, by the newest attempt of each."""
    newest: dict[str, HookDelivery] = {}
    for one in deliveries:
        newest.setdefault(one.guid, one)
    if not newest:
        message = f"{url}: GitHub sent nothing in the last three days"
        return SetupFinding(
            subject="webhook",
            state="note",
            message=message,
            advice="push something, and check again",
        )
    lost = [one for one in newest.values() if one.status_code // 100 != 2]  # noqa: PLR2004
    if not lost:
        return SetupFinding(
            subject="webhook",
            state="ok",
            message=f"{url}: {len(newest)} arrived in the last three days",
        )
    last = max(lost, key=lambda one: one.delivered_at)
    message = (
        f"{url}: {len(lost)} of {len(newest)} did not arrive, "
        f"the last with status {last.status_code}"
    )
    if max(newest.values(), key=lambda one: one.delivered_at) not in lost:
        return SetupFinding(
            subject="webhook", state="note", message=f"{message}; later ones arrived"
        )
    advice = _REASONS.get(last.status_code, "see the log of `metaagent serve`")
    return SetupFinding(subject="webhook", state="missing", message=message, advice=advice)


def ci_finding(
    repository: RepositoryRef,
    workflows: Sequence[WorkflowTriggers],
    *,
    switched_off: Sequence[str] = (),
) -> SetupFinding:
    """Check that CI runs on our fixes.

    Args:
        repository: The repository.
        workflows: The triggers of its active workflows.
        switched_off: Paths of its disabled workflows.
    """
    subject, main = repository.full_name, repository.default_branch
    problems = [f"{one.path} {one.problem}" for one in workflows if one.problem]
    if not workflows:
        what = (
            f"its workflows are disabled: {', '.join(switched_off)}"
            if switched_off
            else "it has no workflow"
        )
        return SetupFinding(
            subject=subject,
            state="note",
            message=f"{what}; only an external CI can test our fixes",
        )
    if any(one.on_our_branch or (one.on_default and one.on_feature) for one in workflows):
        return SetupFinding(subject=subject, state="ok", message="CI runs on our fixes")
    if problems:
        return SetupFinding(
            subject=subject,
            state="note",
            message=f"some workflows could not be read: {'; '.join(problems)}",
        )
    paths = ", ".join(one.path for one in workflows)
    if any(one.on_default for one in workflows):
        message = f"CI runs on our fixes of {main}, but not on those of pull requests"
        advice = f"remove `branches:` from `pull_request:` in {paths}"
        return SetupFinding(subject=subject, state="note", message=message, advice=advice)
    advice = f"add `pull_request:` to `on:` in {paths}"
    return SetupFinding(
        subject=subject, state="missing", message="no CI runs on our fixes", advice=advice
    )


def _installation(one: InstallationRef) -> list[SetupFinding]:
    subject = f"installed: {one.account}"
    if one.suspended:
        return [
            SetupFinding(
                subject=subject,
                state="missing",
                message="suspended",
                advice="its owner has to unsuspend it",
            )
        ]
    lacking = _lacking(one.permissions, NEEDED)
    if lacking:
        advice = "its owner has to accept them: Settings, Applications, Installed GitHub Apps"
        message = f"not granted: {', '.join(lacking)}"
        return [SetupFinding(subject=subject, state="missing", message=message, advice=advice)]
    found = [events_finding(subject, one.events)]
    if found[0].state == "ok":
        found = [
            SetupFinding(subject=subject, state="ok", message="all needed permissions and events")
        ]
    may_keep_dashboards = not _lacking(one.permissions, DASHBOARD_PERMISSIONS)
    if may_keep_dashboards and (unheard := set(DASHBOARD_EVENTS) - set(one.events)):
        message = f"not subscribed to {', '.join(unheard)}: boxes of dashboard issues do nothing"
        found.append(SetupFinding(subject=subject, state="note", message=message))
    if more := _lacking(one.permissions, OPTIONAL):
        message = f"without {', '.join(more)}, jobs cannot be run again (`/metaagent rerun`)"
        found.append(SetupFinding(subject=subject, state="note", message=message))
    return found


def _lacking(given: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    return [
        f"{name}: {level}"
        for name, level in wanted.items()
        if _LEVELS.index(given.get(name, "none")) < _LEVELS.index(level)
    ]


def _failed(subject: str, error: GitHubError) -> SetupFinding:
    return SetupFinding(
        subject=subject, state="missing", message=error.message, advice=error.advice
    )
