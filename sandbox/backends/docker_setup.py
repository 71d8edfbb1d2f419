"""Helpers for set-up sandboxes: size monitoring, leaving the network, the default index."""

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
from sandbox.egress.index import PACKAGES, find_index_in_output
from sandbox.errors import SandboxDied, SandboxUnavailable, SetupFailed
from sandbox.spec import RunLimits

WATCH_S = 2.0
MOST_FILES = 1_000_000
ROOM = "Install less, or give set-ups more room (sandbox.setup_bytes)."
ASKING = MappingProxyType({"UV_NO_CONFIG": "1", "UV_HTTP_RETRIES": "0", "UV_NO_PROGRESS": "1"})
"""Settings with which the installer fails quickly without network."""


class OpenSetup(NamedTuple):
    """An open set-up sandbox."""

    container: Any
    way: WayOut | None
    """None on a Docker network."""


class Growth:
    """The disk usage that a set-up sandbox adds.

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
        """Return the exceeded limit: bytes of the container, or new files on the disk.

        Files without content use no bytes, but a disk has a limited number of them. They are
        counted for the whole disk, because the sandbox's own tree is not walked here.
        """
        found = self._client.api.containers(all=True, size=True, filters={"id": self._container.id})
        if any(int(entry.get("SizeRw") or 0) > limit for entry in found):
            return f"it wrote more than {limit >> 20} MiB"
        return (
            f"it created more than {files} files on Docker's disk"
            if self._files() - self._before > files
            else None
        )

    def _files(self) -> int:
        try:
            disk = os.statvfs(self._folder)
        except OSError:
            return 0  # the daemon's disk is not visible from here
        return disk.f_files - disk.f_ffree


async def watch_size(
    client: docker.DockerClient,
    container: Any,
    limit: int,
    *,
    files: int = MOST_FILES,
    every_s: float = WATCH_S,
) -> str:
    """Watch the size of the writable root, and remove the container if it grows too large.

    Args:
        client: The daemon.
        container: The set-up sandbox.
        limit: Limit in bytes.
        files: Limit of new files on the daemon's disk.
        every_s: Interval of the checks, in seconds.

    Returns:
        The reason for the removal.
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
    """Watch the size of a set-up sandbox.

    Args:
        client: The daemon.
        container: The set-up sandbox.
        limit: Limit in bytes.

    Raises:
        SetupFailed: The sandbox was removed for its size.
    """
    watcher = asyncio.create_task(watch_size(client, container, limit))
    try:
        yield
    except (SandboxDied, SandboxUnavailable) as error:
        # The sandbox's end is visible a moment before the watcher finishes.
        await asyncio.wait({watcher}, timeout=1.0)
        if watcher.done() and not watcher.cancelled() and watcher.exception() is None:
            raise SetupFailed(f"Set-up was ended: {watcher.result()}.", ROOM) from error
        raise
    finally:
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)


def leave_network(client: docker.DockerClient, container: Any, name: str) -> None:
    """Disconnect a running container from a network, if it is connected.

    Args:
        client: The daemon.
        container: The container.
        name: The network.
    """
    container.reload()
    if name in container.attrs["NetworkSettings"]["Networks"]:
        client.networks.get(name).disconnect(container, force=True)


async def find_installer_index(guest: Guest) -> str | None:
    """Return an installer's index address, from its error message without network.

    Args:
        guest: A sandbox without network.
    """
    package = PACKAGES[0]
    command = ("uv", "pip", "compile", "--no-cache", "-")
    failed = await guest.run(
        command, limits=RunLimits(wall_s=60.0), cwd="/", stdin=f"{package}\n".encode()
    )
    return find_index_in_output(failed.stdout + failed.stderr, package)


def pack_file(name: str, content: bytes) -> bytes:
    """Return an archive with one file.

    Args:
        name: The name of the file.
        content: The content of the file.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        member.mode = 0o644
        tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
