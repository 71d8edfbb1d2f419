"""The admission of a local folder: its policy and its checkout."""

import asyncio
from pathlib import Path

from bot.domain.policy import RepositoryPolicy
from bot.policy.policy_file import read_folder_policy
from sandbox.types import Checkout, FolderSource, JobHints, TrustTier


async def folder_checkout(
    folder: str,
    command: str | None,
    *,
    since: str | None = None,
    policy: RepositoryPolicy | None = None,
) -> tuple[RepositoryPolicy, Checkout]:
    """Return the policy for a local working tree, and the checkout of it.

    Args:
        folder: Its path.
        command: The red command; None uses the policy's, or detects one.
        since: The revision at which it was green; None chooses one in a git checkout.
        policy: The policy; None reads the folder's own file.
    """
    if policy is None:
        policy = await asyncio.to_thread(read_folder_policy, Path(folder))
    hints = JobHints(
        command=command or policy.test_command, setup=policy.setup, python=policy.python
    )
    source = FolderSource(path=folder, repository_id=f"local:{folder}", since=since)
    name = await asyncio.to_thread(lambda: Path(folder).resolve().name)
    return policy, Checkout(source=source, tier=TrustTier.LOCAL, hints=hints, name=name)
