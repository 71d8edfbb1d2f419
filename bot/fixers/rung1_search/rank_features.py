"""Features of a behaviour, on scales that are comparable across repositories."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from bot.fixers.rung1_search.rank_doubts import doubts, symptoms, vetoes
from bot.fixers.rung1_search.rank_structure import added_branches
from sandbox.types import Profile, SpanEdit, Survivor

MOST_SURPRISE = 2.0
"""Limit of the surprise feature, in bits per token. In a small repository all new text is
surprising."""
ARITHMETIC = frozenset(
    {
        "augmented_assignment",
        "change_literal",
        "change_term",
        "clamp",
        "off_by_one",
        "swap_operands",
        "swap_operator",
    }
)
"""Templates that express the same change of a number. Their agreement counts once."""
_AND = "|"
"""Between the kinds of one change that several sources proposed."""
WRITTEN = "given"
"""Kind of a change that a model, an agent or a person wrote; further answers are numbered."""
_BORROWED = "takes a value from the failing test"
FEW_CHANGED = 0.2
"""Share of changed results near the failing calls from which a change does not count as narrow."""
MOST_BRANCHES = 7
MOST_PARSED = 3
"""Members of a behaviour whose code is parsed."""
MOST_READ = 4000
"""Number of characters compared on each side of an edit."""
MOST_KINDS = 3
"""Maximum number of further agreeing kinds that count."""
UNKNOWN_ALIVE = 1.5
"""The feature `alive` if no mutant was tried."""


@dataclass(frozen=True)
class Features:
    """A behaviour in numbers, mostly between 0 and 3. The names match the weights.

    Attributes:
        cost: Cost of its cheapest survivor from the templates' priors; the mean for several
            edits. None if it was also written.
        dearer: Cost above that of the cheapest behaviour.
        written: 1 if a model, an agent or a person wrote it.
        unsuspected: One minus the suspiciousness of its place.
        size: Logarithm of the number of characters changed.
        branches: Logarithm (base 2) of the number of branches it adds, at most `MOST_BRANCHES`.
        agreement: Logarithm (base 2) of the number of template kinds and of independent answers
            that reach it.
        second_edit: 1 if it takes more than one edit.
        changed_passing: Share of calls by passing tests whose result changed.
        changed_neighbours: The same share for inputs near those calls.
        narrow: 1 if inputs near the failing calls give the results they gave before, as with
            results written into the code; 0 if at least `FEW_CHANGED` of them changed.
        new_errors: Share of inputs on which it newly raises.
        changed_types: Share of inputs on which its result has a type never seen before.
        surprise: Surprise of its text in this repository, in bits per token. Restored earlier text
            has none.
        donor: 1 if its text occurs elsewhere in the repository.
        examples_failed: Share of docstring examples that it breaks and another survivor satisfies.
        examples_unmet: Share of docstring examples that no survivor satisfies.
        examples_kept: 1 if there are examples and it satisfies all.
        held_out_failed: 1 if it fails tests hidden from the search.
        side_effects: 1 if it changes the process's state otherwise than before.
        unguarded: 1 if no passing test runs its changed lines.
        borrowed: 1 if it contains a value of the failing test.
        doubts: Number of other soft doubts, at most 3.
        symptom: 1 if it avoids an error: catches it, returns early or checks for an attribute.
        undoes: 1 if reverting a small part of the red diff has the same effect.
        accepted: 1 if people accepted the same edit at another place of this repository.
        uncompared: 1 if its program ran on no input, so that nothing is known of what it changes.
        alive: Logarithm (base 2) of the number of mutants of its lines that pass every test. Each
            of them could be the right program as well.
        unrun: Share of its new lines that no test runs.
        run_once: Share of its new lines that only one call of all tests runs.
    """

    cost: float = 0.0
    dearer: float = 0.0
    written: float = 0.0
    unsuspected: float = 0.0
    size: float = 0.0
    branches: float = 0.0
    agreement: float = 0.0
    second_edit: float = 0.0
    changed_passing: float = 0.0
    changed_neighbours: float = 0.0
    narrow: float = 0.0
    new_errors: float = 0.0
    changed_types: float = 0.0
    surprise: float = 0.0
    donor: float = 0.0
    examples_failed: float = 0.0
    examples_unmet: float = 0.0
    examples_kept: float = 0.0
    held_out_failed: float = 0.0
    side_effects: float = 0.0
    unguarded: float = 0.0
    borrowed: float = 0.0
    doubts: float = 0.0
    symptom: float = 0.0
    undoes: float = 0.0
    accepted: float = 0.0
    uncompared: float = 0.0
    alive: float = UNKNOWN_ALIVE
    unrun: float = 0.0
    run_once: float = 0.0

    def named(self) -> dict[str, float]:
        """Return the features by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def compute_features(
    members: Sequence[Survivor],
    profile: Profile,
    originals: Mapping[str, str],
    *,
    cheapest: float = 1e9,
    accepted: bool = False,
) -> Features:
    """Compute the features of survivors with the same behaviour.

    Args:
        members: Survivors with the same behaviour, best first.
        profile: Profile of the first.
        originals: Text of each edited file before, by path.
        cheapest: Cost of the cheapest behaviour.
        accepted: People accepted the edit of one of them at another place.
    """
    first = members[0]
    written = any(is_written(member) for member in members)
    # How likely a template is says nothing about a change that was also written.
    cost = 0.0 if written else min(mean_cost(member) for member in members)
    borrowed = any(warning.startswith(_BORROWED) for warning in first.warnings)
    undoes = any(m.template == "undo_part" and not doubts(m.warnings) for m in members)
    return Features(
        cost=cost,
        dearer=max(0.0, cost - cheapest),
        written=float(written),
        unsuspected=1.0 - max(member.suspicion for member in members),
        size=math.log1p(min(changed_size(member, originals) for member in members)),
        branches=math.log2(1 + min(MOST_BRANCHES, _least_branches(members, originals))),
        agreement=math.log2(min(len(_kinds(members)), 1 + MOST_KINDS)),
        second_edit=float("+" in first.template),
        changed_passing=_share(profile.changed_passing, profile.passing_calls),
        changed_neighbours=_share(profile.changed_neighbours, profile.neighbours),
        narrow=_narrow(profile),
        new_errors=_share(profile.new_errors, profile.inputs),
        changed_types=_share(profile.changed_types, profile.inputs),
        # Text that the red diff removed is not penalized as new.
        surprise=min(max(profile.surprise, -MOST_SURPRISE), 0.0 if undoes else MOST_SURPRISE),
        donor=float(profile.donor),
        examples_failed=_share(profile.examples_failed, profile.examples),
        examples_unmet=_share(profile.examples_unmet, profile.examples + profile.examples_unmet),
        examples_kept=float(profile.examples > 0 and profile.examples_failed == 0),
        held_out_failed=float(profile.held_out_failed > 0),
        side_effects=float(profile.side_effects > 0),
        unguarded=float(profile.passing_there == 0),
        borrowed=float(borrowed),
        doubts=float(min(doubts(first.warnings) - borrowed, 3)),
        symptom=float(symptoms(first.warnings) > 0),
        undoes=float(undoes),
        accepted=float(accepted),
        uncompared=float(profile.inputs == 0),
        alive=_alive(profile),
        unrun=_share(profile.unrun, profile.new_lines),
        run_once=_share(profile.run_once, profile.new_lines),
    )


