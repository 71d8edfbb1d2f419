"""Messages between the host and the search inside the sandbox."""

from typing import Annotated, Literal

from pydantic import Field

from sandbox.types.frozen import Frozen
from sandbox.types.spans import SpanEdit

Count = Annotated[int, Field(ge=0, le=1_000_000_000)]
Measure = Annotated[float, Field(ge=-1e9, le=1e9)]
"""Numbers from the sandbox. An infinite or out-of-bounds number makes the whole event invalid."""


class SuspectLine(Frozen):
    """A suspicious line that the host found before the guest traced anything."""

    file: str
    line: int
    score: float = Field(ge=0.0, le=1.0)
    reason: str = ""


class RedHunk(Frozen):
    """A part of the diff that turned the check red, with its text in the green commit."""

    path: str
    line: int = Field(ge=1)
    """The first new line in head; for a pure deletion, the line after the deleted ones."""
    lines: int = Field(ge=0)
    """Number of new lines in head."""
    before: str
    """The old lines with their line ends."""


Lane = Literal["swap", "fresh", "cold"]
"""Execution mode of a candidate.

`swap` exchanges code objects in a fork of the collected session. `fresh` forks before the
collection and imports the edited source. `cold` is a separate process with files on disk.
"""


Origin = Literal["given", "broken", "guided", "reverts", "functions", "outer"]
"""Source of a candidate: given, unparsable files, exception messages, the reverted red diff,
templates inside functions, and templates outside them.
"""
CandidateOrigin = Origin | Literal["second_edit", "joined", ""]
"""Source of a candidate that was tried: also a second edit, or partial fixes joined."""
SOURCES: tuple[Origin, ...] = ("given", "broken", "guided", "reverts", "functions", "outer")


class GivenChange(Frozen):
    """An external candidate, tested, reported and compared like the search's own candidates."""

    edits: tuple[SpanEdit, ...]
    """A survivor from this change has exactly these edits."""
    description: str = ""
    cost: Measure = 1.0
    """The initial penalty, like the cost of a template."""


class KnownCall(Frozen):
    """A call with plain arguments, and a digest of its result."""

    path: str = Field(max_length=500)
    function: str = Field(max_length=300)
    arguments: str = Field(max_length=400)
    """Positional and named arguments, as a literal: `((2, 3), {'low': 1})`."""
    result: str = Field(pattern=r"^[0-9a-f]{16}$")


class KnownBehaviour(Frozen):
    """Calls by which the behaviour of an earlier change is recognized."""

    calls: tuple[KnownCall, ...]


class SearchRequest(Frozen):
    """Request for a search in the sandbox. Every field is bounded."""

    command: str
    """The pytest command of the recipe."""
    failing: tuple[str, ...]
    passing: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()
    """Passing tests that run only to confirm a candidate; the ranking uses their results."""
    suspects: tuple[SuspectLine, ...] = ()
    red_hunks: tuple[RedHunk, ...] = ()
    template_shifts: dict[str, float] = Field(default_factory=dict)
    """Adjustments of template costs: templates that worked here before are tried earlier."""
    given: tuple[GivenChange, ...] = ()
    """Candidates that are tried before all others."""
    given_may_end: bool = False
    """The search ends after the given changes if one of them is sound and clearly ahead."""
    sources: tuple[Origin, ...] = SOURCES
    """The candidate sources to use."""
    protected: tuple[str, ...] = ()
    """Path patterns that must not be edited (tests, configuration)."""
    seed: int = 0
    max_candidates: int = 100_000
    max_survivors: int = 8
    """Number of survivors after which a search ends if one of their behaviours is ahead."""
    most_survivors: int = 0
    """Number after which it ends in any case; 0 means `max_survivors`."""
    time_limit_s: float = 60.0
    test_cpu_s: float = 2.0
    workers: int = Field(default=2, ge=1, le=16)
    """Number of parallel children."""
    memory_bytes: int = 1 << 30
    """Memory limit of one child."""
    lanes: tuple[Lane, ...] = ("swap", "fresh", "cold")
    compare_inputs: int = Field(default=200, ge=0)
    """Number of inputs on which survivors are compared."""
    known: tuple[KnownBehaviour, ...] = ()
    """Behaviours to recognize among the survivors."""


class TrialStarted(Frozen):
    """The baseline was reproduced and the suspicious lines are known."""

    kind: Literal["started"] = "started"
    candidates: Count
    suspect_lines: tuple[SuspectLine, ...] = ()
    baseline_failing: Count = 0
    baseline_passing: Count = 0
    isolated: bool = False
    """Every candidate gets its own fork, because tests share state."""
    lane_notes: tuple[str, ...] = ()
    """Which lanes are safe here, and why others are not."""
    seconds: Measure = 0.0


class TrialProgress(Frozen):
    """Progress of the search."""

    kind: Literal["progress"] = "progress"
    tried: Count
    seconds: Measure


