"""What only GitHub can say: rights and events, whether webhooks arrive, whether CI runs on our commits."""

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
from bot.github.manifest import EVENTS, OPTIONAL
from bot.ports import AppHooks, Clock, GitHub
from bot.setup.ci_starts import Starts, starts_of
from bot.setup.finding import Finding

LOOKED_BACK = timedelta(days=3)
"""GitHub keeps deliveries so long."""
MOST_DELIVERIES = 300
MOST_REPOSITORIES = 20
_LEVELS = ("none", "read", "write", "admin")
_OUR_BRANCH, _FEATURE_BRANCH = "metaagent/fix/some-test", "feature/some-work"
_REASONS = {
    401: "the secret differs: set METAAGENT_WEBHOOK_SECRET to the one of the App, or set it anew in the App's settings",
    404: "the address is wrong: it ends in /webhook",
    413: "the body was refused as too large: look at webhook_max_bytes, and at what stands in front of this service",
    502: "GitHub cannot reach it: look at firewall, name and certificate",
    504: "no answer within ten seconds: is `metaagent serve` running?",
}


class Facts(Protocol):
    """What GitHub knows of the App, besides."""

    async def app(self) -> AppEventsReply:
        """What it was given and is subscribed to."""
        ...

    async def hook_url(self) -> str:
        """Where webhooks go."""
        ...

    async def workflows(self, repository: RepositoryRef) -> tuple[Workflow, ...]:
        """The workflows of a repository."""
        ...


Ask = Callable[[], Awaitable[list[Finding]]]
"""One question to GitHub."""


@dataclass(frozen=True)
class Live:
    """Who is asked."""

    github: GitHub
    hooks: AppHooks
    facts: Facts
    clock: Clock
    public_url: str | None = None

    async def findings(self) -> list[Finding]:
        """Everything, in the order in which it has to be put right."""
        found = [*await self._asked("events", self._events), *await self._asked("webhook", self._webhook)]
        try:
            installations = await self.hooks.installations()
        except GitHubError as error:
            return [*found, _failed("installations", error)]
        if not installations:
            page = (await self.facts.app()).html_url
            advice = f"install it at {page}/installations/new"
            found.append(Finding(subject="installations", state="missing", message="it is nowhere", advice=advice))
        for one in installations:
            found += _installation(one)
        return [*found, *await self._repositories([one for one in installations if not one.suspended])]

    async def _events(self) -> list[Finding]:
        return [events_finding("events", (await self.facts.app()).events)]

    async def _webhook(self) -> list[Finding]:
        url = await self.facts.hook_url()
        if not url:
            advice = "set it in the App's settings to https://<your host>/webhook"
            return [Finding(subject="webhook", state="missing", message="the App has no address for it", advice=advice)]
        wanted = f"{self.public_url.rstrip('/')}/webhook" if self.public_url else url
        if url != wanted:
            message = f"webhooks go to {url}, and not to {wanted}"
            return [Finding(subject="webhook", state="missing", message=message, advice="change one of the two")]
        since = self.clock.now() - LOOKED_BACK
        return [deliveries_finding(url, await self.hooks.deliveries(since=since, most=MOST_DELIVERIES))]

    async def _repositories(self, installations: Sequence[InstallationRef]) -> list[Finding]:
        found: list[Finding] = []
        repositories: list[RepositoryRef] = []
        for installation in installations:
            try:
                repositories += await self.hooks.repositories(installation.id)
            except GitHubError as error:
                found.append(_failed(f"repositories of {installation.account}", error))
        for repository in repositories[:MOST_REPOSITORIES]:
            found += await self._asked(repository.full_name, partial(self._ci, repository))
        if len(repositories) > MOST_REPOSITORIES:
            message = f"the first {MOST_REPOSITORIES} of {len(repositories)} were looked at"
            found.append(Finding(subject="repositories", state="note", message=message))
        return found

    async def _ci(self, repository: RepositoryRef) -> list[Finding]:
        """Whether CI runs on what we push there."""
        workflows = [one for one in await self.facts.workflows(repository) if one.path.startswith(".github/workflows/")]
        read: list[Starts] = []
        for one in workflows:
            content = await self.github.read_file(repository, one.path, repository.default_branch)
            if content is not None and one.is_active:
                branches = {"default_branch": repository.default_branch, "our_branch": _OUR_BRANCH}
                read.append(starts_of(one.path, content, **branches, feature_branch=_FEATURE_BRANCH))
        off = [one.path for one in workflows if not one.is_active]
        return [ci_finding(repository, read, switched_off=off)]

    async def _asked(self, subject: str, ask: Ask) -> list[Finding]:
        try:
            return await ask()
        except GitHubError as error:
            return [_failed(subject, error)]


