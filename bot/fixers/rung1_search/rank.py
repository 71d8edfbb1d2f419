"""Order survivors: without doubts first, then the behaviour most templates agree on, then the smallest change."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.types import Survivor, by_file, spliced

AGREEMENT = 0.35
"""How much each further template that reaches the same behaviour is worth, in units of cost."""
SUSPICION_WEIGHT = 1.5


@dataclass(frozen=True)
class Ranked:
    """A survivor in its place.

    Attributes:
        survivor: The fix.
        agreeing: How many survivors behave as it does, itself included.
        behaviours: How many different behaviours there are in all.
        rivals: The best survivor of every other behaviour.
        score: How much to believe in it, from 0 to 1.
    """

    survivor: Survivor
    agreeing: int
    behaviours: int
    rivals: tuple[Survivor, ...]
    score: float


def rank_survivors(survivors: Sequence[Survivor], originals: Mapping[str, str]) -> tuple[Ranked, ...]:
    """Survivors, best first.

    Args:
        survivors: In the order they were found.
        originals: Path to the text of each edited file before.
    """
    classes: dict[str, list[Survivor]] = {}
    for survivor in survivors:
        # Where behaviour could not be computed nothing is known to be equivalent.
        classes.setdefault(survivor.behaviour or edits_text(survivor), []).append(survivor)
    ordered = [sorted(members, key=lambda s: _own_place(s, originals)) for members in classes.values()]
    ordered.sort(key=lambda members: (_class_place(members), members[0].path, members[0].line, edits_text(members[0])))
    ranked = []
    for members in ordered:
        rivals = tuple(others[0] for others in ordered if others is not members)
        for survivor in members:
            score = len(members) / len(survivors) * (0.4 if survivor.warnings else 1.0)
            ranked.append(Ranked(survivor, len(members), len(ordered), rivals, round(score, 4)))
    # One of each behaviour comes before the second of any: the next best guess is a different one.
    first = [next(r for r in ranked if r.survivor is members[0]) for members in ordered]
    return (*first, *(r for r in ranked if r not in first))


def edits_text(survivor: Survivor) -> str:
    """Names a survivor's edits; equal texts, equal edits."""
    return "\n".join(edit.model_dump_json() for edit in survivor.edits)


def changed_characters(old: str, new: str) -> int:
    """How many characters go or come, line by line without what both sides share at their ends."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    total = 0
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            total += _differing("".join(before[i1:i2]), "".join(after[j1:j2]))
    return total


def _differing(old: str, new: str) -> int:
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return max(len(old), len(new)) - start - end


def _own_place(survivor: Survivor, originals: Mapping[str, str]) -> tuple[int, float, int, str]:
    size = 0
    for path, edits in by_file(survivor.edits).items():
        original = originals.get(path, "")
        size += changed_characters(original, spliced(original, edits)) if original else 0
    return (len(survivor.warnings), round(survivor.cost, 1), size, edits_text(survivor))


def _class_place(members: Sequence[Survivor]) -> tuple[int, float]:
    doubts = min(len(member.warnings) for member in members)
    templates = len({member.template for member in members})
    cheapest = min(member.cost + SUSPICION_WEIGHT * (1.0 - member.suspicion) for member in members)
    return (doubts, round(cheapest - AGREEMENT * (templates - 1), 6))
