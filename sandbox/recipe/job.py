"""A job of a workflow, resolved: its steps in order up to the failed one, and what readers of tools say of them."""

from typing import Literal

from pydantic import Field

from sandbox.recipe.requirements import Wanted
from sandbox.types import Frozen

Shell = Literal["bash", "sh", "python", "pwsh", "cmd", "other"]


class JobStep(Frozen):
    """One step as the runner would take it: expressions resolved, actions of the repository already inlined."""

    name: str
    """As GitHub shows it: `Test`, `Run pytest -q`, `Run actions/checkout@v4`."""
    script: str = ""
    """The text of `run`; empty for a step that uses an action."""
    shell: Shell = "bash"
    working_directory: str = "."
    """Relative to the checkout, and inside it."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Everything the step sees: workflow, job, action, step, and constant lines earlier steps wrote to GITHUB_ENV."""
    uses: str | None = None
    """`actions/setup-python@v5`."""
    inputs: dict[str, str] = Field(default_factory=dict)
    """Its `with`; inputs that only GitHub knows are left out."""
    runs: Literal["yes", "no", "unknown"] = "yes"
    """What its `if` says for this cell."""
    condition: str = ""
    unknown: tuple[str, ...] = ()
    """What the script or the inputs need and only GitHub knows, by name: `secrets.TOKEN`, `steps.x.outputs.y`."""
    unknown_environment: dict[str, str] = Field(default_factory=dict)
    """Variables whose value only GitHub knows: their name, and what it would take."""
    failed: bool = False
    """This is the step that is rebuilt; always the last."""
    continue_on_error: bool = False
    timeout_s: float | None = None


class Job(Frozen):
    """One cell of a job, up to its failed step."""

    workflow: str
    """Path of the file."""
    job_id: str
    name: str
    """As the check run is named: `test (3.11, ubuntu-latest)`."""
    matrix: dict[str, str] = Field(default_factory=dict)
    runs_on: str = ""
    container: str | None = None
    services: tuple[str, ...] = ()
    steps: tuple[JobStep, ...] = ()
    python: str | None = None
    """Asked for by setup-python or setup-uv, as `3.11`."""
    toolchains: dict[str, str] = Field(default_factory=dict)
    """Other languages the job sets up, with the version asked for: `{"node": "20"}`; none of them is here."""
    obstacles: tuple[str, ...] = ()


class ListedJob(Frozen):
    """One cell of a job of a workflow, as a person would look for it."""

    workflow: str
    job_id: str
    name: str
    steps: tuple[str, ...] = ()
    """The names of its steps, as they stand in the file."""


class ToolCommand(Frozen):
    """One command a tool stands for."""

    command: str
    """A plain command line, `python -m pytest -q tests`."""
    working_directory: str = "."
    environment: dict[str, str] = Field(default_factory=dict)


class ToolReading(Frozen):
    """What one command line of a step asks for, as a reader of its tool says: `tox -e py`, `poetry install`.

    A reader of `tools/` answers None for a line that is not its own.
    """

    wanted: Wanted = Wanted()
    """What has to be installed for it, or by it."""
    commands: tuple[ToolCommand, ...] = ()
    """What it runs in the end, in order; empty when it only installs."""
    python: str | None = None
    reason: str = ""
    """For the fidelity: what is done instead (`its environment's commands are run without tox`)."""
    obstacles: tuple[str, ...] = ()
    """Why it cannot be rebuilt here, each naming the missing part."""

    def plus(self, other: "ToolReading") -> "ToolReading":
        """Both, in order."""
        return ToolReading(
            wanted=self.wanted.plus(other.wanted),
            commands=self.commands + other.commands,
            python=self.python or other.python,
            reason=self.reason or other.reason,
            obstacles=tuple(dict.fromkeys(self.obstacles + other.obstacles)),
        )
