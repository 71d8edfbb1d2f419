"""Decide what a step of a workflow may do: the policy it obeys, and whether it may write on GitHub."""

from bot.domain.policy import RepositoryPolicy
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError
from bot.intake.action_event import ActionEvent
from bot.intake.action_inputs import ActionInputs
from bot.intake.admission_rules import MAY_COMMAND
from bot.policy.policy_file import load_policy
from bot.ports import GitHub


async def workspace_policy(event: ActionEvent, github: GitHub | None) -> RepositoryPolicy | None:
    """Return the policy of the default branch for a mission on the workspace, which may hold a proposal to change it.

    Args:
        event: What set the step off.
        github: None without a token; the defaults count then.

    Returns:
        None on a local runner that knows no repository: the folder's own policy is the only one.

    Raises:
        GitHubError: the default branch could not be read.
    """
    if event.repository is None and not event.from_fork:
        return None
    if event.repository is None or github is None:
        return RepositoryPolicy()
    return await load_policy(event.repository, github)


async def why_nothing_is_written(inputs: ActionInputs, event: ActionEvent, github: GitHub | None) -> str | None:
    """Why this step only reports; empty when that was asked for, None when it may write.

    Args:
        inputs: What the workflow's author wants.
        event: What set it off.
        github: None without a token.
    """
    if inputs.mode == "report":
        return ""
    if github is None or event.repository is None or event.head_sha is None:
        return "Nothing was written on GitHub: there is no token, or the commit is not known there."
    if event.from_fork and event.name == "pull_request":
        return "Nothing was written on GitHub: the token of a fork's pull request may only read. The patch is here."
    return await _no_to_actors(inputs, event, github, event.repository)


async def _no_to_actors(
    inputs: ActionInputs, event: ActionEvent, github: GitHub, repository: RepositoryRef
) -> str | None:
    for login in event.actors:
        if login in inputs.allow_users or "*" in inputs.allow_users:
            continue
        if login.endswith("[bot]"):
            if not inputs.allow_bots:
                return f"Nothing was written on GitHub: {login} is a bot, and `allow-bots` does not allow that."
        elif event.needs_writers and not await _may_write(github, repository, login):
            return f"Nothing was written on GitHub: {login} has no write access and is not among `allow-users`."
    return None


async def _may_write(github: GitHub, repository: RepositoryRef, login: str) -> bool:
    try:
        return await github.permission(repository, login) in MAY_COMMAND
    except GitHubError:
        return False
