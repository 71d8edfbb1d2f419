"""Fits the weights of the ranking on searches whose survivors are labelled; one line of JSON on standard output.

Reads JSON lines, one search each: `survivors` and `compared` as the search told them, `originals` (path to text), and
`labels` (for each survivor whether it is right by tests the search did not see). Weights stay near those set by hand
and keep their signs, so that a small set moves them a little only; what is printed is for a person to round and copy
into `bot/fixers/rung1_search/rank_model.py`. Every search counts twice: as it was, and as if nothing right had been
found (`missed`), which in a repository is common, and there nothing should be shown. Each file by turns judges weights
fitted on the others; of a single file, each half.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.fixers.rung1_search.rank import ordered_behaviours
from bot.fixers.rung1_search.rank_model import CONFIDENT, LEAD, WEIGHTS, none_of_them
from sandbox.types import Survivor, SurvivorComparison

STEPS = 400
RATE = 0.05
PULL = 0.02
"""How hard the weights set by hand pull back, per search."""


@dataclass(frozen=True)
class Case:
    """One search: the behaviours as numbers, which are right, what nothing-is-right starts with."""

    name: str
    rows: tuple[dict[str, float], ...]
    right: tuple[bool, ...]
    vetoed: tuple[bool, ...]
    none: float


def read_cases(path: Path, *, missed: bool = False) -> list[Case]:
    """Every search that found something.

    Args:
        path: Of the file.
        missed: As if nothing right had been found, where there was something.
    """
    told = [json.loads(line) for line in path.read_text().splitlines()]
    cases = [
        _case(_missed(one) if missed else one) for one in told if not missed or any(one["labels"])
    ]
    return [case for case in cases if case is not None]


def _missed(told: dict[str, Any]) -> dict[str, Any]:
    """A search without what is right in it."""
    kept = [number for number, right in enumerate(told["labels"]) if not right]
    lists = {name: [told[name][number] for number in kept] for name in ("survivors", "labels")}
    compared = told["compared"] and {
        **told["compared"],
        **{
            k: [told["compared"][k][n] for n in kept]
            for k in ("clusters", "profiles")
            if told["compared"][k]
        },
        "differences": [],
    }
    return {**told, **lists, "compared": compared}


def _case(told: dict[str, Any]) -> Case | None:
    survivors = [Survivor.model_validate(one) for one in told["survivors"]]
    if not survivors:
        return None
    compared = SurvivorComparison.model_validate(told["compared"]) if told["compared"] else None
    labels: list[bool] = told["labels"]
    behaviours = ordered_behaviours(survivors, told["originals"], compared)
    return Case(
        name=str(told["program"]),
        rows=tuple(b.features.named() for b in behaviours),
        right=tuple(bool(labels[b.members[0]]) for b in behaviours),
        vetoed=tuple(bool(b.vetoes) for b in behaviours),
        none=none_of_them(compared),
    )


def _without(case: Case, names: Sequence[str]) -> Case:
    rows = (
        {name: 0.0 if name in names else value for name, value in row.items()} for row in case.rows
    )
    return replace(case, rows=tuple(rows))


def chances(case: Case, weights: dict[str, float], shift: float) -> list[float]:
    """Of each behaviour, and of none at the end."""
    scores = [sum(weights[name] * value for name, value in row.items()) for row in case.rows]
    scores.append(case.none + shift)
    top = max(scores)
    parts = [math.exp(score - top) for score in scores]
    return [part / sum(parts) for part in parts]


def fit(cases: Sequence[Case], start: dict[str, float]) -> tuple[dict[str, float], float]:
    """Weights and shift that make what is right likely."""
    weights, shift = dict(start), 0.0
    for _ in range(STEPS):
        slopes = dict.fromkeys(weights, 0.0)
        slope = 0.0
        for case in cases:
            found = chances(case, weights, shift)
            right = [*case.right, not any(case.right)]
            total = sum(chance for chance, is_right in zip(found, right, strict=True) if is_right)
            wanted = [c / total if r else 0.0 for c, r in zip(found, right, strict=True)]
            for row, want, chance in zip(case.rows, wanted, found, strict=False):
                for name, value in row.items():
                    slopes[name] += (want - chance) * value
            slope += wanted[-1] - found[-1]
        for name, weight in list(weights.items()):
            slopes[name] -= PULL * len(cases) * (weight - start[name])
            moved = weight + RATE * slopes[name] / len(cases) * 10
            weights[name] = moved if moved * start[name] > 0 else 0.01 * start[name]
        shift += RATE * (slope / len(cases) - PULL * shift) * 10
    return weights, shift


def judged(cases: Sequence[Case], weights: dict[str, float], shift: float) -> dict[str, object]:
    """How often the first is right, and how often it is where nothing is abstained from."""
    first = shown = good = 0
    wrong: list[str] = []
    for case in cases:
        found = [
            c * (0.2 if v else 1.0)
            for c, v in zip(chances(case, weights, shift), case.vetoed, strict=False)
        ]
        order = sorted(range(len(found)), key=lambda i: (case.vetoed[i], -found[i]))
        best, second = order[0], max((found[i] for i in order[1:]), default=0.0)
        first += case.right[best]
        if found[best] >= CONFIDENT and found[best] >= LEAD * second and not case.vetoed[best]:
            shown += 1
            good += case.right[best]
            wrong += [] if case.right[best] else [case.name]
    return {
        "searches": len(cases), "possible": sum(any(c.right) for c in cases), "first_right": first,
        "shown": shown, "shown_right": good, "shown_wrong": wrong,
    }  # fmt: skip


def main() -> None:
    """Fit and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument(
        "--without",
        nargs="*",
        default=[],
        help="features to leave out, as where no docstring helps",
    )
    arguments = parser.parse_args()
    found = [(read_cases(path), read_cases(path, missed=True)) for path in arguments.files]
    files = [
        tuple([_without(case, arguments.without) for case in cases] for cases in both)
        for both in found
    ]
    parts = (
        files
        if len(files) > 1
        else [tuple(cases[turn::2] for cases in files[0]) for turn in (0, 1)]
    )
    start = dict(WEIGHTS)
    turns = []
    for part in parts:
        weights, shift = fit(
            [case for other in parts if other is not part for case in (*other[0], *other[1])], start
        )
        turns.append([judged(cases, weights, shift) for cases in part])
    normal, missed = ([case for both in files for case in both[kind]] for kind in (0, 1))
    weights, shift = fit([*normal, *missed], start)
    told = {
        "by_hand": [judged(cases, start, 0.0) for cases in (normal, missed)],
        "fitted": [judged(cases, weights, shift) for cases in (normal, missed)], "in_turn": turns,
        "weights": {name: round(weight, 2) for name, weight in weights.items()}, "shift": round(shift, 2),
    }  # fmt: skip
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
