"""One search from its request to ranked fixes: for the mission, for `metaagent repair` and for the benchmarks alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot.fixers.rung1_search.changes import changes_of, text_of
from bot.fixers.rung1_search.rank import Ranked, rank_survivors
from bot.ports import Workspace
from sandbox.types import (
    Compared,
    FileChange,
    NearMiss,
    SearchRequest,
    SpanEdit,
    Survivor,
    TrialDone,
    TrialEvent,
    TrialStarted,
)


@dataclass(frozen=True)
class Shown:
    """A fix in its place, as changes of files that the host has read itself."""

    ranked: Ranked
    changes: tuple[FileChange, ...]


@dataclass
class Attempt:
    """What a search told, and what became of it."""

    request: SearchRequest
    started: TrialStarted | None = None
    survivors: list[Survivor] = field(default_factory=list)
    """As told; a revert and another template may tell of the same edits."""
    near: list[NearMiss] = field(default_factory=list)
    compared: Compared | None = None
    done: TrialDone = field(default_factory=lambda: TrialDone(reason="refused", detail="the search said nothing"))
    originals: dict[str, str] = field(default_factory=dict)
    """Path to the text of each file that somebody wants to change; the sandbox's word for it is not taken."""
    shown: tuple[Shown, ...] = ()
    """Fixes, best first."""
    plain_run: str = ""
    """What the first of them gave in a plain run of the command; empty when none was made."""
    refuted: int = 0
    """How many fixes such a run refuted; they are shown no more."""

    @property
    def tried(self) -> int:
        """How many candidates were tried."""
        return max((self.done.tried, *(survivor.tried for survivor in self.survivors)))

    @property
    def why_none(self) -> str:
        """Why it ended with nothing, in words."""
        words = {
            "exhausted": "no single edit of the suspect functions makes the tests pass",
            "time": "no edit found within the time limit",
            "candidates": "no edit found within the limit of candidates",
            "enough": "the search ended early",
            "refused": "the search could not start",
        }[self.done.reason]
        if self.refuted:
            words = f"{self.refuted} fixes held in the search and not in a plain run of the command"
        return f"{words}: {self.done.detail}" if self.done.detail else words

    def hear(self, event: TrialEvent) -> None:
        """Take in what the search tells."""
        match event:
            case TrialStarted():
                self.started = event
            case Survivor():
                self.survivors.append(event)
            case NearMiss():
                self.near.append(event)
            case Compared():
                self.compared = event
            case TrialDone():
                self.done = event
            case _:
                pass

    def edits(self) -> list[SpanEdit]:
        """Everything anybody may want to change."""
        whole = [edit for survivor in self.survivors for edit in survivor.edits]
        return whole or [edit for miss in self.near for edit in miss.edits]


async def attempt(
    workspace: Workspace, request: SearchRequest, *, told: Callable[[TrialEvent], None] = lambda _: None
) -> Attempt:
    """Search, and rank what was found; the workspace stays as it is.

    Args:
        workspace: Where to search.
        request: What to search.
        told: Hears every event as it comes.
    """
    found = Attempt(request)
    async for event in workspace.search(request):
        found.hear(event)
        told(event)
    paths = sorted({edit.path for edit in found.edits()})
    found.originals = {path: await text_of(workspace, path) for path in paths}
    fitting = [s for s in found.survivors if changes_of(s.edits, found.originals)]
    if len(fitting) < len(found.survivors):  # whoever tells of edits that fit no file is not believed about the others
        found.survivors, found.compared = fitting, None
    found.survivors, found.compared = each_once(found.survivors, found.compared)
    ranked = rank_survivors(found.survivors, found.originals, found.compared)
    found.shown = tuple(Shown(r, changes_of(r.survivor.edits, found.originals) or ()) for r in ranked)
    return found


def each_once(survivors: Sequence[Survivor], compared: Compared | None) -> tuple[list[Survivor], Compared | None]:
    """Every change once, as it was told first, and what was observed of these; nothing where that is of others.

    Args:
        survivors: In the order they were told.
        compared: Counts them in this order.
    """
    places: dict[tuple[SpanEdit, ...], int] = {}
    new = [places.setdefault(survivor.edits, len(places)) for survivor in survivors]
    kept = [new.index(place) for place in range(len(places))]
    once = [survivors[number] for number in kept]
    if compared is None or len(compared.clusters) != len(survivors):
        return once, None
    # Profiles that are not of all survivors are of none that could be named.
    profiled = len(compared.profiles) == len(survivors)
    differences = (
        difference.with_(first=new[difference.first], second=new[difference.second])
        for difference in compared.differences
        if max(difference.first, difference.second) < len(new)
    )
    return once, compared.with_(
        clusters=tuple(compared.clusters[number] for number in kept),
        profiles=tuple(compared.profiles[number] for number in kept) if profiled else (),
        differences=tuple(difference for difference in differences if difference.first != difference.second),
    )
