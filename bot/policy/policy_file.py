"""Loading of the policy: the first of three files, over the organisation's defaults."""

import asyncio
from pathlib import Path

from bot.domain.policy import RepositoryPolicy
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError, NotFound, NotPermitted
from bot.policy.document import MAX_PYPROJECT_BYTES
from bot.policy.keys import Reading, read_keys, strictest_reading
from bot.ports import GitHubReads

POLICY_PATH = ".github/metaagent.yml"
POLICY_PATHS = (POLICY_PATH, "metaagent.yml", "pyproject.toml")
"""Possible paths of a policy; only the first file with content for us is used."""

ORGANISATION_PATHS = POLICY_PATHS[:2]
"""Possible paths of a policy in the owner's repository `.github`."""

_ORGANISATION = ".github"
_DEFAULT_BRANCH = "HEAD"
"""GitHub resolves it to the default branch, whose name is unknown here."""


def read_policy(content: bytes | None, path: str = POLICY_PATH) -> RepositoryPolicy:
    """Return the policy of one file; without a file, the defaults.

    Args:
        content: The content of the file, or None.
        path: The name for messages.
    """
    reading = None if content is None else read_keys(content, path)
    return (reading or Reading()).policy()


async def load_policy(repository: RepositoryRef, github: GitHubReads) -> RepositoryPolicy:
    """Load the policy of a repository's default branch, over its owner's defaults.

    Args:
        repository: The repository.
        github: Reads the files.

    Raises:
        GitHubError: GitHub failed. An unreadable file is no error: it allows nothing.
    """
    own, defaults = await asyncio.gather(
        _first(github, repository, paths=POLICY_PATHS, ref=repository.default_branch),
        _organisation(repository, github),
    )
    return own.over(defaults).policy()


async def read_proposed(
    repository: RepositoryRef, number: int, head_sha: str, github: GitHubReads
) -> dict[str, Reading]:
    """Return the policy files that a pull request adds or changes, by path.

    Args:
        repository: The repository of the pull request.
        number: Its number.
        head_sha: The commit to read.
        github: Reads the files.

    Raises:
        GitHubError: GitHub failed.
    """
    files = await github.pull_request_files(repository, number)
    changed = {file.path for file in files if file.status != "removed"}
    proposed = {}
    for path in POLICY_PATHS:
        if path in changed:
            reading = await _read(github, repository, path, ref=head_sha, shown=path)
            if reading is not None:
                proposed[path] = reading
    return proposed


def read_folder_policy(folder: Path) -> RepositoryPolicy:
    """Load the policy of a local folder; links and special files are ignored.

    Args:
        folder: The root of the project.
    """
    _, reading = read_folder_keys(folder)
    return reading.policy()


def read_folder_keys(folder: Path) -> tuple[str, Reading]:
    """Read the policy file of a local folder; links and special files are ignored.

    Args:
        folder: The root of the project.

    Returns:
        The path of the file in the folder, and its keys; empty if there is none.
    """
    for name in POLICY_PATHS:
        path = folder / name
        try:
            # A link could read any file of this host into a message.
            if (
                path.is_symlink()
                or (path.parent != folder and path.parent.is_symlink())
                or not path.is_file()
            ):
                continue
            with path.open("rb") as file:
                # One byte more, so that a larger file is noticed and refused.
                reading = read_keys(file.read(MAX_PYPROJECT_BYTES + 1), name)
        except OSError as error:
            reading = strictest_reading(
                f"the file cannot be read ({type(error).__name__}); nothing is allowed", name
            )
        if reading is not None:
            return name, reading
    return "", Reading()


async def _first(
    github: GitHubReads,
    repository: RepositoryRef,
    *,
    paths: tuple[str, ...],
    ref: str,
    prefix: str = "",
) -> Reading:
    for path in paths:
        reading = await _read(github, repository, path, ref=ref, shown=f"{prefix}{path}")
        if reading is not None:
            return reading
    return Reading()


async def _read(
    github: GitHubReads, repository: RepositoryRef, path: str, *, ref: str, shown: str
) -> Reading | None:
    """Read one file; return None if it does not exist or does not mention us."""
    try:
        content = await github.read_file(repository, path, ref)
    except GitHubError as error:
        if error.retryable or isinstance(error, NotFound | NotPermitted):
            raise
        return strictest_reading(f"{error.message}; nothing is allowed until it is readable", shown)
    return None if content is None else read_keys(content, shown)


async def _organisation(repository: RepositoryRef, github: GitHubReads) -> Reading:
    """Return the owner's defaults; empty without access to them."""
    if repository.name == _ORGANISATION:
        return Reading()
    # Only the name is known, so the token is requested by name. Without the App installed, the
    # repository may still be public.
    unknown = -(repository.installation_id or repository.id)
    for number in (unknown, repository.id):
        home = RepositoryRef(
            id=number,
            owner=repository.owner,
            name=_ORGANISATION,
            installation_id=repository.installation_id,
        )
        try:
            return await _first(
                github,
                home,
                paths=ORGANISATION_PATHS,
                ref=_DEFAULT_BRANCH,
                prefix=f"{home.full_name}/",
            )
        except (NotFound, NotPermitted):
            continue
    return Reading()
