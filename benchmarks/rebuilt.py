"""How many repositories are rebuilt and run without a network; a line of JSON for each, and one for all.

    python -m benchmarks.rebuilt FOLDER ... [--command "npm test"] [--seconds 600]
    python -m benchmarks.rebuilt FOLDER ... --jobs benchmarks/sets/node_jobs.json

Each folder is a checkout. The command is planned, set up and run as a mission does it; the sandbox
of the run has no network. `opened_s` includes the set-up, `opened_again_s` is a second sandbox of
the same snapshot. `rebuilt` means that the environment was set up and the command gave a verdict,
PASS or FAIL; a FAIL may be the repository's own.

With `--jobs`, a step of each repository's own workflow is rebuilt, which passed in its CI. The file
names repository, commit, job and expected result; a folder has the name of its repository.
`as_expected` means this verdict, and no fewer tests by name. A `half` says whether failures of the
job led to repairs (`learn`) or the job was run once, after them (`judge`).
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
    parser.add_argument("--jobs", type=Path)
    parser.add_argument("--seconds", type=float, default=600.0)
    asyncio.run(_measure(parser.parse_args()))


async def _measure(arguments: argparse.Namespace) -> None:
    seconds = arguments.seconds
    spec = SandboxSpec(setup_wall_s=seconds, test_wall_s=seconds, command_wall_s=seconds)
    known = json.loads(arguments.jobs.read_text()) if arguments.jobs else []
    jobs = {job["repository"].rpartition("/")[2]: job for job in known}
    usual = {"hints": {"command": arguments.command}}
    with tempfile.TemporaryDirectory() as data:
        sandboxes = Sandboxes(spec, DockerBackend(spec), Path(data))
        try:
            rows = []
            for folder in arguments.folders:
                job = jobs.get(folder.resolve().name, usual)
                rows.append(await _rebuild(sandboxes, folder.resolve(), job))
                print(json.dumps(rows[-1]), flush=True)
        finally:
            await sandboxes.close()
    for name in ("rebuilt", "as_expected") if jobs else ("rebuilt",):
        count = sum(row[name] for row in rows)
        print(json.dumps({name: count, "of": len(rows), "interval": interval(count, len(rows))}))


async def _rebuild(sandboxes: Sandboxes, folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Rebuild one repository.

    Args:
        sandboxes: Where it runs.
        folder: Its checkout.
        job: The hints of the job, and the expected verdict with the number of tests.
    """
    source = FolderSource(path=str(folder), repository_id=f"benchmark:{folder.name}")
    hints = JobHints(**job["hints"], repository=job.get("repository"))
    checkout = Checkout(source=source, hints=hints, name=folder.name)
    row: dict[str, Any] = {"name": folder.name, "rebuilt": False, "as_expected": False}
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
            row["run_s"] = round(time.perf_counter() - started, 1)
        started = time.perf_counter()
        async with sandboxes.open_workspace(checkout):
            row["opened_again_s"] = round(time.perf_counter() - started, 2)
    except SandboxError as error:
        return {**row, "error": error.message[:_LONGEST]}
    verdict, tests = job.get("verdict"), len(report.outcomes)
    return {
        **row,
        "as_expected": report.verdict.value == verdict and tests >= job["tests"],
        "tests": tests,
        "rebuilt": report.verdict in {RunVerdict.PASS, RunVerdict.FAIL},
        "runner": report.runner,
        "verdict": report.verdict.value,
        "summary": report.summary[:_LONGEST],
    }


if __name__ == "__main__":
    main()
