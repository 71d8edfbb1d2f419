"""Closes pull requests of ours that were inactive for long; their change may be offered again."""

from datetime import datetime, timedelta

from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import RepositoryRef
from bot.ports import Services
from bot.upkeep.feedback import close_obsolete
from bot.upkeep.offered import find_pull_request, open_fixes


async def expire(repository: RepositoryRef, services: Services) -> int:
    """Close fixes that are older than the policy allows; return their number.

    Args:
        repository: The repository to check.
        services: The services to use.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        StoreError: the registry could not be written.
    """
    fixes = await open_fixes(repository, services)
    if not fixes:
        return 0
    days = (await services.read_policy(repository)).expire_days
    if days == 0:
        return 0
    last = services.clock.now() - timedelta(days=days)
    why = (
        f"This was inactive for {days} days, so MetaAgent closes it. "
        "That is not a rejection: if the failure persists, the fix may be offered again."
    )
    old = [fix for fix in fixes if (at := _moment(fix.at)) is not None and at < last]
    unused = [fix for fix in old if not await _is_in_use(repository, fix, last, services)]
    return sum(
        [await close_obsolete(repository, fix, (FixState.EXPIRED, why), services) for fix in unused]
    )


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
