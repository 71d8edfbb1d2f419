"""Which test has to run before another one so that it fails: found by halving, in a few short runs."""

from bot.mission.triage.site import Site, reds
from sandbox.types import TestReport

_MOST_BEFORE = 512
_MOST_RUNS = 12
"""Halving 512 tests takes nine runs, and two show that the answer holds."""


async def find_neighbours(site: Site, red: TestReport, *, wall_s: float) -> tuple[str, ...]:
    """The test that has to run before, and the first failing one; empty when no single test does it.

    Args:
        site: Where to run.
        red: The red run, with every test in the order in which it ran.
        wall_s: After so many seconds of running the search is given up.
    """
    names, failing = [name for name in red.outcomes if "::" in name], red.failing
    victim = next((name for name in names if name in failing), None)
    if victim is None or not red.knows_tests:
        return ()
    before = names[: names.index(victim)]
    if not 0 < len(before) <= _MOST_BEFORE:
        return ()
    runs, spent = 0, 0.0

    async def fails_after(some: list[str]) -> bool:
        nonlocal runs, spent
        runs += 1
        rerun, _ = await site.run((*some, victim), seed=0)
        spent += rerun.report.duration_s
        return victim in reds(rerun.report, red)

    while len(before) > 1 and runs < _MOST_RUNS and spent < wall_s:
        half = before[: len(before) // 2]
        before = half if await fails_after(half) else before[len(before) // 2 :]
    return (before[0], victim) if len(before) == 1 and await fails_after(before) else ()
