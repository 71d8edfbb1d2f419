"""Find a minimal sufficient set of changes by delta debugging.

The algorithm is ddmin of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
Input", IEEE Transactions on Software Engineering 28 (2002).
"""

from __future__ import annotations

from typing import Callable, Dict, List, Sequence, Tuple, TypeVar

T = TypeVar("T")


def minimize(things: Sequence[T], helps: Callable[[Sequence[T]], bool], most: int) -> List[T]:
    """Return a sufficient subset from which no single item can be removed.

    Args:
        things: Items that are sufficient together.
        helps: Returns True if a subset is sufficient; called once per subset.
        most: Maximum number of calls; then the smallest subset found so far is returned.
    """
    known: Dict[Tuple[int, ...], bool] = {}
    left = [most]

    def ask(chosen: Sequence[int]) -> bool:
        key = tuple(chosen)
        if key not in known:
            if left[0] <= 0:
                return False
            left[0] -= 1
            known[key] = helps([things[i] for i in key])
        return known[key]

    best = list(range(len(things)))
    pieces = 2
    while len(best) >= 2 and left[0] > 0:
        groups = _split(best, pieces)
        smaller = next((group for group in groups if ask(group)), None)
        if smaller is not None:
            best, pieces = smaller, 2
            continue
        # With two groups, the complements are the groups themselves.
        rests = [[i for i in best if i not in group] for group in groups] if len(groups) > 2 else []
        rest = next((rest for rest in rests if ask(rest)), None)
        if rest is not None:
            best, pieces = rest, max(pieces - 1, 2)
        elif pieces >= len(best):
            break
        else:
            pieces = min(len(best), 2 * pieces)
    return [things[i] for i in best]


def _split(chosen: Sequence[int], pieces: int) -> List[List[int]]:
    size, extra = divmod(len(chosen), pieces)
    groups: List[List[int]] = []
    at = 0
    for number in range(pieces):
        step = size + (1 if number < extra else 0)
        groups.append(list(chosen[at : at + step]))
        at += step
    return [group for group in groups if group]
