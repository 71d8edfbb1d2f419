"""Which workflows start on what we push and open: their `on:` read as data, nothing is run. Pure."""

from collections.abc import Iterable
from typing import Any

from bot.policy.document import UnreadableError, read_document
from bot.policy.globs import names_branch
from sandbox.types import Frozen


class Starts(Frozen):
    """What a workflow starts on, as far as it concerns a fix of ours."""

    path: str
    on_our_branch: bool = False
    """On a push to a fix branch."""
    on_default: bool = False
    """On a pull request into the default branch."""
    on_feature: bool = False
    """On a pull request into another branch: a fix of a red pull request goes there."""
    problem: str = ""


def starts_of(path: str, content: bytes, *, default_branch: str, our_branch: str, feature_branch: str) -> Starts:
    """Read one workflow.

    Args:
        path: Where it stands.
        content: The file.
        default_branch: Of the repository.
        our_branch: A branch we would push a fix to.
        feature_branch: A branch that a red pull request could come from.
    """
    try:
        document = read_document(content, toml=False)
    except UnreadableError as error:
        return Starts(path=path, problem=f"line {error.line}: {error.message}")
    events = _events(document.values.get("on") if document is not None else None)
    pull_request = events.get("pull_request")
    return Starts(
        path=path,
        on_our_branch=_lets_through(events.get("push"), our_branch),
        on_default=_lets_through(pull_request, default_branch),
        on_feature=_lets_through(pull_request, feature_branch),
    )


def _events(on: Any) -> dict[str, dict[str, Any]]:
    """Every event with its filters."""
    if isinstance(on, str):
        return {on: {}}
    if isinstance(on, list):
        return {str(event): {} for event in on}
    if isinstance(on, dict):
        return {str(event): filters if isinstance(filters, dict) else {} for event, filters in on.items()}
    return {}


def _lets_through(filters: dict[str, Any] | None, branch: str) -> bool:
    """Whether an event's filters of branches let a branch pass; of paths we cannot know."""
    if filters is None:
        return False
    if "branches" in filters:
        return _matches(_listed(filters["branches"]), branch)
    if "branches-ignore" in filters:
        return not _matches(_listed(filters["branches-ignore"]), branch)
    # A push filtered by tags alone does not start for branches.
    return not ({"tags", "tags-ignore"} & set(filters))


def _matches(patterns: Iterable[str], branch: str) -> bool:
    """The last pattern that fits counts; `!` takes back."""
    found = False
    for pattern in patterns:
        if names_branch(pattern.removeprefix("!"), branch):
            found = not pattern.startswith("!")
    return found


def _listed(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]
