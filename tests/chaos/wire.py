"""A network between two of us that can be cut: connections refused, or left open with nothing coming through."""

import asyncio
import threading
from typing import Literal, Self

State = Literal["whole", "refused", "silent"]


class Wire:
    """Passes bytes on to a port of this machine, from a thread of its own.

    Args:
        port: Where to.

    Attributes:
        port: Where from.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._state: State = "whole"
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire", daemon=True)
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def set(self, state: State) -> None:
        """From now on; connections that are open break, or fall silent."""
        self._state = state
        if state == "refused":
            self._loop.call_soon_threadsafe(self._break)

    def _break(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._pass_on, "127.0.0.1", 0)

    async def _end(self) -> None:
        self._server.close()
        self._break()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._state == "refused":
            writer.transport.abort()
            return
        try:
            there, onward = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()  # who is not there does not listen either
            return
        ends = {writer, onward}
        self._open |= ends
        try:
            await asyncio.gather(self._copy(reader, onward), self._copy(there, writer))
        except OSError:
            pass  # somebody hung up, which is what wires are for
        finally:
            self._open -= ends
            for end in ends:
                end.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            while self._state == "silent":  # noqa: ASYNC110 - set from another thread
                await asyncio.sleep(0.05)
            writer.write(data)
            await writer.drain()
        writer.close()
