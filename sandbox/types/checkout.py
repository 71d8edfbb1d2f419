"""A checkout to open, its source, and changes to it."""

from enum import StrEnum
from typing import Literal

from pydantic import Field, SecretStr

from sandbox.types.frozen import Frozen
from sandbox.types.recipe import Recipe
from sandbox.types.surroundings import USUAL, Surroundings


class ChangeAction(StrEnum):
    """The kind of a FileChange."""

    REPLACE = "replace"
    CREATE = "create"
    DELETE = "delete"
    RENAME = "rename"


class FileChange(Frozen):
    """One proposed edit.

    `replace` with `search_for` replaces the only occurrence of that text, otherwise the whole
    content. `rename` moves `path` to the path in `content`.
    """

    action: ChangeAction
    path: str
    search_for: str | None = None
    content: str | None = None


class FileEdit(Frozen):
    """An edited file that leaves the sandbox. Nothing else ever does."""

    path: str
    mode: Literal["100644", "100755", "deleted"]
    content: bytes = b""


class TrustTier(StrEnum):
    """Trust level of a commit's source.

    Tiers never share an environment in which untrusted code ran.
    """

    DEFAULT_BRANCH = "default-branch"
    BRANCH = "branch"
    FORK = "fork"
    LOCAL = "local"


class GitSource(Frozen):
    """A repository that is fetched by commit."""

    url: str
    """An https URL (or http on loopback for tests) without user information."""
    sha: str = Field(pattern=r"^[0-9a-f]{40}$")
    base_sha: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}$")
    """The commit to compare with; None takes the first parent."""
    merge_sha: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}$")
    """The merge of the head into its base branch, which CI tests for a pull request.

    It is never opened by itself.
    """
    authorization: SecretStr | None = None
    """Value of the Authorization header for this fetch only.

    It is never in argv, URL, file or sandbox.
    """
    repository_id: str
    """Stable identity, part of the snapshot key."""


class FolderSource(Frozen):
    """A folder on this host in its current state (a red working tree)."""

    path: str
    repository_id: str = "local"
    since: str | None = None
    """The revision at which a git checkout was green.

    None takes HEAD if sources differ from it, else its first parent.
    """


class ArchiveSource(Frozen):
    """Files of an evidence bundle; untrusted."""

    content: bytes = Field(repr=False)
    """A tar archive of regular files, as `Workspace.archive` writes it."""
    repository_id: str
    """An id that the bundle cannot choose: environments are never shared with the repository it
    claims to be.
    """


class CalledWorkflow(Frozen):
    """A reusable workflow as a run used it: GitHub names its commit. Its text is untrusted."""

    repository: str = Field(pattern=r"^[A-Za-z0-9_-]{1,100}/[A-Za-z0-9_.-]{1,100}$")
    path: str = Field(pattern=r"^\.github/workflows/[A-Za-z0-9_.+-]{1,200}\.ya?ml$")
    ref: str = Field(pattern=r"^[^\s@\x00-\x1f\x7f]{1,255}$")
    """As GitHub writes it: `v1`, `refs/tags/v1` or a commit."""
    sha: str = Field(pattern=r"^[0-9a-f]{40}$")
    text: str = Field(default="", repr=False)
    problem: str = ""
    """Why the text is missing."""

    @property
    def name(self) -> str:
        """Return `owner/name/path@ref`."""
        return f"{self.repository}/{self.path}@{self.ref}"


class JobHints(Frozen):
    """External information about the failing job."""

    job_name: str | None = None
    step_name: str | None = None
    workflow_path: str | None = None
    command: str | None = None
    """An explicit test command; it overrides everything read from the repository."""
    setup: tuple[str, ...] = ()
    """Explicit set-up commands. They run with network before the snapshot is taken."""
    python: str | None = None
    matrix: dict[str, str] = Field(default_factory=dict)
    """The failed cell of the job's matrix. Missing keys are read from the job's name."""
    called: tuple[CalledWorkflow, ...] = ()
    """The reusable workflows of the run that are not in the checkout."""
    repository: str | None = None
    """The repository that the job ran in, `owner/name`. None leaves `github.repository` unknown."""


class Checkout(Frozen):
    """A commit or folder to open a workspace on."""

    source: GitSource | FolderSource | ArchiveSource
    tier: TrustTier = TrustTier.BRANCH
    head_repository_id: str | None = None
    """The repository that a fork's commit was pushed to.

    Forks never share environments that their code set up.
    """
    hints: JobHints = JobHints()
    revision: Literal["head", "base"] = "head"
    """Which commit of the source is in the work tree."""
    recipe: "Recipe | None" = None
    """A recipe that was planned before; None plans one from the checkout."""
    surroundings: Surroundings = USUAL
    """The path, user and other properties of the sandbox."""
    name: str = ""
    """Name of the checkout's folder in every sandbox, as in the job: that of the repository.

    Untrusted. Empty or unfit: the folder of the surroundings.
    """
