"""The confidence before acting: what it allowed, what it held back, and why something went on all the same."""

from bot.domain.decision import Action
from bot.domain.mission import Iteration
from bot.domain.verdict import Route
from bot.publish.markdown import Pen

_HELD = (
    "held back was what costs money (rung 2): {why}; rungs 0 and 1 went on, because they cost nothing and only runs of "
    "the tests decide about what they find"
)
_CAUTION = "so a pull request is a draft, and nothing is pushed to a person's branch"


def before_acting(iteration: Iteration, pen: Pen) -> list[str]:
    """Return the confidence that routed an iteration and its risks, for a report; nothing where there was none.

    Args:
        iteration: The one that is told of.
        pen: Writes foreign text.
    """
    confidence = iteration.confidence
    if confidence is None:
        return []
    # By the rules the reasoning's score is the mean of the others: it would tell a reader nothing.
    by_model = iteration.meta is not None and iteration.meta.by == "model"
    parts = ", ".join(
        f"{name} {value:.2f}"
        for name, value in confidence.components
        if value is not None and (name != "meta" or by_model)
    )
    sentence = f"before acting: {confidence.overall:.2f} ({parts}), which allowed: {confidence.action.value}"
    said = [sentence.replace("_", " "), *_exception(iteration, pen)]
    if confidence.action is not Route.EXECUTE:
        said.append(_CAUTION)
    return ["; ".join(said), *(f"risk: {pen.prose(risk, cap=200)}" for risk in confidence.risk_factors)]


def _exception(iteration: Iteration, pen: Pen) -> list[str]:
    """Why something ran that the route alone does not allow."""
    action = iteration.next_action
    route = iteration.confidence.action if iteration.confidence else Route.EXECUTE
    if action is None or action.decision.action is not Action.RUN_WORKER:
        return []
    if action.held:
        return [_HELD.format(why=pen.prose(action.held, cap=300))]
    if route in {Route.EXECUTE, Route.EXECUTE_WITH_CAUTION}:
        return []
    return [f"it went on all the same: {pen.prose(action.decision.reason, cap=300)}"]
