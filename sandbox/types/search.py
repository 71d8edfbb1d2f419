"""What the host and the search inside the sandbox tell each other."""

from typing import Annotated, Literal

from pydantic import Field

from sandbox.types.frozen import Frozen
from sandbox.types.spans import SpanEdit

Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Measure = Annotated[float, Field(ge=-1e9, le=1e9)]
"""Numbers from the sandbox: what is out of bounds, infinite or no number makes the whole event invalid."""


class SuspectLine(Frozen):
    """A line the host suspects before the guest has traced anything."""

    file: str
    line: int
    score: float = Field(ge=0.0, le=1.0)
    reason: str = ""


class RedHunk(Frozen):
    """A part of the diff that turned the check red: what stood there while it was green."""

    path: str
    line: int = Field(ge=1)
    """The first line in head that is new; where lines only went, the line before which they stood."""
    lines: int = Field(ge=0)
    """How many lines of head are new."""
    before: str
    """The lines that stood there, with their ends."""


Lane = Literal["swap", "fresh", "cold"]
"""How a candidate is run: code objects swapped in a forked child of the collected session, a fork from before the
collection that imports the edited source, or a process of its own with files on disk."""


Origin = Literal["given", "broken", "guided", "reverts", "functions", "outer"]
"""Where candidates come from: given ones, files that do not parse, what exceptions suggest, the red diff undone,
templates inside functions, and outside them."""
SOURCES: tuple[Origin, ...] = ("given", "broken", "guided", "reverts", "functions", "outer")


class GivenChange(Frozen):
    """A change that somebody else thought of: tried, told of and compared like the search's own candidates."""

    edits: tuple[SpanEdit, ...]
    """A survivor that makes this change has just these edits."""
    description: str = ""
    cost: Measure = 1.0
    """What speaks against it from the start, as of a template."""


class SearchRequest(Frozen):
    """What the host asks the search in the sandbox to do. Everything is bounded."""

    command: str
    """The pytest command of the recipe."""
    failing: tuple[str, ...]
    passing: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()
    """Passing tests that no candidate meets before it is confirmed; ranking uses what they say."""
    suspects: tuple[SuspectLine, ...] = ()
    red_hunks: tuple[RedHunk, ...] = ()
    template_shifts: dict[str, float] = Field(default_factory=dict)
    """What is added to what a template itself costs: what worked here before is tried earlier."""
    given: tuple[GivenChange, ...] = ()
    """Tried before everything else."""
    sources: tuple[Origin, ...] = SOURCES
    """Which of them are asked."""
    protected: tuple[str, ...] = ()
    """Path patterns that may not be edited (tests, configuration)."""
    seed: int = 0
    max_candidates: int = 100_000
    max_survivors: int = 8
    time_limit_s: float = 60.0
    test_cpu_s: float = 2.0
    workers: int = Field(default=2, ge=1, le=16)
    """Children at work at the same time."""
    memory_bytes: int = 1 << 30
    """How far one child may grow."""
    lanes: tuple[Lane, ...] = ("swap", "fresh", "cold")
    compare_inputs: int = Field(default=200, ge=0)
    """How many inputs survivors are compared on."""


class TrialStarted(Frozen):
    """The harness reproduced the baseline and knows where to look."""

    kind: Literal["started"] = "started"
    candidates: Count
    suspect_lines: tuple[SuspectLine, ...] = ()
    baseline_failing: Count = 0
    baseline_passing: Count = 0
    isolated: bool = False
    """Every candidate gets a fork of its own, because tests share state."""
    lane_notes: tuple[str, ...] = ()
    """Which lanes are safe here, and why others are not."""
    seconds: Measure = 0.0


class TrialProgress(Frozen):
    """How far the search is."""

    kind: Literal["progress"] = "progress"
    tried: Count
    seconds: Measure


