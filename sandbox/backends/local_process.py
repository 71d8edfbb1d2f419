"""Resource-limited processes on this host, for disposable hosts (CI runners, tests).

This isolation is weaker than a container's: commands can read the host's file system and use its
network. They never run as root, but as the user of MetaAgent, or as the user that the operator
names if MetaAgent runs as root.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from sandbox.backends import owners, variables
from sandbox.backends.base import CacheUsage, Guest
from sandbox.backends.guest_tree import START, GuestTree
from sandbox.backends.link import SocketLink
from sandbox.backends.local_environments import (
    TOOLCHAIN,
    Environments,
    interpreter_folders,
    remove_tree,
)
from sandbox.backends.retention import RetentionLimits
from sandbox.backends.supervised import GuestPaths, SupervisedGuest
from sandbox.errors import SandboxError, SandboxUnavailable
from sandbox.guest.reaper import descendants, processes
from sandbox.image import build
from sandbox.spec import SandboxSpec
from sandbox.types import USUAL, Door, Egress, Surroundings

ENVIRONMENT = "/opt/env"
"""The environment's folder in every other sandbox; here an alias."""

OPEN_FILES = 1024
FAREWELL_S = 10.0
ADVICE = "Give sandbox.local_uid an unprivileged user id, or choose --sandbox-backend docker."


