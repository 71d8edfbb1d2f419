"""Gather changes of every source, judge them, and print how well their probability is calibrated.

    python -m benchmarks.belief gather [--set NAME ...] [--rows FILE] [--seed N] [--jobs N]
    python -m benchmarks.belief fit [--rows FILE]
    python -m benchmarks.belief [--rows FILE]

`gather` writes one line of JSON for each bug: what the search finds, the written answers of `answers.py` that pass
the tests shown, whether each is right by the tests that were hidden and by the reference's behaviour, and what a
comparison of each change alone observes. It may be ended at any time: the next one continues with the bugs that have
no row yet, and tries those again whose sandbox failed. A row says how many seconds each step took. A third
of the bugs of each set is held out. The others are the development bugs. `fit` prints weights fitted on them, and
cross-validated figures of each gate. Without a command, the package's own weights are measured on the bugs held out,
and cross-validated weights on the development bugs: Brier score, reliability curve, precision and recall at the gate,
by source. Only the weights of written changes are measured on unseen bugs. Those of the search were fitted on earlier
searches of the same sets. The texts of the bugs stay in the rows, which belong in `build/`.
"""

import argparse
import asyncio
import hashlib
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.belief.figures import figures, line_counts, reliability
from benchmarks.belief.fitting import SHIPPED, Verdict, Weights, fit, judged
from benchmarks.belief.gather import gather
from benchmarks.belief.missions import (
    FOLDS,
    Mission,
    is_right,
    missions_of,
    read_rows,
)
from benchmarks.belief.rows import append_row, parse_rows
from benchmarks.belief.rules import RULES, rule_bugs
from benchmarks.measure import as_users_have_it, report
from benchmarks.sets.bug import Bug
from benchmarks.sets.catalogue import PROGRAMS, SETS, bugs_of
from sandbox.backends import open_backend
from sandbox.errors import SandboxError
from sandbox.spec import SandboxSpec
from sandbox.workspace import Sandboxes

GATES = (0.75, 0.8, 0.85, 0.9, 0.95)
"""Gates of written changes that a fit compares, on development bugs only."""
ROOT = Path(__file__).resolve().parents[2]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "command", nargs="?", choices=["measure", "fit", "gather"], default="measure"
    )
    parser.add_argument("--rows", type=Path, default=ROOT / "build" / "belief.jsonl")
    parser.add_argument(
        "--set", nargs="+", choices=(*SETS, RULES), default=[*PROGRAMS, RULES], dest="sets"
    )
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="bugs at the same time")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--per-group", type=int, default=10**6, help="bugs of one package")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--packages", type=Path, default=ROOT / "build" / "bench")
    return parser.parse_args()


def _wanted(arguments: argparse.Namespace) -> list[tuple[str, Bug]]:
    """Return the bugs that have no row yet."""
    known = {(row["set"], row["bug"]) for row in parse_rows(arguments.rows)}
    found: list[tuple[str, Bug]] = []
    for name in arguments.sets:
        counts: dict[str, int] = {}
        bugs = rule_bugs() if name == RULES else bugs_of(name, arguments.data, arguments.packages)
        for bug in bugs:
            if arguments.only and not bug.name.startswith(tuple(arguments.only)):
                continue
            group = bug.name.partition("/")[0] if "/" in bug.name else bug.name
            counts[group] = counts.get(group, 0) + 1
            if counts[group] <= arguments.per_group and (name, bug.name) not in known:
                found.append((name, bug))
    # Every part of this order is a random sample of the bugs.
    return sorted(found, key=lambda one: hashlib.sha256(one[1].name.encode()).digest())


async def _gather(arguments: argparse.Namespace) -> None:
    limit = asyncio.Semaphore(arguments.jobs)
    with tempfile.TemporaryDirectory() as data:
        spec = SandboxSpec(pool=0)
        sandboxes = Sandboxes(spec, open_backend(spec), Path(data))

        async def one(name: str, bug: Bug) -> None:
            async with limit:
                try:
                    row: dict[str, Any] = await gather(sandboxes, name, bug, seed=arguments.seed)
                except SandboxError as error:
                    end = f"{error.message} {error.advice}"
                    print(name, bug.name, "no row:", end, file=sys.stderr, flush=True)
                    return
            append_row(arguments.rows, row)
            costs = (row.get("seconds"), row.get("steps"), row.get("end", ""))
            print(name, bug.name, *costs, file=sys.stderr, flush=True)

        try:
            await asyncio.gather(*(one(name, bug) for name, bug in _wanted(arguments)))
        finally:
            await sandboxes.close()


