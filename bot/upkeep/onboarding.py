"""The onboarding pull request: a policy file, and what would be done with the last red checks."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from bot.domain.counted import counted
from bot.domain.github import BranchCommit
from bot.domain.request import (
    InstallationChange,
    MissionRequest,
    RedHead,
    RepositoryRef,
    Trigger,
)
from bot.errors import Conflict, GitHubError
from bot.github.staged import Notebook, stage
from bot.intake import guards
from bot.policy.policy_file import POLICY_PATH
from bot.ports import AppHooks, PatientCheckpoint, Services
from bot.publish.markdown import BODY_LIMIT, SafeWriter, Section, fenced, fit
from bot.publish.report import INTRODUCTION
from bot.upkeep.preview import Preview, preview_red
from sandbox.gate import prepare_needles
from sandbox.types import FileEdit, Frozen, TrustTier

BRANCH = "metaagent/configure"
"""Like all our branches, it starts no mission."""
HEADS, RED = 10, 3
"""Most heads of branches that are looked at, and most red ones that are shown."""
TITLE = "Configure MetaAgent"
POLICY = """\
# The policy of MetaAgent for this repository. Every key is optional; these are the defaults.
# `/metaagent config` in a pull request shows every key and its value.
enabled: true        # false stops it, also for commands
automatic: true      # false: only on request, with `/metaagent fix`
mode: active         # staged: it writes nothing but its check run
dashboard_issue: false
"""

log = logging.getLogger(__name__)


async def onboard(
    change: InstallationChange,
    hooks: AppHooks,
    services: Services,
    checkpoint: PatientCheckpoint,
    *,
    most: int,
    rights: Callable[[RepositoryRef], AbstractAsyncContextManager[None]],
) -> None:
    """Open onboarding pull requests in newly installed repositories.

    Args:
        change: The event.
        hooks: Lists the repositories of the installation.
        services: The services to use.
        checkpoint: Stores which repositories are done.
        most: Most repositories of one event; 0 disables it.
        rights: Holds a repository's token, and revokes it when it is no longer used.

    Raises:
        GitHubError: the repositories could not be listed.
        StoreError: the registry could not be read.
    """
    if not change.added or not most:
        return
    there = {one.id: one for one in await hooks.repositories(change.installation_id)}
    for number in change.added[:most]:
        repository = there.get(number)
        if repository is not None:

            async def step(repository: RepositoryRef = repository) -> Frozen:
                async with rights(repository):
                    await onboard_repository(repository, services)
                return Frozen()

            try:
                await checkpoint.step(f"onboard {number}", Frozen, step)
            except GitHubError as error:
                # An archived or empty repository must not hold up the others.
                log.warning("%s: no onboarding: %s", repository.full_name, error.message)


async def onboard_repository(repository: RepositoryRef, services: Services) -> int | None:
    """Open the pull request, and request a staged mission for each red head that it shows.

    A repository with a policy of its own gets none, and so does one that had one before.

    Returns:
        The number of the new pull request.

    Raises:
        GitHubError: GitHub failed, limits us or could not be reached.
        StoreError: the registry could not be read.
    """
    github, branch = services.github, repository.default_branch
    head = await github.branch_head(repository, branch)
    policy = await services.read_policy(repository)
    if head is None or policy.origins or await github.pull_requests_from(repository, BRANCH):
        return None
    preview, requests = Preview(), list[MissionRequest]()
    async for red in _red_heads(repository, head, services):
        preview.lines.append(f"{red.head_branch} at {red.head_sha[:12]}:")
        request = await preview_red(red, _reading(services), preview)
        requests += [_staged(request, services)] if request is not None else []
    edit = FileEdit(path=POLICY_PATH, mode="100644", content=POLICY.encode())
    commit = BranchCommit(branch=BRANCH, parent=head, message=f"{TITLE}\n")
    body = _body(preview.lines, len(requests), services)
    try:
        await github.commit_on_new_branch(repository, commit, (edit,))
        # First the missions, then the pull request that announces them. It is opened once only, so
        # after a crash they could be lost. Submitting them again changes nothing.
        for request in requests:
            await services.queue.submit(request)
        pull = await github.open_pull_request(
            repository, head=BRANCH, base=branch, title=TITLE, body=body, draft=False
        )
    except Conflict as error:
        log.info("%s: no onboarding: %s", repository.full_name, error.message)
        return None
    return pull.number


def _reading(services: Services) -> Services:
    """Return the services with a GitHub that is only read."""
    return replace(services, github=stage(services.github, Notebook(), writes_check=False))


async def _red_heads(
    repository: RepositoryRef, head: str, services: Services
) -> AsyncIterator[RedHead]:
    """Yield red heads: that of the default branch, then those of the newest pull requests."""
    tip = RedHead(
        repository=repository,
        head_sha=head,
        head_branch=repository.default_branch,
        trigger=Trigger.SCHEDULE,
        tier=TrustTier.DEFAULT_BRANCH,
    )
    pulls = [
        tip.with_(
            head_sha=pull.head_sha,
            head_branch=pull.head_ref,
            pull_request=pull.number,
            tier=TrustTier.BRANCH,
        )
        for pull in await services.github.open_pull_requests(repository)
        if not pull.from_fork and not guards.is_own_branch(pull.head_ref)
    ]
    shown = 0
    for red in (tip, *pulls[: HEADS - 1]):
        runs = await services.github.check_runs(repository, red.head_sha)
        others = (one for one in runs if one.app_slug not in {services.app_slug, *guards.NOT_TESTS})
        if any(one.conclusion in guards.RED for one in others):
            yield red
            shown += 1
        if shown == RED:
            return


def _staged(request: MissionRequest, services: Services) -> MissionRequest:
    """Return a request that writes nothing but our check run, and uses up no attempt."""
    return request.with_(
        mission_id=f"{request.mission_id}:onboarding", requested_by=services.login, staged=True
    )


def _body(lines: list[str], missions: int, services: Services) -> str:
    pen = SafeWriter(secrets=prepare_needles(services.secrets))
    how = (
        f"Merge this to keep the settings in `{POLICY_PATH}`, or close it to go on without them; "
        "it is not opened again."
    )
    title = "What MetaAgent would do with the last red checks"
    if not lines:
        shown = Section(title=title, lead="No check is red now.")
    else:
        lead = (
            f"{counted(missions, 'staged mission')} will show the rest: the check run `MetaAgent` "
            "of the commit lists the changes that would have been offered."
            if missions
            else "No mission would be started."
        )
        shown = fenced(title, pen.block("\n".join(lines), cap=20_000), lead=lead)
    return fit([Section(lead=INTRODUCTION), Section(lead=how), shown], limit=BODY_LIMIT - 1_000)
