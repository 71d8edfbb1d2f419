"""The confidence before acting: what it allowed, what it held back, and why something went on all the same."""

from collections.abc import Callable

from bot.domain.decision import Action
from bot.domain.mission import Iteration
from bot.domain.verdict import Route

_HELD = (
    "held back was what costs money (rung 2): {why}; rungs 0 and 1 went on, because they cost nothing and only runs of "
    "the tests decide about what they find"
)
_CAUTION = "so a pull request is a draft, and nothing is pushed to a person's branch"


def asks_for_caution(iteration: Iteration) -> bool:
    """Return whether the route is not simply to execute, or a model would have held the iteration back."""
    confidence, action = iteration.confidence, iteration.next_action
    held = action is not None and bool(action.held)
    return held or (confidence is not None and confidence.action is not Route.EXECUTE)


def before_acting(iteration: Iteration, say: Callable[[str], str]) -> list[str]:
    """Return the confidence that routed an iteration and its risks, for a report; nothing where there was none.

    Args:
        iteration: The one that is told of.
        say: Makes foreign text safe where it is shown.
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
    said = [sentence.replace("_", " "), *_exception(iteration, say)]
    if asks_for_caution(iteration):
        said.append(_CAUTION)
    return ["; ".join(said), *(f"risk: {say(risk)}" for risk in confidence.risk_factors)]


def _exception(iteration: Iteration, say: Callable[[str], str]) -> list[str]:
    """Why something ran that the route alone does not allow."""
    action = iteration.next_action
    route = iteration.confidence.action if iteration.confidence else Route.EXECUTE
    if action is None or action.decision.action is not Action.RUN_WORKER:
        return []
    if action.held:
        return [_HELD.format(why=say(action.held))]
    if route in {Route.EXECUTE, Route.EXECUTE_WITH_CAUTION}:
        return []
    return [f"it went on all the same: {say(action.decision.reason)}"]
