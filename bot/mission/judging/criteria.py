"""Acceptance criteria: their checks and their state. Pure."""

from collections.abc import Mapping

from bot.domain.plan import AcceptanceCriterion
from sandbox.types import Frozen

CHECK_SUITE = "suite"
CHECK_COLLECTED = "collected"
CHECK_PATHS = "paths"


class Findings(Frozen):
    """Results of a verification that criteria can ask for."""

    passing: frozenset[str] = frozenset()
    """Tests that passed in every run that included them."""
    suite: bool = False
    """The whole command was green in every run."""
    collected: bool = False
    """No test disappeared, and none is newly skipped."""
    paths: bool = False
    """Only allowed paths were edited."""


def judged(
    criteria: tuple[AcceptanceCriterion, ...], findings: Findings
) -> tuple[AcceptanceCriterion, ...]:
    """Return the criteria with updated `passed`; runs decide nothing about those of a model.

    Args:
        criteria: The criteria before the verification.
        findings: The measured results.
    """
    by_name = {
        CHECK_SUITE: findings.suite,
        CHECK_COLLECTED: findings.collected,
        CHECK_PATHS: findings.paths,
    }
    return tuple(
        criterion.with_(
            passed=by_name.get(criterion.check or "", criterion.check in findings.passing)
        )
        for criterion in criteria
    )


def after_review(
    criteria: tuple[AcceptanceCriterion, ...], answers: Mapping[str, bool]
) -> tuple[AcceptanceCriterion, ...]:
    """Return the criteria with a model's final answer on those that it added.

    Args:
        criteria: The criteria after the runs.
        answers: The model's answers by id; True if the criterion holds.
    """
    return tuple(
        criterion.with_(passed=answers[criterion.id], denied=not answers[criterion.id])
        if criterion.check is None and criterion.id in answers
        else criterion
        for criterion in criteria
    )


def denied(criteria: tuple[AcceptanceCriterion, ...]) -> tuple[AcceptanceCriterion, ...]:
    """Return the critical criteria that a model denies; each of them prevents FIXED."""
    return tuple(criterion for criterion in criteria if criterion.critical and criterion.denied)


def unconfirmed(criteria: tuple[AcceptanceCriterion, ...]) -> tuple[str, ...]:
    """Return the critical criteria that neither a run nor a model decided, in words."""
    return tuple(
        f"`{criterion.description}`: the model called it critical, and nothing decides it"
        for criterion in criteria
        if criterion.critical
        and criterion.check is None
        and not (criterion.passed or criterion.denied)
    )


def all_critical_passed(criteria: tuple[AcceptanceCriterion, ...]) -> bool:
    """Return True if runs confirmed every critical criterion, and there is at least one.

    Args:
        criteria: The current criteria.
    """
    # An empty list proves nothing: without a criterion that runs decide, nothing is complete.
    critical = [
        criterion for criterion in criteria if criterion.critical and criterion.check is not None
    ]
    return bool(critical) and all(criterion.passed for criterion in critical)
