"""ScriptedBackend: environments and guests in memory; what commands do is scripted."""

import io
import tarfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager

from sandbox.backends.base import CacheUsage
from sandbox.errors import SandboxUnavailable
from sandbox.spec import RunLimits
from sandbox.types import USUAL, CommandResult, Door, Egress, FileEdit, Surroundings

Script = Callable[[tuple[str, ...]], CommandResult | None]
"""How a command ends; None is a quiet success."""


class ScriptedGuest:
    """A sandbox in memory.

    Args:
        script: How commands end.
    """

    workdir = USUAL.workdir
    guest_dir = "/opt/metaagent/guest"
    python = "/usr/bin/python3"

    def __init__(self, script: Script) -> None:
        self._script = script
        self.commands: list[tuple[str, ...]] = []
        self.environments: list[dict[str, str]] = []
        self.inputs: list[bytes] = []
        self.unpacked: dict[str, dict[str, bytes]] = {}
        self.files: dict[str, bytes] = {}
        self.edits: tuple[FileEdit, ...] = ()
        """What its commands changed since the last snap."""

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
        self.environments.append(dict(env or {}))
        self.inputs.append(stdin)
        if argv[-1:] == ('printf %s "$VIRTUAL_ENV"',):
            return CommandResult(argv=argv, exit_code=0, stdout="/opt/env")
        return self._script(argv) or CommandResult(argv=argv, exit_code=0)

    async def stream(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> AsyncIterator[bytes | CommandResult]:
        yield await self.run(argv, limits=limits, cwd=cwd, env=env, stdin=stdin)

    async def unpack(self, tar: bytes, folder: str) -> None:
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            members = {member.name: archive.extractfile(member) for member in archive}
            self.unpacked[folder] = {
                name: file.read() for name, file in members.items() if file is not None
            }

    async def write(self, edits: Iterable[FileEdit]) -> None:
        for edit in edits:
            self.files[edit.path] = edit.content

    async def read(self, path: str, *, max_bytes: int = 1 << 20) -> bytes | None:
        return self.files.get(path)

    async def list_files(self) -> tuple[str, ...]:
        return tuple(sorted(self.files))

    async def snap(self) -> int:
        return len(self.files)

    async def export(self) -> tuple[FileEdit, ...]:
        return self.edits


class ScriptedBackend:
    """A backend in memory.

    Args:
        script: How commands end, in every guest.
    """

    name = "fake"

    def __init__(self, script: Script = lambda argv: None) -> None:
        self._script = script
        self.toolchain = "toolchain:1"
        self.environments: set[str] = set()
        self.setups: list[ScriptedGuest] = []
        self.guests: list[ScriptedGuest] = []
        self.open_now = 0
        self.notes: dict[str, dict[str, str]] = {}
        self.egress = Egress()
        self.allowed: tuple[str, ...] = ()
        self.ended: list[object] = []
        self.cannot_add = False
        """True if no image with further packages can be built."""
        self.stood_on: list[str] = []
        """The image of every set-up."""
        self.pruned = 0
        self.edits: tuple[FileEdit, ...] = ()
        """What commands change in the work folder of every set-up."""

    async def ensure_toolchain(self, packages: tuple[str, ...] = ()) -> str:
        if packages and self.cannot_add:
            raise SandboxUnavailable("The image cannot be built.", "")
        return "-".join((self.toolchain, *packages))

    async def find_environment(self, key: str) -> str | None:
        return f"env:{key}" if key in self.environments else None

    @asynccontextmanager
    async def open_setup(self, image: str) -> AsyncIterator[ScriptedGuest]:
        self.stood_on.append(image)
        async with self._opened(self.setups) as guest:
            guest.edits = self.edits
            yield guest

    @asynccontextmanager
    async def open(
        self, image: str, *, door: Door | None = None, surroundings: Surroundings = USUAL
    ) -> AsyncIterator[ScriptedGuest]:
        async with self._opened(self.guests) as guest:
            guest.workdir = surroundings.workdir
            yield guest

    @asynccontextmanager
    async def _opened(self, kept: list[ScriptedGuest]) -> AsyncIterator[ScriptedGuest]:
        guest = ScriptedGuest(self._script)
        kept.append(guest)
        self.open_now += 1
        try:
            yield guest
        finally:
            self.open_now -= 1

    async def allow_hosts(self, setup: object, hosts: tuple[str, ...]) -> None:
        self.allowed += hosts

    async def prune(self, *, only_count: bool = False) -> CacheUsage:
        self.pruned += not only_count
        return CacheUsage(count=len(self.environments))

    async def end_egress(self, setup: object) -> Egress:
        self.ended.append(setup)
        return self.egress

    async def keep_environment(
        self, setup: object, key: str, *, notes: Mapping[str, str] | None = None
    ) -> str:
        self.environments.add(key)
        self.notes[f"env:{key}"] = dict(notes or {})
        return f"env:{key}"

    async def environment_notes(self, image: str) -> dict[str, str]:
        return self.notes.get(image, {})

    async def digest(self, image: str) -> str:
        return f"sha256:{image}"

    async def close(self) -> None:
        """Nothing waits here."""
