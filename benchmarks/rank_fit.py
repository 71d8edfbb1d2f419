"""Fits the weights of the ranking on searches whose survivors are labelled; one line of JSON on standard output.

Reads JSON lines, one search each: `survivors` and `compared` as the search told them, `originals` (path to text), and
`labels` (for each survivor whether it is right by tests the search did not see). Weights stay near those set by hand
and keep their signs, so that a small set moves them a little only; what is printed is for a person to round and copy
into `bot/fixers/rung1_search/rank_model.py`. Half of the searches by turns judge weights fitted on the other half.
"""

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bot.fixers.rung1_search.rank import ordered_behaviours
from bot.fixers.rung1_search.rank_model import CONFIDENT, LEAD, WEIGHTS, none_of_them
from sandbox.types import Compared, Survivor

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


def read_cases(path: Path) -> list[Case]:
    """Every search that found something."""
    return [case for line in path.read_text().splitlines() if (case := _case(json.loads(line))) is not None]


def _case(told: dict[str, object]) -> Case | None:
    survivors = [Survivor.model_validate(one) for one in told["survivors"]]  # type: ignore[attr-defined]
    if not survivors:
        return None
    compared = Compared.model_validate(told["compared"]) if told["compared"] else None
    labels: list[bool] = told["labels"]  # type: ignore[assignment]
    behaviours = ordered_behaviours(survivors, told["originals"], compared)  # type: ignore[arg-type]
    return Case(
        name=str(told["program"]),
        rows=tuple(b.features.named() for b in behaviours),
        right=tuple(bool(labels[b.members[0]]) for b in behaviours),
        vetoed=tuple(bool(b.vetoes) for b in behaviours),
        none=none_of_them(compared),
    )


def _without(case: Case, names: Sequence[str]) -> Case:
    rows = ({name: 0.0 if name in names else value for name, value in row.items()} for row in case.rows)
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
        found = [c * (0.2 if v else 1.0) for c, v in zip(chances(case, weights, shift), case.vetoed, strict=False)]
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
    parser.add_argument("--without", nargs="*", default=[], help="features to leave out, as where no docstring helps")
    arguments = parser.parse_args()
    cases = [case for path in arguments.files for case in read_cases(path)]
    cases = [_without(case, arguments.without) for case in cases]
    start = dict(WEIGHTS)
    weights, shift = fit(cases, start)
    halves = []
    for turn in (0, 1):
        own, others = cases[turn::2], cases[1 - turn :: 2]
        halves.append(judged(own, *fit(others, start)))
    told = {
        "by_hand": judged(cases, start, 0.0), "fitted": judged(cases, weights, shift), "halves": halves,
        "weights": {name: round(weight, 2) for name, weight in weights.items()}, "shift": round(shift, 2),
    }  # fmt: skip
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
