"""How honest test suites answer known-answer copies: tests of real packages, one function at a time.

    python -m benchmarks.known_answers [--folder FOLDER] [--only NAME ...] [--functions N] [--seed N]

Every function passes. `confirmed` is what should happen; `unconfirmed` would cost a right fix its
verdict, `forged` would call an honest suite tampered with, `not copied` is believed as before.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.measure import as_users_have_it, report
from benchmarks.sets.built import Built, Package, builder_options, fetch, say
from benchmarks.sets.judge import open_bug
from sandbox.backends import open_backend
from sandbox.errors import SandboxError
from sandbox.spec import SandboxSpec
from sandbox.types import RunVerdict, TestReport
from sandbox.workspace import Sandboxes, SandboxWorkspace


async def observed(
    workspace: SandboxWorkspace, functions: int, seed: int
) -> tuple[Counter[str], list[float]]:
    """Observe a sample of a package's test functions; findings by name, and the seconds each took."""
    whole = await workspace.run_tests()
    names = sorted({name.partition("[")[0] for name in whole.passing if "::" in name})
    findings: Counter[str] = Counter()
    seconds = []
    random_source = random.Random(seed)  # noqa: S311 - a sample
    for name in random_source.sample(names, min(functions, len(names))):
        plain = await workspace.run_tests(targets=(name,))
        if not plain.success:
            continue  # red alone: no verdict would be believed anyway
        started = time.perf_counter()
        confirmed = await workspace.run_tests(targets=(name,), confirm=True)
        seconds.append(max(0.0, time.perf_counter() - started - plain.duration_s))
        findings[_finding(confirmed)] += 1
        if not confirmed.success:
            say(f"{name}: {confirmed.summary}")
    return findings, seconds


def _finding(confirmed: TestReport) -> str:
    if confirmed.verdict is RunVerdict.TAMPERED:
        return "forged"
    if not confirmed.success:
        return "unconfirmed"
    return "not copied" if confirmed.unconfirmed else "confirmed"


async def main() -> None:
    """Print one line of JSON."""
    bytecode_was_off = as_users_have_it()
    parser = builder_options(__doc__)
    parser.add_argument("--functions", type=int, default=20, help="of each package")
    asked = parser.parse_args()
    spec = SandboxSpec(pool=0)
    findings: Counter[str] = Counter()
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as data:
        sandboxes = Sandboxes(spec, open_backend(spec), Path(data))
        for package in Package.all():
            if asked.only and not package.name.startswith(tuple(asked.only)):
                continue
            built = Built(asked.folder, package)
            fetch(built)
            try:
                async with open_bug(sandboxes, built.as_bug(), built.tree) as workspace:
                    found, took = await observed(workspace, asked.functions, asked.seed)
            except SandboxError as error:
                say(f"{package.name}: {error.message} {error.advice}")
                continue
            say(f"{package.name}: {dict(found)}")
            findings += found
            seconds += took
        await sandboxes.close()
    result = {
        "functions": findings.total(),
        **findings,
        "median_s": round(statistics.median(seconds), 3),
    }
    report("known_answers", result, bytecode_was_off=bytecode_was_off)


if __name__ == "__main__":
    asyncio.run(main())
