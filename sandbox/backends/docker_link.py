"""The attach stream of a container as a link, with Docker's framing removed and lengths limited."""

import contextlib
import socket
import struct
from typing import Any

from docker.errors import DockerException

from sandbox.backends.link import Link
from sandbox.errors import SandboxDied, SandboxUnavailable
from sandbox.guest import wire

HEADER = 8
STDOUT, STDERR = 1, 2
MAX_FRAME = wire.MAX_MESSAGE
MAX_HELLO = 4096


def attach(container: Any) -> socket.socket:
    """Attach to a container that was created but not yet started.

    Raises:
        SandboxUnavailable: The connection to the daemon has no plain socket.
    """
    stream = container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
    connection = getattr(stream, "_sock", None)
    if not isinstance(connection, socket.socket):
        raise SandboxUnavailable(
            "The connection to Docker uses TLS or ssh, which give no plain stream to a container.",
            "Run MetaAgent on the machine with Docker's socket.",
        )
    # Duplicate the descriptor: the SDK's wrappers keep theirs open after its end, or close it too
    # early.
    own = connection.dup()
    stream.close()
    connection.close()
    return own


def read_hello(connection: socket.socket, timeout: float) -> bytes:
    """Read the supervisor's first line before the event loop takes over.

    Raises:
        SandboxDied: It did not arrive.
    """
    connection.settimeout(timeout)
    line, complaint = b"", b""
    try:
        while not line.endswith(b"\n"):
            kind, length = _parse_header(_read_exactly(connection, HEADER))
            data = _read_exactly(connection, length)
            if kind == STDOUT:
                line += data
            else:
                complaint += data
            if len(line) + len(complaint) > MAX_HELLO:
                break
    except (OSError, EOFError) as error:
        last = complaint.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise SandboxDied(
            f"The sandbox did not start: {' '.join(last)[:300] or 'no message from inside'}"
        ) from error
    return line


def _parse_header(data: bytes) -> tuple[int, int]:
    kind, length = struct.unpack(">BxxxI", data)
    if kind not in {STDOUT, STDERR} or length > MAX_FRAME:
        raise SandboxDied("The sandbox's stream is broken.")
    return kind, length


def _read_exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


class DockerLink:
    """A link over the attach stream.

    Args:
        inner: The connected socket.
    """

    def __init__(self, inner: Link) -> None:
        self._inner = inner
        self._header = b""
        self._kind = STDOUT
        self._left = 0

    async def receive(self) -> bytes:
        """Return the next bytes of the supervisor's standard output; empty at the end."""
        while True:
            data = await self._inner.receive()
            if not data:
                return b""
            output = self._extract(data)
            if output:
                return output

    def _extract(self, data: bytes) -> bytes:
        """Extract standard output from raw bytes; a header may be split anywhere."""
        output = []
        while data:
            if not self._left:
                missing = HEADER - len(self._header)
                self._header, data = self._header + data[:missing], data[missing:]
                if len(self._header) == HEADER:
                    self._kind, self._left = _parse_header(self._header)
                    self._header = b""
                continue
            piece, data = data[: self._left], data[self._left :]
            self._left -= len(piece)
            if self._kind == STDOUT:
                output.append(piece)
        return b"".join(output)

    async def send(self, data: bytes) -> None:
        """Write to the supervisor's standard input."""
        await self._inner.send(data)

    async def close(self) -> None:
        """Close the connection."""
        await self._inner.close()


def remove(container: Any) -> None:
    """Kill and remove a container, if it still exists."""
    with contextlib.suppress(DockerException, OSError):
        container.remove(force=True, v=True)
