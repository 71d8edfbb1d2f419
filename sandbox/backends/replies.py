"""Validation of the supervisor's replies: every byte from inside is untrusted."""

import base64
import binascii
import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from sandbox.errors import SandboxDied
from sandbox.guest import wire
from sandbox.types import FileEdit


class GuestReply(BaseModel):
    """A message from inside. Unknown fields are ignored, known ones must be valid."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


def _bytes(value: Any) -> Any:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise ValueError("not base64") from error


Packed = Annotated[bytes, BeforeValidator(_bytes)]
Count = Annotated[int, Field(ge=0, le=1 << 60)]


AnyReply = TypeVar("AnyReply", bound=GuestReply)


class Hello(GuestReply):
    """The first message."""

    event: Literal["hello"]
    protocol: int
    uid: Count
    environment: bool


class Stream(GuestReply):
    """Head and tail of one output stream."""

    n: Count
    head: Packed
    tail: Packed

    def text(self) -> str:
        """Return the kept text, with a note about the bytes in between."""
        cut = self.n - len(self.head) - len(self.tail)
        middle = f"\n[... {cut} bytes left out ...]\n".encode() if cut > 0 else b""
        return (self.head + middle + self.tail).decode("utf-8", "replace")


class Ran(GuestReply):
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


class Results(GuestReply):
    """A piece of the results channel."""

    data: Packed


class Edit(GuestReply):
    """One exported file."""

    path: Annotated[str, Field(min_length=1, max_length=4096)]
    mode: Literal["100644", "100755", "deleted"]
    data: Packed

    def edit(self) -> FileEdit:
        """Convert to the sandbox's own type."""
        return FileEdit(path=self.path, mode=self.mode, content=self.data)


class Exported(GuestReply):
    """Changes since the snapshot."""

    edits: Annotated[tuple[Edit, ...], Field(strict=False)]


class Listed(GuestReply):
    """The files of the work tree."""

    paths: Annotated[tuple[str, ...], Field(strict=False)]


class Contents(GuestReply):
    """The content of one file, or None."""

    data: Packed | None


class Snapped(GuestReply):
    """The number of files in the snapshot."""

    files: Count


class Refusal(GuestReply):
    """An operation that was refused or failed."""

    error: Literal["refused", "failed"]
    detail: Annotated[str, Field(max_length=2000)] = ""


def parse(line: bytes) -> wire.Message:
    """Parse one line as a message.

    Raises:
        SandboxDied: It is malformed, so that the peer is not our supervisor.
    """
    try:
        message = json.loads(line)
    # Deeply nested JSON raises RecursionError.
    except (ValueError, RecursionError) as error:
        raise SandboxDied("The sandbox sent a malformed message.") from error
    if not isinstance(message, dict):
        raise SandboxDied("The sandbox sent a malformed message.")
    return message


def check(kind: type[AnyReply], message: wire.Message) -> AnyReply:
    """Validate a message as the expected reply.

    Raises:
        SandboxDied: It is not the expected reply.
    """
    try:
        return kind.model_validate(message)
    except ValidationError as error:
        raise SandboxDied(
            f"The sandbox sent an unexpected reply ({error.error_count()} problems)."
        ) from error
