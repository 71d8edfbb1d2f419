"""Docker's framing of a container's streams."""

import struct

import pytest

from sandbox.backends.docker_link import DockerLink
from sandbox.errors import SandboxDied

pytestmark = pytest.mark.anyio


def frame(kind: int, data: bytes) -> bytes:
    return struct.pack(">BxxxI", kind, len(data)) + data


class Pieces:
    """A socket that gives bytes in pieces of one size.

    Args:
        data: What it gives.
        size: How much at once.
    """

    def __init__(self, data: bytes, size: int) -> None:
        self._pieces = [data[start : start + size] for start in range(0, len(data), size)]
        self.sent = b""

    async def receive(self) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""

    async def send(self, data: bytes) -> None:
        self.sent += data

    async def close(self) -> None:
        return


async def everything(link: DockerLink) -> bytes:
    said = b""
    while piece := await link.receive():
        said += piece
    return said


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 13, 1000])
async def test_frames_may_be_cut_anywhere(size: int) -> None:
    data = frame(1, b"hello ") + frame(2, b"complaint") + frame(1, b"") + frame(1, b"world")
    assert await everything(DockerLink(Pieces(data, size))) == b"hello world"


@pytest.mark.parametrize("data", [frame(9, b"x"), struct.pack(">BxxxI", 1, 1 << 31), b"\xff" * 8])
async def test_a_broken_frame_is_no_sandbox(data: bytes) -> None:
    with pytest.raises(SandboxDied):
        await everything(DockerLink(Pieces(data, 100)))


async def test_bytes_are_sent_as_they_are() -> None:
    pieces = Pieces(b"", 1)
    await DockerLink(pieces).send(b"raw\0bytes")
    assert pieces.sent == b"raw\0bytes"
