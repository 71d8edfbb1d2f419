"""How many bugs of a set the search repairs, and how often it is right; one line of JSON for each set.

    python -m benchmarks.repair [--set quixbugs humanevalfix mutants handmade releases]
        [--tests all half failing] [--seed N] ...

The search runs in the real sandbox and is ranked as the bot ranks it. It never sees the reference. With `--tests half`
it sees a random half of each bug's tests, and a fix is right when it passes all of them; with `--tests all` a fix of
a single program is right when it behaves as the reference on the tests' inputs and on inputs near them. With
`--tests failing` it sees every failing test and half of the others, which is what a red check run gives. Real packages
are built first: `python -m benchmarks.sets.packages` and `python -m benchmarks.sets.releases`.
"""

import argparse
import asyncio
import difflib
import itertools
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import as_users_have_it, report
from benchmarks.repair_rows import Rows, Terms, is_right, summarised
from benchmarks.sets.bug import Bug
from benchmarks.sets.catalogue import MINED, SETS, bugs_of, unit_of_set
from benchmarks.sets.halves import MODES, hidden_tests
from benchmarks.sets.judge import Judgement, open_bug, open_judge
from bot.domain.diagnosis import FailureKind
from bot.fixers.rung1_search.attempt import RankedFix, SearchResult, run_search
from bot.fixers.rung1_search.plain_run import drop_refuted
from bot.fixers.rung1_search.request import build_request
from bot.mission.failures.reports import narrowed
from bot.mission.judging.analyze import analyze_failures
from sandbox.backends import open_backend
from sandbox.errors import SandboxError
from sandbox.spec import SandboxSpec
from sandbox.types import SearchRequest
from sandbox.workspace import Sandboxes, SandboxWorkspace

ROOT = Path(__file__).resolve().parents[1]
JUDGED = 5
"""How many of the fixes shown are judged."""
TRIES = 2


async def measure(sandboxes: Sandboxes, bug: Bug, terms: Terms) -> dict[str, Any]:
    """Search one bug and judge what is shown."""
    hidden = hidden_tests(bug, terms.mode, terms.seed, unit_of_set(terms.name))
    with tempfile.TemporaryDirectory() as folder:
        bug.plant(Path(folder), hidden)
        places = {
            path: broken_lines((Path(folder) / path).read_text(), text)
            for path, text in bug.right.items()
        }
        async with open_bug(sandboxes, bug, Path(folder)) as workspace:
            begun = time.monotonic()
            request = await _request(workspace, bug, terms)
            asked = time.monotonic()
            found = (
                await run_search(workspace, request) if request.failing else SearchResult(request)
            )
            await drop_refuted(workspace, found)
            searched = time.monotonic()
    row = {
        "bug": bug.name,
        "kind": bug.about.get("kind") or bug.about.get("type", ""),
        "given": {
            "failing": len(request.failing),
            "passing": len(request.passing),
            "hidden": len(hidden),
        },
        "reproduce_s": round(asked - begun, 2),
        "seconds": round(searched - asked, 2),
        **_told(found),
        "place_rank": place_rank(found, places),
    }
    judgements = await _judged(sandboxes, bug, found.shown[:JUDGED], terms) if found.shown else []
    right = [is_right(judgement, terms) for judgement in judgements]
    return {
        **row,
        "correct_first": bool(right) and right[0],
        "correct_shown": any(right),
        "right": right.index(True) + 1 if any(right) else None,
        "rights": right,
        "likeness": [judgement.likeness for judgement in judgements],
        "notes": [judgement.note for judgement in judgements if judgement.note],
        "shown": [_shown(one) for one in found.shown[:JUDGED]],
    }


def broken_lines(broken: str, right: str) -> set[int]:
    """The lines of a broken text that are otherwise in the right one; where lines are missing, those around the gap."""
    lines: set[int] = set()
    matcher = difflib.SequenceMatcher(None, broken.splitlines(), right.splitlines(), autojunk=False)
    for tag, start, end, _, _ in matcher.get_opcodes():
        if tag != "equal":
            lines |= set(range(start + 1, end + 1)) or {start, start + 1}
    return lines


def place_rank(found: SearchResult, places: Mapping[str, Collection[int]]) -> int | None:
    """Where the first broken line stands among the lines that the search suspects most; None when it does not."""
    suspects = found.started.suspect_lines if found.started else ()
    ranks = (n for n, s in enumerate(suspects, start=1) if s.line in places.get(s.file, ()))
    return next(ranks, None)


async def _request(workspace: SandboxWorkspace, bug: Bug, terms: Terms) -> SearchRequest:
    """The request as the bot makes it, of a red run."""
    facts = await workspace.facts()
    report = await workspace.run_tests()
    if not bug.about.get("cases"):  # what fails for another reason is not what is looked for
        report = narrowed(report, report.failing - bug.failing)
    diagnosis = await analyze_failures(
        report, workspace, kind=FailureKind.BUG, red_diff=facts.red_diff
    )
    request = build_request(facts, report, diagnosis, seed=terms.seed)
    return request.with_(time_limit_s=terms.limit_s, workers=terms.workers)


async def _judged(
    sandboxes: Sandboxes, bug: Bug, shown: Sequence[RankedFix], terms: Terms
) -> list[Judgement]:
    """Judge fixes in their order, up to the first that is right or all of them."""
    judgements: list[Judgement] = []
    async with open_judge(sandboxes, bug) as judge:
        for one in shown:
            judgements.append(await judge.judge(one.changes))
            if is_right(judgements[-1], terms) and not terms.judge_all:
                break
    return judgements


