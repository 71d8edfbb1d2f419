"""Evidence of a mission: its claims, the bundle that carries them, and the result of a replay."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from bot.domain.diagnosis import Triage
from bot.domain.plan import AcceptanceCriterion
from sandbox.types import FileEdit, Frozen, Recipe, RunVerdict, TestStatus, TrustTier

MIB = 1 << 20


class EvidenceLimits(Frozen):
    """The service's limits for stored evidence."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    keep: bool = True
    """Store an evidence bundle per mission; it contains the repository's source code."""
    bundle_bytes: int = Field(default=256 * MIB, gt=0)
    """Largest bundle that is stored or read, in bytes."""
    total_bytes: int = Field(default=2048 * MIB, gt=0)
    """Limit for all bundles together, in bytes. When it is reached, no new bundles are stored;
    promised bundles stay until they expire."""
    days: int = Field(default=30, gt=0)
    """Retention of a bundle, in days; pull requests state the last day."""


class ClaimedRun(Frozen):
    """The result of one run, without its output, so that a claim stays small."""

    label: str
    verdict: RunVerdict
    exit_code: int | None
    runner: str
    outcomes: dict[str, TestStatus] = Field(default_factory=dict)
    seconds: float = 0.0


class ClaimedPlace(Frozen):
    """The environment of the runs."""

    backend: str
    image: str = ""
    image_digest: str = ""
    environment_key: str = ""
    interpreter: str = ""
    lock_hash: str = ""


class ClaimedFix(Frozen):
    """The validated change and the results of its fresh runs."""

    rung: int = Field(ge=0, le=2)
    title: str = ""
    green: bool
    partial: bool = False
    reason: str = ""
    edits: tuple[FileEdit, ...]
    runs: tuple[ClaimedRun, ...] = ()
    control: ClaimedRun | None = None
    """A run without the change, in the last fresh sandbox."""


class Claim(Frozen):
    """The results that a mission claims and a replay compares."""

    mission_id: str
    outcome: str
    reason: str = ""
    created_at: str = ""
    head_sha: str | None = None
    base_sha: str | None = None
    tier: TrustTier = TrustTier.BRANCH
    place: ClaimedPlace
    recipe: Recipe
    checkout_name: str = ""
    """Name of the checkout's folder in the mission's sandboxes, as far as it was known."""
    red: ClaimedRun
    """The baseline of all comparisons; a green run when the failure was not reproduced."""
    runs: int = 1
    """Number of runs on the failing commit."""
    red_runs: int = 0
    unsteady: tuple[str, ...] = ()
    """Tests that failed in only some of those runs."""
    triage: Triage | None = None
    """The measurements before any edit; they determine how the fix is verified."""
    criteria: tuple[AcceptanceCriterion, ...] = ()
    fix: ClaimedFix | None = None


class EvidenceBundle(Frozen):
    """The data that `metaagent replay` needs."""

    claim: Claim
    evidence: dict[str, Any] = Field(default_factory=dict)
    """The evidence shown in the pull request: measured values, every text gated."""
    checkout: bytes = Field(repr=False)
    """Tar archive of the failing commit's regular files."""
    diff: str = ""
    notes: tuple[str, ...] = ()
    """Content that the bundle leaves out."""


class KeptEvidence(Frozen):
    """The location of a stored bundle; empty when none was stored."""

    name: str = ""
    """The name for `metaagent replay`: a mission id or a file."""
    sha256: str = ""
    size: int = 0
    until: str = ""
    """The last day of its retention, if it has one."""
    reason: str = ""
    """The reason for not storing one."""


class Compared(Frozen):
    """A claimed value and its current measurement."""

    what: str
    claimed: str
    now: str
    same: bool


ReplayVerdict = Literal["CONFIRMED", "NOT CONFIRMED", "CANNOT BE COMPARED"]


class Replay(Frozen):
    """The result of measuring a bundle's claims again."""

    verdict: ReplayVerdict
    reason: str
    mission_id: str
    outcome: str
    """The claimed outcome."""
    compared: tuple[Compared, ...] = ()
    environment: tuple[Compared, ...] = ()
    notes: tuple[str, ...] = ()
    """Claims that a replay of this bundle cannot check."""
    red_output: str = ""
    """Output of the red run, bounded; untrusted text."""
    seconds: float = 0.0
