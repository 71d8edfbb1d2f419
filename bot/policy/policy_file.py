"""Find the policy: the first of three files on the default branch, over what the organisation says for all."""

import asyncio
from pathlib import Path

from bot.domain.policy import RepositoryPolicy
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError, NotFound, NotPermitted
from bot.policy.document import MAX_PYPROJECT_BYTES
from bot.policy.keys import Reading, closed, read_keys
from bot.ports import GitHub

POLICY_PATH = ".github/metaagent.yml"
POLICY_PATHS = (POLICY_PATH, "metaagent.yml", "pyproject.toml")
"""Where a policy may stand; the first that says anything counts, the others are not read."""

ORGANISATION_PATHS = POLICY_PATHS[:2]
"""Where it may stand in the owner's repository `.github`."""

_ORGANISATION = ".github"
_DEFAULT_BRANCH = "HEAD"


def read_policy(content: bytes | None, path: str = POLICY_PATH) -> RepositoryPolicy:
    """The policy one file states; without a file, the defaults.

    Args:
        content: The file, or None.
        path: What to call it.
    """
    reading = None if content is None else read_keys(content, path)
    return (reading or Reading()).policy()


async def load_policy(repository: RepositoryRef, github: GitHub) -> RepositoryPolicy:
    """What a repository's default branch says, over the defaults of its owner.

    Args:
        repository: Whose.
        github: Reads the files.

    Raises:
        GitHubError: GitHub failed; a file that is there and cannot be read is a policy that allows nothing.
    """
    own, defaults = await asyncio.gather(
        _first(github, repository, paths=POLICY_PATHS, ref=repository.default_branch),
        _organisation(repository, github),
    )
    return own.over(defaults).policy()


def read_folder_policy(folder: Path) -> RepositoryPolicy:
    """The policy of a folder on this host; a link or anything but a file counts as none.

    Args:
        folder: The top of the project.
    """
    for name in POLICY_PATHS:
        path = folder / name
        try:
            if path.is_symlink() or (path.parent != folder and path.parent.is_symlink()) or not path.is_file():
                continue
            with path.open("rb") as file:
                reading = read_keys(file.read(MAX_PYPROJECT_BYTES + 1), name)
        except OSError as error:
            reading = closed(f"the file cannot be read ({type(error).__name__}); nothing is allowed", name)
        if reading is not None:
            return reading.policy()
    return RepositoryPolicy()


async def _first(
    github: GitHub, repository: RepositoryRef, *, paths: tuple[str, ...], ref: str, prefix: str = ""
) -> Reading:
    for path in paths:
        try:
            content = await github.read_file(repository, path, ref)
        except GitHubError as error:
            if error.retryable or isinstance(error, NotFound | NotPermitted):
                raise
            return closed(f"{error.message}; nothing is allowed until it can be", f"{prefix}{path}")
        reading = None if content is None else read_keys(content, f"{prefix}{path}")
        if reading is not None:
            return reading
    return Reading()


async def _organisation(repository: RepositoryRef, github: GitHub) -> Reading:
    """The owner's defaults; where we may not look there are none."""
    if repository.name == _ORGANISATION:
        return Reading()
    # Only its name is known: a token is asked for by that. Where the App is not installed, it may still be public.
    unknown = -(repository.installation_id or repository.id)
    for number in (unknown, repository.id):
        home = RepositoryRef(
            id=number, owner=repository.owner, name=_ORGANISATION, installation_id=repository.installation_id
        )
        try:
            return await _first(
                github, home, paths=ORGANISATION_PATHS, ref=_DEFAULT_BRANCH, prefix=f"{home.full_name}/"
            )
        except (NotFound, NotPermitted):
            continue
    return Reading()
