"""Close a pull request of ours with a reason, delete its branch and record its end."""

from collections.abc import Callable

from bot.domain.github import PullRequestState
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import RepositoryRef
from bot.ports import GitHub, Registry

_DECIDED = frozenset({FixState.MERGED, FixState.CLOSED, FixState.REVERTED})
"""States set by people; closing it must not change them."""


async def retire(
    repository: RepositoryRef,
    pull: PullRequestState,
    ending: tuple[FixState, str],
    *,
    github: GitHub,
    registry: Registry | None,
) -> bool:
    """Close a pull request; steps that are already done are skipped.

    The registry is updated first, so that our closing does not count as a person's rejection. If
    the process dies, `closing` marks the rest of the work. If a person merges, closes or takes over
    the pull request meanwhile, it is left alone.

    Args:
        repository: Repository of the pull request.
        pull: An open pull request of ours.
        ending: Its final state, and the reason as safe Markdown.
        github: GitHub's API.
        registry: Records the end; None records nothing.

    Returns:
        True if it is now closed; False if a person has decided about it.

    Raises:
        GitHubError: GitHub rejected the call, failed or could not be reached.
        StoreError: The end could not be recorded.
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
    await github.close_pull_request(repository, pull.number)
    await github.delete_branch(repository, pull.head_ref, expected=pull.head_sha)
    await remember(done)
    return True


def _is_theirs(fix: OfferedFix) -> bool:
    """Return True if a person took it over or decided, other than by closing it.

    After a person closed it, our branch may still have to be deleted.
    """
    return bool(fix.taken_over) or fix.state in _DECIDED - {FixState.CLOSED}
