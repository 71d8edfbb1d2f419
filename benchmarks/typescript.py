"""How often rung 1 removes seeded type errors of TypeScript, in real sandboxes.

    python -m benchmarks.typescript [--part seen|unseen] [--most N] [--missed]

Each error is a checkout of its own, in which `npx tsc` is red. Demanded: the check is green with the
proposed change in 60 % of them, and in 80 % of those the change restores the original text. The
seconds are those from the red report to the candidate, in an environment that is already set up.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.autofix import lock_packages, open_project
from benchmarks.measure import as_users_have_it, report, summary
from benchmarks.sets.typescript import SeededError, seeded_errors
from bot.domain.diagnosis import FailureKind
from bot.domain.patch import Candidate, FixBudget
from bot.fixers.rung1_search.engine import SearchFixer
from bot.mission.triage.rates import interval
from bot.settings import load
from sandbox.backends import open_backend
from sandbox.workspace import Sandboxes, SandboxWorkspace
from tests.builders import a_diagnosis, a_running_mission
from tests.fakes.memory_lessons import MemoryLessons

COMMAND = "npx tsc -p ."
PACKAGES = ("typescript@5.9.3",)
LEAST_GONE = 0.6
LEAST_SAME = 0.8
TIME_LIMIT_S = 120.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("seen", "unseen"), help="only the errors of this part")
    parser.add_argument("--most", type=int, default=1000, help="maximum number, spread evenly")
    parser.add_argument("--missed", action="store_true", help="also print each other result")
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    chosen = [one for one in seeded_errors() if arguments.part in {None, one.part}]
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        rows = asyncio.run(
            _measure(_spread(chosen, arguments.most), Path(name), is_loud=arguments.missed)
        )
    report("typescript", _figures(rows), bytecode_was_off=was_off)


def _spread(errors: Sequence[SeededError], most: int) -> list[SeededError]:
    """Return errors of all files, at most this number."""
    count = min(most, len(errors))
    return [errors[number * len(errors) // count] for number in range(count)]


async def _measure(
    chosen: Sequence[SeededError], folder: Path, *, is_loud: bool
) -> list[dict[str, Any]]:
    spec = load(environment=None).sandbox
    sandboxes = Sandboxes(spec, open_backend(spec), folder / "data")
    locked = lock_packages(folder / "npm", PACKAGES)
    rows = []
    try:
        for number, error in enumerate(chosen):
            project = folder / f"{error.project}-{number}"
            files = {**locked, **error.files}
            async with open_project(sandboxes, project, files, COMMAND) as workspace:
                row = await _repair(workspace, error)
            rows.append({"file": f"{error.project}/{error.path}", "part": error.part, **row})
            if is_loud and not row["same"]:
                sys.stderr.write(json.dumps(rows[-1]) + "\n")
    finally:
        await sandboxes.close()
    return rows


async def _repair(workspace: SandboxWorkspace, error: SeededError) -> dict[str, Any]:
    """Try to repair one error; return the result."""
    red = await workspace.run_tests()
    await workspace.revert()
    if red.success or not red.failures:
        why = f"not red: {red.summary[:200]}"
        return {"gone": False, "same": False, "runs": 0, "s": 0.0, "why": why}
    begun = time.perf_counter()
    diagnosis = a_diagnosis(kind=FailureKind.LINT, failures=red.failures)
    context = a_running_mission(test_results=red)
    budget = FixBudget(time_limit_s=TIME_LIMIT_S)
    proposed = SearchFixer(MemoryLessons()).propose(context, diagnosis, workspace, budget)
    found = [one async for one in proposed][-1]
    seconds = round(time.perf_counter() - begun, 3)
    spent = {"runs": found.candidates_tried, "s": seconds}
    if not isinstance(found, Candidate):
        return {"gone": False, "same": False, "why": found.reason, **spent}
    await workspace.apply_changes(found.changes)
    after = await workspace.run_tests()
    texts = {change.path: change.content for change in found.changes}
    same = texts == {error.path: error.original}
    return {"gone": after.success, "same": same, "why": found.title, **spent}


def _figures(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    gone = sum(row["gone"] for row in rows)
    same = sum(row["same"] for row in rows)
    parts = sorted({row["part"] for row in rows})
    missed = {"gone": gone < LEAST_GONE * len(rows), "same": same < LEAST_SAME * gone}
    return {
        "errors": len(rows),
        "gone": _share(gone, len(rows)),
        "same_text": _share(same, gone),
        "by_part": {
            part: f"{sum(r['gone'] for r in rows if r['part'] == part)} gone, "
            f"{sum(r['same'] for r in rows if r['part'] == part)} the original text, of "
            f"{sum(r['part'] == part for r in rows)}"
            for part in parts
        },
        "runs_of_the_check": summary([row["runs"] for row in rows]),
        "seconds": summary([row["s"] for row in rows]),
        "missed": [name for name, is_missed in missed.items() if is_missed],
    }


def _share(part: int, whole: int) -> dict[str, Any]:
    low, high = interval(part, whole)
    share = round(part / whole, 4) if whole else 0.0
    return {"count": part, "of": whole, "share": share, "interval": [round(low, 4), round(high, 4)]}


if __name__ == "__main__":
    main()
