"""What stays of a mission for a doubting reader: its claims, the bundle that carries them, and what a replay says."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from bot.domain.diagnosis import Triage
from bot.domain.plan import AcceptanceCriterion
from sandbox.types import FileEdit, Frozen, Recipe, RunVerdict, TestStatus, TrustTier

MIB = 1 << 20


class EvidenceLimits(Frozen):
    """How much evidence the service keeps on its host."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    keep: bool = True
    """Keep a bundle per mission in the store; it holds the repository's source."""
    bundle_bytes: int = Field(default=256 * MIB, gt=0)
    """The largest bundle that is kept, and the largest that is read."""
    total_bytes: int = Field(default=2048 * MIB, gt=0)
    """All bundles together. No bundle that is promised gives way: when it is reached, no new one is kept."""
    days: int = Field(default=30, gt=0)
    """How long a bundle is kept; pull requests name the day."""


class ClaimedRun(Frozen):
    """What one run showed: no output, so that a claim stays small."""

    label: str
    verdict: RunVerdict
    exit_code: int | None
    runner: str
    outcomes: dict[str, TestStatus] = Field(default_factory=dict)
    seconds: float = 0.0


class ClaimedPlace(Frozen):
    """What the runs stood on."""

    backend: str
    image: str = ""
    image_digest: str = ""
    environment_key: str = ""
    interpreter: str = ""
    lock_hash: str = ""


class ClaimedFix(Frozen):
    """The change as it was validated, and what its fresh runs showed."""

    rung: int = Field(ge=0, le=2)
    title: str = ""
    green: bool
    partial: bool = False
    reason: str = ""
    edits: tuple[FileEdit, ...]
    runs: tuple[ClaimedRun, ...] = ()
    control: ClaimedRun | None = None
    """Without the change, in the last fresh sandbox."""


class Claim(Frozen):
    """What a mission says it saw; everything a replay compares itself with."""

    mission_id: str
    outcome: str
    reason: str = ""
    created_at: str = ""
    head_sha: str | None = None
    base_sha: str | None = None
    tier: TrustTier = TrustTier.BRANCH
    place: ClaimedPlace
    recipe: Recipe
    red: ClaimedRun
    """The run everything was compared with; a green one when nothing could be reproduced."""
    runs: int = 1
    """Runs on the failing commit in all."""
    red_runs: int = 0
    unsteady: tuple[str, ...] = ()
    """Tests that failed in some of those runs only."""
    triage: Triage | None = None
    """What was measured before any edit; decides how the fix is verified."""
    criteria: tuple[AcceptanceCriterion, ...] = ()
    fix: ClaimedFix | None = None


class EvidenceBundle(Frozen):
    """Everything `metaagent replay` needs."""

    claim: Claim
    evidence: dict[str, Any] = Field(default_factory=dict)
    """The same as in the pull request: measured, every text gated."""
    checkout: bytes = Field(repr=False)
    """Tar archive of the failing commit's regular files."""
    diff: str = ""
    notes: tuple[str, ...] = ()
    """What the bundle leaves out."""


class KeptEvidence(Frozen):
    """Where a bundle went; nothing when none was kept."""

    name: str = ""
    """What `metaagent replay` finds it by: its mission, or its file."""
    sha256: str = ""
    size: int = 0
    until: str = ""
    """The last day on which it is kept, when there is one."""
    reason: str = ""
    """Why none was kept."""


class Compared(Frozen):
    """One thing the bundle claims, and the same now."""

    what: str
    claimed: str
    now: str
    same: bool


ReplayVerdict = Literal["CONFIRMED", "NOT CONFIRMED", "CANNOT BE COMPARED"]


class Replay(Frozen):
    """What became of a bundle's claims when they were measured again."""

    verdict: ReplayVerdict
    reason: str
    mission_id: str
    outcome: str
    """As claimed."""
    compared: tuple[Compared, ...] = ()
    environment: tuple[Compared, ...] = ()
    notes: tuple[str, ...] = ()
    """What a replay of this bundle cannot say."""
    red_output: str = ""
    """Bounded; hostile text."""
    seconds: float = 0.0
