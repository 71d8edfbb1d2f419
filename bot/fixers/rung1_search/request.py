"""What the sandbox is asked to search: the failing tests, where to look first, what may not be edited."""

import hashlib
from collections.abc import Mapping, Sequence

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.fixers.rung1_search.locate import red_hunks, suspect_lines
from bot.fixers.rung1_search.order import template_shifts
from bot.ports import Recall
from sandbox.types import SearchRequest, TestReport, WorkspaceFacts

PROTECTED = (
    "test_*.py",
    "*/test_*.py",
    "*_test.py",
    "tests/*",
    "*/tests/*",
    "test/*",
    "*/test/*",
    "conftest.py",
    "*/conftest.py",
    "setup.py",
    "noxfile.py",
)
"""Never edited by a search: what judges the fix, and what configures the judge."""


HOLD_OUT_FROM = 6
"""Fewer passing tests than this near the failure are all shown to the search."""
_SHARE = 3
"""One in so many is held out."""


def held_out_of(report: TestReport, seed: int) -> tuple[str, ...]:
    """Return a third of the passing tests in the files of failing ones.

    They judge a fix, and the search never sees them.

    Args:
        report: The red run.
        seed: Chooses them.
    """
    files = {_file_of(name) for name in report.failing}
    near = [name for name in sorted(report.passing) if _file_of(name) in files]
    return chosen(near, len(near) // _SHARE, seed) if len(near) >= HOLD_OUT_FROM else ()


def chosen(tests: Sequence[str], count: int, seed: int) -> tuple[str, ...]:
    """Return so many tests by chance, always the same for a seed, in their order."""

    def place(test: str) -> str:
        return hashlib.sha256(f"{seed}/{test}".encode()).hexdigest()

    taken = set(sorted(tests, key=place)[:count])
    return tuple(test for test in tests if test in taken)


def holding_out(request: SearchRequest, tests: Sequence[str]) -> SearchRequest:
    """Return a request whose search does not see these passing tests."""
    hidden = frozenset(tests)
    return request.with_(passing=tuple(test for test in request.passing if test not in hidden), held_out=tuple(tests))


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def request_for(
    facts: WorkspaceFacts,
    report: TestReport,
    diagnosis: Diagnosis,
    *,
    record: Mapping[str, tuple[int, int]] | None = None,
    seed: int = 0,
) -> SearchRequest:
    """The request for a red run; limits are the caller's to set.

    Args:
        facts: What the workspace stands on.
        report: The red run.
        diagnosis: What is known about it.
        record: Which templates worked before.
        seed: Of everything random.
    """
    return SearchRequest(
        command=facts.recipe.command,
        failing=tuple(sorted(report.failing)),
        passing=tuple(sorted(report.passing)),
        suspects=suspect_lines(diagnosis, report.failures, facts.red_diff),
        red_hunks=red_hunks(facts.red_diff),
        template_shifts=template_shifts(record or {}),
        protected=PROTECTED,
        seed=seed,
    )


async def request_of(  # noqa: PLR0917 - all that is known of a mission's red run
    recall: Recall, context: MissionContext, diagnosis: Diagnosis, facts: WorkspaceFacts, report: TestReport
) -> SearchRequest:
    """The same for a mission, with what worked before in its repository.

    Args:
        recall: Knows that.
        context: Whose repository.
        diagnosis: What is known about the failure.
        facts: What the workspace stands on.
        report: The red run.
    """
    error = next((failure.error for failure in report.failures if failure.error), None)
    record = await recall.template_record(repository_id=context.request.memory_key, error=error)
    return request_for(facts, report, diagnosis, record=record, seed=context.request.seed)
