"""What the sandbox is asked to search: the failing tests, where to look first, what may not be edited."""

from collections.abc import Mapping

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
