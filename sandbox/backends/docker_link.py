"""The attach stream of a container as a link: Docker's framing taken off, lengths capped."""

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
    """The stream of a container that was created and not yet started.

    Raises:
        SandboxUnavailable: the daemon is reached in a way that gives no plain socket.
    """
    stream = container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
    connection = getattr(stream, "_sock", None)
    if not isinstance(connection, socket.socket):
        raise SandboxUnavailable(
            "The Docker daemon is reached through TLS or ssh, which has no plain stream to a container.",
            "Run MetaAgent where Docker's own socket is.",
        )
    # A descriptor of our own: the SDK's layers around theirs keep it open after its end, or close it too early.
    own = connection.dup()
    stream.close()
    connection.close()
    return own


def read_hello(connection: socket.socket, timeout: float) -> bytes:
    """The supervisor's first line, read before the event loop takes over.

    Raises:
        SandboxDied: it never came.
    """
    connection.settimeout(timeout)
    line, complaint = b"", b""
    try:
        while not line.endswith(b"\n"):
            kind, length = _header(_exactly(connection, HEADER))
            data = _exactly(connection, length)
            if kind == STDOUT:
                line += data
            else:
                complaint += data
            if len(line) + len(complaint) > MAX_HELLO:
                break
    except (OSError, EOFError) as error:
        last = complaint.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise SandboxDied(f"The sandbox did not start: {' '.join(last)[:300] or 'no word from inside'}") from error
    return line


def _header(data: bytes) -> tuple[int, int]:
    kind, length = struct.unpack(">BxxxI", data)
    if kind not in {STDOUT, STDERR} or length > MAX_FRAME:
        raise SandboxDied("The sandbox's stream is broken.")
    return kind, length


def _exactly(connection: socket.socket, count: int) -> bytes:
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
        """The next bytes of the supervisor's standard output; empty at the end."""
        while True:
            data = await self._inner.receive()
            if not data:
                return b""
            said = self._take(data)
            if said:
                return said

    def _take(self, data: bytes) -> bytes:
        """Standard output out of raw bytes; headers may be cut anywhere."""
        said = []
        while data:
            if not self._left:
                missing = HEADER - len(self._header)
                self._header, data = self._header + data[:missing], data[missing:]
                if len(self._header) == HEADER:
                    self._kind, self._left = _header(self._header)
                    self._header = b""
                continue
            piece, data = data[: self._left], data[self._left :]
            self._left -= len(piece)
            if self._kind == STDOUT:
                said.append(piece)
        return b"".join(said)

    async def send(self, data: bytes) -> None:
        """Write to the supervisor's standard input."""
        await self._inner.send(data)

    async def close(self) -> None:
        """Hang up."""
        await self._inner.close()


def remove(container: Any) -> None:
    """Kill and remove a container; one that is gone already is fine."""
    with contextlib.suppress(DockerException, OSError):
        container.remove(force=True, v=True)
