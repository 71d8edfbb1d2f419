"""What is known of a behaviour that survivors share, as numbers that mean the same for every repository."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from bot.fixers.rung1_search.rank_doubts import doubts, symptoms, vetoes
from sandbox.types import Profile, SpanEdit, Survivor

MOST_SURPRISE = 2.0
"""Bits; in a small repository everything new is surprising."""
ARITHMETIC = frozenset(
    {"augmented_assignment", "change_literal", "change_term", "clamp", "off_by_one", "swap_operands", "swap_operator"}
)
"""Templates that write one shift of a number in several ways: that they agree is no surprise."""
MOST_READ = 4000
"""Characters of each side of an edit that are compared."""
MOST_KINDS = 3
"""Agreement of more kinds than this says nothing more."""


@dataclass(frozen=True)
class Features:
    """A behaviour in numbers, each about 0 to 3; the names are those of the weights.

    Attributes:
        cost: Of its cheapest survivor, from the templates' priors; of several edits the mean.
        dearer: How much more that is than what the cheapest behaviour costs.
        unsuspected: How little its place was suspected.
        size: Logarithm of the characters changed.
        agreement: How many further kinds of templates reach it, as a logarithm of base 2.
        second_edit: Whether it takes more than one edit.
        changed_passing: Share of the calls of passing tests with another result than before.
        changed_neighbours: The same near those calls.
        new_errors: Share of inputs on which it newly raises.
        changed_types: Share of inputs on which it gives another type than ever before.
        surprise: How unusual its text is in this repository, in bits per token; what people wrote there before is not.
        donor: Whether its text stands elsewhere in the repository.
        examples_failed: Share of docstring examples that it breaks and another survivor honours.
        examples_kept: Whether there are examples and it honours all.
        held_out_failed: Whether it fails tests that the search did not see.
        side_effects: Whether it leaves the process otherwise than before.
        doubts: How many soft doubts there are.
        symptom: Whether it keeps out of the way of an error: catches it, leaves early, asks for an attribute.
        undoes: Whether a small part of the diff that turned the check red, undone, does the same.
    """

    cost: float = 0.0
    dearer: float = 0.0
    unsuspected: float = 0.0
    size: float = 0.0
    agreement: float = 0.0
    second_edit: float = 0.0
    changed_passing: float = 0.0
    changed_neighbours: float = 0.0
    new_errors: float = 0.0
    changed_types: float = 0.0
    surprise: float = 0.0
    donor: float = 0.0
    examples_failed: float = 0.0
    examples_kept: float = 0.0
    held_out_failed: float = 0.0
    side_effects: float = 0.0
    doubts: float = 0.0
    symptom: float = 0.0
    undoes: float = 0.0

    def named(self) -> dict[str, float]:
        """By name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def features_of(
    members: Sequence[Survivor], profile: Profile, originals: Mapping[str, str], *, cheapest: float = 1e9
) -> Features:
    """Of survivors that behave alike, the best of them first.

    Args:
        members: They behave alike.
        profile: Of the first.
        originals: Path to the text of each edited file before.
        cheapest: What the cheapest behaviour costs.
    """
    first = members[0]
    costs = [cost_of(member) for member in members]
    undoes = any(m.template == "undo_part" and not doubts(m.warnings) for m in members)
    kinds = {"arithmetic" if member.template in ARITHMETIC else member.template for member in members}
    return Features(
        cost=min(costs),
        dearer=max(0.0, min(costs) - cheapest),
        unsuspected=1.0 - max(member.suspicion for member in members),
        size=math.log1p(min(size_of(member, originals) for member in members)),
        agreement=math.log2(min(len(kinds), 1 + MOST_KINDS)),
        second_edit=float("+" in first.template),
        changed_passing=_share(profile.changed_passing, profile.passing_calls),
        changed_neighbours=_share(profile.changed_neighbours, profile.neighbours),
        new_errors=_share(profile.new_errors, profile.inputs),
        changed_types=_share(profile.changed_types, profile.inputs),
        surprise=min(max(profile.surprise, -MOST_SURPRISE), 0.0 if undoes else MOST_SURPRISE),
        donor=float(profile.donor),
        examples_failed=_share(profile.examples_failed, profile.examples),
        examples_kept=float(profile.examples > 0 and profile.examples_failed == 0),
        held_out_failed=float(profile.held_out_failed > 0),
        side_effects=float(profile.side_effects > 0),
        doubts=float(min(doubts(first.warnings), 3)),
        symptom=float(symptoms(first.warnings) > 0),
        undoes=float(undoes),
    )


def cost_of(survivor: Survivor) -> float:
    """Of one edit: several that mend different tests are no dearer than one that mends them all."""
    return survivor.cost / (1 + survivor.template.count("+"))


def _share(part: int, whole: int) -> float:
    return min(1.0, part / whole) if whole > 0 else 0.0


def own_place(survivor: Survivor, profile: Profile, originals: Mapping[str, str]) -> tuple[float, ...]:
    """Among survivors that behave alike the smallest and most natural change comes first."""
    return (
        vetoes(survivor.warnings),
        profile.examples_failed,
        doubts(survivor.warnings),
        round(survivor.cost + 0.1 * max(-2.0, min(2.0, profile.surprise)), 1),
        size_of(survivor, originals),
    )


def size_of(survivor: Survivor, originals: Mapping[str, str]) -> int:
    """How many characters a survivor changes."""
    return sum(changed_characters(_replaced(originals.get(edit.path, ""), edit), edit.text) for edit in survivor.edits)


def _replaced(original: str, edit: SpanEdit) -> str:
    """What stands where an edit goes; a span that does not fit the file is somebody else's to refuse."""
    return original.encode("utf-8", "replace")[edit.start : edit.end].decode("utf-8", "replace")


def edits_text(survivor: Survivor) -> str:
    """Names a survivor's edits; equal texts, equal edits."""
    return "\n".join(edit.model_dump_json() for edit in survivor.edits)


def changed_characters(old: str, new: str) -> int:
    """How many characters go or come without what both sides share at their ends; of long texts roughly."""
    beyond = abs(max(len(old), MOST_READ) - max(len(new), MOST_READ))
    old, new = old[:MOST_READ], new[:MOST_READ]
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    return max(len(old), len(new)) - start - end + beyond


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