class Profile(Frozen):
    """What was observed of a survivor beside the tests; numbers are bounded and finite."""

    inputs: Count = 0
    """On how many inputs it was observed."""
    changed_passing: Count = 0
    """Of the calls that passing tests make: how many give another result than before the edit."""
    passing_calls: Count = 0
    changed_neighbours: Count = 0
    """The same for inputs near those calls."""
    neighbours: Count = 0
    new_errors: Count = 0
    """Inputs on which it raises and the program before the edit did not."""
    changed_types: Count = 0
    """Inputs on which it returns another type (or None) than ever before."""
    surprise: Measure = 0.0
    """Bits per token of the new text in the language of the repository, less those of the old; low is natural."""
    donor: bool = False
    """The new text stands elsewhere in the repository."""
    held_out_failed: Count = 0
    side_effects: Count = 0
    """Names of modules that it leaves otherwise than the program before the edit."""
    examples: Count = 0
    """Examples in docstrings that at least one survivor honours."""
    examples_failed: Count = 0
    warnings: tuple[str, ...] = ()
    """Reasons to doubt it that show only while it runs."""
    passing_there: Count | None = None
    """Passing tests that run a line of the edit, as far as they were traced; None where that is not known."""
    mutants: Count = 0
    """One-edit mutants of its patched lines that were tried on the tests."""
    mutants_killed: Count = 0


class Survivor(Frozen):
    """A candidate with which every known test passes, confirmed alone in a fresh fork."""

    kind: Literal["survivor"] = "survivor"
    template: str
    path: str
    """Of the first edit."""
    line: Count
    cost: Measure
    suspicion: Measure
    edits: tuple[SpanEdit, ...]
    """In any number of files; the host puts them into what it has read itself."""
    lane: Lane = "swap"
    description: str = ""
    """`< became <=`"""
    tried: Count = 0
    seconds: Measure = 0.0
    behaviour: str = ""
    """Hash of what the edited function returns on recorded and mutated inputs; equal means equivalent."""
    profile: Profile = Profile()
    warnings: tuple[str, ...] = ()
    """Reasons to doubt it: constant condition, special-cased literal, ..."""


class Difference(Frozen):
    """The smallest input found on which two survivors differ."""

    first: Count
    """Number of a survivor, counted from 0 in the order they were told."""
    second: Count
    input: str
    """`clamp(3, low=5)`"""
    results: tuple[str, str]


class Compared(Frozen):
    """All survivors on the same inputs, told once, after the last survivor."""

    kind: Literal["compared"] = "compared"
    clusters: tuple[int, ...]
    """Per survivor the number of its behaviour: equal numbers, equal results on every input."""
    profiles: tuple[Profile, ...] = ()
    differences: tuple[Difference, ...] = ()
    inputs: Count = 0
    held_out: Count = 0
    """Tests that no candidate met before it was confirmed."""
    passed_screen: Count = 0
    """Candidates that passed all other tests."""
    passed_held_out: Count = 0
    """Of these: how many passed the held-out tests, too. Few mean that green says little here."""
    failing: Count = 0
    """Failing tests that a fix had to turn green."""
    failing_lines: Count = 0
    """Lines of the project that these run: among how many the mistake may be."""


class NearMiss(Frozen):
    """A candidate that turned some failing tests green and broke none."""

    kind: Literal["near_miss"] = "near_miss"
    template: str
    path: str
    line: Count
    edits: tuple[SpanEdit, ...]
    fixed: tuple[str, ...]
    description: str = ""


class TrialDone(Frozen):
    """The search ended."""

    kind: Literal["done"] = "done"
    reason: Literal["exhausted", "enough", "time", "candidates", "refused"]
    detail: str = ""
    tried: Count = 0
    seconds: Measure = 0.0


TrialEvent = Annotated[
    TrialStarted | TrialProgress | Survivor | NearMiss | Compared | TrialDone, Field(discriminator="kind")
]
"""What the search tells while it runs; TrialDone is always the last."""
