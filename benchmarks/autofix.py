"""How often rung 0 removes seeded findings of formatters and linters, in real sandboxes.

    python -m benchmarks.autofix [--tool NAME ...] [--tests] [--missed]

Each seeded check is a checkout of its own, with the same text outside of what the command checks.
Demanded: the finding is gone in 95 % of the checks, no other file changes, and five seconds at most
from the red report to the candidate, in an environment that is already set up. `command_green`
counts the checks in which the fix uncovered no other finding either.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from benchmarks.measure import as_users_have_it, report, run, summary
from benchmarks.sets.autofix import (
    NODE_SETS,
    NODE_TESTS,
    PACKAGES,
    PYTHON_SETS,
    PYTHON_TESTS,
    REQUIREMENTS,
    Seeds,
)
from bot.domain.diagnosis import FailureKind
from bot.domain.patch import Candidate, FixBudget
from bot.fixers.rung0_tools import tool_fixers
from bot.mission.triage.rates import interval
from bot.settings import load
from sandbox.backends import open_backend
from sandbox.types import Checkout, FolderSource, JobHints, TrustTier
from sandbox.workspace import Sandboxes, SandboxWorkspace
from tests.builders import a_diagnosis, a_running_mission

LIMIT_S = 5.0
LEAST_GONE = 0.95
_CPU_NS = (
    "cat /sys/fs/cgroup/cpuacct/cpuacct.usage 2>/dev/null || "
    "sed -n 's/^usage_usec \\(.*\\)/\\1000/p' /sys/fs/cgroup/cpu.stat"
)
"""Prints the processor time of the sandbox in nanoseconds, with both versions of cgroups."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", action="append", help="only this tool; may be repeated")
    parser.add_argument("--tests", action="store_true", help="findings in test files instead")
    parser.add_argument("--missed", action="store_true", help="also print each check that missed")
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    sets = (*PYTHON_TESTS, *NODE_TESTS) if arguments.tests else (*PYTHON_SETS, *NODE_SETS)
    chosen = [seeds for seeds in sets if not arguments.tool or seeds.tool in arguments.tool]
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        rows = asyncio.run(_measure(chosen, Path(name), is_loud=arguments.missed))
    report("autofix", _figures(rows), bytecode_was_off=was_off)


async def _measure(chosen: Sequence[Seeds], folder: Path, *, is_loud: bool) -> list[dict[str, Any]]:
    spec = load(environment=None).sandbox
    sandboxes = Sandboxes(spec, open_backend(spec), folder / "data")
    locked = lock_packages(folder / "npm", PACKAGES) if any(map(_needs_node, chosen)) else {}
    rows = []
    try:
        for seeds in chosen:
            own = locked if _needs_node(seeds) else {"requirements.txt": "\n".join(REQUIREMENTS)}
            for number, text in enumerate(seeds.texts):
                project = folder / f"{seeds.tool.replace(' ', '_')}{seeds.suffix}-{number}"
                outside = {f"elsewhere/seeded{seeds.suffix}": text}
                files = {**own, **seeds.files, **outside, seeds.path: text}
                async with open_project(sandboxes, project, files, seeds.command) as workspace:
                    row = await _check(workspace, seeds)
                rows.append({"tool": seeds.tool, "number": number, **row})
                if is_loud and not row["green"]:
                    sys.stderr.write(json.dumps(rows[-1]) + "\n")
    finally:
        await sandboxes.close()
    return rows


async def _check(workspace: SandboxWorkspace, seeds: Seeds) -> dict[str, Any]:
    """Return what became of one seeded check."""
    path = seeds.path
    red = await workspace.run_tests()
    await workspace.revert()
    if red.success or not red.failures:
        return {
            "gone": False,
            "why": f"not red: {red.summary[:300]}",
            "others": 0,
            "s": 0.0,
            "cpu_s": 0.0,
        }
    (fixer,) = tool_fixers()
    diagnosis = a_diagnosis(kind=FailureKind.LINT, failures=red.failures)
    before = await _processor_s(workspace)
    begun = time.perf_counter()
    context = a_running_mission(test_results=red)
    proposed = [one async for one in fixer.propose(context, diagnosis, workspace, FixBudget())]
    seconds = round(time.perf_counter() - begun, 3)
    spent = {"s": seconds, "cpu_s": round(await _processor_s(workspace) - before, 3)}
    (found,) = proposed
    if not isinstance(found, Candidate):
        return {"gone": False, "green": False, "why": found.reason, "others": 0, **spent}
    await workspace.apply_changes(found.changes)
    others = sum(edit.path != path for edit in await workspace.changes())
    after = await workspace.run_tests()
    why = "" if after.success else f"still red: {after.summary[:100]} {after.raw_output[-300:]}"
    rules = ({failure.error for failure in one.failures} for one in (red, after))
    gone = after.success or set.isdisjoint(*rules)
    return {"gone": gone, "green": after.success, "why": why, "others": others, **spent}


async def _processor_s(workspace: SandboxWorkspace) -> float:
    """Return the processor time of the sandbox, which other work on the machine does not change."""
    return int((await workspace.run(_CPU_NS)).stdout or "0") / 1e9


def _figures(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    gone = sum(row["gone"] for row in rows)
    low, high = interval(gone, len(rows))
    tools = sorted({row["tool"] for row in rows})
    slowest = max((row["s"] for row in rows), default=0.0)
    others = sum(row["others"] for row in rows)
    missed = {
        "gone": gone < LEAST_GONE * len(rows),
        "others": others > 0,
        "seconds": slowest > LIMIT_S,
    }
    return {
        "tools": len(tools),
        "checks": len(rows),
        "gone": gone,
        "command_green": sum(row["green"] for row in rows),
        "share": round(gone / len(rows), 4),
        "interval": [round(low, 4), round(high, 4)],
        "files_beyond_the_named": others,
        "seconds": summary([row["s"] for row in rows]),
        "cpu_seconds": summary([row["cpu_s"] for row in rows]),
        "within_limit": sum(row["s"] <= LIMIT_S for row in rows),
        "by_tool": {
            tool: f"{sum(r['gone'] for r in rows if r['tool'] == tool)} of "
            f"{sum(r['tool'] == tool for r in rows)}"
            for tool in tools
        },
        "missed": [name for name, is_missed in missed.items() if is_missed],
    }


def _needs_node(seeds: Seeds) -> bool:
    return seeds in (*NODE_SETS, *NODE_TESTS)


def lock_packages(folder: Path, packages: Sequence[str]) -> dict[str, str]:
    """Return the files of a Node.js project with packages, locked by the host's npm."""
    folder.mkdir()
    (folder / "package.json").write_text('{ "name": "checked", "private": true }\n')
    run(
        *("npm", "install", "--save-dev", "--package-lock-only", "--ignore-scripts"),
        *packages,
        cwd=folder,
        timeout=300,
    )
    return {name: (folder / name).read_text() for name in ("package.json", "package-lock.json")}


def open_project(
    sandboxes: Sandboxes, project: Path, files: dict[str, str], command: str
) -> AbstractAsyncContextManager[SandboxWorkspace]:
    """Write a project, readable for the sandbox's user, and open a sandbox that runs a command."""
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)
    for folder in (project, *(path for path in project.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    source = FolderSource(path=str(project), repository_id="local:seeded")
    hints = JobHints(command=command)
    return sandboxes.open_workspace(Checkout(source=source, tier=TrustTier.LOCAL, hints=hints))


if __name__ == "__main__":
    main()
