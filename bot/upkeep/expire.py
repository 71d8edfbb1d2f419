"""Ends fixes that people left alone for long; their change may be offered again."""

from datetime import datetime, timedelta
from typing import Literal

from bot.domain.counted import counted
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import RepositoryRef
from bot.ports import Services
from bot.upkeep.feedback import close_obsolete
from bot.upkeep.offered import feedback_on, find_pull_request, open_fixes


async def expire(repository: RepositoryRef, services: Services) -> int:
    """Close fixes that are older than the policy allows; return their number.

    Args:
        repository: The repository to check.
        services: The services to use.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        StoreError: the registry could not be written.
    """
    days = (await services.read_policy(repository)).expire_days
    if days == 0:
        return 0
    last = services.clock.now() - timedelta(days=days)
    why = (
        f"This was inactive for {counted(days, 'day')}, so MetaAgent closes it. "
        "That is not a rejection: if the failure persists, the fix may be offered again."
    )
    closed = 0
    for fix in await open_fixes(repository, services):
        if not _is_old(fix, last) or await _is_in_use(repository, fix, last, services):
            continue
        if await close_obsolete(repository, fix, (FixState.EXPIRED, why), services):
            await services.lessons.feed_back(feedback_on(fix, fate="ignored"))
            closed += 1
    await _end_others(repository, last, services)
    return closed


async def _end_others(repository: RepositoryRef, last: datetime, services: Services) -> None:
    """Record the end of old fixes without a pull request.

    A pushed commit that was not reverted counts as accepted. Suggestions, reports and questions
    without an answer were ignored.
    """
    for fix in await services.registry.offered(repository.id, state=FixState.OPEN):
        if fix.pull_request is not None or not _is_old(fix, last):
            continue
        is_pushed = fix.commit != fix.head_sha
        state = FixState.MERGED if is_pushed else FixState.EXPIRED
        note = "kept on its branch" if is_pushed else "not applied"

        def become(now: OfferedFix, state: FixState = state, note: str = note) -> OfferedFix:
            return now.with_(state=state, note=note) if now.state is FixState.OPEN else now

        if await services.registry.revise(fix.key, become) is not None:
            fate: Literal["merged", "ignored"] = "merged" if is_pushed else "ignored"
            await services.lessons.feed_back(feedback_on(fix, fate=fate))
    await services.lessons.expire(repository_id=str(repository.id), before=last.isoformat())


def _is_old(fix: OfferedFix, last: datetime) -> bool:
    at = _moment(fix.at)
    return at is not None and at < last


async def _is_in_use(
    repository: RepositoryRef, fix: OfferedFix, last: datetime, services: Services
) -> bool:
    """Return True if the pull request was updated since then."""
    pull = await find_pull_request(repository, fix, services)
    touched = _moment(pull.updated_at) if pull is not None and pull.state == "open" else None
    return touched is not None and touched >= last


def _moment(text: str) -> datetime | None:
    """Parse a time; return None if it is invalid or has no time zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
