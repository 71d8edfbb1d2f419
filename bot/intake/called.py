"""Read the reusable workflows of a run that are in other repositories, before the mission."""

from collections.abc import Sequence

from bot.domain.github import FailedJob
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError
from bot.ports import GitHubReads
from sandbox.types import CalledWorkflow

MOST_READ = 20
"""Workflows read for one mission, with at most two requests each; a needed rest is named."""

MOST_BYTES = 256 * 1024
"""Size of one workflow, as for those of the checkout."""

MOST_BYTES_IN_ALL = 1024 * 1024
"""Size of all of them: they are stored with the mission, which never reads them again."""

_PULL_REQUEST = "refs/pull/"
"""GitHub's own branches: a workflow called from there is in the checkout."""

_BETWEEN_NAMES = " / "
"""Between the names of a caller and of a called job."""


async def read_called(
    repository: RepositoryRef, job: FailedJob, github: GitHubReads
) -> tuple[CalledWorkflow, ...]:
    """Return the reusable workflows of the job's run with their texts, or with what is missing.

    Args:
        repository: The repository of the run.
        job: The failed job.
        github: Reads the files at the commits that GitHub resolved.

    Raises:
        GitHubError: GitHub did not answer. A refusal is no error.
    """
    if _BETWEEN_NAMES not in job.name:
        return ()
    called = [one for one in job.called if not one.ref.startswith(_PULL_REQUEST)]
    try:
        return await _read_all(repository, called, github)
    finally:
        # The mission itself needs no token for other repositories.
        for full_name in sorted({one.repository for one in called} - {repository.full_name}):
            owner, _, name = full_name.partition("/")
            await github.release(RepositoryRef(id=0, owner=owner, name=name))


async def _read_all(
    repository: RepositoryRef, called: Sequence[CalledWorkflow], github: GitHubReads
) -> tuple[CalledWorkflow, ...]:
    """Read each file once, also if workflows name it by several refs."""
    found: dict[tuple[str, str, str, str], CalledWorkflow] = {}
    texts: dict[tuple[str, str, str], CalledWorkflow] = {}
    left = MOST_BYTES_IN_ALL
    for one in called:
        file = (one.repository.lower(), one.path, one.sha)
        if file not in texts:
            texts[file] = await _read(repository, one, github, left=left, count=len(texts))
            left -= len(texts[file].text.encode())
        read = texts[file]
        found[(*file, one.ref)] = one.with_(text=read.text, problem=read.problem)
    return tuple(found.values())


async def _read(
    repository: RepositoryRef, one: CalledWorkflow, github: GitHubReads, *, left: int, count: int
) -> CalledWorkflow:
    if count >= MOST_READ:
        return one.with_(problem=f"only {MOST_READ} workflows of other repositories are read")
    try:
        content = await github.read_called(repository, one)
    except GitHubError as error:
        if error.retryable:
            raise
        # Such as a file that is too large for GitHub's contents; its words may be hostile.
        return one.with_(problem="GitHub did not serve it")
    if content is None:
        return one.with_(
            problem=f"GitHub does not let us read {one.repository}: it is private, or gone"
        )
    if len(content) > min(MOST_BYTES, left):
        return one.with_(problem="it is too large")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return one.with_(problem="it is not UTF-8")
    # PostgreSQL cannot store this character, and YAML forbids it.
    return one.with_(problem="it is not valid YAML") if "\x00" in text else one.with_(text=text)
