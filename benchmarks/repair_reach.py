"""How many planted bugs one edit reaches, and how early; candidates are compared with the original and never run.

    python -m benchmarks.repair_reach [--packages FOLDER] [--set mutants handmade releases] [--only NAME ...] [--most N]

One line of JSON for each bug on standard error, a summary for each set on standard output. Every line of the function
that is broken (or of the statement at module level) is equally suspect, as if the place were known.
"""

import argparse
import itertools
import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.repair import broken_lines
from benchmarks.sets.built import Planted
from benchmarks.sets.catalogue import PLANTED, planted_of
from benchmarks.sets.judge import same_program
from benchmarks.sets.syntax_changes import equal_ends
from sandbox.guest.search.candidates.generator import CandidatePatch, Generator, Suspicion
from sandbox.guest.search.candidates.outer import outer_candidates
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.candidates.templates.outer import load_outer_templates
from sandbox.guest.search.source.functions import list_units
from sandbox.guest.search.source.render import SourceFile
from sandbox.guest.search.source.scope import SeenLiterals

ROOT = Path(__file__).resolve().parents[1]
LAYOUT = re.compile(r"[\s()\"',]|#.*")
AROUND = 80
"""So much around the difference is compared before whole texts are."""


def main() -> None:
    """Go through the sets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--set", nargs="+", choices=PLANTED, default=list(PLANTED), dest="sets")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument(
        "--most", type=int, default=20_000, help="candidates looked at for each bug"
    )
    arguments = parser.parse_args()
    for name in arguments.sets:
        rows = []
        for built, planted in planted_of(name, arguments.packages):
            full = f"{built.package.name}/{planted.name}"
            if not arguments.only or full.startswith(tuple(arguments.only)):
                right = (built.tree / planted.path).read_text()
                rows.append(
                    {
                        "bug": full,
                        "kind": planted.about.get("kind"),
                        **reach(planted, right, arguments.most),
                    }
                )
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        print(json.dumps({"set": name, **summary(rows)}))


def reach(planted: Planted, right: str, most: int) -> dict[str, Any]:
    """The position of the original among the candidates; none where it is none of them."""
    lines = broken_lines(planted.text, right)
    source = SourceFile(planted.path, planted.text.encode())
    before, after = common_ends(planted.text, right)
    plain = LAYOUT.sub("", right[before : len(right) - after])
    for number, candidate in enumerate(
        itertools.islice(candidates_of(source, lines), most), start=1
    ):
        text = source.render(candidate.edits).decode()
        part = text[before : len(text) - after]
        if LAYOUT.sub("", part) == plain and same_program(text, right):
            return {"rank": number, "template": candidate.template}
    return {"rank": None, "template": None, "line": sorted(lines)[:3], "path": planted.path}


def common_ends(one: str, other: str) -> tuple[int, int]:
    """How many characters two texts share at their beginnings and their ends, less some for what stands around."""
    before, after = equal_ends(one, other)
    return max(0, before - AROUND), max(0, after - AROUND)


def candidates_of(source: SourceFile, lines: set[int]) -> Iterator[CandidatePatch]:
    """Those at the broken function, or at the broken statement outside of functions."""
    units = [
        u
        for u in list_units(source, f"/{source.path}")
        if lines & set(range(u.first_line, u.last_line + 1))
    ]
    seen = SeenLiterals((), ())
    suspect: dict[int, float] = dict.fromkeys(lines, 1.0)
    for unit in units:
        suspect |= dict.fromkeys(range(unit.first_line, unit.last_line + 1), 1.0)
    suspicion = Suspicion({source.path: suspect})
    inner = (
        Generator(load_templates(), {}).best_first(units, suspicion, seen) if units else iter(())
    )
    templates = {**load_templates(), **load_outer_templates()}
    outer = outer_candidates(source, suspicion, seen, templates=templates, shifts={})
    return heads(inner, (found for found in outer if isinstance(found, CandidatePatch)))


def heads(*feeds: Iterator[CandidatePatch]) -> Iterator[CandidatePatch]:
    """All feeds in one, the better head first."""
    waiting = [(first, feed) for feed in feeds if (first := next(feed, None)) is not None]
    while waiting:
        best = min(range(len(waiting)), key=lambda index: waiting[index][0].priority)
        candidate, feed = waiting[best]
        yield candidate
        following = next(feed, None)
        waiting[best : best + 1] = [(following, feed)] if following is not None else []


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of a set."""
    ranks = sorted(row["rank"] for row in rows if row["rank"])
    kinds = Counter(str(row["kind"]) for row in rows)
    missed = Counter(str(row["kind"]) for row in rows if not row["rank"])
    return {
        "bugs": len(rows),
        "reachable": len(ranks),
        "median_rank": statistics.median(ranks) if ranks else None,
        "p90_rank": ranks[int(len(ranks) * 0.9)] if ranks else None,
        "missed_by_kind": {kind: [count, kinds[kind]] for kind, count in sorted(missed.items())},
    }


if __name__ == "__main__":
    main()
