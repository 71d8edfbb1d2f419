"""The recipe of a failing job, and the facts about a workspace."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from sandbox.types.frozen import Frozen
from sandbox.types.locks import LockRepair
from sandbox.types.search import RedHunk

DebianPackage = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]{1,99}$")]
"""The name of a Debian package (Debian's policy, 5.6.1)."""


class StepKind(StrEnum):
    """The purpose of the failing step."""

    TEST = "test"
    LINT = "lint"
    FORMAT = "format"
    TYPES = "types"
    OTHER = "other"


class Fidelity(Frozen):
    """The treatment of one step of the job in the rebuilt job."""

    step: str
    treatment: Literal["replayed", "replaced", "dropped"]
    reason: str


class PythonPart(Frozen):
    """The Python of a recipe, and the packages to install."""

    toolchain: Literal["python"] = "python"
    version: str | None = None
    """The requested Python, such as `3.11`; None takes the image's."""
    requirements: tuple[str, ...] = ()
    """Requirement lines to install with uv, each already validated."""
    requirement_files: tuple[str, ...] = ()
    install_project: bool = False
    """Install the checkout itself (editable), so that its own metadata counts."""
    extras: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    """Folders of the checkout whose projects count as installed.

    If empty, `install_project` means the working directory.
    """
    constraints: tuple[str, ...] = ()
    """Version bounds (`-c`, a lock file), each already validated. They install nothing."""
    test_only: tuple[str, ...] = ()
    """Names of requirements that only tests need, so that the set-up may leave them out."""
    left_out: tuple[str, ...] = ()
    """Names of requirements that could not be installed and were left out."""


class AddedPackage(Frozen):
    """A package that a job adds to the locked ones of a folder."""

    package: str
    """With its range: `react@18`, `eslint@10.x`."""
    folder: str = "."


class NodePart(Frozen):
    """The Node.js of a recipe, and the folders whose locked packages to install."""

    toolchain: Literal["node"] = "node"
    version: str | None = None
    """The requested Node.js, such as `22` or `22.11.0`; None takes the usual one."""
    manager: Literal["npm", "pnpm", "yarn", "bun"] = "npm"
    manager_version: str | None = None
    """The version of the package manager; None takes one that runs on this Node.js."""
    folders: tuple[str, ...] = ()
    """Folders of the checkout with a lock file."""
    locked: bool = True
    """False if no lock file names the packages: then the set-up takes those of today."""
    frozen: bool = True
    """False if the job accepts a lock file that is older than the dependencies."""
    legacy_peers: bool = False
    """Ignore peer dependencies, as the job or the repository's `.npmrc` requests."""
    force: bool = False
    """Install in spite of conflicts (`--force` of npm), as the job does."""
    tools: tuple[str, ...] = ()
    """Packages that the job installs apart from the project, such as `prettier@3.8.1`."""
    added: tuple[AddedPackage, ...] = ()
    """Packages that the job adds to those of the lock files."""
    optional: bool = False
    """Only earlier steps of the job need it: without it, the failing command still runs."""


class GoPart(Frozen):
    """The Go of a recipe, and the folders whose modules to download."""

    toolchain: Literal["go"] = "go"
    version: str | None = None
    """The requested Go, such as `1.24` or `1.24.3`; `1` and None take the newest."""
    modules: tuple[str, ...] = ()
    """Folders of the checkout with a `go.mod` or `go.work` whose modules it does not contain."""
    race: bool = False
    """The command uses the race detector, for which Go compiles its library once more."""


Part = Annotated[PythonPart | NodePart | GoPart, Field(discriminator="toolchain")]

_PYTHON_FIELDS = frozenset(PythonPart.model_fields) - {"toolchain", "version"} | {"python"}
"""Fields that a recipe itself had before it had parts."""


class Recipe(Frozen):
    """Instructions to rebuild the failing job: what to install, and the command that failed."""

    command: str
    """A shell command line, run in `working_directory` of the checkout."""
    kind: StepKind = StepKind.TEST
    working_directory: str = "."
    parts: tuple[Part, ...] = ()
    """Installations by toolchain, at most one of each."""
    setup: tuple[str, ...] = ()
    """Shell commands run once, with the set-up's egress, before the environment is kept."""
    prepare: tuple[str, ...] = ()
    """Shell commands of earlier steps (code generation, builds in place).

    They run in every workspace, without network, before the work tree is saved. Their output counts
    as part of the commit.
    """
    may_fail: tuple[str, ...] = ()
    """Lines of `prepare` that build Node.js code in earlier steps, which passed in CI.

    The set-up goes on without those that fail in the sandbox, such as ones that need a network.
    """
    environment: dict[str, str] = Field(default_factory=dict)
    origin: str = "detected"
    """The source of the command: `given`, `policy`, `workflow`, `detected`."""
    fidelity: tuple[Fidelity, ...] = ()
    workflow: str | None = None
    """Path of the workflow file that defines the job, or calls the workflow that does."""
    called: tuple[str, ...] = ()
    """The reusable workflows that lead to the job, as paths or as `owner/name/path@commit`."""
    job: str | None = None
    step: str | None = None
    """The failed step, as the workflow names it."""
    matrix: dict[str, str] = Field(default_factory=dict)
    """The cell of the matrix that is rebuilt."""
    container: str | None = None
    """The image that the job runs in, by name. It is never run, and reports say so."""
    services: tuple[str, ...] = ()
    """Image names of the job's service containers. None of them is started."""
    obstacles: tuple[str, ...] = ()
    """Reasons why the failing step cannot be reproduced here, each naming the missing part."""

    @model_validator(mode="before")
    @classmethod
    def _read_older(cls, data: Any) -> Any:
        """Read a recipe without parts: evidence bundles are kept for years and replayed."""
        if not isinstance(data, dict) or "parts" in data:
            return data
        python = {name: data[name] for name in _PYTHON_FIELDS & data.keys()}
        if not python:
            return data
        python |= {"toolchain": "python", "version": python.pop("python", None)}
        others = {name: value for name, value in data.items() if name not in _PYTHON_FIELDS}
        return {**others, "parts": (python,)}

    @field_validator("parts")
    @classmethod
    def _check_parts(cls, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        if len({part.toolchain for part in parts}) != len(parts):
            raise ValueError("two parts for one toolchain")
        return parts

    @property
    def python(self) -> PythonPart:
        """Return the Python part; every environment has a Python, for our own programs."""
        return next((part for part in self.parts if part.toolchain == "python"), PythonPart())

    @property
    def node(self) -> NodePart | None:
        """Return the Node part; None if nothing needs Node.js."""
        return next((part for part in self.parts if part.toolchain == "node"), None)

    @property
    def go(self) -> GoPart | None:
        """Return the Go part; None if nothing needs Go."""
        return next((part for part in self.parts if part.toolchain == "go"), None)

    def with_part(self, part: Part) -> Self:
        """Return a copy with this part instead of that toolchain's part."""
        parts: dict[str, Part] = {one.toolchain: one for one in self.parts}
        parts[part.toolchain] = part
        return self.with_(parts=tuple(parts.values()))


class SourceDiff(Frozen):
    """Changes between base and head: the lines that may have turned the check red."""

    files: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """Numbers of added or changed lines in head, by path."""
    hunks: tuple[RedHunk, ...] = ()
    """The base's text of changed lines, for Python files.

    Only the first ones of a huge diff are kept.
    """


class Egress(Frozen):
    """Hosts that a set-up sandbox reached through the allow-list proxy."""

    hosts: tuple[str, ...] = ()
    """The `name:port` pairs it connected to."""
    refused: tuple[str, ...] = ()
    """The `name:port` pairs that were refused."""
    received_bytes: int = 0


class WorkspaceFacts(Frozen):
    """Facts about a workspace, for the evidence."""

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
    """True if the environment's snapshot existed before."""
    lock_hash: str = ""
    """SHA-256 over the installed distributions, as sorted `name==version` lines."""
    egress: Egress = Egress()
    """Hosts that the set-up of this environment reached; stored with the environment."""
    lock_repair: LockRepair | None = None
    """The lock file to commit, if the checkout's own one is refused; it was installed from."""
