"""What is opened, where it comes from, and what is changed in it."""

from enum import StrEnum
from typing import Literal

from pydantic import Field, SecretStr

from sandbox.types.frozen import Frozen
from sandbox.types.recipe import Recipe
from sandbox.types.surroundings import USUAL, Surroundings


class ChangeAction(StrEnum):
    """What a FileChange does."""

    REPLACE = "replace"
    CREATE = "create"
    DELETE = "delete"
    RENAME = "rename"


class FileChange(Frozen):
    """One proposed edit.

    `replace` with `search_for` replaces the one place where that text stands; without it the whole content.
    `rename` moves `path` to the path given in `content`.
    """

    action: ChangeAction
    path: str
    search_for: str | None = None
    content: str | None = None


class FileEdit(Frozen):
    """What the sandbox hands back of an edited file: nothing else ever leaves it."""

    path: str
    mode: Literal["100644", "100755", "deleted"]
    content: bytes = b""


class TrustTier(StrEnum):
    """Where a commit comes from; no environment in which code of others ran is shared between tiers."""

    DEFAULT_BRANCH = "default-branch"
    BRANCH = "branch"
    FORK = "fork"
    LOCAL = "local"


class GitSource(Frozen):
    """A repository to be fetched by commit."""

    url: str
    """https (or http on loopback for tests) without user information."""
    sha: str = Field(pattern=r"^[0-9a-f]{40}$")
    base_sha: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}$")
    """The commit to compare with; None asks the importer for the first parent."""
    merge_sha: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}$")
    """What CI tests for a pull request: the head merged into its base branch; never opened as a source of its own."""
    authorization: SecretStr | None = None
    """Value of the Authorization header for this fetch only; never in argv, URL, file or sandbox."""
    repository_id: str
    """Stable identity, part of the snapshot key."""


class FolderSource(Frozen):
    """A folder on this host, taken in as it stands (a red working tree)."""

    path: str
    repository_id: str = "local"
    since: str | None = None
    """The revision it was green at, where it is a git checkout; None takes HEAD when sources differ from it, else its
    first parent."""


class ArchiveSource(Frozen):
    """Files out of an evidence bundle; read as hostile."""

    content: bytes = Field(repr=False)
    """A tar archive of regular files, as `Workspace.archive` makes it."""
    repository_id: str
    """Nothing the bundle says: environments are never shared with the repository it claims to be of."""


class JobHints(Frozen):
    """What is known from outside about the failing job."""

    job_name: str | None = None
    step_name: str | None = None
    workflow_path: str | None = None
    command: str | None = None
    """An explicit test command wins over everything read from the repository."""
    setup: tuple[str, ...] = ()
    """Explicit set-up commands, run with network before the snapshot is taken."""
    python: str | None = None
    matrix: dict[str, str] = Field(default_factory=dict)
    """Which cell of the job's matrix failed; cells not named are read from the job's name."""


class Checkout(Frozen):
    """What to open a workspace on."""

    source: GitSource | FolderSource | ArchiveSource
    tier: TrustTier = TrustTier.BRANCH
    head_repository_id: str | None = None
    """The repository that a fork's commit was pushed to: forks never share what their code set up."""
    hints: JobHints = JobHints()
    revision: Literal["head", "base"] = "head"
    """Which commit of the source stands in the work tree."""
    recipe: "Recipe | None" = None
    """A recipe that was planned before; None plans one from what lies in the checkout."""
    surroundings: Surroundings = USUAL
    """Where it stands, and as whom its code runs."""
