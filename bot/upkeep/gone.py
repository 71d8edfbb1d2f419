"""The failure went away by itself: the fix that waits for it is taken back."""

from bot.domain.github import CheckRunState
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import RepositoryRef
from bot.publish.markdown import Pen
from bot.upkeep.feedback import take_back
from bot.upkeep.keeper import Keeper

_PASSED = "success"


async def close_gone(repository: RepositoryRef, keeper: Keeper) -> int:
    """Close every open fix whose red checks are green on the branch without it; how many.

    Args:
        repository: Where to look.
        keeper: Whom to ask and tell.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        StoreError: it could not be remembered.
    """
    closed = 0
    for fix in await keeper.registry.offered(repository.id):
        if fix.closing:  # begun by a process that died
            closed += await take_back(repository, fix, (fix.state, fix.note), keeper)
    for fix in await keeper.open_fixes(repository):
        why = await _why_gone(repository, fix, keeper)
        if why:
            closed += await take_back(repository, fix, (FixState.SUPERSEDED, why), keeper)
    return closed


async def _why_gone(repository: RepositoryRef, fix: OfferedFix, keeper: Keeper) -> str:
    """Why nobody needs this fix any more; empty while somebody may."""
    pen = Pen()
    head = await keeper.github.branch_head(repository, fix.base_branch)
    if head is None:
        return f"The branch {pen.code(fix.base_branch)} is gone, so nobody needs this any more."
    if head == fix.head_sha or not fix.checks:
        return ""
    newest = _newest(await keeper.github.check_runs(repository, head))
    if any(name in newest and newest[name].conclusion != _PASSED for name in fix.checks):
        return ""
    if others := set(fix.checks) - set(newest):
        statuses = await keeper.runs.commit_statuses(repository, head)
        if others - {status.context for status in statuses if status.state == _PASSED}:
            return ""
    names = ", ".join(pen.code(name) for name in fix.checks[:5])
    return f"The failure is gone without this: {names} passed on {head[:12]} of {pen.code(fix.base_branch)}."


def _newest(checks: tuple[CheckRunState, ...]) -> dict[str, CheckRunState]:
    """The last run of each check."""
    return {check.name: check for check in sorted(checks, key=lambda check: check.id)}
