"""Measurements on the failing commit: again alone, as a whole, in a random order, until a rule is satisfied."""

from collections.abc import Sequence

from bot.mission.reports import bounded, targets_of
from bot.mission.signatures import missing_modules, no_verdict
from bot.mission.triage.order import find_neighbours
from bot.mission.triage.rates import WHOLE_RUNS, another
from bot.mission.triage.site import Site, failures_of, reds
from bot.mission.triage.values import Evidence, Rerun
from sandbox.types import TestOrder, TestReport

_QUICK_S = 5.0
"""A whole command that is this quick is run again as a whole: it shows more than its tests alone."""
_HANG_S = 20.0
"""Each rerun of a test that hangs takes the whole time limit; after this long the first answer has to do."""
_LAST = 2
"""So many of the last runs are made in sandboxes of their own."""


async def measure_red(site: Site, red: TestReport) -> Evidence:
    """After a red first run: the failing tests again, alone; as a whole when none of them fails alone.

    Args:
        site: Where to run.
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
    """The failing tests alone, as often as the rule asks for; the whole command where they have no names."""
    targets, plan = targets_of(red), site.plan
    if red.hangs:
        plan = plan.with_(least=1, wall_s=min(_HANG_S, plan.wall_s))
    found: list[Rerun] = []
    agreed: list[bool] = []
    while another(agreed, sum(run.report.duration_s for run in found), plan):
        fresh = not all(agreed) and len(agreed) >= plan.most - 1 - _LAST
        rerun, report = await site.run(targets, seed=len(found) + 1, fresh=fresh)
        if targets and not report.success and no_verdict(report):
            targets = ()  # the names cannot be asked for one by one
            continue
        found.append(rerun)
        agreed.append(reds(report, red) == failures_of(red))
    return tuple(found)


async def _whole(site: Site, red: TestReport, *, first_seed: int) -> tuple[Rerun, ...]:
    """The whole command again: either they depend on what runs before them, or chance had its hand in it."""
    most = 1 if red.hangs else WHOLE_RUNS
    found: list[Rerun] = []
    while len(found) < most and (not found or reds(found[-1].report, red)):
        rerun, _ = await site.run(seed=first_seed + len(found), fresh=True)
        found.append(rerun)
    return tuple(found)


async def _order(site: Site, red: TestReport, found: Evidence) -> Evidence:
    """Green alone, red together: is it the order, or what an earlier run left in the sandbox; and who is to blame."""
    seed = len(found.reruns) + 1
    anew, _ = await site.run(targets_of(red), seed=seed, fresh=True)
    if reds(anew.report, red):
        return found.with_(reruns=(*found.reruns, anew), leaves_traces=True)
    left_s = site.plan.wall_s - sum(run.report.duration_s for run in (*found.reruns, anew))
    if left_s <= 0:
        return found  # what follows only explains
    shuffled, _ = await site.run(seed=seed + 1, order="random")
    neighbours = await find_neighbours(site, red, wall_s=left_s - shuffled.report.duration_s)
    return found.with_(shuffled=(shuffled,), neighbours=neighbours)


async def measure_green(site: Site, first: TestReport, named: Sequence[str]) -> Evidence:
    """After a green first run, when only CI saw it fail: again, until the rule says that it cannot be had.

    Args:
        site: Where to run.
        first: The green run.
        named: The tests that failed in CI, as far as they exist here.
    """
    targets = () if first.duration_s <= _QUICK_S else tuple(named)
    total = site.plan.most - 1
    found: list[Rerun] = []
    red: TestReport | None = None

    def has_time() -> bool:
        return sum(run.report.duration_s for run in found) + first.duration_s < site.plan.wall_s

    while len(found) < total and (len(found) < site.plan.least - 1 or has_time()):
        rerun, report = await site.run(targets, seed=len(found) + 1, fresh=len(found) >= total - _LAST)
        if targets and not report.success and no_verdict(report):
            targets = ()
            continue
        found.append(rerun)
        red = red or (None if report.success else bounded(report))
    if red is not None or not first.knows_tests or not has_time():
        return Evidence(reruns=tuple(found), red=red)
    return await _shuffled(site, Evidence(reruns=tuple(found)))


async def _shuffled(site: Site, found: Evidence) -> Evidence:
    """The whole command in a random order and backwards; red in the same order three times is no chance.

    Backwards too, because a random order of few tests is often the given one.
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
