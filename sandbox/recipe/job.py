"""A resolved job of a workflow: its steps up to the failed one, and the readings of their tools."""

from typing import Literal

from pydantic import Field

from sandbox.recipe.requirements import Requirements
from sandbox.recipe.shell.words import ShellExpression
from sandbox.setup.node.layout import Manager
from sandbox.types import AddedPackage, Frozen

Shell = Literal["bash", "sh", "python", "pwsh", "cmd", "other"]


class Absent(Frozen):
    """Files that the job has and the sandbox has not."""

    place: str
    """Their path in the checkout, or a name of theirs."""
    reason: str
    """The obstacle of a command that uses them."""
    kind: Literal["path", "name", "program"] = "path"
    """A name may stand behind any folder, a program only by itself."""


class ResolvedStep(Frozen):
    """One step as the runner would run it: expressions resolved, local actions inlined."""

    name: str
    """GitHub's name: `Test`, `Run pytest -q`, `Run actions/checkout@v4`."""
    script: str = ""
    """The text of `run`; empty for an action."""
    shell: Shell = "bash"
    working_directory: str = "."
    """Relative to the checkout, and inside it."""
    environment: dict[str, str] = Field(default_factory=dict)
    """All variables of the step: of workflow, job, action and step, and constant exports of earlier
    steps.
    """
    uses: str | None = None
    """`actions/setup-python@v5`."""
    inputs: dict[str, str] = Field(default_factory=dict)
    """Its `with`, without inputs that only GitHub knows."""
    runs: Literal["yes", "no", "unknown"] = "yes"
    """The value of its `if` for this cell."""
    condition: str = ""
    unknown: tuple[str, ...] = ()
    """Names that the script or inputs need and only GitHub knows: `secrets.TOKEN`,
    `steps.x.outputs.y`.
    """
    unknown_environment: dict[str, str] = Field(default_factory=dict)
    """Variables that only GitHub knows, with the names they need."""
    failed: bool = False
    """A step to rebuild. The last one is; of an action, any of its checks may have failed."""
    continue_on_error: bool = False
    timeout_s: float | None = None

    @property
    def variables(self) -> dict[str, str]:
        """Return the environment as its script sees it, with an expression for unknown values."""
        unknown = {name: ShellExpression(f"${{{name}}}") for name in self.unknown_environment}
        return {**unknown, **self.environment}


class Job(Frozen):
    """One cell of a job, up to its failed step."""

    workflow: str
    """Path of the workflow file."""
    called: tuple[str, ...] = ()
    """The reusable workflows that lead to the job, see `Recipe.called`."""
    job_id: str
    name: str
    """The name of the check run: `test (3.11, ubuntu-latest)`."""
    matrix: dict[str, str] = Field(default_factory=dict)
    runs_on: str = ""
    container: str | None = None
    services: tuple[str, ...] = ()
    steps: tuple[ResolvedStep, ...] = ()
    python: str | None = None
    """The version of setup-python or setup-uv, as `3.11`."""
    node: str | None = None
    """The version of setup-node, as `20` or `20.11.1`."""
    pnpm: str | None = None
    """The version of `pnpm/action-setup`, as `9` or `9.1.2`."""
    go: str | None = None
    """The version of setup-go, as `1.24` or `1.24.3`."""
    obstacles: tuple[str, ...] = ()
    absent: tuple[Absent, ...] = ()


class ListedJob(Frozen):
    """One cell of a workflow's job, for display."""

    workflow: str
    job_id: str
    name: str
    steps: tuple[str, ...] = ()
    """The names of its steps as written."""


class ToolCommand(Frozen):
    """One command that a tool runs."""

    command: str
    """A plain command line, `python -m pytest -q tests`."""
    working_directory: str = "."
    environment: dict[str, str] = Field(default_factory=dict)


class NodeInstall(Frozen):
    """Options of a Node.js installation beyond the lock file alone."""

    legacy_peers: bool = False
    force: bool = False
    loose: bool = False
    """The lock file may be older than the dependencies."""
    added: tuple[AddedPackage, ...] = ()
    """Packages of the registry that the job adds afterwards."""
    manager: Manager | None = None
    """The package manager that installs; None without an installation."""
    unlocked: bool = False
    """The lock file is ignored, as `npm install --no-package-lock` does."""

    def plus(self, other: "NodeInstall") -> "NodeInstall":
        """Combine two installations; what one of them allows is allowed."""
        return NodeInstall(
            legacy_peers=self.legacy_peers or other.legacy_peers,
            force=self.force or other.force,
            loose=self.loose or other.loose,
            added=tuple(dict.fromkeys(self.added + other.added)),
            manager=self.manager or other.manager,
            unlocked=self.unlocked or other.unlocked,
        )


class ToolReading(Frozen):
    """The meaning of one command line of a step, such as `tox -e py` or `poetry install`.

    A reader in `tools/` returns None for a line of another tool.
    """

    wanted: Requirements = Requirements()
    """Requirements of the command, or those that it installs."""
    commands: tuple[ToolCommand, ...] = ()
    """The commands that it runs, in order; empty if it only installs."""
    python: str | None = None
    reason: str = ""
    """The substitute, for the fidelity log (`its environment's commands are run without tox`)."""
    obstacles: tuple[str, ...] = ()
    """Reasons why it cannot be rebuilt here, each naming the missing part."""
    node_folders: tuple[str, ...] | None = None
    """Folders whose lock file names the Node.js packages; None if Node.js is not needed."""
    node_install: NodeInstall = NodeInstall()
    node_tools: tuple[str, ...] = ()
    """Packages of Node.js that it installs apart from the project."""
    absent: tuple[Absent, ...] = ()

    def plus(self, other: "ToolReading") -> "ToolReading":
        """Concatenate two readings."""
        return ToolReading(
            wanted=self.wanted.plus(other.wanted),
            commands=self.commands + other.commands,
            python=self.python or other.python,
            reason=self.reason or other.reason,
            obstacles=tuple(dict.fromkeys(self.obstacles + other.obstacles)),
            node_folders=merge_folders(self.node_folders, other.node_folders),
            node_install=self.node_install.plus(other.node_install),
            node_tools=tuple(dict.fromkeys(self.node_tools + other.node_tools)),
            absent=self.absent + other.absent,
        )


def merge_folders(
    one: tuple[str, ...] | None, other: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """Return the folders of both, without duplicates; None if both are."""
    if one is None or other is None:
        return other if one is None else one
    return tuple(dict.fromkeys(one + other))