def _kinds(members: Sequence[Survivor]) -> set[str]:
    """Return the kinds that reach a behaviour: their agreement is evidence, if they differ."""
    return {
        "arithmetic" if kind in ARITHMETIC else kind
        for member in members
        for kind in member.template.split(_AND)
    }


def _least_branches(members: Sequence[Survivor], originals: Mapping[str, str]) -> int:
    """Return how many branches the best members of a behaviour add at least."""
    return min(added_branches(member, originals) for member in members[:MOST_PARSED])


def join_kinds(*kinds: str) -> str:
    """Return the kind of a change that several sources proposed independently.

    Args:
        kinds: The kind that each source gives it; empty ones do not count.
    """
    return _AND.join(dict.fromkeys(kind for kind in kinds if kind))


def answer_kinds(number: int, votes: int) -> str:
    """Return the kinds of a written change: one for each independent answer that proposed it.

    Args:
        number: Distinguishes it from the other written changes.
        votes: Number of answers.
    """
    return _AND.join(f"{WRITTEN} {number}.{vote}" for vote in range(max(1, votes)))


def plain_kind(template: str) -> str:
    """Return the kind of a survivor as it is shown, without the numbers of answers."""
    return template.partition(_AND)[0].partition(" ")[0]


def mean_cost(survivor: Survivor) -> float:
    """Return the mean cost of an edit.

    Several edits for different tests cost no more than one edit for all of them.
    """
    return survivor.cost / (1 + survivor.template.count("+"))


def is_written(survivor: Survivor) -> bool:
    """Return True if a model, an agent or a person proposed a survivor."""
    return any(kind.startswith(WRITTEN) for kind in survivor.template.split(_AND))


def _narrow(profile: Profile) -> float:
    if not profile.near_failing:
        return 0.0
    changed = profile.changed_near_failing / profile.near_failing
    return max(0.0, 1.0 - changed / FEW_CHANGED)


def _alive(profile: Profile) -> float:
    if profile.mutants <= 0:
        return UNKNOWN_ALIVE
    return math.log2(1 + max(0, profile.mutants - profile.mutants_killed))


def _share(part: int, whole: int) -> float:
    return min(1.0, part / whole) if whole > 0 else 0.0


def order_key(
    survivor: Survivor, profile: Profile, originals: Mapping[str, str]
) -> tuple[float, ...]:
    """Return a sort key within one behaviour: the smallest and most natural change first."""
    return (
        vetoes(survivor.warnings),
        profile.examples_failed,
        doubts(survivor.warnings),
        round(survivor.cost + 0.1 * max(-2.0, min(2.0, profile.surprise)), 1),
        changed_size(survivor, originals),
    )


def changed_size(survivor: Survivor, originals: Mapping[str, str]) -> int:
    """Return the number of characters a survivor changes."""
    return sum(
        changed_characters(_replaced(originals.get(edit.path, ""), edit), edit.text)
        for edit in survivor.edits
    )


def _replaced(original: str, edit: SpanEdit) -> str:
    """Return the text an edit replaces. Spans that do not fit the file are rejected elsewhere."""
    return original.encode("utf-8", "replace")[edit.start : edit.end].decode("utf-8", "replace")


def edits_text(survivor: Survivor) -> str:
    """Return a text that identifies a survivor's edits."""
    return "\n".join(edit.model_dump_json() for edit in survivor.edits)


def changed_characters(old: str, new: str) -> int:
    """Count the characters between the common prefix and suffix; approximate for long texts."""
    # Text beyond the limit counts by its length only.
    beyond = abs(max(len(old), MOST_READ) - max(len(new), MOST_READ))
    old, new = old[:MOST_READ], new[:MOST_READ]
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    return max(len(old), len(new)) - start - end + beyond


def _shared(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
