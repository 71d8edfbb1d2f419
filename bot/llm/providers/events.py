"""Server-sent events of an answer, and the assembly of the plain answer from them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

_BOM = b"\xef\xbb\xbf"
_PIECE = 1 << 16


class EventReader:
    """Splits the bytes of a `text/event-stream` into the data of its events.

    The names of events are not read: every wire format repeats them in the data.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._is_first = True

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the data of every event that a chunk completes."""
        # The lines of a large chunk at once would take many times its size.
        for start in range(0, len(chunk), _PIECE):
            yield from self._feed(chunk[start : start + _PIECE])

    def _feed(self, chunk: bytes) -> Iterator[str]:
        self._rest.append(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            # Pieces of a long line are joined once, at its end.
            return
        lines = b"".join(self._rest).splitlines(keepends=True)
        # A line feed may follow in the next chunk, so a carriage return at the end waits for it.
        self._rest = [] if lines[-1].endswith(b"\n") else [lines.pop()]
        for line in lines:
            if self._is_first:
                line, self._is_first = line.removeprefix(_BOM), False  # noqa: PLW2901
            if data := self._read(line.rstrip(b"\r\n")):
                yield data

    def _read(self, line: bytes) -> str:
        """Read a line; return the data of an event at its end, else an empty text."""
        if line:
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
            return ""
        data, self._data = b"\n".join(self._data), []
        return data.decode()


class Assembler(ABC):
    """Builds the plain form of one answer from its events.

    Events come from a server: any error of reading invalid ones may be raised.
    """

    has_begun = False
    """True once a part of the answer has come: servers announce it before they read and reason."""

    @abstractmethod
    def add(self, data: str) -> bool:
        """Add the data of an event; return True if no further event is needed."""

    @abstractmethod
    def build(self) -> Any:
        """Return the answer in its plain form, or None if the stream ended before its end."""
