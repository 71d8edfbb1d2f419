"""How many bugs in two places a half from elsewhere and the search mend together, that neither mends alone.

    python -m benchmarks.hybrid [--only NAME ...] [--limit SECONDS] [--jobs N]

A scripted oracle stands in for the model: it gives one half of each fix of `benchmarks.sets.hybrid` and never looks at
what came of it. Each bug is searched alone, the half is tried alone, and then the search is begun from the half. A fix
is right when hidden tests pass with it. One line of JSON.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import as_users_have_it, report, summary
from benchmarks.sets.hybrid import HYBRID, Halved
from bot.domain.diagnosis import FailureKind
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget
from bot.domain.request import MissionRequest, Trigger
from bot.fixers.rung1_search.as_trials import SearchTrials
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.trials import Failure, Proposed
from bot.mission.analyze import analyze_failures
from bot.ports import Workspace
from sandbox.backends import open_backend
from sandbox.spec import SandboxSpec
from sandbox.types import ChangeAction, Checkout, FileChange, FolderSource, JobHints
from sandbox.workspace import Sandboxes
from tests.fakes.memory_lessons import MemoryLessons

SHOWN, HIDDEN = "test_shown.py", "test_hidden.py"
COMMAND = "python -m pytest -q"
JUDGED = 5
"""How many of the fixes that the search shows alone are judged: one right one, and the bug counts as its own."""
MOST_CANDIDATES = 20_000


async def measure(sandboxes: Sandboxes, bug: Halved, limit_s: float) -> dict[str, Any]:
    """One bug, three ways."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {**bug.broken, SHOWN: bug.shown}.items():
            (Path(folder) / path).write_text(text)
        checkout = Checkout(source=FolderSource(path=folder), hints=JobHints(command=COMMAND))
        async with sandboxes.open_workspace(checkout) as workspace:
            failure = await _failure(workspace, bug)
            alone = await _search_alone(failure, bug, limit_s)
            half = oracle(bug)
            trials = SearchTrials(MemoryLessons())
            (tried,) = await trials.try_changes(failure, (half,), time_limit_s=limit_s)
            begun = time.monotonic()
            found = await trials.search_from(failure, half, time_limit_s=limit_s, max_candidates=MOST_CANDIDATES)
            seconds = time.monotonic() - begun
            whole = [one for one in found if one.passes]
            right = [await is_right(workspace, bug, one.proposed.changes) for one in whole[:JUDGED]]
    return {
        "bug": bug.name,
        "search_alone": any(alone),
        "search_alone_shows": len(alone),
        "half_alone": tried.passes,
        "together_first": bool(right) and right[0],
        "together_shown": any(right),
        "shows": len(whole),
        "confident": bool(whole) and whole[0].candidate is not None and whole[0].candidate.confident,
        "seconds": round(seconds, 2),
    }


def oracle(bug: Halved) -> Proposed:
    """What stands in for a model: always the same half."""
    changes = tuple(FileChange(action=ChangeAction.REPLACE, path=p, content=text) for p, text in bug.half.items())
    return Proposed(id=f"half-{bug.name}", title="the half", changes=changes)


async def is_right(workspace: Workspace, bug: Halved, changes: Sequence[FileChange]) -> bool:
    """Whether every test passes with a fix, the hidden ones included."""
    hidden = FileChange(action=ChangeAction.CREATE, path=HIDDEN, content=bug.hidden)
    await workspace.apply_changes([*changes, hidden])
    try:
        return (await workspace.run_tests(f"{COMMAND} {SHOWN} {HIDDEN}")).success
    finally:
        await workspace.revert()


async def _failure(workspace: Workspace, bug: Halved) -> Failure:
    red = await workspace.run_tests()
    facts = await workspace.facts()
    diagnosis = await analyze_failures(red, workspace, kind=FailureKind.BUG, red_diff=facts.red_diff)
    request = MissionRequest(mission_id=bug.name, trigger=Trigger.COMMAND_LINE, folder=bug.name)
    context = MissionContext(
        mission_id=bug.name, request=request, created_at="", target_path=bug.name, facts=facts, test_results=red
    )
    return Failure(context, diagnosis, workspace)


async def _search_alone(failure: Failure, bug: Halved, limit_s: float) -> list[bool]:
    """Of each fix that the first rung proposes by itself whether it is right."""
    rung = SearchFixer(MemoryLessons())
    budget = FixBudget(time_limit_s=limit_s)
    said = [one async for one in rung.propose(failure.context, failure.diagnosis, failure.workspace, budget)]
    fixes = [one for one in said if isinstance(one, Candidate)]
    return [await is_right(failure.workspace, bug, fix.changes) for fix in fixes[:JUDGED]]


def summarised(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of all bugs."""
    return {
        "bugs": len(rows),
        "search_alone": sum(row["search_alone"] for row in rows),
        "half_alone": sum(row["half_alone"] for row in rows),
        "together_first": sum(row["together_first"] for row in rows),
        "together_shown": sum(row["together_shown"] for row in rows),
        "only_together": sum(
            row["together_first"] and not row["search_alone"] and not row["half_alone"] for row in rows
        ),
        "not_together": [row["bug"] for row in rows if not row["together_first"]],
        "together_s": summary([row["seconds"] for row in rows]),
    }


async def run_set(sandboxes: Sandboxes, bugs: Sequence[Halved], limit_s: float, *, jobs: int) -> list[dict[str, Any]]:
    """All of them, some at a time."""
    limit = asyncio.Semaphore(jobs)

    async def one(bug: Halved) -> dict[str, Any]:
        async with limit:
            row = await measure(sandboxes, bug, limit_s)
        print(row, file=sys.stderr, flush=True)
        return row

    return list(await asyncio.gather(*(one(bug) for bug in bugs)))


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="of each search")
    parser.add_argument("--jobs", type=int, default=1, help="bugs at the same time")
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    bugs = [bug for bug in HYBRID if not arguments.only or bug.name in arguments.only]
    if not bugs:
        parser.error("no such bug")
    with tempfile.TemporaryDirectory() as data:
        spec = SandboxSpec(pool=0)
        sandboxes = Sandboxes(spec, open_backend(spec), Path(data))
        try:
            rows = await run_set(sandboxes, bugs, arguments.limit, jobs=arguments.jobs)
        finally:
            await sandboxes.close()
    report("hybrid", summarised(rows), bytecode_was_off=was_off)


if __name__ == "__main__":
    asyncio.run(main())
