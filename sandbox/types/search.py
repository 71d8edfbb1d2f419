"""What the host and the search inside the sandbox tell each other."""

from typing import Annotated, Literal

from pydantic import Field

from sandbox.types.frozen import Frozen


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
