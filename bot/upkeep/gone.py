"""Closes fixes of failures that disappeared without them."""

from bot.domain.github import CheckRunState
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import RepositoryRef
from bot.ports import Services
from bot.publish.markdown import SafeWriter
from bot.upkeep.feedback import close_obsolete
from bot.upkeep.offered import open_fixes

_PASSED = "success"


async def close_gone(repository: RepositoryRef, services: Services) -> int:
    """Close every open fix whose red checks are green on its branch; return their number.

    Args:
        repository: The repository to check.
        services: The services to use.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        StoreError: the registry could not be written.
    """
    closed = 0
    for fix in await services.registry.offered(repository.id):
        if fix.closing:  # a process crashed while it closed this one
            closed += await close_obsolete(repository, fix, (fix.state, fix.note), services)
    for fix in await open_fixes(repository, services):
        why = await _why_gone(repository, fix, services)
        if why:
            closed += await close_obsolete(repository, fix, (FixState.SUPERSEDED, why), services)
    return closed


async def _why_gone(repository: RepositoryRef, fix: OfferedFix, services: Services) -> str:
    """Return why a fix is obsolete, or an empty string if it may still be needed."""
    pen = SafeWriter()
    head = await services.github.branch_head(repository, fix.base_branch)
    if head is None:
        return f"The branch {pen.code(fix.base_branch)} was deleted, so this is obsolete."
    if head == fix.head_sha or not fix.checks:
        return ""
    newest = _newest(await services.github.check_runs(repository, head))
    if any(name in newest and newest[name].conclusion != _PASSED for name in fix.checks):
        return ""
    if others := set(fix.checks) - set(newest):
        statuses = await services.github.commit_statuses(repository, head)
        if others - {status.context for status in statuses if status.state == _PASSED}:
            return ""
    names = ", ".join(pen.code(name) for name in fix.checks[:5])
    where = f"{head[:12]} of {pen.code(fix.base_branch)}"
    return f"The failure is gone without this: {names} passed on {where}."


def _newest(checks: tuple[CheckRunState, ...]) -> dict[str, CheckRunState]:
    """Return the newest run of each check."""
    return {check.name: check for check in sorted(checks, key=lambda check: check.id)}
