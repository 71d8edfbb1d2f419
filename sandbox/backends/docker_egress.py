"""Egress of set-up sandboxes: a private folder with a socket for each, and the allowed hosts."""

import asyncio
import logging
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from sandbox.backends import owners, variables
from sandbox.backends.base import Guest
from sandbox.backends.guest_tree import GUEST_DIR
from sandbox.egress.allowed import AllowList, Endpoint, parse_endpoint, split_authority
from sandbox.egress.doorway import Doorway
from sandbox.egress.index import IndexAccess, discover_hosts, discover_redirects
from sandbox.egress.outward import Outward, Upstream
from sandbox.egress.proxy import EgressLimits, EgressProxy
from sandbox.egress.refused import EgressRefused
from sandbox.errors import HostGone, SandboxDied, SandboxError, SandboxUnavailable, SetupFailed
from sandbox.spec import EGRESS_FOLDER, RunLimits, SandboxSpec
from sandbox.types import Door, Egress

log = logging.getLogger(__name__)

SOCKET = "proxy.sock"
INNER = "in"
PASSABLE = 0o711
"""Processes inside find the socket by its name, and cannot list the folder."""

LONG_S, SHORT_S = 86_400.0, 60.0
"""Seconds until the hosts of an index are requested again: a day, or a minute if its pages were
unreadable.
"""

ADVICE = (
    "Set sandbox.egress_folder to a short path that Docker sees under the same name, on this "
    "very machine."
)

SiteOf = Callable[[Endpoint], Awaitable[IndexAccess]]
AskInstaller = Callable[[], Awaitable[str | None]]
"""Returns the default index of the toolchain's installer."""


class WayOut:
    """The egress of one set-up sandbox.

    Args:
        folder: The folder that is mounted into it.
        proxy: The proxy that listens there.
        site: How to fetch a host's pages from here.
    """

    def __init__(self, folder: Path, proxy: EgressProxy, site: SiteOf) -> None:
        self.folder = str(folder)
        self._proxy = proxy
        self._site = site

    async def allow(self, hosts: Iterable[str]) -> None:
        """Allow further hosts.

        Args:
            hosts: `name:port`, or a URL for its host and those it redirects to; by TLS only.

        Raises:
            SandboxError: A host is malformed or not reached by TLS.
        """
        for text in hosts:
            where = split_authority(text)
            first = (
                Endpoint(host=where[0], port=where[1])
                if where is not None
                else parse_endpoint(text)
            )
            if first is None or first.scheme != "https":
                raise SandboxError(f"{text[:100]!r} is not a TLS host.")
            led = (
                () if where is not None else await discover_redirects(text, await self._site(first))
            )
            for endpoint in (first, *led):
                self._proxy.allow(endpoint)

    async def end(self) -> Egress:
        """Close the egress permanently. Return what was reached."""
        return await self._proxy.end()


