"""Take a pull request of ours back: say why, close it, clear its branch away, remember how it ended."""

from collections.abc import Callable

from bot.domain.github import PullRequestState
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import RepositoryRef
from bot.ports import GitHub, GitHubUpkeep, Registry

_DECIDED = frozenset({FixState.MERGED, FixState.CLOSED, FixState.REVERTED})
"""People have: what we do about it changes none of that."""


async def retire(
    repository: RepositoryRef,
    pull: PullRequestState,
    ending: tuple[FixState, str],
    *,
    github: GitHub,
    upkeep: GitHubUpkeep,
    registry: Registry | None,
) -> bool:
    """Close it with a word; every part is made once, and what is done already is found done.

    The registry knows it first, so that nobody takes our closing for a refusal; what a process that died on the way
    left open is closed when `closing` is seen. People may merge, close or take it over at any moment: then it stays as
    they want it.

    Args:
        repository: Whose pull request it is.
        pull: Ours, open.
        ending: How it ends, and why, in words that are safe in a comment.
        github: Where the word is said.
        upkeep: Closes it.
        registry: Remembers it; None when nothing is remembered.

    Returns:
        Whether it is closed now; not what people made theirs meanwhile.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        StoreError: it could not be remembered.
    """
    state, why = ending

    def begun(fix: OfferedFix) -> OfferedFix:
        kept = fix.state in _DECIDED or fix.taken_over
        return fix if kept else fix.with_(state=state, note=why, closing=True)

    def done(fix: OfferedFix) -> OfferedFix:
        return fix.with_(closing=False) if fix.closing else fix

    async def remember(become: Callable[[OfferedFix], OfferedFix]) -> tuple[OfferedFix, ...]:
        if registry is None:
            return ()
        for fix in await registry.offered(repository.id, pull_request=pull.number):
            await registry.revise(fix.key, become)
        return await registry.offered(repository.id, pull_request=pull.number)

    if any(_is_theirs(fix) for fix in await remember(begun)):
        return False
    marker = f"<!-- metaagent:ended={state.value} -->"
    await github.comment(repository, pull.number, f"{why}\n\n{marker}", marker=marker)
    await upkeep.close_pull_request(repository, pull.number)
    await upkeep.delete_branch(repository, pull.head_ref, expected=pull.head_sha)
    await remember(done)
    return True


def _is_theirs(fix: OfferedFix) -> bool:
    """What a person closed has nothing more to be closed, but perhaps a branch: it may be in our way."""
    return bool(fix.taken_over) or fix.state in _DECIDED - {FixState.CLOSED}
