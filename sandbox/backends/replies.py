"""What the supervisor may answer, checked: every byte from inside is hostile."""

import base64
import binascii
import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from sandbox.errors import SandboxDied
from sandbox.guest import wire
from sandbox.types import FileEdit


class Reply(BaseModel):
    """A message from inside: unknown fields are ignored, known ones must fit."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


def _bytes(value: Any) -> Any:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise ValueError("not base64") from error


Packed = Annotated[bytes, BeforeValidator(_bytes)]
Count = Annotated[int, Field(ge=0, le=1 << 60)]


AnyReply = TypeVar("AnyReply", bound=Reply)


class Hello(Reply):
    """The first message."""

    event: Literal["hello"]
    protocol: int
    uid: Count
    environment: bool


class Stream(Reply):
    """Head and tail of one output stream."""

    n: Count
    head: Packed
    tail: Packed

    def text(self) -> str:
        """What was kept, with a word about what was cut out."""
        cut = self.n - len(self.head) - len(self.tail)
        middle = f"\n[... {cut} bytes left out ...]\n".encode() if cut > 0 else b""
        return (self.head + middle + self.tail).decode("utf-8", "replace")


class Ran(Reply):
    """The end of a command."""

    exit: Annotated[int, Field(ge=0, le=255)] | None
    signal: Annotated[int, Field(ge=1, le=64)] | None
    timed_out: bool
    flooded: bool
    out: Stream
    err: Stream
    duration: Annotated[float, Field(ge=0)]
    survivors: Count
    oom_kills: Annotated[int, Field(ge=-1)]


class Results(Reply):
    """A piece of the results channel."""

    data: Packed


class Edit(Reply):
    """One exported file."""

    path: Annotated[str, Field(min_length=1, max_length=4096)]
    mode: Literal["100644", "100755", "deleted"]
    data: Packed

    def edit(self) -> FileEdit:
        """The same as the sandbox's own type."""
        return FileEdit(path=self.path, mode=self.mode, content=self.data)


class Exported(Reply):
    """What differs from the snapshot."""

    edits: Annotated[tuple[Edit, ...], Field(strict=False)]


class Listed(Reply):
    """The files of the work tree."""

    paths: Annotated[tuple[str, ...], Field(strict=False)]


class Contents(Reply):
    """One file, or none."""

    data: Packed | None


class Snapped(Reply):
    """How many files the snapshot has."""

    files: Count


class Refusal(Reply):
    """An operation that was not done."""

    error: Literal["refused", "failed"]
    detail: Annotated[str, Field(max_length=2000)] = ""


def parse(line: bytes) -> wire.Message:
    """One line as a message.

    Raises:
        SandboxDied: it is not one; whatever speaks there is not our supervisor.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SandboxDied("The sandbox spoke nonsense.") from error
    if not isinstance(message, dict):
        raise SandboxDied("The sandbox spoke nonsense.")
    return message


def check(kind: type[AnyReply], message: wire.Message) -> AnyReply:
    """A message as the answer it should be.

    Raises:
        SandboxDied: it is something else.
    """
    try:
        return kind.model_validate(message)
    except ValidationError as error:
        raise SandboxDied(f"The sandbox answered out of turn ({error.error_count()} problems).") from error
