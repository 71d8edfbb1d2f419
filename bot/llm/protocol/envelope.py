"""The envelope around a message: `type`, `version` and `payload`."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from pydantic import ValidationError

from bot.llm.protocol.messages import Message
from bot.llm.protocol.tidy import snake

M = TypeVar("M", bound=Message)

VERSION = "1"
_VERSIONS = frozenset({None, "", "1", "1.0", "v1", "v1.0"})
_SHOWN = 8


class NoMessage(ValueError):
    """A value is no message of the type asked for.

    Args:
        problem: Why, for the model.
        near: It is of this type all the same.
    """

    def __init__(self, problem: str, *, near: bool) -> None:
        super().__init__(problem)
        self.problem = problem
        self.near = near


def opened(value: object, returns: type[M]) -> M:
    """The message in an envelope.

    Args:
        value: Strings, lists and mappings.
        returns: The type asked for.

    Raises:
        NoMessage: it is of another type or version, or the payload does not fit.
    """
    problem, near = "it is no mapping with a type", False
    for fields in _mappings(value):
        said = snake(str(fields.get("type", "")))
        if said not in {returns.type, *returns.types_too}:
            problem = problem if near else f"its type is {said!r}"
            continue
        try:
            return _validated(fields, returns)
        except NoMessage as error:
            problem, near = error.problem, True
    raise NoMessage(problem, near=near)


def _mappings(value: object) -> Iterator[dict[str, object]]:
    """The mapping itself, and what stands alone in a list or under a single key."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, Mapping):
        return
    yield {snake(str(key)): entry for key, entry in value.items()}
    if len(value) == 1:
        inner = next(iter(value.values()))
        if isinstance(inner, Mapping):
            yield {snake(str(key)): entry for key, entry in inner.items()}


def _validated(fields: dict[str, object], returns: type[M]) -> M:
    version = fields.get("version")
    if (version if version is None else str(version).strip().lower()) not in _VERSIONS:
        raise NoMessage(f"its version is not {VERSION}", near=True)
    outside = {key: entry for key, entry in fields.items() if key not in {"type", "version", "payload"}}
    payload = fields.get("payload", outside)
    if not isinstance(payload, Mapping):
        raise NoMessage("its payload is no mapping", near=True)
    try:
        return returns.model_validate(payload)
    except ValidationError as error:
        raise NoMessage(_words(error), near=True) from error


def _words(error: ValidationError) -> str:
    """What the validator says, without what was written."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    parts = (f"{'.'.join(str(part) for part in one['loc']) or 'payload'}: {one['msg']}" for one in found[:_SHOWN])
    return "; ".join(parts)
