"""What is kept of a searched bug, and the figures of a set."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.sets.halves import Mode
from benchmarks.sets.judge import Judgement

SINGLE_PROGRAMS = frozenset({"quixbugs", "humanevalfix"})


@dataclass(frozen=True)
class Terms:
    """How a bug is searched and judged."""

    name: str
    """Of the set."""
    mode: Mode
    seed: int
    limit_s: float
    workers: int
    judge_all: bool = False
    """Judge every fix shown, not only up to the first that is right."""


def is_right(judgement: Judgement, terms: Terms) -> bool:
    """Whether a fix counts as correct."""
    if terms.name in SINGLE_PROGRAMS:
        known = terms.mode != "all" or judgement.likeness in {"same text", "alike"}
        return judgement.passes and known
    return judgement.passes and judgement.likeness != "other"


def summarised(rows: Sequence[dict[str, Any]], terms: Terms) -> dict[str, Any]:
    """The figures of a set."""
    seconds = sorted(float(row["seconds"]) for row in rows)
    said = [row for row in rows if row.get("shown") and not row.get("abstained")]
    tried = sum(int(row["tried"]) for row in rows)

    def count(key: str, among: Sequence[dict[str, Any]] = rows) -> int:
        return sum(bool(row.get(key)) for row in among)

    return {
        "set": terms.name,
        "tests": terms.mode,
        "seed": terms.seed,
        "limit_s": terms.limit_s,
        "bugs": len(rows),
        "correct_first": count("correct_first"),
        "correct_shown": count("correct_shown"),
        "plausible": count("plausible"),
        "abstained": count("abstained"),
        "not_abstained": len(said),
        "correct_first_not_abstained": count("correct_first", said),
        "precision": round(count("correct_first", said) / len(said), 3) if said else None,
        "not_compared": sum("unknown" in row.get("likeness", [])[:1] for row in rows),
        "as_reference_first": sum(
            row.get("likeness", ["-"])[:1] in (["alike"], ["same text"]) for row in rows
        ),
        "tried": tried,
        "seconds": _spread(seconds),
        "candidates_per_s": round(tried / sum(seconds), 1) if sum(seconds) else None,
        "correct_by_kind": _by_kind(rows),
        "broken_runs": sum(str(row["end"]).startswith("sandbox:") for row in rows),
    }


def _by_kind(rows: Sequence[dict[str, Any]]) -> dict[str, list[int]]:
    """Kind of bug to how many were corrected at first rank, and how many there are."""
    kinds: dict[str, list[int]] = {}
    for row in sorted(rows, key=lambda row: str(row.get("kind"))):
        counts = kinds.setdefault(str(row.get("kind", "")), [0, 0])
        counts[0] += bool(row.get("correct_first"))
        counts[1] += 1
    return kinds


def _spread(ordered: Sequence[float]) -> dict[str, float]:
    if not ordered:
        return {}
    p90 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]
    return {
        "median": round(statistics.median(ordered), 2),
        "p90": p90,
        "max": ordered[-1],
        "sum": round(sum(ordered), 1),
    }


class Rows:
    """Rows of bugs, kept in a file of JSON lines when one is named.

    Args:
        path: The file.
        resume: Keep what stands in it already.
    """

    def __init__(self, path: Path | None, *, resume: bool) -> None:
        self._path = path
        if path is not None and path.is_file() and not resume:
            path.unlink()

    def of(self, terms: Terms) -> dict[str, dict[str, Any]]:
        """Those of one set under the same terms, by bug."""
        if self._path is None or not self._path.is_file():
            return {}
        rows = [json.loads(line) for line in self._path.read_text().splitlines()]
        wanted = (terms.name, terms.mode, terms.seed)
        return {
            row["bug"]: row for row in rows if (row["set"], row["tests"], row["seed"]) == wanted
        }

    def add(self, terms: Terms, row: dict[str, Any]) -> None:
        """Keep one."""
        if self._path is not None:
            settings = {"tests": terms.mode, "seed": terms.seed, "limit_s": terms.limit_s}
            whole = {"set": terms.name, **settings, **row}
            with self._path.open("a") as file:
                file.write(json.dumps(whole) + "\n")
