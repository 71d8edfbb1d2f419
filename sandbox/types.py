"""The facts the sandbox reports, and what it is asked: frozen values that serialise to JSON."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr

FAILURES_IN_FULL = 10
"""How many failures a report carries in full; the rest are counted."""


class Frozen(BaseModel):
    """A value: immutable, strict about its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    def with_(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated again."""
        return self.model_validate({**{name: getattr(self, name) for name in type(self).model_fields}, **changes})


TestOrder = Literal["given", "reversed", "random"]
"""In which order tests run; `random` is shuffled by the seed that comes with it."""


class CommandResult(Frozen):
    """One command run in the sandbox."""

    argv: tuple[str, ...]
    exit_code: int | None
    """None when the command was killed before it ended."""
    signal: int | None = None
    timed_out: bool = False
    flooded: bool = False
    """Killed because it printed more than the limit."""
    oom_kills: int = 0
    survivors: int = 0
    """Processes still alive when the command ended; all were killed."""
    stdout: str = ""
    """Head and tail of standard output, cut in the middle; hostile text, not yet gated."""
    stderr: str = ""
    results: bytes = b""
    """What was written to file descriptor 3, at most the results limit; hostile bytes."""
    duration_s: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with status 0."""
        return self.exit_code == 0 and not (self.timed_out or self.flooded)


class TestStatus(StrEnum):
    """How one test ended."""

    __test__ = False

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIP = "skip"


class TestResult(Frozen):
    """One test: how it ended, and if it failed, where and why."""

    __test__ = False

    name: str
    """The node id, `tests/test_math.py::test_add`; for a linter `path:line:rule`."""
    status: TestStatus
    output: str = ""
    error_message: str | None = None
    duration_ms: float = 0.0
    file: str | None = None
    """Where it failed, relative to the checkout: the deepest frame inside the checkout."""
    line: int | None = None
    test: str | None = None
    """The test function's name."""
    error: str | None = None
    """The exception's class name, or a linter's rule."""
    traceback: str | None = None
    frames: tuple[tuple[str, int, str], ...] = ()
    """(file, line, function) of the traceback's frames inside the checkout, outermost first."""


class RunVerdict(StrEnum):
    """What one run of a command proves."""

    PASS = "pass"
    FAIL = "fail"
    TIMEOUT = "timeout"
    OOM = "oom"
    OUTPUT_LIMIT = "output_limit"
    NO_VERDICT = "no_verdict"
    """Nothing could be concluded: no test collected, the command does not exist, the runner broke."""
    TAMPERED = "tampered"
    """The records contradict each other: something inside tried to decide its own verdict."""


class TestReport(Frozen):
    """One run of a test (or lint, or build) command, read into structured failures."""

    __test__ = False

    success: bool
    """The command ended by itself, its status says green, and the records agree."""
    failed: bool
    """At least one test failed or errored (a command that could not run has `failed` False)."""
    exit_code: int | None
    target: str
    """The command as a person would type it."""
    summary: str
    """One line: `2 failed, 2 passed in 0.1 s`."""
    failure_count: int
    failures: tuple[TestResult, ...] = ()
    """At most FAILURES_IN_FULL of them in full."""
    raw_output: str = ""
    """Bounded head and tail of the output; hostile text."""
    verdict: RunVerdict = RunVerdict.NO_VERDICT
    runner: str = "command"
    """Which reader made the report: `pytest`, `unittest`, `junit`, `diagnostics`, `command`."""
    outcomes: dict[str, TestStatus] = Field(default_factory=dict)
    """Every test that ran, by name."""
    duration_s: float = 0.0

    @property
    def knows_tests(self) -> bool:
        """Whether each test was seen by name, so that single tests can be asked for."""
        return self.runner in {"pytest", "unittest"}

    @property
    def failing(self) -> frozenset[str]:
        """The names of all failing and erroring tests."""
        return frozenset(n for n, s in self.outcomes.items() if s in {TestStatus.FAIL, TestStatus.ERROR})

    @property
    def passing(self) -> frozenset[str]:
        """The names of all passing tests."""
        return frozenset(n for n, s in self.outcomes.items() if s is TestStatus.PASS)


class LogSignal(StrEnum):
    """A sign in a CI log that something other than the code may have made the job red."""

    RUNNER_LOST = "runner_lost"
    """The runner was shut down, or its connection was lost."""
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    """The job or step took longer than it may."""
    DISK_FULL = "disk_full"
    OUT_OF_MEMORY = "out_of_memory"
    RATE_LIMITED = "rate_limited"
    NETWORK = "network"
    """A name, a connection or a certificate failed while something was fetched."""
    REGISTRY = "registry"
    """An image, a package or an artifact was not where it had to be."""
    CREDENTIALS = "credentials"
    """Something outside refused to let the job in."""


class LogReading(Frozen):
    """What a CI job's log says; the log itself is not kept. Bounded, and gated before it is stored."""

    step: str | None = None
    """The step that failed, as the log or GitHub names it; None when the log does not tell."""
    command: str = ""
    """The first line of what that step ran."""
    error: str = ""
    """The line that tells best what went wrong."""
    excerpt: str = ""
    """The lines around the first and the last error of that step, within a budget."""
    failures: tuple[TestResult, ...] = ()
    """What the step's tools named, a *weak* reading: names, places and messages, never a verdict."""
    failure_count: int = 0
    """How many there were in all."""
    exit_code: int | None = None
    """What the failed step's process ended with."""
    signals: tuple[LogSignal, ...] = ()
    """Only those that speak of the failed step or of the whole job."""
    signs: dict[LogSignal, str] = Field(default_factory=dict)
    """The line that shows each signal."""

    @property
    def failing(self) -> frozenset[str]:
        """The names of what failed in CI."""
        return frozenset(failure.name for failure in self.failures)


class FileContext(Frozen):
    """Source around one line."""

    success: bool
    file: str
    focus_line: int
    focus_content: str = ""
    context_before: tuple[str, ...] = ()
    context_after: tuple[str, ...] = ()
    total_lines: int = 0
    snippet: str = ""
    """Numbered lines, the focus line marked `->`."""


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
    """Where a commit comes from; environments are never shared between tiers."""

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
    hints: JobHints = JobHints()
    revision: Literal["head", "base"] = "head"
    """Which commit of the source stands in the work tree."""
    recipe: "Recipe | None" = None
    """A recipe that was planned before; None plans one from what lies in the checkout."""


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


# --- rung 1: search inside the sandbox ------------------------------------------------------------


class SuspectLine(Frozen):
    """A line the host suspects before the guest has traced anything."""

    file: str
    line: int
    score: float = Field(ge=0.0, le=1.0)
    reason: str = ""


class SearchRequest(Frozen):
    """What the host asks the search in the sandbox to do. Everything is bounded."""

    command: str
    """The pytest command of the recipe."""
    failing: tuple[str, ...]
    passing: tuple[str, ...] = ()
    suspects: tuple[SuspectLine, ...] = ()
    template_costs: dict[str, float] = Field(default_factory=dict)
    """Prior per template, lower is tried first; a template without one uses its own default."""
    protected: tuple[str, ...] = ()
    """Path patterns that may not be edited (tests, configuration)."""
    seed: int = 0
    max_candidates: int = 20_000
    max_survivors: int = 8
    time_limit_s: float = 60.0
    test_cpu_s: float = 2.0


class TrialStarted(Frozen):
    """The harness reproduced the baseline and knows where to look."""

    kind: Literal["started"] = "started"
    candidates: int
    suspect_lines: tuple[SuspectLine, ...] = ()
    baseline_failing: int = 0
    baseline_passing: int = 0
    isolated: bool = False
    """Every candidate gets a fork of its own, because tests share state."""
    seconds: float = 0.0


class TrialProgress(Frozen):
    """How far the search is."""

    kind: Literal["progress"] = "progress"
    tried: int
    seconds: float


class Survivor(Frozen):
    """A candidate with which every known test passes, confirmed alone in a fresh fork."""

    kind: Literal["survivor"] = "survivor"
    template: str
    path: str
    line: int
    cost: float
    suspicion: float
    content: str
    """The whole new text of the file; untouched lines are byte for byte the old ones."""
    description: str = ""
    """`< became <=`"""
    tried: int = 0
    seconds: float = 0.0
    behaviour: str = ""
    """Hash of what the edited function returns on recorded and mutated inputs; equal means equivalent."""
    warnings: tuple[str, ...] = ()
    """Reasons to doubt it: constant condition, special-cased literal, ..."""


class NearMiss(Frozen):
    """A candidate that turned some failing tests green and broke none."""

    kind: Literal["near_miss"] = "near_miss"
    template: str
    path: str
    line: int
    content: str
    fixed: tuple[str, ...]


class TrialDone(Frozen):
    """The search ended."""

    kind: Literal["done"] = "done"
    reason: Literal["exhausted", "enough", "time", "candidates", "refused"]
    detail: str = ""
    tried: int = 0
    seconds: float = 0.0


TrialEvent = Annotated[TrialStarted | TrialProgress | Survivor | NearMiss | TrialDone, Field(discriminator="kind")]
"""What the search tells while it runs; TrialDone is always the last."""
