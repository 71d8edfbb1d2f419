"""The smallest set of changes that still helps: delta debugging (ddmin)."""

from __future__ import annotations

from typing import Callable, Dict, List, Sequence, Tuple, TypeVar

T = TypeVar("T")


def smallest(things: Sequence[T], helps: Callable[[Sequence[T]], bool], most: int) -> List[T]:
    """A subset that helps, of which no single thing can be left out.

    Args:
        things: Together they help.
        helps: Asks whether a subset does; asked once for each.
        most: How often it may be asked; then the smallest subset so far is given.
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