def _told(found: SearchResult) -> dict[str, Any]:
    done, started = found.done, found.started
    return {
        "plausible": bool(found.survivors),
        "abstained": bool(found.shown) and abstains(found.shown[0]),
        "survivors": len(found.survivors),
        "behaviours": found.shown[0].ranked.behaviours if found.shown else 0,
        "near": len(found.near),
        "refuted": found.refuted,
        "tried": found.tried,
        "candidates": started.candidates if started else 0,
        "started_s": round(started.seconds, 2) if started else None,
        "lanes": list(started.lane_notes) if started else [],
        "spending": [spent.model_dump(mode="json") for spent in done.spending],
        "found_by": [[survivor.origin, survivor.template] for survivor in found.survivors],
        "first_s": round(found.survivors[0].seconds, 2) if found.survivors else None,
        "end": f"{done.reason} {done.detail}".strip(),
    }


def abstains(best: RankedFix) -> bool:
    """Whether the ranking would rather not publish its first fix."""
    return not best.ranked.confident


def _shown(one: RankedFix) -> dict[str, Any]:
    survivor = one.ranked.survivor
    return {
        "template": survivor.template,
        "origin": survivor.origin,
        "place": f"{survivor.path}:{survivor.line}",
        "description": survivor.description,
        "score": one.ranked.score,
        "suspicion": survivor.suspicion,
        "lane": survivor.lane,
        "warnings": list(survivor.warnings),
    }


async def measure_or_tell(sandboxes: Sandboxes, bug: Bug, terms: Terms) -> dict[str, Any]:
    """The same; a sandbox that goes away under it is tried once more, then told."""
    end = ""
    for _ in range(TRIES):
        try:
            return await measure(sandboxes, bug, terms)
        except SandboxError as error:
            end = f"{error.message} {error.advice}"
    return {"bug": bug.name, "end": f"sandbox: {end}", "seconds": 0.0, "tried": 0}


async def run_set(
    sandboxes: Sandboxes, bugs: Sequence[Bug], terms: Terms, rows: Rows, *, jobs: int
) -> dict[str, Any]:
    """All bugs of a set."""
    known = rows.of(terms)
    found = {bug.name: known[bug.name] for bug in bugs if bug.name in known}
    limit = asyncio.Semaphore(jobs)

    async def one(bug: Bug) -> None:
        async with limit:
            row = await measure_or_tell(sandboxes, bug, terms)
        found[bug.name] = row
        rows.add(terms, row)
        said = (
            "correct" if row.get("correct_first") else "shown" if row.get("correct_shown") else ""
        )
        said = said or ("wrong" if row.get("plausible") else "none")
        print(
            f"{terms.name} {bug.name}: {said} {row['seconds']} s, {row['end'][:100]}",
            file=sys.stderr,
            flush=True,
        )

    await asyncio.gather(*(one(bug) for bug in bugs if bug.name not in found))
    return summarised([found[bug.name] for bug in bugs], terms)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--set",
        nargs="+",
        choices=SETS,
        default=[one for one in SETS if one not in MINED],
        dest="sets",
    )
    parser.add_argument(
        "--tests",
        nargs="+",
        choices=MODES,
        default=["all", "half"],
        help="what the search is given",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--limit", type=float, default=60.0, metavar="SECONDS", help="of search for each bug"
    )
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="bugs, or beginnings of their names"
    )
    parser.add_argument("--jobs", type=int, default=1, help="bugs at the same time")
    parser.add_argument(
        "--workers", type=int, default=2, help="children of each search at work at the same time"
    )
    parser.add_argument(
        "--from", type=int, default=0, dest="first", help="leave out so many bugs of each set"
    )
    parser.add_argument("--count", type=int, help="take so many")
    parser.add_argument(
        "--judge-all",
        action="store_true",
        help="judge every fix shown, for benchmarks.template_wins",
    )
    parser.add_argument(
        "--rows", type=Path, metavar="FILE", help="one line of JSON for each bug goes there"
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep the rows that stand there already"
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=ROOT.parent / "shared" / "data",
        help="folder of the program sets",
    )
    parser.add_argument(
        "--packages",
        type=Path,
        default=ROOT / "build" / "bench",
        help="folder of the built packages",
    )
    return parser.parse_args()


async def main() -> None:
    """Measure and print."""
    arguments = _arguments()
    was_off = as_users_have_it()
    rows = Rows(arguments.rows, resume=arguments.resume)
    with tempfile.TemporaryDirectory() as data:
        spec = SandboxSpec(pool=0 if arguments.jobs > 1 else 1)
        sandboxes = Sandboxes(spec, open_backend(spec), Path(data))
        try:
            for name, mode in itertools.product(arguments.sets, arguments.tests):
                terms = Terms(
                    name,
                    mode,
                    arguments.seed,
                    arguments.limit,
                    arguments.workers,
                    arguments.judge_all,
                )
                bugs = list(bugs_of(name, arguments.data, arguments.packages))
                if arguments.only:
                    bugs = [bug for bug in bugs if bug.name.startswith(tuple(arguments.only))]
                bugs = bugs[arguments.first :][: arguments.count]
                told = await run_set(sandboxes, bugs, terms, rows, jobs=arguments.jobs)
                report("repair", told, bytecode_was_off=was_off)
        finally:
            await sandboxes.close()


if __name__ == "__main__":
    asyncio.run(main())
