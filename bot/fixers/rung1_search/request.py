"""Build the search request: failing tests, suspects and protected files."""

import hashlib
from collections.abc import Mapping, Sequence

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext, Outcome
from bot.fixers.rung1_search.locate import red_hunks, suspect_lines
from bot.fixers.rung1_search.order import template_shifts
from bot.ports import Recall
from sandbox.languages import LANGUAGES
from sandbox.types import SearchRequest, TestReport, WorkspaceFacts

PROTECTED = (
    *(
        pattern
        for language in LANGUAGES
        for name in language.test_files
        for pattern in (name, f"*/{name}")
    ),
    "tests/*",
    "*/tests/*",
    "test/*",
    "*/test/*",
    "conftest.py",
    "*/conftest.py",
    "setup.py",
    "noxfile.py",
)
"""Files a search never edits: tests, and the configuration of tests and builds."""


MOST_SURVIVORS = 24
"""Maximum number of fixes that a search keeps while none of their behaviours is ahead."""
HOLD_OUT_FROM = 6
"""Minimum number of nearby passing tests before some are held out."""
_SHARE = 3
"""One in this many nearby tests is held out."""


def hold_out_tests(report: TestReport, seed: int) -> tuple[str, ...]:
    """Return a third of the passing tests in the files of failing ones.

    These tests validate a fix and are hidden from the search.

    Args:
        report: The red run.
        seed: Random seed of the choice.
    """
    files = {_file_of(name) for name in report.failing}
    near = [name for name in sorted(report.passing) if _file_of(name) in files]
    return sample_tests(near, len(near) // _SHARE, seed) if len(near) >= HOLD_OUT_FROM else ()


def sample_tests(tests: Sequence[str], count: int, seed: int) -> tuple[str, ...]:
    """Return a random sample of the tests, fixed by the seed, in their original order."""

    def place(test: str) -> str:
        return hashlib.sha256(f"{seed}/{test}".encode()).hexdigest()

    # A hash order is stable across processes and Python versions.
    taken = set(sorted(tests, key=place)[:count])
    return tuple(test for test in tests if test in taken)


def hide_tests(request: SearchRequest, tests: Sequence[str]) -> SearchRequest:
    """Hide these passing tests from the search."""
    hidden = frozenset(tests)
    return request.with_(
        passing=tuple(test for test in request.passing if test not in hidden), held_out=tuple(tests)
    )


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def build_request(
    facts: WorkspaceFacts,
    report: TestReport,
    diagnosis: Diagnosis,
    *,
    record: Mapping[str, tuple[float, float]] | None = None,
    recalled: Sequence[str] = (),
    seed: int = 0,
) -> SearchRequest:
    """Build the request for a red run; the caller sets the limits.

    Args:
        facts: Facts about the workspace.
        report: The red run.
        diagnosis: Suspects and failures.
        record: Past results of templates.
        recalled: Templates that fixed failures like this one.
        seed: Seed of everything random.
    """
    return SearchRequest(
        command=facts.recipe.command,
        failing=tuple(sorted(report.failing)),
        passing=tuple(sorted(report.passing)),
        suspects=suspect_lines(diagnosis, report.failures, facts.red_diff),
        red_hunks=red_hunks(facts.red_diff),
        template_shifts=template_shifts(record or {}, recalled),
        protected=PROTECTED,
        most_survivors=MOST_SURVIVORS,
        seed=seed,
    )


def is_searchable(report: TestReport) -> bool:
    """Return True if the runner reports tests by name and a search knows it.

    Args:
        report: The red run.
    """
    return report.knows_tests and bool(report.traits.searched_by)


async def build_mission_request(  # noqa: PLR0917 - all known facts of a mission's red run
    recall: Recall,
    context: MissionContext,
    diagnosis: Diagnosis,
    facts: WorkspaceFacts,
    report: TestReport,
) -> SearchRequest:
    """Build the request for a mission, with the past results of its repository.

    Args:
        recall: Provides past results.
        context: The mission's context.
        diagnosis: Suspects and failures.
        facts: Facts about the workspace.
        report: The red run.
    """
    error = next((failure.error for failure in report.failures if failure.error), None)
    record = await recall.template_record(repository_id=context.request.memory_key, error=error)
    alike = [one.lesson for one in context.lessons if one.lesson.verdict is not False]
    return build_request(
        facts,
        report,
        diagnosis,
        record=record,
        recalled=[one.template for one in alike if one.template and one.outcome == Outcome.FIXED],
        seed=context.request.seed,
    )
