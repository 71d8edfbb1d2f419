"""Criteria added by a model: no run decides them, and a denied critical one prevents FIXED."""

from collections.abc import Sequence

from bot.domain.plan import AcceptanceCriterion
from bot.llm import passages
from bot.llm.protocol.messages import CriterionUpdate


def answers(
    criteria: Sequence[AcceptanceCriterion], said: Sequence[CriterionUpdate]
) -> dict[str, bool]:
    """Return a model's answers on its own criteria, by their id here.

    A description names a criterion more surely than an id: criteria of a model get new ids.

    Args:
        criteria: All criteria of the mission.
        said: The model's answers on some of them.
    """
    own = [criterion for criterion in criteria if criterion.check is None]
    by_description = {criterion.description: criterion.id for criterion in own}
    by_id = {criterion.id: criterion.id for criterion in own}
    found = {}
    for update in said:
        described = by_description.get(passages.line(update.description))
        # The id only counts for an answer without a description.
        name = described if update.description else by_id.get(update.id)
        if name is not None and update.passed is not None:
            found[name] = update.passed
    return found


def denied_by(
    criteria: tuple[AcceptanceCriterion, ...], said: Sequence[CriterionUpdate]
) -> tuple[AcceptanceCriterion, ...]:
    """Return the criteria after a model's answers before any attempt; only a denial counts yet."""
    known = answers(criteria, said)
    return tuple(
        criterion.with_(denied=not known[criterion.id]) if criterion.id in known else criterion
        for criterion in criteria
    )
