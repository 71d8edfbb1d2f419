"""A door out of a sandbox: everybody who may reach it is answered, within bounds, until it is closed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandbox.egress.doorway import CONNECTIONS, Doorway
from sandbox.types import Door

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def opened(folder: Path, door: Door) -> AsyncIterator[Path]:
    doorway = Doorway(folder / "s", door)
    await doorway.start()
    try:
        yield folder / "s"
    finally:
        async with asyncio.timeout(120):
            await doorway.close()


async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write((await reader.readline()).upper())


async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    await asyncio.sleep(60)


async def said(socket: Path, words: bytes = b"hello\n") -> bytes:
    reader, writer = await asyncio.open_unix_connection(socket)
    try:
        writer.write(words)
        async with asyncio.timeout(120):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_everybody_who_comes_is_answered(tmp_path: Path) -> None:
    async with opened(tmp_path, shout) as socket:
        assert [await said(socket) for _ in range(3)] == [b"HELLO\n"] * 3
        assert socket.stat().st_mode & 0o666 == 0o666


async def test_whoever_comes_while_too_many_are_there_is_sent_away(tmp_path: Path) -> None:
    async with opened(tmp_path, wait) as socket:
        there = [await asyncio.open_unix_connection(socket) for _ in range(CONNECTIONS)]
        assert await said(socket) == b""
        for _, writer in there:
            writer.close()


async def test_closing_ends_every_conversation(tmp_path: Path) -> None:
    async with opened(tmp_path, wait) as socket:
        reader, writer = await asyncio.open_unix_connection(socket)
        await asyncio.sleep(0.05)
    assert await reader.read() == b""
    writer.close()
    with pytest.raises(OSError, match=r"refused|No such"):
        await asyncio.open_unix_connection(socket)


async def test_a_door_that_fails_fails_for_one_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readline() == b"break\n":
            raise RuntimeError("odd")
        writer.write(b"fine\n")

    async with opened(tmp_path, broken) as socket:
        assert await said(socket, b"break\n") == b""
        assert await said(socket) == b"fine\n"
    assert "door connection failed" in caplog.text
