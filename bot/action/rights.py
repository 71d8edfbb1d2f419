"""Decide the policy of an Action run, and whether it may write on GitHub."""

from bot.action.event import ActionEvent
from bot.action.inputs import ActionInputs
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError
from bot.intake.admission_rules import MAY_COMMAND
from bot.policy.policy_file import load_policy
from bot.ports import GitHubReads


async def workspace_policy(
    event: ActionEvent, github: GitHubReads | None
) -> RepositoryPolicy | None:
    """Return the default branch's policy, since the workspace may hold a proposal to change it.

    Args:
        event: The event of this run.
        github: None without a token; then the defaults apply.

    Returns:
        None on a local runner without a repository: only the folder's own policy applies.

    Raises:
        GitHubError: the default branch could not be read.
    """
    if event.repository is None and not event.from_fork:
        return None
    if event.repository is None or github is None:
        return RepositoryPolicy()
    return await load_policy(event.repository, github)


async def why_nothing_is_written(
    inputs: ActionInputs, event: ActionEvent, github: GitHubReads | None
) -> str | None:
    """Return why this run only reports: empty if the inputs ask for that, None if it may write.

    Args:
        inputs: The step's inputs.
        event: The event of this run.
        github: None without a token.
    """
    if inputs.mode == "report":
        return ""
    if github is None or event.repository is None or event.head_sha is None:
        return "Nothing was written on GitHub: the token or the commit is missing."
    if event.from_fork and event.name == "pull_request":
        return (
            "Nothing was written on GitHub: a fork's pull request has a read-only token. "
            "The patch is in this report."
        )
    return await _no_to_actors(inputs, event, github, event.repository)


async def _no_to_actors(
    inputs: ActionInputs, event: ActionEvent, github: GitHubReads, repository: RepositoryRef
) -> str | None:
    for login in event.actors:
        if login in inputs.allow_users or "*" in inputs.allow_users:
            continue
        # No person's login can have brackets.
        if login.endswith("[bot]"):
            if not inputs.allow_bots:
                return (
                    f"Nothing was written on GitHub: {login} is a bot, and `allow-bots` is not set."
                )
        elif event.needs_writers and not await _may_write(github, repository, login):
            return (
                f"Nothing was written on GitHub: {login} has no write access "
                "and is not listed in `allow-users`."
            )
    return None


async def _may_write(github: GitHubReads, repository: RepositoryRef, login: str) -> bool:
    try:
        return await github.permission(repository, login) in MAY_COMMAND
    except GitHubError:
        return False  # an unknown permission counts as none
