"""Envelope of a message: `type`, `version` and `payload`."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from pydantic import ValidationError

from bot.llm.protocol.messages import Message
from bot.llm.protocol.tidy import snake

M = TypeVar("M", bound=Message)

VERSION = "1"
_VERSIONS = frozenset({None, "", "1", "1.0", "v1", "v1.0"})
_SHOWN = 8


class NotAMessage(ValueError):
    """A value is not a message of the requested type.

    Args:
        problem: The reason, for the model.
        near: True if it has the requested type nevertheless.
    """

    def __init__(self, problem: str, *, near: bool) -> None:
        super().__init__(problem)
        self.problem = problem
        self.near = near


def open_envelope(value: object, returns: type[M]) -> M:
    """Parse the message in an envelope.

    Args:
        value: Strings, lists and mappings.
        returns: The requested type.

    Raises:
        NotAMessage: The type or version differs, or the payload is invalid.
    """
    problem, near = "it is not a mapping with a type", False
    for fields in _mappings(value):
        kind = snake(str(fields.get("type", "")))
        if kind not in {returns.type, *returns.types_too}:
            problem = problem if near else f"its type is {kind!r}"
            continue
        try:
            return _validate(fields, returns)
        except NotAMessage as error:
            problem, near = error.problem, True
    raise NotAMessage(problem, near=near)


def _mappings(value: object) -> Iterator[dict[str, object]]:
    """Yield the mapping itself, and a mapping that is the only entry of a list or mapping."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, Mapping):
        return
    yield {snake(str(key)): entry for key, entry in value.items()}
    if len(value) == 1:
        inner = next(iter(value.values()))
        if isinstance(inner, Mapping):
            yield {snake(str(key)): entry for key, entry in inner.items()}


def _validate(fields: dict[str, object], returns: type[M]) -> M:
    version = fields.get("version")
    if (version if version is None else str(version).strip().lower()) not in _VERSIONS:
        raise NotAMessage(f"its version is not {VERSION}", near=True)
    outside = {
        key: entry for key, entry in fields.items() if key not in {"type", "version", "payload"}
    }
    # Some models put the fields beside `type` instead of into `payload`.
    payload = fields.get("payload", outside)
    if not isinstance(payload, Mapping):
        raise NotAMessage("its payload is not a mapping", near=True)
    try:
        return returns.model_validate(payload)
    except ValidationError as error:
        raise NotAMessage(_words(error), near=True) from error


def _words(error: ValidationError) -> str:
    """Return the validator's messages, without the model's input."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    parts = (
        f"{'.'.join(str(part) for part in one['loc']) or 'payload'}: {one['msg']}"
        for one in found[:_SHOWN]
    )
    return "; ".join(parts)
