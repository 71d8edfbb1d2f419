"""Missions as they could have been: which changes of a bug came together, and which of them are right."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from benchmarks.belief.rows import parse_rows
from benchmarks.belief.rules import RULES
from bot.fixers.rung1_search.rank import Behaviour, ordered_behaviours
from bot.fixers.rung1_search.rank_model import none_features
from sandbox.types import Profile, Survivor, SurvivorComparison

Source = Literal["search", "model", "hybrid"]
"""`model`: one written answer; `hybrid`: two that differ, or one beside changes of the search."""
RIVALS = 3
NEW_CODE = 3.0
"""Weight of a bug that needs new code. The search leaves such bugs to a model."""
FOLDS = 5
HELD_OUT = 3
"""One group of this many is held out: no weight of written changes is fitted on it."""
SAME_KINDS = frozenset({"right", "in other words", "larger", "harmless extra"})
RIGHT_KINDS = SAME_KINDS | {"search"}
"""Changes that are right if they pass every test. The search's have no other judge."""
WRONG_KINDS = frozenset({"hard-coded", "overfitted", "wrong place"})
EXAMPLES = ("examples", "examples_failed", "examples_unmet")
"""Counts of a profile that compare a change with others."""
UNJUDGED_KINDS = frozenset({"weakened guard"})
"""Changes that no test of these sets can prove right: the tests expect no errors."""


@dataclass(frozen=True)
class Changes:
    """Compared changes of one bug.

    Attributes:
        survivors: The changes.
        compared: Their comparison.
        originals: The files before.
        right: Whether each is right; None if that is not known.
        kinds: How each was written; `search` for one of the search.
        alone: The profile of each as the only change; None without such measurements.
    """

    survivors: tuple[Survivor, ...]
    compared: SurvivorComparison
    originals: Mapping[str, str]
    right: tuple[bool | None, ...]
    kinds: tuple[str, ...]
    alone: tuple[Profile, ...] | None = None

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """Return the profile of each, measured alone where that was done."""
        return self.alone or self.compared.profiles


@dataclass(frozen=True)
class Mission:
    """Changes that came together in one mission, best first.

    Attributes:
        bug: Whose.
        fold: Its bug is judged by weights fitted on the other folds.
        held_out: True if no weight of written changes was fitted on its bug.
        source: Where the changes come from.
        kind: How the first was written.
        behaviours: Their behaviours, as ranked.
        right: Whether each behaviour is right.
        none: Features of the whole comparison.
        missed: True if what is right was taken out of it.
        weight: How much it counts; all missions of a bug and source count as one.
    """

    bug: str
    fold: int
    source: Source
    kind: str
    behaviours: tuple[Behaviour, ...]
    right: tuple[bool, ...]
    none: Mapping[str, float]
    missed: bool = False
    held_out: bool = False
    weight: float = 1.0


def fold_of(group: str) -> int:
    """Return the fold that a bug or repository belongs to; its name alone decides."""
    return hashlib.sha256(group.encode()).digest()[0] % FOLDS


