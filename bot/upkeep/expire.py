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
    old = [fix for fix in fixes if _is_before(fix, last)]
    return sum([await take_back(repository, fix, (FixState.EXPIRED, why), keeper) for fix in old])


def _is_before(fix: OfferedFix, moment: datetime) -> bool:
    try:
        return datetime.fromisoformat(fix.at) < moment
    except (ValueError, TypeError):
        return False  # without a time that can be compared it is left alone
