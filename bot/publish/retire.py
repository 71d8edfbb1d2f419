"""Take a pull request of ours back: say why, close it, clear its branch away, remember how it ended."""

from bot.domain.github import PullRequestState
from bot.domain.registry import FixState
from bot.domain.request import RepositoryRef
from bot.ports import GitHub, GitHubUpkeep, Registry


async def retire(
    repository: RepositoryRef,
    pull: PullRequestState,
    ending: tuple[FixState, str],
    *,
    github: GitHub,
    upkeep: GitHubUpkeep,
    registry: Registry | None,
) -> None:
    """Close it with a word; every part is made once, and what is done already is found done.

    The registry knows it first, so that nobody takes our closing for a refusal; what a process that died on the way
    left open is closed when `closing` is seen.

    Args:
        repository: Whose pull request it is.
        pull: Ours, open.
        ending: How it ends, and why, in words that are safe in a comment.
        github: Where the word is said.
        upkeep: Closes it.
        registry: Remembers it; None when nothing is remembered.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        StoreError: it could not be remembered.
    """
    state, why = ending

    async def remember(*, closing: bool) -> None:
        if registry is None:
            return
        for fix in await registry.offered(repository.id, pull_request=pull.number):
            await registry.offer(fix.with_(state=state, note=why, closing=closing))

    await remember(closing=True)
    marker = f"<!-- metaagent:ended={state.value} -->"
    await github.comment(repository, pull.number, f"{why}\n\n{marker}", marker=marker)
    await upkeep.close_pull_request(repository, pull.number)
    await upkeep.delete_branch(repository, pull.head_ref, expected=pull.head_sha)
    await remember(closing=False)
