"""The effective value of every policy key and its source, for `/metaagent config` and the docs."""

import json

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from bot.domain.policy import RepositoryPolicy
from bot.policy.keys import every_key
from sandbox.types import Frozen

DEFAULT = "default"
_LONGEST = 300


class PolicyRow(Frozen):
    """A key with its value, source and description."""

    key: str
    """`limits.attempts`"""
    value: str
    """The value as it would be written in the file."""
    origin: str
    """File and line, or `default`."""
    meaning: str


def effective(policy: RepositoryPolicy) -> tuple[PolicyRow, ...]:
    """Return every key with its effective value.

    Args:
        policy: The policy of the repository.
    """
    rows = []
    for key, model, name in every_key():
        holder = getattr(policy, key.partition(".")[0]) if "." in key else policy
        rows.append(
            PolicyRow(
                key=key,
                value=_as_written(getattr(holder, name)),
                origin=policy.origins.get(key, DEFAULT),
                meaning=describe_key(model, name),
            )
        )
    return tuple(rows)


def describe_key(model: type[BaseModel], name: str) -> str:
    """Return the description of a key in one line.

    Args:
        model: The model that has the key.
        name: Its name there.
    """
    return " ".join((model.model_fields[name].description or "").split())


def _as_written(value: object) -> str:
    text = json.dumps(to_jsonable_python(value), ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
