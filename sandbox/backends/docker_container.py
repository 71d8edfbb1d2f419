"""The Docker backend: one hardened container for each sandbox, driven over the attach stream."""

import asyncio
import json
import select
import socket
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import docker
from docker.errors import APIError, DockerException, NotFound

from sandbox.backends import docker_hardening as hardening
from sandbox.backends import owners, variables
from sandbox.backends.base import CacheUsage, Guest
from sandbox.backends.docker_egress import ADVICE, WayOut, WaysOut, relay_prefix, require_way_out
from sandbox.backends.docker_images import Images
from sandbox.backends.docker_link import DockerLink, attach, read_hello, remove
from sandbox.backends.docker_setup import (
    ASKING,
    OpenSetup,
    find_installer_index,
    leave_network,
    pack_file,
    watched,
)
from sandbox.backends.guest_tree import GUEST_DIR, LIBRARY, START, GuestTree
from sandbox.backends.link import SocketLink
from sandbox.backends.pool import Pool, finish_start
from sandbox.backends.supervised import GuestPaths, SupervisedGuest
from sandbox.errors import HostGone, SandboxDied, SandboxError, SandboxUnavailable
from sandbox.spec import Deviation, Phase, RunLimits, SandboxSpec
from sandbox.types import USUAL, Door, Egress, Surroundings

Result = TypeVar("Result")

ENVIRONMENT = "/opt/env"
PYTHON = "/usr/bin/python3"
CA_BUNDLE = "/tmp/metaagent-ca.pem"  # noqa: S108 (in memory: no snapshot has it)
UV_CACHE = "/var/tmp/uv-cache"  # noqa: S108 (inside, swept before a snapshot)
SWEEP = (
    f"rm -rf {UV_CACHE} /home/sandbox/.cache /home/sandbox/.local/share/uv/cache"
    f" /var/tmp/* /var/tmp/.[!.]*"
)
HELLO_S = 60.0

PATHS = (f"{ENVIRONMENT}/bin", "/usr/local/bin", "/usr/bin", "/bin")
HOME = USUAL.home


class Started:
    """A running container whose supervisor has sent its first message.

    Args:
        container: The container.
        connection: Its attach stream.
        hello: The supervisor's first line.
        surroundings: The surroundings it was created with.
    """

    def __init__(
        self, container: Any, connection: socket.socket, hello: bytes, surroundings: Surroundings
    ) -> None:
        self.container = container
        self.connection = connection
        self.hello = hello
        self.surroundings = surroundings

    @property
    def is_alive(self) -> bool:
        """Return True if the other end of the stream is still open."""
        # Peek: the stream is readable at its end, and an idle supervisor sends nothing.
        readable, _, _ = select.select([self.connection], [], [], 0)
        return not readable or self.connection.recv(1, socket.MSG_PEEK) != b""

    def discard(self) -> None:
        """Close the connection and remove the container."""
        self.connection.close()
        remove(self.container)


