"""Partial fixes, and which of them together fix every failing test."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Sequence, Set, Tuple

from sandbox.guest.search.lanes.model import ReadyCandidate


class Partial(NamedTuple):
    """A confirmed candidate that fixes some failing tests and breaks none."""

    ready: ReadyCandidate
    fixed: Tuple[str, ...]


def covers(partials: Sequence[Partial], goal: Set[str]) -> Iterator[List[int]]:
    """Yield sets of partial fixes that together cover the goals, cheapest first.

    This is a beam search over at most four fixes, with twelve sets kept in each round.
    """
    order = sorted(range(len(partials)), key=lambda i: (partials[i].ready.candidate.priority, i))
    beam: List[Tuple[List[int], Set[str]]] = [([], set())]
    for _ in range(4):
        grown: List[Tuple[List[int], Set[str]]] = []
        for chosen, covered in beam:
            # Every cover has to fix this goal, so only candidates that do are added.
            missing = min(goal - covered)
            useful = [i for i in order if missing in partials[i].fixed and i not in chosen][:4]
            grown += [([*chosen, i], covered | set(partials[i].fixed)) for i in useful]
        grown.sort(key=lambda g: sum(partials[i].ready.candidate.priority for i in g[0]))
        yield from (chosen for chosen, covered in grown if covered >= goal and len(chosen) > 1)
        beam = [g for g in grown if not g[1] >= goal][:12]
        if not beam:
            return
