"""A Guest that runs commands as plain processes on this host: only for code this repository wrote itself."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path

from sandbox.spec import RunLimits
from sandbox.types import CommandResult, FileEdit

GUEST_DIR = Path(__file__).resolve().parents[2] / "sandbox" / "guest"


class ProcessGuest:
    """Implements the parts of Guest the judge uses.

    Args:
        folder: The checkout.
        python: The interpreter of its environment.
    """

    def __init__(self, folder: Path, python: str) -> None:
        self.workdir = str(folder)
        self.guest_dir = str(GUEST_DIR)
        self.python = python
        self.commands: list[tuple[str, ...]] = []

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> CommandResult:
        self.commands.append(argv)
        read, write = os.pipe()
        reader = asyncio.create_task(asyncio.to_thread(_drain, read, limits.results_bytes))
        started = time.perf_counter()
        path = f"{Path(self.python).parent}:/usr/bin:/bin"
        process = await asyncio.create_subprocess_exec(
            "/bin/bash",
            "-c",
            f'exec "$@" 3>&{write} {write}>&-',
            "sh",
            *argv,
            cwd=cwd or self.workdir,
            env={
                "PATH": path,
                "HOME": "/nonexistent",
                "LANG": "C.UTF-8",
                "ATTACK_CORPUS_OK": "0",
                **(env or {}),
            },
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(write,),
            start_new_session=True,
        )
        os.close(write)
        timed_out = False
        try:
            out, err = await asyncio.wait_for(process.communicate(stdin), limits.wall_s)
        except TimeoutError:
            timed_out, out, err = True, b"", b""
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        status = process.returncode if process.returncode is not None else -9
        return CommandResult(
            argv=argv,
            exit_code=None if timed_out or status < 0 else status,
            signal=-status if status < 0 else None,
            timed_out=timed_out,
            stdout=out.decode(errors="replace"),
            stderr=err.decode(errors="replace"),
            results=await reader,
            duration_s=time.perf_counter() - started,
        )

    async def stream(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> AsyncIterator[bytes | CommandResult]:
        result = await self.run(argv, limits=limits, cwd=cwd, env=env, stdin=stdin)
        for line in result.results.splitlines():
            yield line
        yield result

    async def unpack(self, tar: bytes, folder: str) -> None:
        raise NotImplementedError

    async def write(self, edits: Iterable[FileEdit]) -> None:
        for edit in edits:
            (Path(self.workdir) / edit.path).write_bytes(edit.content)

    async def read(self, path: str, *, max_bytes: int = 1 << 20) -> bytes | None:
        file = Path(self.workdir) / path
        return file.read_bytes()[:max_bytes] if file.is_file() else None

    async def list_files(self) -> tuple[str, ...]:
        return tuple(_files(Path(self.workdir)))

    async def snap(self) -> int:
        return len(await self.list_files())

    async def export(self) -> tuple[FileEdit, ...]:
        return ()


def _files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def _drain(descriptor: int, limit: int) -> bytes:
    kept = bytearray()
    with os.fdopen(descriptor, "rb") as pipe:
        while chunk := pipe.read1(1 << 16):
            kept += chunk[: max(0, limit - len(kept))]
    return bytes(kept)
