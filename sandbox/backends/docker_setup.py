"""What only the set-up sandboxes of a daemon need: their size watched, their network left, their installer asked."""

import asyncio
import contextlib
import io
import tarfile
from types import MappingProxyType
from typing import Any, NamedTuple

import docker
from docker.errors import DockerException

from sandbox.backends.base import Guest
from sandbox.backends.docker_egress import WayOut
from sandbox.backends.docker_link import remove
from sandbox.egress.index import PACKAGES, index_asked_for
from sandbox.spec import RunLimits

WATCH_S = 2.0
ASKING = MappingProxyType({"UV_NO_CONFIG": "1", "UV_HTTP_RETRIES": "0", "UV_NO_PROGRESS": "1"})
"""An installer that is let ask in vain, once."""


class OpenSetup(NamedTuple):
    """A set-up sandbox that is open."""

    container: Any
    way: WayOut | None
    """None on a network of Docker's."""


async def watch_size(client: docker.DockerClient, container: Any, limit: int) -> None:
    """The writable root has no quota: look at its size, and end what grows too large.

    Args:
        client: The daemon.
        container: The set-up sandbox.
        limit: In bytes.
    """
    mine = {"id": container.id}
    while True:
        await asyncio.sleep(WATCH_S)
        with contextlib.suppress(DockerException, OSError, ValueError):
            found = await asyncio.to_thread(client.api.containers, all=True, size=True, filters=mine)
            if any(int(entry.get("SizeRw") or 0) > limit for entry in found):
                await asyncio.to_thread(remove, container)
                return


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