def events_finding(subject: str, events: Iterable[str]) -> Finding:
    """Whether we hear of what we react to."""
    lacking = sorted(set(EVENTS) - set(events))
    if not lacking:
        return Finding(subject=subject, state="ok", message="subscribed to all that are needed")
    advice = "subscribe to them in the App's settings, under permissions and events"
    return Finding(subject=subject, state="missing", message=f"not subscribed to {', '.join(lacking)}", advice=advice)


def deliveries_finding(url: str, deliveries: Sequence[HookDelivery]) -> Finding:
    """Whether webhooks arrive, by the newest attempt for each."""
    newest: dict[str, HookDelivery] = {}
    for one in deliveries:
        newest.setdefault(one.guid, one)
    if not newest:
        message = f"{url}: GitHub sent nothing in the last three days"
        return Finding(subject="webhook", state="note", message=message, advice="push something, and look again")
    lost = [one for one in newest.values() if not 200 <= one.status_code < 300]  # noqa: PLR2004 -- HTTP's success
    if not lost:
        return Finding(subject="webhook", state="ok", message=f"{url}: {len(newest)} arrived in the last three days")
    last = max(lost, key=lambda one: one.delivered_at)
    message = f"{url}: {len(lost)} of {len(newest)} did not arrive, the last with status {last.status_code}"
    if max(newest.values(), key=lambda one: one.delivered_at) not in lost:
        return Finding(subject="webhook", state="note", message=f"{message}; what came later did arrive")
    advice = _REASONS.get(last.status_code, "look into the log of `metaagent serve`")
    return Finding(subject="webhook", state="missing", message=message, advice=advice)


def ci_finding(repository: RepositoryRef, workflows: Sequence[Starts], *, switched_off: Sequence[str] = ()) -> Finding:
    """Whether CI will judge our fixes.

    Args:
        repository: Whose workflows.
        workflows: What the active ones start on.
        switched_off: Paths of those that somebody disabled.
    """
    subject, main = repository.full_name, repository.default_branch
    problems = [f"{one.path} {one.problem}" for one in workflows if one.problem]
    if not workflows:
        what = f"its workflows are switched off: {', '.join(switched_off)}" if switched_off else "it has no workflow"
        return Finding(subject=subject, state="note", message=f"{what}; only CI from elsewhere can judge our fixes")
    if any(one.on_our_branch or (one.on_default and one.on_feature) for one in workflows):
        return Finding(subject=subject, state="ok", message="CI runs on our fixes")
    if problems:
        return Finding(
            subject=subject, state="note", message=f"not every workflow could be read: {'; '.join(problems)}"
        )
    paths = ", ".join(one.path for one in workflows)
    if any(one.on_default for one in workflows):
        message = f"CI runs on our fixes of {main}, but not on those of pull requests"
        advice = f"take `branches:` from `pull_request:` in {paths}"
        return Finding(subject=subject, state="note", message=message, advice=advice)
    advice = f"add `pull_request:` to `on:` in {paths}"
    return Finding(subject=subject, state="missing", message="no CI runs on our fixes", advice=advice)


def _installation(one: InstallationRef) -> list[Finding]:
    subject = f"installed: {one.account}"
    if one.suspended:
        return [Finding(subject=subject, state="missing", message="suspended", advice="its owner has to unsuspend it")]
    lacking = _lacking(one.permissions, NEEDED)
    if lacking:
        advice = "its owner has to accept them: Settings, Applications, Installed GitHub Apps"
        message = f"not granted: {', '.join(lacking)}"
        return [Finding(subject=subject, state="missing", message=message, advice=advice)]
    found = [events_finding(subject, one.events)]
    if found[0].state == "ok":
        found = [Finding(subject=subject, state="ok", message="all rights and events that are needed")]
    if more := _lacking(one.permissions, OPTIONAL):
        message = f"without {', '.join(more)} no job can be run again (`/metaagent rerun`)"
        found.append(Finding(subject=subject, state="note", message=message))
    return found


def _lacking(given: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    return [
        f"{name}: {level}"
        for name, level in wanted.items()
        if _LEVELS.index(given.get(name, "none")) < _LEVELS.index(level)
    ]


def _failed(subject: str, error: GitHubError) -> Finding:
    return Finding(subject=subject, state="missing", message=error.message, advice=error.advice)
