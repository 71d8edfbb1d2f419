"""How many findings of linters rungs 0 and 1 repair, beside the linter's own `--fix`.

    python -m benchmarks.linters [--set ruff|eslint|typescript] [--half learn|judge] [--most N]
        [--missed]

Each finding is a checkout of its own with one file, which only its linter checks: there are no tests. A
finding is repaired if the command is green with the proposed change. `alone` counts those for which
the user's own `--fix` suffices; `asked` counts repaired ones that a person would have to confirm
even if there were tests.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.autofix import lock_packages, open_project
from benchmarks.measure import as_users_have_it, report, summary
from benchmarks.sets.linters import SETS, LinterSet, Sample, read_samples
from bot.domain.diagnosis import FailureKind
from bot.domain.patch import Candidate, FixBudget
from bot.fixers.rung0_tools import tool_fixers
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.findings import DOUBTS
from bot.mission.triage.rates import interval
from bot.settings import load
from sandbox.backends import open_backend
from sandbox.workspace import Sandboxes, SandboxWorkspace
from tests.builders import a_diagnosis, a_running_mission
from tests.fakes.memory_lessons import MemoryLessons

TIME_LIMIT_S = 60.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=[one.name for one in SETS], help="only this set")
    parser.add_argument("--half", choices=("learn", "judge"), help="only rules of this half")
    parser.add_argument("--most", type=int, default=1000, help="maximum number of each set")
    parser.add_argument("--missed", action="store_true", help="also print each finding that stays")
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    rows = []
    for chosen in SETS:
        if arguments.set not in {None, chosen.name}:
            continue
        samples = [one for one in read_samples(chosen) if arguments.half in {None, one.half}]
        with tempfile.TemporaryDirectory() as name:
            Path(name).chmod(0o755)
            rows += asyncio.run(
                _measure(chosen, samples[: arguments.most], Path(name), is_loud=arguments.missed)
            )
    report("linters", _figures(rows), bytecode_was_off=was_off)


async def _measure(
    chosen: LinterSet, samples: Sequence[Sample], folder: Path, *, is_loud: bool
) -> list[dict[str, Any]]:
    spec = load(environment=None).sandbox
    sandboxes = Sandboxes(spec, open_backend(spec), folder / "data")
    locked = lock_packages(folder / "npm", chosen.packages) if chosen.packages else {}
    rows = []
    try:
        for number, sample in enumerate(samples):
            path = f"src/sample{chosen.suffix}"
            files = {**chosen.files, **locked, path: sample.text}
            project = folder / f"{chosen.name}-{number}"
            command = f"{chosen.command} {path}"
            async with open_project(sandboxes, project, files, command) as workspace:
                row = await _repair(workspace, f"{chosen.fix} {path}")
            rows.append({"set": chosen.name, "rule": sample.rule, "half": sample.half, **row})
            if is_loud and not row["repaired"]:
                sys.stderr.write(json.dumps(rows[-1]) + "\n")
    finally:
        await sandboxes.close()
    return rows


async def _repair(workspace: SandboxWorkspace, fix: str) -> dict[str, Any]:
    """Try the linter's own fix, then the rungs; return the result."""
    red = await workspace.run_tests()
    await workspace.revert()
    row: dict[str, Any] = {"alone": False, "repaired": False, "asked": False, "runs": 0}
    if red.success or not red.failures:
        return row | {"why": f"not red: {red.summary[:200]}"}
    await workspace.run(fix)
    row["alone"] = (await workspace.run_tests()).success
    await workspace.revert()
    diagnosis = a_diagnosis(kind=FailureKind.LINT, failures=red.failures)
    context = a_running_mission(test_results=red)
    for fixer in (*tool_fixers(), SearchFixer(MemoryLessons())):
        budget = FixBudget(time_limit_s=TIME_LIMIT_S)
        found = [one async for one in fixer.propose(context, diagnosis, workspace, budget)][-1]
        row["runs"] += found.candidates_tried
        if not isinstance(found, Candidate):
            row["why"] = found.reason
            continue
        await workspace.apply_changes(found.changes)
        after = await workspace.run_tests()
        await workspace.revert()
        row["why"] = found.title
        if after.success:
            asked = any(words in found.warnings for words in DOUBTS.values())
            return row | {"repaired": True, "asked": asked}
    return row


def _figures(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    groups = sorted({(row["set"], row["half"]) for row in rows})
    return {
        "all": _shares(rows),
        "by_set": {
            f"{name}, {half}": _shares([r for r in rows if (r["set"], r["half"]) == (name, half)])
            for name, half in groups
        },
        "runs_of_the_check": summary([row["runs"] for row in rows]),
        "not_red": [row["rule"] for row in rows if row["why"].startswith("not red")],
    }


def _shares(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    repaired = sum(row["repaired"] for row in rows)
    low, high = interval(repaired, len(rows))
    return {
        "findings": len(rows),
        "alone": sum(row["alone"] for row in rows),
        "repaired": repaired,
        "asked": sum(row["repaired"] and row["asked"] for row in rows),
        "share": round(repaired / len(rows), 4) if rows else 0.0,
        "interval": [round(low, 4), round(high, 4)],
    }


if __name__ == "__main__":
    main()
