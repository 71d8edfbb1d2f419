"""What decides an acceptance criterion, and whether it is met. Pure."""

from collections.abc import Mapping

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
    """The criteria with their `passed` brought up to date; runs say nothing about those of a model.

    Args:
        criteria: As they were.
        findings: What was measured.
    """
    by_name = {CHECK_SUITE: findings.suite, CHECK_COLLECTED: findings.collected, CHECK_PATHS: findings.paths}
    return tuple(
        criterion.with_(passed=by_name.get(criterion.check or "", criterion.check in findings.passing))
        for criterion in criteria
    )


def after_review(
    criteria: tuple[AcceptanceCriterion, ...], answers: Mapping[str, bool]
) -> tuple[AcceptanceCriterion, ...]:
    """Return the criteria with a model's last word on those it added itself.

    Args:
        criteria: After the runs.
        answers: By id, whether the criterion holds.
    """
    return tuple(
        criterion.with_(passed=answers[criterion.id], denied=not answers[criterion.id])
        if criterion.check is None and criterion.id in answers
        else criterion
        for criterion in criteria
    )


def denied(criteria: tuple[AcceptanceCriterion, ...]) -> tuple[AcceptanceCriterion, ...]:
    """Return the critical criteria of which a model says that they do not hold; each keeps a mission from FIXED."""
    return tuple(criterion for criterion in criteria if criterion.critical and criterion.denied)


def unconfirmed(criteria: tuple[AcceptanceCriterion, ...]) -> tuple[str, ...]:
    """Return the critical criteria that neither a run nor a model has decided, in words."""
    return tuple(
        f"`{criterion.description}`: the model called it critical, and nothing decides it"
        for criterion in criteria
        if criterion.critical and criterion.check is None and not (criterion.passed or criterion.denied)
    )


def all_critical_passed(criteria: tuple[AcceptanceCriterion, ...]) -> bool:
    """Whether nothing critical that runs decide is open; no such criterion at all proves nothing.

    Args:
        criteria: As they stand.
    """
    critical = [criterion for criterion in criteria if criterion.critical and criterion.check is not None]
    return bool(critical) and all(criterion.passed for criterion in critical)
