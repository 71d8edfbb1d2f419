"""The way out of the set-up sandboxes of one daemon: a private folder with a socket each, and who may be reached."""

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
from sandbox.egress.allowed import AllowList, Endpoint, endpoint_of, split_authority
from sandbox.egress.doorway import Doorway
from sandbox.egress.index import Site, hosts_led_to, hosts_of
from sandbox.egress.outward import Outward, Upstream
from sandbox.egress.proxy import EgressLimits, EgressProxy
from sandbox.egress.refused import Refused
from sandbox.errors import HostGone, SandboxDied, SandboxError, SandboxUnavailable, SetupFailed
from sandbox.spec import EGRESS_FOLDER, RunLimits, SandboxSpec
from sandbox.types import Door, Egress

log = logging.getLogger(__name__)

SOCKET = "proxy.sock"
INNER = "in"
PASSABLE = 0o711
"""Whoever is inside finds the socket by its name, and sees no list."""

LONG_S, SHORT_S = 86_400.0, 60.0
"""The hosts of an index are asked for again after a day; after a minute, when its pages could not be read."""

ADVICE = "Set sandbox.egress_folder to a short path that Docker sees under the same name, on this very machine."

SiteOf = Callable[[Endpoint], Awaitable[Site]]
AskInstaller = Callable[[], Awaitable[str | None]]
"""Which index the installer of the toolchain asks, when nobody configured one."""


class WayOut:
    """The way out of one set-up sandbox.

    Args:
        folder: What is mounted into it.
        proxy: What listens there.
        site: How a page of a host is fetched from here.
    """

    def __init__(self, folder: Path, proxy: EgressProxy, site: SiteOf) -> None:
        self.folder = str(folder)
        self._proxy = proxy
        self._site = site

    async def allow(self, hosts: Iterable[str]) -> None:
        """Let further hosts be reached.

        Args:
            hosts: As `name:port`, or an address that stands for its host and those it redirects to; by TLS only.

        Raises:
            SandboxError: one of them is none.
        """
        for text in hosts:
            where = split_authority(text)
            first = Endpoint(host=where[0], port=where[1]) if where is not None else endpoint_of(text)
            if first is None or first.scheme != "https":
                raise SandboxError(f"{text[:100]!r} is no host that is reached by TLS.")
            led = () if where is not None else await hosts_led_to(text, await self._site(first))
            for endpoint in (first, *led):
                self._proxy.allow(endpoint)

    async def end(self) -> Egress:
        """Close it, for good; says what was reached."""
        return await self._proxy.end()


