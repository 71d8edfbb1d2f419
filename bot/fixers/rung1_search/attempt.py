"""Run one search and rank its fixes, for missions, `metaagent repair` and benchmarks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot.domain.counted import counted
from bot.fixers.rung1_search.changes import edited_files, read_text
from bot.fixers.rung1_search.rank import Ranked, rank_survivors
from bot.ports import Workspace
from sandbox.types import (
    FileChange,
    SearchNearMiss,
    SearchRequest,
    SpanEdit,
    Survivor,
    SurvivorComparison,
    TrialDone,
    TrialEvent,
    TrialStarted,
)


@dataclass(frozen=True)
class RankedFix:
    """A ranked fix, as changes of files that the host has read itself."""

    ranked: Ranked
    changes: tuple[FileChange, ...]


@dataclass
class SearchResult:
    """Events of one search, and its ranked result."""

    request: SearchRequest
    started: TrialStarted | None = None
    survivors: list[Survivor] = field(default_factory=list)
    """In the order reported. A revert and a template may report the same edits."""
    near: list[SearchNearMiss] = field(default_factory=list)
    compared: SurvivorComparison | None = None
    done: TrialDone = field(
        default_factory=lambda: TrialDone(reason="refused", detail="the search reported nothing")
    )
    originals: dict[str, str] = field(default_factory=dict)
    """Text of each edited file by path, read by the host. The sandbox's copy is not trusted."""
    shown: tuple[RankedFix, ...] = ()
    """Ranked fixes, best first."""
    plain_run: str = ""
    """Result of running the command with the first fix; empty if it was not run."""
    refuted: int = 0
    """Number of fixes that failed the plain run and are no longer shown."""

    @property
    def tried(self) -> int:
        """Return the number of candidates tried."""
        return max((self.done.tried, *(survivor.tried for survivor in self.survivors)))

    @property
    def why_none(self) -> str:
        """Return the reason for an empty result, in words."""
        words = {
            "exhausted": "no edit of the suspect functions makes the tests pass",
            "time": "no edit found within the time limit",
            "candidates": "no edit found within the limit of candidates",
            "enough": "the search ended early",
            "refused": "the search could not start",
        }[self.done.reason]
        if self.refuted:
            refuted = counted(self.refuted, "fix", plural="fixes")
            words = f"{refuted} passed in the search but failed a plain run"
        return f"{words}: {self.done.detail}" if self.done.detail else words

    def record(self, event: TrialEvent) -> None:
        """Record one event of the search."""
        match event:
            case TrialStarted():
                self.started = event
            case Survivor():
                self.survivors.append(event)
            case SearchNearMiss():
                self.near.append(event)
            case SurvivorComparison():
                self.compared = event
            case TrialDone():
                self.done = event
            case _:
                pass

    def edits(self) -> list[SpanEdit]:
        """Return all edits of the survivors, or of the near misses if there are none."""
        whole = [edit for survivor in self.survivors for edit in survivor.edits]
        return whole or [edit for miss in self.near for edit in miss.edits]


async def run_search(
    workspace: Workspace,
    request: SearchRequest,
    *,
    on_event: Callable[[TrialEvent], None] = lambda _: None,
    kind_of: Callable[[Sequence[SpanEdit]], str | None] = lambda _: None,
    is_accepted: Callable[[Sequence[SpanEdit]], bool] = lambda _: False,
) -> SearchResult:
    """Run a search and rank its survivors; the workspace is left unchanged.

    Args:
        workspace: The tree to search.
        request: The search request.
        on_event: Called with every event as it arrives.
        kind_of: Returns the kind of a given change, which the sandbox does not know.
        is_accepted: Returns True if people accepted an edit at another place.
    """
    found = SearchResult(request)
    async for event in workspace.search(request):
        found.record(event)
        on_event(event)
    paths = sorted({edit.path for edit in found.edits()})
    # Read by the host, because the sandbox could report false contents.
    found.originals = {path: await read_text(workspace, path) for path in paths}
    fitting = [s for s in found.survivors if edited_files(s.edits, found.originals)]
    if len(fitting) < len(
        found.survivors
    ):  # edits that fit no file come from an untrustworthy sandbox: drop its comparison too
        found.survivors, found.compared = fitting, None
    found.survivors, found.compared = drop_duplicates(found.survivors, found.compared)
    found.survivors = [s.with_(template=kind_of(s.edits) or s.template) for s in found.survivors]
    accepted = {n for n, s in enumerate(found.survivors) if is_accepted(s.edits)}
    ranked = rank_survivors(found.survivors, found.originals, found.compared, accepted=accepted)
    found.shown = tuple(
        RankedFix(r, edited_files(r.survivor.edits, found.originals) or ()) for r in ranked
    )
    return found


def drop_duplicates(
    survivors: Sequence[Survivor], compared: SurvivorComparison | None
) -> tuple[list[Survivor], SurvivorComparison | None]:
    """Drop duplicate changes, and map the comparison to the remaining ones.

    Return no comparison if it does not cover these survivors.

    Args:
        survivors: In the order reported.
        compared: Refers to survivors by their index.
    """
    places: dict[tuple[SpanEdit, ...], int] = {}
    new = [places.setdefault(survivor.edits, len(places)) for survivor in survivors]
    kept = [new.index(place) for place in range(len(places))]
    once = [survivors[number] for number in kept]
    if compared is None or len(compared.clusters) != len(survivors):
        return once, None
    # A list with another length cannot be matched to survivors.
    profiled, called, known = (
        len(values) == len(survivors)
        for values in (compared.profiles, compared.calls, compared.recognized)
    )
    differences = (
        difference.with_(first=new[difference.first], second=new[difference.second])
        for difference in compared.differences
        if max(difference.first, difference.second) < len(new)
    )
    return once, compared.with_(
        clusters=tuple(compared.clusters[number] for number in kept),
        profiles=tuple(compared.profiles[number] for number in kept) if profiled else (),
        calls=tuple(compared.calls[number] for number in kept) if called else (),
        recognized=tuple(compared.recognized[number] for number in kept) if known else (),
        differences=tuple(
            difference for difference in differences if difference.first != difference.second
        ),
    )
