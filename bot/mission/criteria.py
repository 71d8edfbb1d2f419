"""What decides an acceptance criterion, and whether it is met. Pure."""

from bot.domain.plan import AcceptanceCriterion
from sandbox.types import Frozen

CHECK_SUITE = "suite"
CHECK_COLLECTED = "collected"
CHECK_PATHS = "paths"


class Findings(Frozen):
    """What a verification found out, as far as criteria ask for it."""

    passing: frozenset[str] = frozenset()
    """Tests that passed in every run they were part of."""
    suite: bool = False
    """The whole command was green every time."""
    collected: bool = False
    """No test disappeared, none is newly skipped."""
    paths: bool = False
    """Only allowed paths were edited."""


def judged(criteria: tuple[AcceptanceCriterion, ...], findings: Findings) -> tuple[AcceptanceCriterion, ...]:
    """The criteria with their `passed` brought up to date; what nothing decides has not passed.

    Args:
        criteria: As they were.
        findings: What was measured.
    """
    by_name = {CHECK_SUITE: findings.suite, CHECK_COLLECTED: findings.collected, CHECK_PATHS: findings.paths}
    return tuple(
        criterion.with_(passed=by_name.get(criterion.check or "", criterion.check in findings.passing))
        for criterion in criteria
    )


def all_critical_passed(criteria: tuple[AcceptanceCriterion, ...]) -> bool:
    """Whether nothing critical is open; no critical criterion at all proves nothing.

    Args:
        criteria: As they stand.
    """
    critical = [criterion for criterion in criteria if criterion.critical]
    return bool(critical) and all(criterion.passed for criterion in critical)
