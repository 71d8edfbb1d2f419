"""Improvements that rules alone find in real packages, each accepted by `metaagent improve`, as one line of JSON.

    python -m benchmarks.improve [--folder FOLDER] [--only NAME ...] [--cycles N]

Every package is copied, and the command runs on the copy until nothing is left to improve. Then both trees run the
package's tests in a sandbox of their own, and every test must have the same result: `changed_tests` names the others.
The original runs them twice: `renamed` counts names that only one of its runs has, such as those with the time in them.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.measure import as_users_have_it, report
from benchmarks.sets.built import ROOT, Built, Package, fetch, say
from bot.improve.values import CycleRecord, CycleStatus
from sandbox.backends import open_backend
from sandbox.errors import SandboxError
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, JobHints, TestStatus
from sandbox.workspace import Sandboxes

PACKAGES = ("funcy", "tomlkit", "marshmallow", "jinja2", "webcolors", "boltons")
"""Packages of the manifest in which rules find improvements, and whose tests take seconds; the largest comes last."""
CYCLES = 50
WALL_S = 7_200


def improve(tree: Path, data: Path, command: str, cycles: int) -> tuple[CycleRecord, ...]:
    """Run the command on a tree, and return its cycles."""
    words = ["improve", str(tree), "--test", command, "--cycles", str(cycles)]
    done = subprocess.run(
        [sys.executable, "-m", "bot", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WALL_S,
        check=False,
        env={**os.environ, "METAAGENT_DATA_DIR": str(data)},
    )
    found = json.loads(done.stdout)
    if "cycles" not in found["data"]:
        raise RuntimeError(found["message"])
    return tuple(CycleRecord.model_validate(one) for one in found["data"]["cycles"])


async def outcomes(tree: Path, package: Package, data: Path) -> Mapping[str, TestStatus]:
    """Return the result of every test of a tree."""
    spec = SandboxSpec(pool=0)
    sandboxes = Sandboxes(spec, open_backend(spec), data)
    source = FolderSource(path=str(tree), repository_id=f"local:bench-{package.name}")
    hints = JobHints(command=package.command, setup=package.setup)
    try:
        async with sandboxes.open_workspace(Checkout(source=source, hints=hints)) as workspace:
            return (await workspace.run_tests()).outcomes
    finally:
        await sandboxes.close()


def measure(built: Built, cycles: int) -> dict[str, Any]:
    """Improve a copy of one package, and compare its tests with those of the original."""
    fetch(built)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        copy, data = Path(scratch) / "tree", Path(scratch) / "data"
        shutil.copytree(built.tree, copy)
        records = improve(copy, data, built.package.command, cycles)
        before, again = (asyncio.run(outcomes(built.tree, built.package, data)) for _ in range(2))
        after = asyncio.run(outcomes(copy, built.package, data))
    tried = [one for one in records if one.improvement is not None]
    accepted = [one for one in tried if one.status is CycleStatus.SUCCESS_PROMOTED]
    renamed = before.keys() - again.keys()
    steady = {name: status for name, status in before.items() if name not in renamed}
    # As many names as vanish in another run of the original may be new here.
    new = after.keys() - before.keys()
    unexplained = new if len(new) > len(renamed) else set()
    changed = sorted(
        {name for name, status in steady.items() if after.get(name) is not status} | unexplained
    )
    rules = Counter(one.improvement.rule for one in accepted if one.improvement)
    return {
        "version": built.package.version,
        "tried": len(tried),
        "accepted": len(accepted),
        "tested": sum(
            any(check.name == "tests" and check.proves for check in one.evaluation.checks)
            for one in accepted
        ),
        "rules": dict(sorted(rules.items())),
        "rejected": sorted({one.reason for one in tried if one not in accepted}),
        "tests": sum(status is TestStatus.PASS for status in before.values()),
        "renamed": len(renamed),
        "changed_tests": changed[:20],
        "seconds": round(time.perf_counter() - began),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--only", nargs="*", default=PACKAGES, metavar="NAME")
    parser.add_argument("--cycles", type=int, default=CYCLES, help="most improvements of a package")
    asked = parser.parse_args()
    was_off = as_users_have_it()
    found: dict[str, Any] = {}
    packages = {package.name: package for package in Package.all()}
    for package in [packages[name] for name in asked.only]:
        try:
            found[package.name] = measure(Built(asked.folder, package), asked.cycles)
        except (SandboxError, RuntimeError) as error:
            found[package.name] = {
                "error": str(error),
                "accepted": 0,
                "tested": 0,
                "changed_tests": [],
            }
        say(f"{package.name}: {json.dumps(found[package.name])}")
    totals = {
        "accepted": sum(one["accepted"] for one in found.values()),
        "tested": sum(one["tested"] for one in found.values()),
        "changed_tests": sum(len(one["changed_tests"]) for one in found.values()),
    }
    report("improve", {**totals, "packages": found}, bytecode_was_off=was_off)


if __name__ == "__main__":
    main()
