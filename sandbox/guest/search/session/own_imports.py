"""Import the modules of the checkout that tests import while they run.

Otherwise every child would import them again, and no code in them could be exchanged.
"""

from __future__ import annotations

from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.preload import import_each
from sandbox.guest.search.process.threads import own_threads
from sandbox.guest.search.session.baseline import Choice, SuiteBaseline, SuiteTurns
from sandbox.guest.search.session.harness import PASS


def import_own_modules(
    baseline: SuiteBaseline, test_cpu_s: float, wait_s: float, chosen: Choice
) -> None:
    """Import these modules in this process if no screened test behaves differently then.

    Args:
        baseline: The reproduced suite.
        test_cpu_s: CPU limit of a test, in seconds.
        wait_s: Timeout of the child that tries it first, in seconds.
        chosen: Selects the tests that candidates may run.
    """
    names = baseline.own_imported
    if not names or baseline.isolated:
        return
    turns = SuiteTurns(baseline.items, test_cpu_s, wait_s, chosen)

    def work(limiter: Limiter, report: Report) -> None:
        report([*import_each(names)])
        runner = turns.runner(limiter)
        for index in turns.screen_order(baseline):
            outcome, _, mark, _, _ = turns.run(runner, index)
            same = (outcome == PASS) == (index not in baseline.marks)
            if index in baseline.screened and not (same and mark == baseline.marks.get(index, "")):
                return
        report(own_threads() == 1)

    reports = collect(work, wait_s)
    # A child may report anything.
    if reports[1:] == [True] and isinstance(reports[0], list):
        for _ in import_each([name for name in names if name in reports[0]]):
            pass
