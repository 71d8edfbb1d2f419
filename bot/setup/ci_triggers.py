"""Find which workflows start for our branches and pull requests, from their `on:`. Pure."""

from collections.abc import Iterable
from typing import Any

from bot.policy.document import UnreadableError, read_document
from bot.policy.globs import names_branch
from sandbox.types import Frozen


class WorkflowTriggers(Frozen):
    """The triggers of a workflow that concern our fixes."""

    path: str
    on_our_branch: bool = False
    """True if a push to a fix branch starts it."""
    on_default: bool = False
    """True if a pull request into the default branch starts it."""
    on_feature: bool = False
    """True if a pull request into another branch starts it, as for a fix of a red pull request."""
    problem: str = ""


def read_triggers(
    path: str, content: bytes, *, default_branch: str, our_branch: str, feature_branch: str
) -> WorkflowTriggers:
    """Read a workflow's triggers.

    Args:
        path: The workflow's path.
        content: The workflow's file.
        default_branch: The repository's default branch.
        our_branch: An example of a fix branch.
        feature_branch: An example of a pull request's branch.
    """
    try:
        document = read_document(content, toml=False)
    except UnreadableError as error:
        return WorkflowTriggers(path=path, problem=f"line {error.line}: {error.message}")
    events = _events(document.values.get("on") if document is not None else None)
    pull_request = events.get("pull_request")
    return WorkflowTriggers(
        path=path,
        on_our_branch=_lets_through(events.get("push"), our_branch),
        on_default=_lets_through(pull_request, default_branch),
        on_feature=_lets_through(pull_request, feature_branch),
    )


def _events(on: Any) -> dict[str, dict[str, Any]]:
    """Return every event with its filters."""
    if isinstance(on, str):
        return {on: {}}
    if isinstance(on, list):
        return {str(event): {} for event in on}
    if isinstance(on, dict):
        return {
            str(event): filters if isinstance(filters, dict) else {}
            for event, filters in on.items()
        }
    return {}


def _lets_through(filters: dict[str, Any] | None, branch: str) -> bool:
    """Return True if an event's branch filters admit a branch; path filters are ignored."""
    if filters is None:
        return False
    if "branches" in filters:
        return _matches(_list(filters["branches"]), branch)
    if "branches-ignore" in filters:
        return not _matches(_list(filters["branches-ignore"]), branch)
    # A push filter with tags only excludes branches.
    return not ({"tags", "tags-ignore"} & set(filters))


def _matches(patterns: Iterable[str], branch: str) -> bool:
    """Match like GitHub: the last matching pattern counts, and `!` negates."""
    found = False
    for pattern in patterns:
        if names_branch(pattern.removeprefix("!"), branch):
            found = not pattern.startswith("!")
    return found


def _list(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]
