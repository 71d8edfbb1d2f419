"""How many repositories are rebuilt and run without a network; a line of JSON for each, and one for all.

    python -m benchmarks.rebuilt FOLDER ... [--command "npm test"] [--seconds 600]

Each folder is a checkout. The command is planned, set up and run as a mission does it; the sandbox
of the run has no network. `rebuilt` means that the environment was set up and the command gave a
verdict, PASS or FAIL; a FAIL may be the repository's own.
"""

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from bot.mission.triage.rates import interval
from sandbox.backends.docker_container import DockerBackend
from sandbox.errors import SandboxError
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, JobHints, RunVerdict
from sandbox.workspace import Sandboxes

_LONGEST = 300


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--command", default="npm test")
    parser.add_argument("--seconds", type=float, default=600.0)
    asyncio.run(_measure(parser.parse_args()))


async def _measure(arguments: argparse.Namespace) -> None:
    spec = SandboxSpec(setup_wall_s=arguments.seconds, test_wall_s=arguments.seconds)
    with tempfile.TemporaryDirectory() as data:
        sandboxes = Sandboxes(spec, DockerBackend(spec), Path(data))
        try:
            rebuilt = 0
            for folder in arguments.folders:
                row = await _rebuild(sandboxes, folder.resolve(), arguments.command)
                rebuilt += row["rebuilt"]
                print(json.dumps(row), flush=True)
        finally:
            await sandboxes.close()
    count = len(arguments.folders)
    low, high = interval(rebuilt, count)
    print(json.dumps({"rebuilt": rebuilt, "of": count, "interval": [low, high]}))


async def _rebuild(sandboxes: Sandboxes, folder: Path, command: str) -> dict[str, Any]:
    source = FolderSource(path=str(folder), repository_id=f"benchmark:{folder.name}")
    checkout = Checkout(source=source, hints=JobHints(command=command))
    row: dict[str, Any] = {"name": folder.name, "rebuilt": False}
    started = time.perf_counter()
    try:
        async with sandboxes.open_workspace(checkout) as workspace:
            facts = await workspace.facts()
            node = facts.recipe.node
            row |= {
                "command": facts.recipe.command[:_LONGEST],
                "manager": None if node is None else node.manager,
                "locked": None if node is None else node.locked,
                "obstacles": list(facts.recipe.obstacles),
                "opened_s": round(time.perf_counter() - started, 1),
                "setup_s": round(facts.setup_s, 1),
            }
            started = time.perf_counter()
            report = await workspace.run_tests()
    except SandboxError as error:
        return {**row, "error": error.message[:_LONGEST]}
    return {
        **row,
        "rebuilt": report.verdict in {RunVerdict.PASS, RunVerdict.FAIL},
        "run_s": round(time.perf_counter() - started, 1),
        "runner": report.runner,
        "verdict": report.verdict.value,
        "summary": report.summary[:_LONGEST],
    }


if __name__ == "__main__":
    main()
