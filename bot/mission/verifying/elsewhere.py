"""Explain a failure in the second sandbox: the change, or a suite bound to its surroundings?

Both sandboxes run the same tests on the same files, in different surroundings. A test counts as
bound to its surroundings only if that was measured on code without the change: on the failing
commit, or on its base.
"""

from bot.mission.failures.reports import select_targets
from bot.mission.verifying.compare import find_renamed
from bot.mission.verifying.fresh_sandbox import FreshSandbox
from bot.ports import OpenWorkspace
from sandbox.errors import HostGone, SandboxError
from sandbox.types import (
    CHANGED,
    USUAL,
    Checkout,
    Frozen,
    RunVerdict,
    Surroundings,
    TestReport,
    TestStatus,
    stands_for,
)

# A run that a limit ended says nothing about surroundings.
_UNEXPLAINED = frozenset({RunVerdict.TIMEOUT, RunVerdict.OOM, RunVerdict.OUTPUT_LIMIT})
_SHOWN = 3


class Elsewhere(Frozen):
    """Causes of a failure in the changed surroundings; empty if chance explains it."""

    blamed: tuple[str, ...] = ()
    """Tests that pass in the usual surroundings only, because of the change."""
    bound: tuple[str, ...] = ()
    """Tests that pass in the usual surroundings only, also without the change."""
    unproven: tuple[str, ...] = ()
    """Tests of `bound` that the change repairs; only the usual surroundings prove that."""

    @property
    def reason(self) -> str:
        """Return the reason for rejecting such a fix."""
        count = len(self.blamed)
        names = ", ".join(f"`{name}`" for name in self.blamed[:_SHOWN])
        more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
        verb = "fails" if count == 1 else "fail"
        return (
            f"passes only in one of two different surroundings: {names}{more} {verb} where "
            "checkout path, user, host name, time zone, locale, CI variables and the order of "
            "folders are others"
        )


def lost_in(full: TestReport, there: TestReport) -> frozenset[str]:
    """Return the tests that pass in one run and not in another; without tests, the command.

    Args:
        full: The whole command in the usual surroundings.
        there: The same in other surroundings.
    """
    if not full.knows_tests:
        return frozenset() if there.success else frozenset({full.target})
    failing = {name for name in there.failing if name not in full.failing}
    found = failing | {
        name for name in full.passing if there.outcomes.get(name) is not TestStatus.PASS
    }
    return frozenset(found) or (frozenset() if there.success else frozenset({full.target}))


async def explain(
    second: FreshSandbox,
    full: TestReport,
    before: TestReport,
    *,
    checkout: Checkout,
    open_workspace: OpenWorkspace,
    asks: bool,
) -> Elsewhere:
    """Return the causes of a second sandbox that is not green.

    Args:
        second: The sandbox in other surroundings, where a run failed that passed before.
        full: The whole command in the usual surroundings, green.
        before: The red run.
        checkout: The failing commit.
        open_workspace: Opens its base commit.
        asks: The change adds code that reads its surroundings.
    """
    there = await second.once_more()
    lost = lost_in(full, there)
    if not lost or there.verdict in _UNEXPLAINED:
        return Elsewhere()  # it passes there now, or has no result: the runs only disagree
    bare = await second.without_the_change((), seed=0)
    lost = lost - _renamed(lost, full, there, before=before, bare=bare)
    repaired = {name for name in lost if _is_repaired(name, before)}
    bound = {name for name in lost - repaired if _is_bound(name, before, bare)}
    # Skipped there without the change: the test itself depends on its surroundings.
    unproven = {name for name in repaired if bare.outcomes.get(name) is TestStatus.SKIP}
    if repaired - unproven and lost == repaired | bound:
        unproven |= await _bound_on_base(repaired - unproven, before, checkout, open_workspace)
    # A change that reads its surroundings may itself tell the sandboxes apart: no excuse.
    blamed = lost - bound - (frozenset() if asks else unproven)
    return Elsewhere(
        blamed=tuple(sorted(blamed)),
        bound=tuple(sorted(bound | unproven)),
        unproven=tuple(sorted(unproven)),
    )


def _renamed(
    lost: frozenset[str],
    full: TestReport,
    there: TestReport,
    *,
    before: TestReport,
    bare: TestReport,
) -> frozenset[str]:
    """Return the lost tests that only have another name in each run.

    There are none if fewer tests pass in the other sandbox, or if fewer names differ without the
    change.
    """
    if len(there.passing) < len(full.passing):
        return frozenset()
    known = before.outcomes.keys() | there.outcomes.keys() | bare.outcomes.keys()
    found = lost - known
    return found if len(found) <= len(find_renamed(before, bare)) else frozenset()


def _is_repaired(name: str, before: TestReport) -> bool:
    """Return True if the red run failed there: only such a test can prove the change."""
    return not before.knows_tests or any(stands_for(red, name) for red in before.failing)


def _is_bound(name: str, before: TestReport, bare: TestReport) -> bool:
    """Return True if the failing commit passes a test in the usual surroundings only."""
    # A missing name counts too: some test names contain the path, the user or the time zone.
    is_whole = bare.verdict in {RunVerdict.PASS, RunVerdict.FAIL}
    return is_whole and before.outcomes.get(name) is TestStatus.PASS and name not in bare.passing


async def _bound_on_base(
    names: frozenset[str] | set[str],
    before: TestReport,
    checkout: Checkout,
    open_workspace: OpenWorkspace,
) -> set[str]:
    """Return the repaired tests that the base commit passes in the usual surroundings only."""
    try:
        usual = await _on_base(USUAL, before, checkout, open_workspace)
        changed = await _on_base(CHANGED, before, checkout, open_workspace)
    except HostGone:
        raise
    except SandboxError:
        return set()  # without a base nothing excuses the failures
    if usual is None or changed is None or not usual.success:
        return set()
    return set(names) & lost_in(usual, changed)


async def _on_base(
    surroundings: Surroundings,
    before: TestReport,
    checkout: Checkout,
    open_workspace: OpenWorkspace,
) -> TestReport | None:
    base = checkout.with_(revision="base", surroundings=surroundings)
    async with open_workspace(base) as workspace:
        if (await workspace.facts()).base_sha is None:
            return None
        return await workspace.run_tests(targets=select_targets(before))
