"""What only the set-up sandboxes of a daemon need: their size watched, their network left, their installer asked."""

import asyncio
import contextlib
import io
import os
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

import docker
from docker.errors import DockerException

from sandbox.backends.base import Guest
from sandbox.backends.docker_egress import WayOut
from sandbox.backends.docker_link import remove
from sandbox.egress.index import PACKAGES, index_asked_for
from sandbox.errors import SandboxDied, SandboxUnavailable, SetupFailed
from sandbox.spec import RunLimits

WATCH_S = 2.0
MOST_FILES = 1_000_000
ROOM = "Install less, or give set-ups more room (sandbox.setup_bytes)."
ASKING = MappingProxyType({"UV_NO_CONFIG": "1", "UV_HTTP_RETRIES": "0", "UV_NO_PROGRESS": "1"})
"""An installer that is let ask in vain, once."""


class OpenSetup(NamedTuple):
    """A set-up sandbox that is open."""

    container: Any
    way: WayOut | None
    """None on a network of Docker's."""


class Growth:
    """What a set-up sandbox adds to the daemon's disk.

    Args:
        client: The daemon.
        container: The set-up sandbox.
    """

    def __init__(self, client: docker.DockerClient, container: Any) -> None:
        self._client = client
        self._container = container
        self._folder = str(client.info().get("DockerRootDir") or "")
        self._before = self._files()

    def excess(self, limit: int, files: int) -> str | None:
        """What is too much: bytes of the container, or files that came since; None when all is well.

        Files without content take no bytes, and a disk holds only so many. They are counted for the whole disk: the
        tree that a sandbox wrote is not walked here.
        """
        found = self._client.api.containers(all=True, size=True, filters={"id": self._container.id})
        if any(int(entry.get("SizeRw") or 0) > limit for entry in found):
            return f"it wrote more than {limit >> 20} MiB"
        return f"more than {files} files came to Docker's disk" if self._files() - self._before > files else None

    def _files(self) -> int:
        try:
            disk = os.statvfs(self._folder)
        except OSError:
            return 0  # the daemon's disk is not to be seen from here
        return disk.f_files - disk.f_ffree


async def watch_size(
    client: docker.DockerClient, container: Any, limit: int, *, files: int = MOST_FILES, every_s: float = WATCH_S
) -> str:
    """The writable root has no quota: look at what it adds, and end what grows too large; returns why.

    Args:
        client: The daemon.
        container: The set-up sandbox.
        limit: In bytes.
        files: How many may come to the daemon's disk meanwhile.
        every_s: How often it is looked.
    """
    growth: Growth | None = None
    while True:
        with contextlib.suppress(DockerException, OSError, ValueError):
            if growth is None:
                growth = await asyncio.to_thread(Growth, client, container)
            reason: str | None = await asyncio.to_thread(growth.excess, limit, files)
            if reason is not None:
                await asyncio.to_thread(remove, container)
                return reason
        await asyncio.sleep(every_s)


@asynccontextmanager
async def watched(client: docker.DockerClient, container: Any, limit: int) -> AsyncIterator[None]:
    """A set-up sandbox whose size is watched.

    Args:
        client: The daemon.
        container: The set-up sandbox.
        limit: In bytes.

    Raises:
        SetupFailed: it was ended for its size.
    """
    watcher = asyncio.create_task(watch_size(client, container, limit))
    try:
        yield
    except (SandboxDied, SandboxUnavailable) as error:
        # Its end is seen a moment before the watcher is done with it.
        await asyncio.wait({watcher}, timeout=1.0)
        if watcher.done() and not watcher.cancelled() and watcher.exception() is None:
            raise SetupFailed(f"Set-up was ended: {watcher.result()}.", ROOM) from error
        raise
    finally:
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)


def leave_network(client: docker.DockerClient, container: Any, name: str) -> None:
    """Take a running container off a network; one that is off it already is fine.

    Args:
        client: The daemon.
        container: The container.
        name: The network.
    """
    container.reload()
    if name in container.attrs["NetworkSettings"]["Networks"]:
        client.networks.get(name).disconnect(container, force=True)


async def index_of_installer(guest: Guest) -> str | None:
    """The address that an installer asks, out of its complaint that it cannot.

    Args:
        guest: A sandbox without network.
    """
    package = PACKAGES[0]
    command = ("uv", "pip", "compile", "--no-cache", "-")
    said = await guest.run(command, limits=RunLimits(wall_s=60.0), cwd="/", stdin=f"{package}\n".encode())
    return index_asked_for(said.stdout + said.stderr, package)


def tar_of(name: str, content: bytes) -> bytes:
    """One file as an archive.

    Args:
        name: Of the file.
        content: Of the file.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        member.mode = 0o644
        tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
