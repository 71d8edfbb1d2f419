"""What a policy allows, asked one question at a time. Pure."""

from collections.abc import Iterable, Sequence

from bot.domain.command import Origin
from bot.domain.policy import DeliveryRule, RepositoryPolicy
from bot.policy.globs import covers

LABEL_FIX = "metaagent:fix"
"""Asks for a fix."""
LABEL_OFF = "metaagent:off"
"""Keeps us away until somebody asks."""
LABEL_NEEDS_HUMAN = "metaagent:needs-human"
"""We put it where we asked a question."""
LABEL_TEST_CHANGE = "metaagent:test-change"
"""We put it where a person told us that the test is wrong, not the code."""

_PULL_REQUEST = "pull-request"
_CAREFUL_FIRST = ("report", "suggest", _PULL_REQUEST, "push")


def forbidden(policy: RepositoryPolicy, paths: Iterable[str]) -> tuple[str, ...]:
    """Why a fix may not touch these files; empty when it may.

    Args:
        policy: Of the repository.
        paths: Of every file it changes, makes or takes away.
    """
    return tuple(reason for path in paths if (reason := _no_to_path(policy, path)) is not None)


def allows(policy: RepositoryPolicy, paths: Iterable[str]) -> bool:
    """Whether a fix may touch these files.

    Args:
        policy: Of the repository.
        paths: Of every file it changes, makes or takes away.
    """
    return not forbidden(policy, paths)


def delivery_for(policy: RepositoryPolicy, *, rung: int, paths: Iterable[str], confidence: float | None) -> str:
    """How a fix is handed over: `pull-request`, `push`, `suggest` or `report`; of several files', the most careful.

    Args:
        policy: Of the repository.
        rung: Where the fix comes from.
        paths: Of every file it changes.
        confidence: After verification; None, when it is not known, counts as none.
    """
    rules = [rule for rule in policy.deliver if rung in rule.rungs and (confidence or 0.0) >= rule.min_confidence]
    said = {_delivery_of(path, rules) for path in paths}
    return next((way for way in _CAREFUL_FIRST if way in said), _PULL_REQUEST)


def no_to_command(policy: RepositoryPolicy, origin: Origin) -> str | None:
    """Why what a person asks is not done here, or None.

    Args:
        policy: Of the repository.
        origin: Where they asked.
    """
    if not policy.enabled:
        return f"the policy switches MetaAgent off ({because(policy, 'enabled')})"
    heard = {
        Origin.COMMENT: policy.triggers.comments,
        Origin.BUTTON: policy.triggers.buttons,
        Origin.LABEL: policy.triggers.labels,
    }
    if heard[origin]:
        return None
    key = f"triggers.{origin.value}s"
    return f"the policy switches {origin.value}s off ({because(policy, key)})"


def because(policy: RepositoryPolicy, key: str) -> str:
    """Where a key is set, and what was wrong there if anything was.

    Args:
        policy: Of the repository.
        key: `limits.attempts`.
    """
    origin = policy.origins.get(key, "by default")
    return next((problem for problem in policy.problems if problem.startswith(f"{origin}: ")), origin)


def _delivery_of(path: str, rules: Sequence[DeliveryRule]) -> str:
    matching = (rule.deliver for rule in rules if any(covers(pattern, path) for pattern in rule.paths))
    return next(matching, _PULL_REQUEST)


def _no_to_path(policy: RepositoryPolicy, path: str) -> str | None:
    protected = next((pattern for pattern in policy.paths_protected if covers(pattern, path)), None)
    if protected is not None:
        return f"{path}: the policy protects `{protected}` ({because(policy, 'paths_protected')})"
    if not any(covers(pattern, path) for pattern in policy.paths_allowed):
        return f"{path}: the policy does not allow it ({because(policy, 'paths_allowed')})"
    return None
