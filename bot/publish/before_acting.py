"""Report the confidence before acting: the route, held-back work and exceptions."""

from collections.abc import Callable

from bot.domain.decision import Action
from bot.domain.mission import Iteration
from bot.domain.verdict import Route

_HELD = (
    "paid work (rung 2) was held back: {why}; rungs 0 and 1 ran, because they are free "
    "and their results are decided by test runs only"
)
_CAUTION = "so pull requests are drafts, and nothing is pushed to a person's branch"


def asks_for_caution(iteration: Iteration) -> bool:
    """Return True if the route requires caution, or a model would have held the iteration back."""
    confidence, action = iteration.confidence, iteration.next_action
    held = action is not None and bool(action.held)
    return held or (confidence is not None and confidence.action is not Route.EXECUTE)


def before_acting(iteration: Iteration, say: Callable[[str], str]) -> list[str]:
    """Return the confidence that routed an iteration, and its risks; empty if there is none.

    Args:
        iteration: The iteration to report.
        say: Escapes untrusted text for the report.
    """
    confidence = iteration.confidence
    if confidence is None:
        return []
    # Without a model, the reasoning score is the mean of the others and adds no information.
    by_model = iteration.meta is not None and iteration.meta.by == "model"
    parts = ", ".join(
        f"{name} {value:.2f}"
        for name, value in confidence.components
        if value is not None and (name != "meta" or by_model)
    )
    sentence = (
        f"confidence before acting: {confidence.overall:.2f} ({parts}), "
        f"which allowed: {confidence.action.value}"
    )
    sentences = [sentence.replace("_", " "), *_exception(iteration, say)]
    if asks_for_caution(iteration):
        sentences.append(_CAUTION)
    return ["; ".join(sentences), *(f"risk: {say(risk)}" for risk in confidence.risk_factors)]


def _exception(iteration: Iteration, say: Callable[[str], str]) -> list[str]:
    """Return the reason why work ran that the route alone does not allow."""
    action = iteration.next_action
    route = iteration.confidence.action if iteration.confidence else Route.EXECUTE
    if action is None or action.decision.action is not Action.RUN_WORKER:
        return []
    if action.held:
        return [_HELD.format(why=say(action.held))]
    if route in {Route.EXECUTE, Route.EXECUTE_WITH_CAUTION}:
        return []
    return [f"it ran despite this route: {say(action.decision.reason)}"]
