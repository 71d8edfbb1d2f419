"""JSON records of step results and errors, so that a replay sees what the first run saw."""

import json
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel

from bot import errors as bot_errors
from bot.errors import MetaAgentError
from sandbox import errors as sandbox_errors
from sandbox.errors import SandboxError

Value = TypeVar("Value", bound=BaseModel)
Record = dict[str, Any]


class StepFailed(MetaAgentError):
    """An unexpected error in a step; the log of the first run has the traceback."""


def keep(value: BaseModel) -> Record:
    """Return the record of a result."""
    return {"ok": json.loads(value.model_dump_json())}


def keep_error(error: Exception) -> Record:
    """Return the record of an error: its class name and its plain attributes."""
    if isinstance(error, MetaAgentError | SandboxError):
        carried = {name: value for name, value in vars(error).items() if _is_plain(value)}
        return {"err": {"type": type(error).__name__, "carried": carried}}
    # A foreign error's text may quote secrets, so only its class is stored.
    message = f"a step failed with an unexpected error ({type(error).__name__})"
    return {"err": {"type": StepFailed.__name__, "carried": {"message": message, "advice": ""}}}


def recall(record: Record, returns: type[Value]) -> Value:
    """Return the recorded result.

    Raises:
        MetaAgentError: the step failed with this error.
        SandboxError: the step failed with this error.
    """
    if "err" in record:
        raise recalled_error(record["err"])
    return returns.model_validate_json(json.dumps(record["ok"]))


def recalled_error(kept: Record) -> Exception:
    """Return the recorded error as an instance of its class."""
    known = {kind.__name__: kind for kind in _all_kinds()}
    kind = known.get(str(kept.get("type")), StepFailed)
    carried = {
        # JSON has no tuples.
        name: tuple(value) if isinstance(value, list) else value
        for name, value in kept.get("carried", {}).items()
    }
    # Constructors differ, so the attributes are restored directly.
    error = kind.__new__(kind, carried.get("message", ""))
    vars(error).update(carried)
    return error


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(one, str) for one in value)
    return value is None or isinstance(value, str | int | float | bool)


def _all_kinds() -> Iterator[type[MetaAgentError] | type[SandboxError]]:
    yield StepFailed
    for module, root in ((bot_errors, MetaAgentError), (sandbox_errors, SandboxError)):
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, root):
                yield kind
