"""What counts in a repository, key by key, and where each comes from: for `/metaagent config` and the reference."""

import json

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from bot.domain.policy import RepositoryPolicy
from bot.policy.keys import every_key
from sandbox.types import Frozen

DEFAULT = "default"
_LONGEST = 300


class PolicyRow(Frozen):
    """One key."""

    key: str
    """`limits.attempts`"""
    value: str
    """As it could stand in the file."""
    origin: str
    """File and line, or `default`."""
    meaning: str


def effective(policy: RepositoryPolicy) -> tuple[PolicyRow, ...]:
    """Every key with the value that counts.

    Args:
        policy: Of the repository.
    """
    rows = []
    for key, model, name in every_key():
        holder = getattr(policy, key.partition(".")[0]) if "." in key else policy
        rows.append(
            PolicyRow(
                key=key,
                value=_as_written(getattr(holder, name)),
                origin=policy.origins.get(key, DEFAULT),
                meaning=meaning_of(model, name),
            )
        )
    return tuple(rows)


def meaning_of(model: type[BaseModel], name: str) -> str:
    """What a key is for, in one line.

    Args:
        model: Has it.
        name: Its name there.
    """
    return " ".join((model.model_fields[name].description or "").split())


def _as_written(value: object) -> str:
    text = json.dumps(to_jsonable_python(value), ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
