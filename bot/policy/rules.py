"""Pure checks of what a policy allows."""

from collections.abc import Iterable, Sequence

from bot.domain.command import Origin
from bot.domain.policy import DeliveryRule, RepositoryPolicy
from bot.policy.globs import covers

LABEL_FIX = "metaagent:fix"
"""Requests a fix."""
LABEL_OFF = "metaagent:off"
"""Disables MetaAgent while it is set."""
LABEL_NEEDS_HUMAN = "metaagent:needs-human"
"""Set by us when a question is open."""
LABEL_TEST_CHANGE = "metaagent:test-change"
"""Set by us when a person says that the test is wrong, not the code."""

_PULL_REQUEST = "pull-request"
# A fix with one carefully delivered file is delivered carefully as a whole.
_CAREFUL_FIRST = ("report", "suggest", _PULL_REQUEST, "push")


def path_refusals(policy: RepositoryPolicy, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the reasons why a fix may not change these files; empty if it may.

    Args:
        policy: The policy of the repository.
        paths: Paths of all files that it changes, creates or deletes.
    """
    return tuple(reason for path in paths if (reason := _path_refusal(policy, path)) is not None)


def allows(policy: RepositoryPolicy, paths: Iterable[str]) -> bool:
    """Return True if a fix may change these files.

    Args:
        policy: The policy of the repository.
        paths: Paths of all files that it changes, creates or deletes.
    """
    return not path_refusals(policy, paths)


def delivery_for(
    policy: RepositoryPolicy, *, rung: int, paths: Iterable[str], confidence: float | None
) -> str:
    """Return the delivery of a fix: `pull-request`, `push`, `suggest` or `report`.

    The most careful delivery of all files applies.

    Args:
        policy: The policy of the repository.
        rung: The rung that found the fix.
        paths: Paths of all files that it changes.
        confidence: The confidence after verification; an unknown one counts as 0.
    """
    rules = [
        rule
        for rule in policy.deliver
        if rung in rule.rungs and (confidence or 0.0) >= rule.min_confidence
    ]
    said = {_delivery_for_path(path, rules) for path in paths}
    return next((way for way in _CAREFUL_FIRST if way in said), _PULL_REQUEST)


def command_refusal(policy: RepositoryPolicy, origin: Origin) -> str | None:
    """Return the reason why a command is not allowed here, or None.

    Args:
        policy: The policy of the repository.
        origin: The kind of the request.
    """
    if not policy.enabled:
        return f"the policy switches MetaAgent off ({describe_origin(policy, 'enabled')})"
    heard = {
        Origin.COMMENT: policy.triggers.comments,
        Origin.BUTTON: policy.triggers.buttons,
        Origin.LABEL: policy.triggers.labels,
        # Both are controls that we made, in a text of ours.
        Origin.BOX: policy.triggers.buttons,
    }
    if heard[origin]:
        return None
    kind = Origin.BUTTON if origin is Origin.BOX else origin
    key = f"triggers.{kind.value}s"
    return f"the policy switches {kind.value}s off ({describe_origin(policy, key)})"


def is_off_on_purpose(policy: RepositoryPolicy) -> bool:
    """Return True if the policy switches MetaAgent off, and not because it is unreadable.

    Args:
        policy: The policy of the repository.
    """
    return not policy.enabled and "enabled" in policy.origins and not is_misread(policy, "enabled")


def is_misread(policy: RepositoryPolicy, key: str) -> bool:
    """Return True if a key has its value because the file or the key is unreadable.

    Args:
        policy: The policy of the repository.
        key: `limits.attempts`.
    """
    return describe_origin(policy, key) != policy.origins.get(key, "by default")


def describe_origin(policy: RepositoryPolicy, key: str) -> str:
    """Return the place where a key is set, with its problem if there is one.

    Args:
        policy: The policy of the repository.
        key: `limits.attempts`.
    """
    origin = policy.origins.get(key, "by default")
    return next(
        (problem for problem in policy.problems if problem.startswith(f"{origin}: ")), origin
    )


def _delivery_for_path(path: str, rules: Sequence[DeliveryRule]) -> str:
    matching = (
        rule.deliver for rule in rules if any(covers(pattern, path) for pattern in rule.paths)
    )
    return next(matching, _PULL_REQUEST)


def _path_refusal(policy: RepositoryPolicy, path: str) -> str | None:
    protected = next((pattern for pattern in policy.paths_protected if covers(pattern, path)), None)
    if protected is not None:
        origin = describe_origin(policy, "paths_protected")
        return f"{path}: the policy protects `{protected}` ({origin})"
    if not any(covers(pattern, path) for pattern in policy.paths_allowed):
        return f"{path}: the policy does not allow it ({describe_origin(policy, 'paths_allowed')})"
    return None