def held_out_groups(rows: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the groups that are held out: a third of each set, by the hash of their names.

    A group is a repository, or a bug that is a program of its own.
    """
    found: list[str] = []
    for name in sorted({row["set"] for row in rows}):
        groups = {row["group"] for row in rows if row["set"] == name}
        ordered = sorted(groups, key=lambda one: hashlib.sha256(one.encode()).digest())
        found += ordered[: len(ordered) // HELD_OUT]
    return frozenset(found)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of bugs that were gathered."""
    return [row for row in parse_rows(path) if "given" in row and _is_sound(row)]


def _is_sound(row: Mapping[str, Any]) -> bool:
    """Return True if the reference passes every test, so that the labels can be believed."""
    own = [row["labels"].get(key) for kind, _, key in row["written"] if kind == "right"]
    return all(label is not None and label["passes"] for label in own)


def missions_of(rows: Sequence[dict[str, Any]]) -> list[Mission]:
    """Return the missions of all bugs."""
    found: list[Mission] = []
    held_out = held_out_groups(rows)
    for row in rows:
        is_held = row["group"] in held_out
        own = [replace(one, held_out=is_held) for one in _missions(row)]
        for source in ("search", "model", "hybrid"):
            same = [one for one in own if one.source == source]
            weight = NEW_CODE if row["set"] == RULES else 1.0
            found += [replace(one, weight=weight / len(same)) for one in same]
    return found


def _missions(row: dict[str, Any]) -> Iterator[Mission]:
    searched, written = changes_of(row, "search"), changes_of(row, "given")
    if searched is not None:
        yield from _mission(row, searched, range(len(searched.survivors)), "search")
        wrong = [n for n, right in enumerate(searched.right) if right is False]
        if any(searched.right) and wrong:
            yield from _mission(row, searched, wrong, "search", missed=True)
    if written is None:
        return
    answers = [n for n, kind in enumerate(written.kinds) if kind != "search"]
    rivals = [n for n, kind in enumerate(written.kinds) if kind == "search"]
    wrong = [n for n in rivals if written.right[n] is False]
    clusters = written.compared.clusters
    for place, answer in enumerate(answers):
        yield from _mission(row, written, [answer], "model")
        if rivals:
            yield from _mission(row, written, [answer, *rivals[:RIVALS]], "hybrid")
        if wrong and wrong[:RIVALS] != rivals[:RIVALS]:
            # As if the search had not found what is right.
            yield from _mission(row, written, [answer, *wrong[:RIVALS]], "hybrid")
        # Answers that agree say nothing here: one program writes many right ones.
        for other in answers[place + 1 :]:
            if clusters[other] != clusters[answer]:
                yield from _mission(row, written, [answer, other], "hybrid")
                break


def changes_of(row: Mapping[str, Any], name: str) -> Changes | None:
    """Return the compared changes of a row, `search` or `given`; None if there are none."""
    survivors, compared = read_survivors(row[name])
    if not survivors or compared is None:
        return None
    kinds = [row["kinds"].get(key, ["search"])[0] for key in row[name]["keys"]]
    if name == "search":
        kinds = ["search"] * len(kinds)
    else:
        # The search's templates are known to it when it compares them with an answer.
        names = dict(zip(row["search"]["keys"], row["search"]["survivors"], strict=True))
        survivors = [
            one if kind != "search" else one.with_(template=_template(names, key))
            for one, kind, key in zip(survivors, kinds, row[name]["keys"], strict=True)
        ]
    return Changes(
        survivors=tuple(survivors),
        compared=compared,
        originals=row[name]["originals"],
        right=tuple(
            is_right(row["labels"].get(key), kind)
            for key, kind in zip(row[name]["keys"], kinds, strict=True)
        ),
        kinds=tuple(kinds),
        alone=_alone(row, compared) if name == "given" else None,
    )


def read_survivors(kept: Mapping[str, Any]) -> tuple[list[Survivor], SurvivorComparison | None]:
    """Return the survivors and their comparison as a row keeps them."""
    survivors = [Survivor.model_validate(one) for one in kept["survivors"]]
    found = kept["compared"]
    return survivors, SurvivorComparison.model_validate(found) if found else None


def _alone(row: Mapping[str, Any], compared: SurvivorComparison) -> tuple[Profile, ...] | None:
    """Return the profiles of the given changes, each measured as the only one.

    Of a change without such a measurement, mutants count as unknown: beside others, which change
    has mutants depends on their order. Docstring examples that a change fails say something only
    beside others that satisfy them.
    """
    if "alone" not in row or len(compared.profiles) != len(row["given"]["keys"]):
        return None
    found = []
    for key, beside in zip(row["given"]["keys"], compared.profiles, strict=True):
        if key not in row["alone"]:
            found.append(beside.with_(mutants=0, mutants_killed=0))
            continue
        own = Profile.model_validate(row["alone"][key])
        examples = {name: getattr(beside, name) for name in EXAMPLES}
        found.append(own.with_(**examples))
    return tuple(found)


def _template(searched: Mapping[str, Mapping[str, Any]], key: str) -> str:
    return str(searched[key]["template"]) if key in searched else "search"


def is_right(label: Mapping[str, Any] | None, kind: str) -> bool | None:
    """Return whether a change is right; None if that is not known.

    A change that fails a hidden test is wrong. One that passes them and behaves as the reference
    is right. What passes and differs on some input is decided by the way it was written: a slip
    stays undecided.
    """
    if label is None:
        return None
    if not label["passes"]:
        # The same behaviour by construction: a run that failed says more about the machine.
        return None if kind in SAME_KINDS else False
    if kind in UNJUDGED_KINDS:
        return None
    if label["alike"] in {True, "alike", "same text"} or kind in RIGHT_KINDS:
        return True
    return False if kind in WRONG_KINDS else None


def _mission(
    row: Mapping[str, Any],
    changes: Changes,
    taken: Sequence[int],
    source: Source,
    *,
    missed: bool = False,
) -> Iterator[Mission]:
    """Yield the mission in which these changes came together, if all labels are known."""
    if any(changes.right[n] is None for n in taken):
        return
    survivors = [_numbered(changes, n, place) for place, n in enumerate(taken)]
    compared = _only(changes, taken)
    behaviours = ordered_behaviours(survivors, changes.originals, compared)
    right = tuple(bool(changes.right[taken[one.members[0]]]) for one in behaviours)
    yield Mission(
        bug=f"{row['set']}/{row['bug']}",
        fold=fold_of(row["group"]),
        source=source,
        kind=changes.kinds[taken[behaviours[0].members[0]]],
        behaviours=behaviours,
        right=right,
        none=none_features(compared),
        missed=missed,
    )


def _numbered(changes: Changes, number: int, place: int) -> Survivor:
    """Return a change; written ones get numbered kinds, as answers that are independent."""
    survivor = changes.survivors[number]
    is_answer = changes.kinds[number] != "search"
    return survivor.with_(template=f"given {place}" if is_answer and place else survivor.template)


def _only(changes: Changes, taken: Sequence[int]) -> SurvivorComparison:
    """Return the comparison of some of the changes."""
    compared = changes.compared
    profiles = [changes.profiles[n] for n in taken] if changes.profiles else []
    # An example that none of these satisfies says nothing about them.
    useless = min((one.examples_failed for one in profiles), default=0)
    return compared.with_(
        clusters=tuple(compared.clusters[n] for n in taken),
        profiles=tuple(_without_examples(one, useless) for one in profiles),
        differences=(),
    )


def _without_examples(profile: Profile, count: int) -> Profile:
    return profile.with_(
        examples=profile.examples - count,
        examples_failed=profile.examples_failed - count,
        examples_unmet=profile.examples_unmet + count,
    )