class Profile(Frozen):
    """Observations of a survivor beyond the tests. All numbers are bounded and finite."""

    inputs: Count = 0
    """Number of inputs on which the survivor was observed."""
    changed_passing: Count = 0
    """Number of calls by passing tests whose result differs from before the edit."""
    passing_calls: Count = 0
    changed_neighbours: Count = 0
    """The same for inputs near those calls."""
    neighbours: Count = 0
    changed_near_failing: Count = 0
    """The same for inputs near the calls of failing tests, where a fix should change results."""
    near_failing: Count = 0
    new_errors: Count = 0
    """Inputs on which only the edited program raises."""
    changed_types: Count = 0
    """Inputs on which it returns a type (or None) that it never returned before."""
    surprise: Measure = 0.0
    """Bits per token of the new text in the repository's language model, minus those of the old
    text. Low is natural.
    """
    donor: bool = False
    """The new text occurs elsewhere in the repository."""
    held_out_failed: Count = 0
    side_effects: Count = 0
    """Module attributes whose final value differs from the original program's."""
    examples: Count = 0
    """Docstring examples that at least one survivor satisfies."""
    examples_failed: Count = 0
    examples_unmet: Count = 0
    """Docstring examples that no survivor satisfies."""
    warnings: tuple[str, ...] = ()
    """Reasons for doubt that appear only at run time."""
    passing_there: Count | None = None
    """Passing tests that run an edited line, as far as they were traced; None if unknown."""
    mutants: Count = 0
    """One-edit mutants of its patched lines that were run against the tests."""
    mutants_killed: Count = 0
    new_lines: Count = 0
    """Its new lines that hold code of functions, if it is certain how often tests run them."""
    unrun: Count = 0
    """New lines that no test runs."""
    run_once: Count = 0
    """New lines that only one call runs, in all tests together."""


class Survivor(Frozen):
    """A candidate with which every known test passes, confirmed alone in a fresh fork."""

    kind: Literal["survivor"] = "survivor"
    template: str
    origin: CandidateOrigin = ""
    path: str
    """The path of the first edit."""
    line: Count
    cost: Measure
    suspicion: Measure
    edits: tuple[SpanEdit, ...]
    """Edits in any number of files. The host applies them to files that it read itself."""
    lane: Lane = "swap"
    description: str = ""
    """`<` became `<=`, for example."""
    tried: Count = 0
    seconds: Measure = 0.0
    behaviour: str = ""
    """Hash of the edited function's results on recorded and mutated inputs; equal hashes mean equal
    behaviour.
    """
    profile: Profile = Profile()
    warnings: tuple[str, ...] = ()
    """Reasons for doubt: constant condition, special-cased literal, ..."""


class Difference(Frozen):
    """The smallest known input on which two survivors differ."""

    first: Count
    """Index of a survivor, from 0 in the order of reporting."""
    second: Count
    input: str
    """`clamp(3, low=5)`"""
    results: tuple[str, str]


class SurvivorComparison(Frozen):
    """All survivors on the same inputs; sent once, after the last survivor."""

    kind: Literal["compared"] = "compared"
    clusters: tuple[int, ...]
    """The behavioural cluster of each survivor.

    Survivors in one cluster have equal results on every input.
    """
    profiles: tuple[Profile, ...] = ()
    differences: tuple[Difference, ...] = ()
    inputs: Count = 0
    held_out: Count = 0
    """Tests that run only to confirm a candidate."""
    passed_screen: Count = 0
    """Candidates that passed all other tests."""
    passed_held_out: Count = 0
    """Candidates of these that also passed the held-out tests.

    Few mean that a green run is weak evidence here.
    """
    failing: Count = 0
    """Failing tests that a fix must turn green."""
    failing_lines: Count = 0
    """Project lines that these tests run: the possible places of the mistake."""
    calls: tuple[tuple[KnownCall, ...], ...] = ()
    """Calls of each survivor, by which its behaviour can be recognized later."""
    recognized: tuple[tuple[Count, ...], ...] = ()
    """Indexes of the request's known behaviours that each survivor has."""


class SearchNearMiss(Frozen):
    """A candidate that turned some failing tests green and broke none."""

    kind: Literal["near_miss"] = "near_miss"
    template: str
    path: str
    line: Count
    edits: tuple[SpanEdit, ...]
    fixed: tuple[str, ...]
    description: str = ""


class TemplateSpending(Frozen):
    """Trials and time spent on the candidates of one source and template."""

    origin: CandidateOrigin
    template: str
    tried: Count
    seconds: Measure
    """Time of generating, trying and confirming; candidates of one chunk share it evenly."""


class TrialDone(Frozen):
    """The search ended."""

    kind: Literal["done"] = "done"
    reason: Literal["exhausted", "enough", "time", "candidates", "refused"]
    detail: str = ""
    tried: Count = 0
    seconds: Measure = 0.0
    spending: tuple[TemplateSpending, ...] = ()


TrialEvent = Annotated[
    TrialStarted | TrialProgress | Survivor | SearchNearMiss | SurvivorComparison | TrialDone,
    Field(discriminator="kind"),
]
"""Events of a search in progress; TrialDone is always the last one."""
