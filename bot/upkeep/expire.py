"""Pull requests of ours that nobody touched for long are closed; the same change may be offered again later."""

from datetime import datetime, timedelta

from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import RepositoryRef
from bot.upkeep.feedback import take_back
from bot.upkeep.keeper import Keeper


async def expire(repository: RepositoryRef, keeper: Keeper) -> int:
    """Close what is older than the policy wants; how many.

    Args:
        repository: Where to look.
        keeper: Whom to ask and tell.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        StoreError: it could not be remembered.
    """
    fixes = await keeper.open_fixes(repository)
    if not fixes:
        return 0
    days = (await keeper.read_policy(repository)).expire_days
    if days == 0:
        return 0
    last = keeper.clock.now() - timedelta(days=days)
    why = (
        f"Nobody touched this for {days} days, so it makes room. "
        "It is not taken for a refusal: as long as the failure is there, it may be offered again."
    )
    old = [fix for fix in fixes if (at := _moment(fix.at)) is not None and at < last]
    unused = [fix for fix in old if not await _is_in_use(repository, fix, last, keeper)]
    return sum([await take_back(repository, fix, (FixState.EXPIRED, why), keeper) for fix in unused])


async def _is_in_use(repository: RepositoryRef, fix: OfferedFix, last: datetime, keeper: Keeper) -> bool:
    """Whether people talked there, or did anything else to it, since then."""
    pull = await keeper.pull_request(repository, fix)
    touched = _moment(pull.updated_at) if pull is not None and pull.state == "open" else None
    return touched is not None and touched >= last


def _moment(text: str) -> datetime | None:
    """When; None without a time that can be compared."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
