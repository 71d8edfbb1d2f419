"""How the failing job is rebuilt, and what a workspace stands on."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from sandbox.types.frozen import Frozen
from sandbox.types.search import RedHunk


class StepKind(StrEnum):
    """What the failing step does."""

    TEST = "test"
    LINT = "lint"
    FORMAT = "format"
    TYPES = "types"
    OTHER = "other"


class Fidelity(Frozen):
    """What became of one step of the job when it was rebuilt."""

    step: str
    treatment: Literal["replayed", "replaced", "dropped"]
    reason: str


class Recipe(Frozen):
    """How to rebuild the failing job: what to install, and the one command that failed."""

    command: str
    """A shell command line, run in `working_directory` of the checkout."""
    kind: StepKind = StepKind.TEST
    working_directory: str = "."
    python: str | None = None
    """Wanted Python, `3.11`; None takes the image's."""
    requirements: tuple[str, ...] = ()
    """Requirement lines to install with uv, already checked line by line."""
    requirement_files: tuple[str, ...] = ()
    install_project: bool = False
    """Whether the checkout itself is installed (editable) so that its own metadata counts."""
    extras: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    """Folders of the checkout whose projects count as installed; empty with `install_project` means the working
    directory."""
    constraints: tuple[str, ...] = ()
    """Version bounds for what is installed (`-c`, a lock file), checked line by line; they install nothing."""
    setup: tuple[str, ...] = ()
    """Shell commands run once, with the set-up's egress, before the environment is kept."""
    prepare: tuple[str, ...] = ()
    """Shell commands of earlier steps (code generation, builds in place) run in every workspace, without network,
    before the work tree is remembered; what they make counts as part of the commit."""
    environment: dict[str, str] = Field(default_factory=dict)
    origin: str = "detected"
    """Where the command comes from: `given`, `policy`, `workflow`, `detected`."""
    fidelity: tuple[Fidelity, ...] = ()
    workflow: str | None = None
    """Path of the workflow file the job was read from."""
    job: str | None = None
    step: str | None = None
    """The failed step, as the workflow names it."""
    matrix: dict[str, str] = Field(default_factory=dict)
    """The cell of the matrix that is rebuilt."""
    container: str | None = None
    """The image the job runs in, by name; we never run it, and say so."""
    services: tuple[str, ...] = ()
    """Service containers of the job, by image name; none is started."""
    obstacles: tuple[str, ...] = ()
    """Why the failing step cannot be reproduced here, each naming the missing part; empty when it can."""


class SourceDiff(Frozen):
    """What changed between base and head: the lines that may have turned the check red."""

    files: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """Path to the line numbers, in head, that were added or changed."""
    hunks: tuple[RedHunk, ...] = ()
    """What stood there in the base, for Python files; bounded, the first ones of a huge diff."""


class Egress(Frozen):
    """What a set-up sandbox reached through the allow-list proxy."""

    hosts: tuple[str, ...] = ()
    """`name:port` it was connected with."""
    refused: tuple[str, ...] = ()
    """`name:port` it asked for and did not get."""
    received_bytes: int = 0


class WorkspaceFacts(Frozen):
    """What a workspace stands on; goes into the evidence."""

    backend: str
    image: str = ""
    image_digest: str = ""
    environment_key: str = ""
    interpreter: str = ""
    head_sha: str | None = None
    base_sha: str | None = None
    recipe: Recipe
    red_diff: SourceDiff = SourceDiff()
    files: int = 0
    setup_s: float = 0.0
    open_s: float = 0.0
    warm: bool = False
    """The environment's snapshot was there already."""
    lock_hash: str = ""
    """SHA-256 over the exact distributions installed, sorted `name==version` lines."""
    egress: Egress = Egress()
    """What the set-up of this environment reached; kept with the environment."""