class WaysOut:
    """Factory of egress connections.

    Args:
        spec: Budgets, hosts, index, and the operator's proxy.
        cache: The user's cache folder.
        ask: Returns the installer's default index.
    """

    def __init__(self, spec: SandboxSpec, cache: Path, ask: AskInstaller) -> None:
        self._spec = spec
        self._base = Path(spec.egress_folder) if spec.egress_folder else cache / "egress"
        self._ask = ask
        self._lock = asyncio.Lock()
        self._known: AllowList | None = None
        self._known_until = 0.0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[WayOut]:
        """Open a socket in a folder of its own, with a proxy behind it.

        Raises:
            SandboxUnavailable: A setting is wrong, or the folder is unusable.
            HostGone: The set-up failed because Docker went away during the search for the index.
            SandboxDied: The set-up failed because the sandbox for that search went away.
        """
        gone: list[HostGone | SandboxDied] = []

        async def allowed() -> AllowList:
            try:
                if not gone:
                    return await self.allowed()
            except (HostGone, SandboxDied) as error:
                gone.append(error)
            raise EgressRefused("the allow-list is currently unavailable")

        outward = self._outward()
        variables.hosts_of_operator(self._spec)
        folder = await asyncio.to_thread(self._new_folder)
        limits = EgressLimits(
            received_bytes=self._spec.egress_bytes, wall_s=self._spec.egress_wall_s
        )
        proxy = EgressProxy(folder / INNER / SOCKET, allowed, outward, limits)
        try:
            try:
                await proxy.start()
            except OSError as error:
                raise SandboxUnavailable(
                    f"The set-up's proxy cannot listen: {error.strerror or error}.", ADVICE
                ) from error
            yield WayOut(folder / INNER, proxy, self._site)
        except SetupFailed as error:
            if gone:  # the set-up itself is not at fault
                raise gone[0] from error
            raise
        finally:
            await asyncio.shield(_close_and_remove(proxy, folder))

    @asynccontextmanager
    async def door(self, door: Door) -> AsyncIterator[str]:
        """Open a socket with a door instead of a proxy, and yield the folder to mount.

        Args:
            door: Handler of the connections.

        Raises:
            SandboxUnavailable: The folder is unusable.
        """
        folder = await asyncio.to_thread(self._new_folder)
        doorway = Doorway(folder / INNER / SOCKET, door)
        try:
            try:
                await doorway.start()
            except OSError as error:
                raise SandboxUnavailable(
                    f"The agent's door cannot be opened: {error.strerror or error}.", ADVICE
                ) from error
            yield str(folder / INNER)
        finally:
            await asyncio.shield(_close_and_remove(doorway, folder))

    def _new_folder(self) -> Path:
        """Create a private folder.

        Others can only pass through its inner folder, which is mounted.
        """
        try:
            self._base.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder = Path(tempfile.mkdtemp(dir=self._base.resolve(), prefix=""))
            owners.mark(folder)
            inner = folder / INNER
            inner.mkdir()
            # The mode of mkdir is subject to the umask.
            inner.chmod(PASSABLE)
        except OSError as error:
            raise SandboxUnavailable(
                f"Creating a folder for the set-up's proxy failed: {error.strerror}.", ADVICE
            ) from error
        return folder

    def sweep(self) -> None:
        """Remove the folders of dead processes."""
        owners.sweep(self._base, "*")

    # --- allowed hosts ---------------------------------------------------------------------------

    def _outward(self) -> Outward:
        proxy = self._spec.upstream_proxy
        return Outward(Upstream.parse(proxy.get_secret_value()) if proxy is not None else None)

    async def allowed(self) -> AllowList:
        """Return the hosts of the index, the file hosts of its pages, and the operator's hosts.

        Raises:
            HostGone: Docker went away during the search for the index.
            SandboxDied: The sandbox for that search went away.
        """
        async with self._lock:
            if self._known is None or time.monotonic() > self._known_until:
                self._known, lasting = await self._find()
                self._known_until = time.monotonic() + (LONG_S if lasting else SHORT_S)
                log.info("set-up allow-list: %s", self._known)
            return self._known

    async def _find(self) -> tuple[AllowList, bool]:
        added = variables.hosts_of_operator(self._spec)
        index = self._spec.index_url
        try:
            asked = index or await self._ask()
        except (HostGone, SandboxDied):
            raise  # this says nothing about the index, so that nothing may be cached
        except SandboxError as error:
            log.warning("finding the installer's index failed: %s", error.message)
            asked = None
        first = parse_endpoint(asked, own=index is not None) if asked else None
        if asked is None or first is None:
            return AllowList(added), False
        found = await discover_hosts(asked, await self._site(first), own=index is not None)
        return AllowList((*found.endpoints, *added)), found.is_complete

    async def _site(self, index: Endpoint) -> IndexAccess:
        proxy = self._spec.upstream_proxy
        direct = await self._outward().is_direct(index)
        certificates = await asyncio.to_thread(variables.ca_bundle, self._spec)
        return IndexAccess(
            certificates=certificates,
            proxy=None if proxy is None or direct else proxy.get_secret_value(),
        )


async def _close_and_remove(proxy: EgressProxy | Doorway, folder: Path) -> None:
    """Close a proxy and remove its folder, also under cancellation."""
    try:
        await proxy.close()
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def relay_prefix(python: str) -> tuple[str, ...]:
    """Return the command prefix that starts a process with access to the proxy.

    Args:
        python: The interpreter inside.
    """
    return (*_relay(python), "--")


async def require_way_out(guest: Guest, python: str) -> None:
    """Check that the socket exists inside and that the proxy listens.

    Args:
        guest: The set-up sandbox.
        python: The interpreter inside.

    Raises:
        SandboxUnavailable: The daemon is on another machine, or its runtime blocks sockets of the
            host.
    """
    command = (*_relay(python), "--check")
    found = await guest.run(command, limits=RunLimits(wall_s=30.0), cwd="/")
    if not found.ok:
        raise SandboxUnavailable(
            "The set-up sandbox cannot reach its proxy: its socket is missing.", ADVICE
        )


def _relay(python: str) -> tuple[str, ...]:
    return (python, "-I", "-S", f"{GUEST_DIR}/relay.py", f"{EGRESS_FOLDER}/{SOCKET}")