class LocalBackend:
    """The local backend.

    Args:
        spec: Limits, and the user id for commands if MetaAgent runs as root.
        cache: Folder for environments and tools; commands must be able to enter it.
    """

    def __init__(self, spec: SandboxSpec, cache: Path | None = None) -> None:
        self._spec = spec
        self._guest = GuestTree.installed()
        self._environments = Environments(cache or _default_cache())
        self._python: str | None = None
        self._setups: dict[int, Path] = {}
        self._kept: set[Path] = set()
        self._swept = False

    async def close(self) -> None:
        """Do nothing: this backend has no pool."""

    @property
    def name(self) -> str:
        """Return `local`."""
        return "local"

    # --- the host ---------------------------------------------------------------------------------

    @property
    def _uid(self) -> int | None:
        """Return the user id to switch to; None to keep the current user."""
        return self._spec.local_uid if os.geteuid() == 0 else None

    def _refuse_root(self) -> None:
        if os.geteuid() == 0 and not self._spec.local_uid:
            raise SandboxUnavailable(
                "The local backend never runs repository code as root.", ADVICE
            )

    def _popen(self, argv: list[str], channel: socket.socket | None) -> subprocess.Popen[bytes]:
        """Start a program with an empty environment, as the user of commands."""
        stream = subprocess.DEVNULL if channel is None else channel.fileno()
        uid = self._uid
        return subprocess.Popen(
            argv,
            stdin=stream,
            stdout=stream,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )

    def _interpreter(self) -> str:
        """Return an interpreter that the user of commands can start."""
        if self._python is None:
            for candidate in (
                os.path.realpath(sys.executable),
                "/usr/bin/python3",
                "/usr/local/bin/python3",
            ):
                with contextlib.suppress(OSError):
                    if (
                        self._popen([candidate, "-I", "-S", "-c", "pass"], None).wait(timeout=30)
                        == 0
                    ):
                        self._python = candidate
                        return candidate
            raise SandboxUnavailable(
                "No Python on this host can be started by the user that commands run as.", ADVICE
            )
        return self._python

    @property
    def _tools_folder(self) -> Path:
        return self._environments.root / f"tools-{build.UV_VERSION}"

    def _tools(self) -> Path:
        """Return a folder with uv, which is fetched once."""
        folder = self._tools_folder
        if not (folder / "uv").is_file():
            folder.mkdir(parents=True, exist_ok=True, mode=0o755)
            with (folder / ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not (folder / "uv").is_file():
                    build.fetch_uv(folder / "uv")
        return folder

    async def ensure_toolchain(
        self,
        packages: tuple[str, ...] = (),  # noqa: ARG002 - this host's programs are used
    ) -> str:
        """Check that this host has an interpreter and uv.

        Raises:
            SandboxUnavailable: MetaAgent runs as root without a user id to switch to, or a tool is
                missing.
        """
        self._refuse_root()
        await asyncio.to_thread(self._tools)
        await asyncio.to_thread(self._interpreter)
        return TOOLCHAIN

    async def find_environment(self, key: str) -> str | None:
        """Return the environment of a key."""
        return await asyncio.to_thread(self._environments.find, key)

    async def allow_hosts(self, setup: Guest, hosts: tuple[str, ...]) -> None:
        """Do nothing: this backend does not restrict the network."""

    async def prune(self, *, only_count: bool = False) -> CacheUsage:
        """Remove environments beyond the limits of age or size."""
        spec = self._spec
        limits = RetentionLimits(
            size=spec.environments_bytes, days=spec.environments_days, busy_s=spec.mission_wall_s
        )
        return await asyncio.to_thread(self._environments.prune, limits, only_count=only_count)

    async def end_egress(self, setup: Guest) -> Egress:
        """Do nothing: this backend, for disposable hosts only, does not restrict the network."""
        if id(setup) not in self._setups:
            raise SandboxError("Only an open set-up sandbox has egress.")
        return Egress()

    async def environment_notes(self, image: str) -> dict[str, str]:
        """Return the notes of an environment."""
        return await asyncio.to_thread(self._environments.notes, image)

    async def keep_environment(
        self, setup: Guest, key: str, *, notes: Mapping[str, str] | None = None
    ) -> str:
        """Keep the installation of a set-up sandbox in its folder."""
        folder = self._setups.get(id(setup))
        if folder is None:
            raise SandboxError("Only an open set-up sandbox can be kept.")
        reference = await asyncio.to_thread(self._environments.keep, folder, key, notes or {})
        self._kept.add(folder)
        return reference

    async def digest(self, image: str) -> str:
        """Return a digest of an environment."""
        return await asyncio.to_thread(self._environments.digest, image)

    # --- sandboxes --------------------------------------------------------------------------------

    @asynccontextmanager
    async def open(
        self, image: str, *, door: Door | None = None, surroundings: Surroundings = USUAL
    ) -> AsyncIterator[Guest]:
        """Open a private folder for processes.

        A door is refused, because the network stays open here.
        """
        if door is not None:
            raise SandboxUnavailable(
                "An agent can only run in a container.", "Choose --sandbox-backend docker."
            )
        folder = self._environments.folder(image)
        async with (
            self._private_folder(surroundings) as base,
            self._serving(base, folder, {}, surroundings) as guest,
        ):
            yield guest

    @asynccontextmanager
    async def open_setup(self, image: str) -> AsyncIterator[Guest]:
        """Open a sandbox to install into a new environment folder: empty, or a copy."""
        await asyncio.to_thread(self._tools)
        folder = await asyncio.to_thread(
            self._environments.new, self._environments.folder(image), self._uid
        )
        try:
            async with self._private_folder(USUAL) as base:
                env = await asyncio.to_thread(self._setup_variables, base, folder)
                async with self._serving(base, folder, env) as guest:
                    self._setups[id(guest)] = folder
                    try:
                        yield guest
                    finally:
                        del self._setups[id(guest)]
        finally:
            if folder not in self._kept:
                await asyncio.to_thread(remove_tree, folder)

    def _setup_variables(self, base: Path, folder: Path) -> dict[str, str]:
        bundle = variables.ca_bundle(self._spec)
        certificates = base / "certificates.pem"
        certificates.write_bytes(bundle)
        trusted = str(certificates) if bundle else None
        # CI runners have their Pythons outside the system folders, and uv finds those in PATH.
        paths = (str(folder / "bin"), "/usr/local/bin", "/usr/bin", "/bin", *interpreter_folders())
        return {**variables.for_setup(self._spec, str(folder), trusted), "PATH": ":".join(paths)}

    def _change_owner(self, *paths: Path) -> None:
        """Make the user of commands the owner of files and folders."""
        for path in paths:
            if self._uid is not None:
                os.chown(path, self._uid, self._uid, follow_symlinks=False)

    @asynccontextmanager
    async def _private_folder(self, surroundings: Surroundings) -> AsyncIterator[Path]:
        """Create the private folder of one sandbox, and remove it afterwards."""
        self._refuse_root()
        base = await asyncio.to_thread(self._furnish, surroundings)
        try:
            yield base
        finally:
            await asyncio.shield(asyncio.to_thread(remove_tree, base))

    def _furnish(self, surroundings: Surroundings = USUAL) -> Path:
        if not self._swept:
            self._swept = True
            owners.sweep(Path(tempfile.gettempdir()), "metaagent-sandbox-*", remove_tree)
        base = Path(tempfile.mkdtemp(prefix="metaagent-sandbox-"))
        owners.mark(base)
        # mkdtemp creates mode 0700, and commands run as another user.
        base.chmod(0o755)
        for path, content in self._guest.layout().items():
            target = base / "metaagent" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        (base / "metaagent/lib/sandbox/guest").symlink_to("../../guest")
        for folder in (
            _below(base, surroundings.top),
            _below(base, surroundings.home),
            base / "tmp",
        ):
            folder.mkdir(mode=0o700, parents=True)
            self._change_owner(folder)
        return base

    @asynccontextmanager
    async def _serving(
        self,
        base: Path,
        folder: Path | None,
        env: dict[str, str],
        surroundings: Surroundings = USUAL,
    ) -> AsyncIterator[SupervisedGuest]:
        environment = folder or base / "no-environment"
        python = await asyncio.to_thread(self._interpreter)
        paths = (str(environment / "bin"), "/usr/local/bin", "/usr/bin", "/bin")
        commands = variables.for_commands(paths, str(_below(base, surroundings.home)), surroundings)
        place = GuestPaths(
            workdir=str(_below(base, surroundings.workdir)),
            guest_dir=str(base / "metaagent/guest"),
            environment_python=str(environment / "bin/python"),
            system_python=python,
            env={**commands, **env, "TMPDIR": str(base / "tmp")},
            tools=str(self._tools_folder),
            aliases={ENVIRONMENT: str(environment)},
            max_files=self._spec.max_files,
            export_files=self._spec.export_files,
            export_bytes=self._spec.export_bytes,
        )
        ours, process = await asyncio.to_thread(self._start, python, base, place)
        guest: SupervisedGuest | None = None
        try:
            guest = SupervisedGuest(
                await SocketLink.over(ours), place, lambda: asyncio.to_thread(_end, process, 0.0)
            )
            await guest.greet()
            yield guest
        finally:
            if guest is not None:
                await guest.close()
            ours.close()
            await asyncio.shield(asyncio.to_thread(_end, process, FAREWELL_S))

    def _start(
        self, python: str, base: Path, place: GuestPaths
    ) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        """Start a supervisor and return our end of its connection."""
        limits = {
            "files": OPEN_FILES,
            "file_bytes": self._spec.file_bytes,
            "data_bytes": self._spec.memory_bytes,
            "processes": self._spec.pids,
        }
        settings = {
            "workdir": place.workdir,
            "python": place.environment_python,
            "alone": False,
            "limits": limits,
        }
        argv = [python, "-I", "-S", "-c", START, str(base / "metaagent/lib"), json.dumps(settings)]
        ours, theirs = socket.socketpair()
        try:
            return ours, self._popen(argv, theirs)
        except OSError as error:
            ours.close()
            raise SandboxUnavailable(
                f"No process could be started: {error.strerror}.", ADVICE
            ) from error
        finally:
            theirs.close()


def _below(base: Path, folder: str) -> Path:
    """Return a sandbox's absolute path below the private folder."""
    return base / folder.removeprefix("/")


def _default_cache() -> Path:
    folder = Path("/var/cache/metaagent") if os.geteuid() == 0 else Path.home() / ".cache/metaagent"
    return folder / "local"


def _end(process: subprocess.Popen[bytes], patience: float) -> None:
    """Wait for a supervisor to end by itself.

    After the timeout, kill it and all its descendants.
    """
    try:
        process.wait(timeout=patience)
    except subprocess.TimeoutExpired:
        for pid in (*descendants(process.pid, processes()), process.pid):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        process.wait(timeout=FAREWELL_S)