class WaysOut:
    """Opens ways out.

    Args:
        spec: Budgets, hosts, index, and the proxy of the operator.
        cache: Folder of this user.
        ask: Asks the installer for its index.
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
        """A socket in a folder of its own, and the proxy behind it.

        Raises:
            SandboxUnavailable: a setting is wrong, or the folder cannot be used.
            HostGone: a set-up failed because Docker went away when the index was to be found.
            SandboxDied: the same, and only the sandbox that was asked went away.
        """
        gone: list[HostGone | SandboxDied] = []

        async def allowed() -> AllowList:
            try:
                if not gone:
                    return await self.allowed()
            except (HostGone, SandboxDied) as error:
                gone.append(error)
            raise Refused("which hosts are allowed cannot be found out now")

        outward = self._outward()
        variables.hosts_of_operator(self._spec)
        folder = await asyncio.to_thread(self._new_folder)
        limits = EgressLimits(received_bytes=self._spec.egress_bytes, wall_s=self._spec.egress_wall_s)
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
            if gone:  # not what was to be set up is at fault
                raise gone[0] from error
            raise
        finally:
            await asyncio.shield(_gone(proxy, folder))

    @asynccontextmanager
    async def door(self, door: Door) -> AsyncIterator[str]:
        """The same with a door instead of a proxy; gives the folder that is mounted.

        Args:
            door: Answers.

        Raises:
            SandboxUnavailable: the folder cannot be used.
        """
        folder = await asyncio.to_thread(self._new_folder)
        doorway = Doorway(folder / INNER / SOCKET, door)
        try:
            try:
                await doorway.start()
            except OSError as error:
                raise SandboxUnavailable(
                    f"The agent's door cannot be made: {error.strerror or error}.", ADVICE
                ) from error
            yield str(folder / INNER)
        finally:
            await asyncio.shield(_gone(doorway, folder))

    def _new_folder(self) -> Path:
        """Ours alone; only the inner folder, which is mounted, can be passed by others."""
        try:
            self._base.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder = Path(tempfile.mkdtemp(dir=self._base.resolve(), prefix=""))
            owners.mark(folder)
            inner = folder / INNER
            inner.mkdir()
            inner.chmod(PASSABLE)
        except OSError as error:
            raise SandboxUnavailable(f"No folder for the set-up's proxy: {error.strerror}.", ADVICE) from error
        return folder

    def sweep(self) -> None:
        """Remove the folders of makers that are gone."""
        owners.sweep(self._base, "*")

    # --- who may be reached -----------------------------------------------------------------------

    def _outward(self) -> Outward:
        proxy = self._spec.upstream_proxy
        return Outward(Upstream.parse(proxy.get_secret_value()) if proxy is not None else None)

    async def allowed(self) -> AllowList:
        """The hosts of the index, those its pages link files from, and those the operator added.

        Raises:
            HostGone: Docker went away when the installer was to be asked.
            SandboxDied: the sandbox it was asked in did.
        """
        async with self._lock:
            if self._known is None or time.monotonic() > self._known_until:
                self._known, lasting = await self._find()
                self._known_until = time.monotonic() + (LONG_S if lasting else SHORT_S)
                log.info("set-up may reach %s", self._known)
            return self._known

    async def _find(self) -> tuple[AllowList, bool]:
        added = variables.hosts_of_operator(self._spec)
        index = self._spec.index_url
        try:
            asked = index or await self._ask()
        except (HostGone, SandboxDied):
            raise  # nothing is known of the index by that, and nothing may be remembered
        except SandboxError as error:
            log.warning("the installer's index is not known: %s", error.message)
            asked = None
        first = endpoint_of(asked, own=index is not None) if asked else None
        if asked is None or first is None:
            return AllowList(added), False
        found = await hosts_of(asked, await self._site(first), own=index is not None)
        return AllowList((*found.endpoints, *added)), found.is_complete

    async def _site(self, index: Endpoint) -> Site:
        proxy = self._spec.upstream_proxy
        direct = await self._outward().is_direct(index)
        certificates = await asyncio.to_thread(variables.ca_bundle, self._spec)
        return Site(certificates=certificates, proxy=None if proxy is None or direct else proxy.get_secret_value())


async def _gone(proxy: EgressProxy | Doorway, folder: Path) -> None:
    """One thing for who is cancelled meanwhile: the folder goes all the same."""
    try:
        await proxy.close()
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def started_through(python: str) -> tuple[str, ...]:
    """What every command of a set-up sandbox is started through.

    Args:
        python: The interpreter, inside.
    """
    return (*_relay(python), "--")


async def require_way_out(guest: Guest, python: str) -> None:
    """The socket is there inside, and somebody listens.

    Args:
        guest: The set-up sandbox.
        python: The interpreter, inside.

    Raises:
        SandboxUnavailable: it is not: the daemon is elsewhere, or its runtime lets no socket of the host in.
    """
    command = (*_relay(python), "--check")
    found = await guest.run(command, limits=RunLimits(wall_s=30.0), cwd="/")
    if not found.ok:
        raise SandboxUnavailable("The set-up sandbox cannot reach its proxy: the socket is not there inside.", ADVICE)


def _relay(python: str) -> tuple[str, ...]:
    return (python, "-I", "-S", f"{GUEST_DIR}/relay.py", f"{EGRESS_FOLDER}/{SOCKET}")