class DockerBackend:
    """The containers of one Docker daemon.

    Args:
        spec: All flags and limits.
        cache: The user's folder for locks.
    """

    def __init__(self, spec: SandboxSpec, cache: Path | None = None) -> None:
        self._spec = spec
        self._cache = cache or Path.home() / ".cache" / "metaagent"
        self._guest = GuestTree.installed()
        self._client: docker.DockerClient | None = None
        self._images: Images | None = None
        self._runtime: str | None = None
        self._pool = Pool(self._started_for, spec.pool, spec.pool_idle_s)
        self._setups: dict[int, OpenSetup] = {}
        self._ways = WaysOut(spec, self._cache, self._find_default_index)
        self._apparmor = False
        self._ipv6 = True

    @property
    def name(self) -> str:
        """Return `docker`."""
        return "docker"

    # --- the daemon -------------------------------------------------------------------------------

    def _connect(self) -> tuple[docker.DockerClient, Images]:
        """Connect to the daemon once, and remove leftovers of dead processes."""
        if self._client is None or self._images is None:
            client, info = hardening.greet()
            weakref.finalize(self, client.close)
            runtimes = frozenset(info.get("Runtimes") or {})
            if self._spec.requires_gvisor and "runsc" not in runtimes:
                raise SandboxUnavailable(
                    "This Docker has no gVisor runtime (runsc), and the settings require it."
                )
            self._runtime = hardening.runtime(self._spec, runtimes)
            self._apparmor = any(
                "name=apparmor" in option for option in info.get("SecurityOptions") or ()
            )
            self._images = Images(client, self._spec, self._guest, self._cache)
            self._client = client
            self.sweep()
        return self._client, self._images

    def _get_images(self) -> Images:
        return self._connect()[1]

    def sweep(self) -> int:
        """Remove containers of dead processes and the folders of their proxies.

        Return the number of containers.
        """
        client, _ = self._connect()
        self._ways.sweep()
        count = 0
        for container in client.containers.list(
            all=True, filters={"label": hardening.LABEL}, ignore_removed=True
        ):
            if owners.is_orphan(container.labels.get(hardening.OWNER_LABEL, "")):
                remove(container)
                count += 1
        return count

    async def ensure_toolchain(self, packages: tuple[str, ...] = ()) -> str:
        """Return the toolchain image with the current guest programs; build it on first use."""
        return await _blocking(lambda: self._get_images().toolchain(packages))

    async def find_environment(self, key: str) -> str | None:
        """Return the image of an existing environment."""
        return await _blocking(lambda: self._get_images().environment(key))

    async def digest(self, image: str) -> str:
        """Return the content digest of an image."""
        return await _blocking(lambda: self._get_images().digest(image))

    # --- sandboxes --------------------------------------------------------------------------------

    def _start(
        self,
        image: str,
        phase: Phase,
        egress: str | None = None,
        surroundings: Surroundings = USUAL,
    ) -> Started:
        """Start one container, without IPv6 if the daemon's kernel has none."""
        start = partial(self._start_container, image, phase, egress, surroundings)
        # Containers start in several threads: another one may set it before this one fails.
        ipv6 = self._ipv6
        try:
            return start(ipv6=ipv6)
        except APIError as error:
            if not (ipv6 and hardening.lacks_ipv6(error)):
                raise
        self._ipv6 = False
        return start(ipv6=False)

    def _start_container(
        self,
        image: str,
        phase: Phase,
        egress: str | None,
        surroundings: Surroundings,
        *,
        ipv6: bool,
    ) -> Started:
        """Create, verify, attach and start one container."""
        client, _ = self._connect()
        paths = {"workdir": surroundings.workdir, "python": f"{ENVIRONMENT}/bin/python"}
        command = [PYTHON, "-I", "-S", "-c", START, LIBRARY, json.dumps(paths | {"alone": True})]
        arguments = hardening.container_arguments(
            self._spec, phase, self._runtime, egress, surroundings=surroundings, ipv6=ipv6
        )
        # Create, inspect, start: nothing runs in a container before it is verified.
        container = client.containers.create(image, command, **arguments)
        try:
            inspected = client.api.inspect_container(str(container.id))
            deviations = self._spec.check(
                inspected,
                phase,
                egress=egress,
                runtime=self._runtime,
                apparmor=self._apparmor,
                surroundings=surroundings,
            )
            _check_deviations(deviations)
            connection = attach(container)
            try:
                container.start()
                return Started(container, connection, read_hello(connection, HELLO_S), surroundings)
            except BaseException:
                connection.close()
                raise
        except BaseException:
            remove(container)
            raise

    async def _greet(
        self, started: Started, env: dict[str, str], prefix: tuple[str, ...]
    ) -> SupervisedGuest:
        place = GuestPaths(
            workdir=started.surroundings.workdir,
            guest_dir=GUEST_DIR,
            environment_python=f"{ENVIRONMENT}/bin/python",
            system_python=PYTHON,
            env=env,
            aliases=started.surroundings.folder_moves(USUAL),
            prefix=prefix,
            max_files=self._spec.max_files,
            export_files=self._spec.export_files,
            export_bytes=self._spec.export_bytes,
        )
        link = DockerLink(await SocketLink.over(started.connection))
        guest = SupervisedGuest(link, place, lambda: asyncio.to_thread(remove, started.container))
        await guest.greet(started.hello)
        return guest

    @asynccontextmanager
    async def open(
        self, image: str, *, door: Door | None = None, surroundings: Surroundings = USUAL
    ) -> AsyncIterator[Guest]:
        """Open a hardened sandbox without network, from the pool if possible."""
        env = variables.for_commands(PATHS, surroundings.home, surroundings)
        if door is not None:
            async with self._ways.door(door) as folder:
                started = await finish_start(
                    _blocking(lambda: self._start(image, "mission", folder, surroundings))
                )
                async with self._serving(started, env, relay_prefix(PYTHON)) as guest:
                    await require_way_out(guest, PYTHON)
                    yield guest
            return
        key = (image, surroundings)
        started = self._pool.take(key) or await finish_start(self._started(*key))
        self._pool.keep_hot(key)
        async with self._serving(started, env) as guest:
            yield guest

    @asynccontextmanager
    async def _serving(
        self, started: Started, env: dict[str, str], prefix: tuple[str, ...] = ()
    ) -> AsyncIterator[SupervisedGuest]:
        guest: SupervisedGuest | None = None
        try:
            guest = await self._greet(started, env, prefix)
            yield guest
        finally:
            if guest is not None:
                await guest.close()
            await asyncio.shield(asyncio.to_thread(started.discard))

    async def close(self) -> None:
        """Remove the sandboxes in the pool."""
        await self._pool.close()

    async def _started_for(self, key: tuple[str, Surroundings]) -> Started:
        return await self._started(*key)

    async def _started(self, image: str, surroundings: Surroundings = USUAL) -> Started:
        return await _blocking(lambda: self._start(image, "mission", surroundings=surroundings))

    # --- setting up -------------------------------------------------------------------------------

    @asynccontextmanager
    async def open_setup(self, image: str) -> AsyncIterator[Guest]:
        """Open a sandbox for installing, with a writable root and the proxy as only way out."""
        bundle = await asyncio.to_thread(variables.ca_bundle, self._spec)
        trusted = CA_BUNDLE if bundle else None
        env = variables.for_commands(PATHS, HOME) | variables.for_setup(
            self._spec, ENVIRONMENT, trusted
        )
        env |= {"UV_CACHE_DIR": UV_CACHE}
        async with AsyncExitStack() as stack:
            way = (
                await stack.enter_async_context(self._ways.open())
                if self._spec.setup_network == "none"
                else None
            )
            started = await self._start_for_setup(image, way)
            prefix = relay_prefix(PYTHON) if way is not None else ()
            guest = await stack.enter_async_context(self._serving(started, env, prefix))
            if way is not None:
                await require_way_out(guest, PYTHON)
            if bundle:
                await guest.unpack(
                    pack_file(Path(CA_BUNDLE).name, bundle), str(Path(CA_BUNDLE).parent)
                )
            client, _ = self._connect()
            self._setups[id(guest)] = OpenSetup(started.container, way)
            try:
                async with watched(client, started.container, self._spec.setup_bytes):
                    yield guest
            finally:
                del self._setups[id(guest)]

    async def _start_for_setup(self, image: str, way: WayOut | None) -> Started:
        try:
            folder = way.folder if way is not None else None
            return await finish_start(_blocking(lambda: self._start(image, "setup", folder)))
        except SandboxUnavailable as error:
            if "bind" in error.message and way is not None:
                raise SandboxUnavailable(
                    "Docker cannot mount the folder of the set-up's proxy.", ADVICE
                ) from error
            raise

    async def allow_hosts(self, setup: Guest, hosts: tuple[str, ...]) -> None:
        """Allow further hosts in a set-up sandbox."""
        found = self._setups.get(id(setup))
        if found is None:
            raise SandboxError("Only an open set-up sandbox has egress.")
        if found.way is not None:
            await found.way.allow(hosts)

    async def end_egress(self, setup: Guest) -> Egress:
        """Cut the network of a set-up sandbox permanently."""
        found = self._setups.get(id(setup))
        if found is None:
            raise SandboxError("Only an open set-up sandbox has egress.")
        if found.way is not None:
            return await found.way.end()
        client, _ = self._connect()
        await _blocking(lambda: leave_network(client, found.container, self._spec.setup_network))
        return Egress()

    async def prune(self, *, only_count: bool = False) -> CacheUsage:
        """Remove environments and toolchain layers beyond the limits of age or size."""
        return await _blocking(lambda: self._get_images().prune(only_count=only_count))

    async def _find_default_index(self) -> str | None:
        """Return the installer's default index, from its error message without network."""
        started = await finish_start(self._started(await self.ensure_toolchain()))
        async with self._serving(started, variables.for_commands(PATHS, HOME) | ASKING) as guest:
            return await find_installer_index(guest)

    async def environment_notes(self, image: str) -> dict[str, str]:
        """Return the notes of an environment."""
        return await _blocking(lambda: self._get_images().notes(image))

    async def keep_environment(
        self, setup: Guest, key: str, *, notes: Mapping[str, str] | None = None
    ) -> str:
        """Keep the installation of a set-up sandbox."""
        found = self._setups.get(id(setup))
        if found is None:
            raise SandboxError("Only an open set-up sandbox can be kept.")
        await setup.run(("/bin/sh", "-c", SWEEP), limits=RunLimits(wall_s=60.0), cwd="/")
        return await _blocking(lambda: self._get_images().keep(found.container, key, notes or {}))


def _check_deviations(deviations: list[Deviation]) -> None:
    if deviations:
        raise SandboxUnavailable(f"The container differs from the specification: {deviations[0]}.")


async def _blocking(work: Callable[[], Result]) -> Result:
    """Run an SDK call in a thread and convert its errors."""
    try:
        return await asyncio.to_thread(work)
    except DockerException as error:
        if isinstance(error, NotFound) and "No such container" in str(error):
            raise SandboxDied(
                "The sandbox is gone: it was removed, or Docker was restarted."
            ) from error
        raise SandboxUnavailable(f"Docker refused: {str(error)[:300]}", hardening.ADVICE) from error
    except OSError as error:
        raise HostGone(
            f"Docker stopped responding ({type(error).__name__}).", hardening.ADVICE
        ) from error