def _measured(pairs: Sequence[tuple[Mission, Verdict]]) -> dict[str, Any]:
    """Return the figures of missions, whole and by source and kind of change."""
    missions = [mission for mission, _ in pairs]

    def some(keep: Callable[[Mission], bool]) -> dict[str, Any]:
        kept = [pair for pair in pairs if keep(pair[0])]
        return figures([one for one, _ in kept], [one for _, one in kept])

    kinds = sorted({mission.kind for mission in missions if mission.source == "model"})
    return {
        "all": some(lambda _: True),
        "search": some(lambda one: one.source == "search" and not one.missed),
        "search_missed": some(lambda one: one.source == "search" and one.missed),
        "model": some(lambda one: one.source == "model"),
        "hybrid": some(lambda one: one.source == "hybrid"),
        "offered_by_kind": {
            kind: _offered(
                [pair for pair in pairs if pair[0].source == "model" and pair[0].kind == kind]
            )
            for kind in kinds
        },
        "reliability": reliability([verdict for _, verdict in pairs]),
    }


def _offered(pairs: Sequence[tuple[Mission, Verdict]]) -> dict[str, str]:
    """Return how many right and how many wrong changes of a kind are offered."""
    told: dict[str, str] = {}
    for name, wanted in (("right", True), ("wrong", False)):
        own = [verdict for _, verdict in pairs if verdict.right is wanted]
        if own:
            told[name] = f"{sum(one.offered for one in own)} of {len(own)}"
    return told


def _corpus(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return how many changes there are, by kind: right, wrong and caught by the tests shown."""
    kinds: dict[str, list[int]] = {}
    for row in rows:
        passed = set(row["given"]["keys"])
        for kind, _, key in row["written"]:
            counts = kinds.setdefault(kind, [0, 0, 0])
            right = is_right(row["labels"].get(key), kind) if key in passed else None
            counts[2 if right is None else int(not right)] += 1
        for key in row["search"]["keys"]:
            right = is_right(row["labels"].get(key), "search")
            if right is not None:
                kinds.setdefault("search", [0, 0, 0])[int(not right)] += 1
    names = ("right", "wrong", "caught")
    return {kind: dict(zip(names, counts, strict=True)) for kind, counts in sorted(kinds.items())}


def _fold_weights(missions: Sequence[Mission]) -> list[Weights]:
    """Return for each fold the weights that were fitted on the bugs of the others."""
    return [fit([one for one in missions if one.fold != fold]) for fold in range(FOLDS)]


def _cross_validated(
    missions: Sequence[Mission], weights: Sequence[Weights], *, gate: float | None = None
) -> list[tuple[Mission, Verdict]]:
    """Return every mission with what it does under the weights of its fold."""
    return [(one, judged(one, weights[one.fold], gate=gate)) for one in missions]


def _fitted(missions: Sequence[Mission]) -> dict[str, Any]:
    """Return weights fitted on missions, and the figures of written changes at each gate."""
    weights = fit(missions)
    found: dict[str, Any] = {
        source: {name: round(value, 2) for name, value in named.items()}
        for source, named in (("search", weights.search), ("written", weights.written))
    }
    written = [one for one in missions if one.source != "search"]
    folds = _fold_weights(missions)
    for gate in GATES:
        kept = _cross_validated(written, folds, gate=gate)
        found[f"gate {gate}"] = figures([one for one, _ in kept], [one for _, one in kept])
    return found


def main() -> None:
    """Run one of the commands."""
    arguments = _arguments()
    was_off = as_users_have_it()
    if arguments.command == "gather":
        asyncio.run(_gather(arguments))
        return
    rows = read_rows(arguments.rows)
    missions = missions_of(rows)
    development = [one for one in missions if not one.held_out]
    held_out = [one for one in missions if one.held_out]
    if arguments.command == "fit":
        printed = _fitted(development)
    else:
        printed = {
            "corpus": _corpus(rows),
            "new_lines": line_counts(rows),
            "bugs": len(rows),
            "alone": sum("alone" in row for row in rows),
            "held_out": _measured([(one, judged(one, SHIPPED)) for one in held_out]),
            "development": _measured(_cross_validated(development, _fold_weights(development))),
        }
    report("belief", printed, bytecode_was_off=was_off)


if __name__ == "__main__":
    main()
