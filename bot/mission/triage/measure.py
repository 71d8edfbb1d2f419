"""Measure the failing commit: alone, as a whole and in random order, until a rule is satisfied."""

from collections.abc import Sequence

from bot.mission.failures.reports import bounded, select_targets
from bot.mission.failures.signatures import missing_modules, no_verdict
from bot.mission.triage.order import find_neighbours
from bot.mission.triage.rates import WHOLE_RUNS, another
from bot.mission.triage.site import Site, list_failures, reds
from bot.mission.triage.values import Evidence, Rerun
from sandbox.types import TestOrder, TestReport

_QUICK_S = 5.0
"""A command up to this duration is rerun as a whole, which shows more than its tests alone; in
seconds."""
_HANG_S = 20.0
"""Time for reruns of a hanging test, each of which takes the whole time limit; in seconds."""
_LAST = 2
"""Number of the last runs that each get a sandbox of their own."""


async def measure_red(site: Site, red: TestReport) -> Evidence:
    """Rerun the failing tests alone after a red first run; as a whole if none fails alone.

    Args:
        site: The sandboxes to run in.
        red: The first run.
    """
    alone = await _alone(site, red)
    files: tuple[str, ...] = ()
    if missing_modules(red, ()):
        files = await (await site.tree.at()).list_files()
    if any(run.whole for run in alone) or any(reds(run.report, red) for run in alone):
        return Evidence(reruns=alone, files=files)
    whole = await _whole(site, red, first_seed=len(alone) + 1)
    found = Evidence(reruns=(*alone, *whole), files=files)
    if not whole or not all(reds(run.report, red) for run in whole) or red.hangs:
        return found
    return await _order(site, red, found)


async def _alone(site: Site, red: TestReport) -> tuple[Rerun, ...]:
    """Run the failing tests alone as often as the rule asks; without names, the whole command."""
    targets, plan = select_targets(red), site.plan
    if red.hangs:
        plan = plan.with_(least=1, wall_s=min(_HANG_S, plan.wall_s))
    found: list[Rerun] = []
    agreed: list[bool] = []
    while another(agreed, sum(run.report.duration_s for run in found), plan):
        # The last runs of a mixed series rule out that an earlier run in the sandbox is to blame.
        fresh = not all(agreed) and len(agreed) >= plan.most - 1 - _LAST
        rerun, report = await site.run(targets, seed=len(found) + 1, fresh=fresh)
        if targets and not report.success and no_verdict(report):
            targets = ()  # the tests cannot be run by name
            continue
        found.append(rerun)
        # All failures must come back: a part of them is already a disagreement.
        agreed.append(reds(report, red) == list_failures(red))
    return tuple(found)


async def _whole(site: Site, red: TestReport, *, first_seed: int) -> tuple[Rerun, ...]:
    """Rerun the whole command: the tests depend on earlier ones, or on chance."""
    most = 1 if red.hangs else WHOLE_RUNS
    found: list[Rerun] = []
    while len(found) < most and (not found or reds(found[-1].report, red)):
        rerun, _ = await site.run(seed=first_seed + len(found), fresh=True)
        found.append(rerun)
    return tuple(found)


async def _order(site: Site, red: TestReport, found: Evidence) -> Evidence:
    """Find out if order or leftovers of an earlier run make the tests fail, and by which test."""
    seed = len(found.reruns) + 1
    clean, _ = await site.run(select_targets(red), seed=seed, fresh=True)
    if reds(clean.report, red):
        return found.with_(reruns=(*found.reruns, clean), leaves_traces=True)
    left_s = site.plan.wall_s - sum(run.report.duration_s for run in (*found.reruns, clean))
    if left_s <= 0:
        return found  # the rest only explains
    if red.traits.takes_order:
        shuffled, _ = await site.run(seed=seed + 1, order="random")
        left_s -= shuffled.report.duration_s
        found = found.with_(shuffled=(shuffled,))
    neighbours = await find_neighbours(site, red, wall_s=left_s)
    return found.with_(neighbours=neighbours)


async def measure_green(site: Site, first: TestReport, named: Sequence[str]) -> Evidence:
    """Rerun a command that only CI saw fail, until the rule says that it is not reproducible.

    Args:
        site: The sandboxes to run in.
        first: The green run.
        named: The tests that failed in CI and exist here.
    """
    targets = () if first.duration_s <= _QUICK_S else tuple(named)
    total = site.plan.most - 1
    found: list[Rerun] = []
    red: TestReport | None = None

    def has_time() -> bool:
        return sum(run.report.duration_s for run in found) + first.duration_s < site.plan.wall_s

    while len(found) < total and (len(found) < site.plan.least - 1 or has_time()):
        rerun, report = await site.run(
            targets, seed=len(found) + 1, fresh=len(found) >= total - _LAST
        )
        if targets and not report.success and no_verdict(report):
            targets = ()
            continue
        found.append(rerun)
        red = red or (None if report.success else bounded(report))
    if red is not None or not first.knows_tests or not first.traits.takes_order or not has_time():
        return Evidence(reruns=tuple(found), red=red)
    return await _shuffle(site, Evidence(reruns=tuple(found)))


async def _shuffle(site: Site, found: Evidence) -> Evidence:
    """Run the whole command in random and reverse order.

    Red in the same order three times is no chance. The random order of few tests often equals the
    given one, hence the reverse order.
    """
    seed = len(found.reruns) + 1
    green: list[Rerun] = []
    orders: tuple[TestOrder, ...] = ("random", "reversed")
    for order in orders:
        rerun, report = await site.run(seed=seed, order=order)
        if report.success:
            green.append(rerun)
            continue
        again = [(await site.run(seed=seed, order=order))[0] for _ in range(2)]
        return found.with_(shuffled=(rerun, *again), red=bounded(report))
    return found.with_(shuffled=tuple(green))
