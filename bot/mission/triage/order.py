"""Find the test that makes a later one fail, by bisection in a few short runs."""

from bot.mission.triage.site import Site, reds
from sandbox.types import TestReport

_MOST_BEFORE = 512
"""Maximum number of tests before the failing one."""
_MOST_RUNS = 12
"""Maximum number of runs: bisecting 512 tests takes nine, and two confirm the result."""


async def find_neighbours(site: Site, red: TestReport, *, wall_s: float) -> tuple[str, ...]:
    """Return the test that has to run before, and the first failing one; empty if there is none.

    Args:
        site: The sandboxes to run in.
        red: The red run, with every test in the order in which it ran.
        wall_s: Time limit of the bisection, in seconds.
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

    # Plain bisection: it assumes one guilty test, and the last run confirms the result.
    while len(before) > 1 and runs < _MOST_RUNS and spent < wall_s:
        half = before[: len(before) // 2]
        before = half if await fails_after(half) else before[len(before) // 2 :]
    return (before[0], victim) if len(before) == 1 and await fails_after(before) else ()
