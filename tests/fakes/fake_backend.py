"""FakeBackend and FakeGuest: files in memory, and the answers of commands written down in advance."""

import io
import tarfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import PurePosixPath

from sandbox.backends.base import CacheUsage, Guest
from sandbox.errors import ChangeRejected, SandboxDied, SandboxError
from sandbox.spec import RunLimits
from sandbox.types import USUAL, CommandResult, Door, Egress, FileEdit, Surroundings

Program = Callable[[tuple[str, ...], bytes], CommandResult]
SKIPPED = {".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
MAX_FILE = 1 << 20


def said(
    argv: tuple[str, ...], exit_code: int = 0, *, stdout: str = "", results: bytes = b""
) -> CommandResult:
    """A result as a script would give it."""
    return CommandResult(argv=argv, exit_code=exit_code, stdout=stdout, results=results)


def _checked(path: str) -> str:
    if "\0" in path or any(part in {"", ".", ".."} for part in path.split("/")):
        raise ChangeRejected(
            f"The sandbox reports: the path {path!r} does not name a file below the work tree"
        )
    return path


class FakeGuest:
    """A sandbox that runs nothing.

    Args:
        files: The work tree: path to (mode, content).
        programs: First word of a command to what it answers.
    """

    def __init__(
        self,
        files: dict[str, tuple[str, bytes]] | None = None,
        programs: Mapping[str, Program] | None = None,
    ) -> None:
        self.files: dict[str, tuple[str, bytes]] = dict(files or {})
        self.programs = dict(programs or {})
        self.ran: list[tuple[str, ...]] = []
        self.archives: list[tuple[str, bytes]] = []
        self.dead = False
        self._base: dict[str, tuple[str, bytes]] = {}

    @property
    def workdir(self) -> str:
        return "/work/repo"

    @property
    def guest_dir(self) -> str:
        return "/opt/metaagent/guest"

    @property
    def python(self) -> str:
        return "/opt/env/bin/python"

    def _alive(self) -> None:
        if self.dead:
            raise SandboxDied("The sandbox went away.")

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> CommandResult:
        self._alive()
        self.ran.append(argv)
        program = self.programs.get(argv[0])
        if program is None:
            return CommandResult(
                argv=argv, exit_code=127, stderr=f"{argv[0]}: No such file or directory\n"
            )
        return program(argv, stdin)

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
        self._alive()
        self.archives.append((folder, tar))
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            for member in archive.getmembers():
                file = archive.extractfile(member) if member.isfile() else None
                where = PurePosixPath(folder, member.name)
                if file is not None and where.is_relative_to(self.workdir):
                    mode = "100755" if member.mode & 0o100 else "100644"
                    self.files[str(where.relative_to(self.workdir))] = (mode, file.read())

    async def write(self, edits: Iterable[FileEdit]) -> None:
        self._alive()
        edits = tuple(edits)
        for edit in edits:
            path = _checked(edit.path)
            if any(other.startswith(f"{path}/") for other in self.files):
                raise ChangeRejected(
                    f"The sandbox reports: {edit.path!r} is a link, a folder or a special file"
                )
        for edit in edits:
            if edit.mode == "deleted":
                self.files.pop(edit.path, None)
            else:
                self.files[edit.path] = (edit.mode, edit.content)

    async def read(self, path: str, *, max_bytes: int = 1 << 20) -> bytes | None:
        self._alive()
        found = self.files.get(_checked(path))
        if found is not None and len(found[1]) > max_bytes:
            raise ChangeRejected(f"The sandbox reports: {path!r} has more than {max_bytes} bytes")
        return None if found is None else found[1]

    def _listed(self) -> list[str]:
        return sorted(p for p in self.files if not SKIPPED & set(p.split("/")))

    async def list_files(self) -> tuple[str, ...]:
        self._alive()
        return tuple(self._listed())

    async def snap(self) -> int:
        self._alive()
        self._base = {path: self.files[path] for path in self._listed()}
        return len(self._base)

    async def export(self) -> tuple[FileEdit, ...]:
        self._alive()
        found = []
        for path in sorted({*self._listed(), *self._base}):
            now, before = self.files.get(path), self._base.get(path)
            if now is None:
                found.append(FileEdit(path=path, mode="deleted"))
            elif now != before and len(now[1]) > MAX_FILE:
                if before is not None:
                    raise ChangeRejected(
                        f"The sandbox reports: {path!r} is larger than {MAX_FILE} bytes"
                    )
            elif now != before:
                found.append(
                    FileEdit(
                        path=path, mode="100755" if now[0] == "100755" else "100644", content=now[1]
                    )
                )
        if len(found) > 20:
            raise ChangeRejected("The sandbox reports: more than 20 files changed")
        return tuple(found)


class FakeBackend:
    """A backend that opens the same guests again and again.

    Args:
        guest: What every sandbox starts as; a fresh empty one when None.
    """

    def __init__(self, guest: Callable[[], FakeGuest] = FakeGuest) -> None:
        self._guest = guest
        self.environments: dict[str, str] = {}
        self.notes: dict[str, dict[str, str]] = {}
        self.egress = Egress()
        self.opened: list[FakeGuest] = []
        self._setups: set[int] = set()

    @property
    def name(self) -> str:
        return "docker"

    async def ensure_toolchain(self, packages: tuple[str, ...] = ()) -> str:
        return "fake-toolchain"

    async def close(self) -> None:
        pass

    async def find_environment(self, key: str) -> str | None:
        return self.environments.get(key)

    @asynccontextmanager
    async def open_setup(self, image: str) -> AsyncIterator[Guest]:
        async with self.open(image) as guest:
            self._setups.add(id(guest))
            yield guest
            self._setups.discard(id(guest))

    async def allow_hosts(self, setup: Guest, hosts: tuple[str, ...]) -> None:
        assert id(setup) in self._setups

    async def prune(self, *, only_count: bool = False) -> CacheUsage:
        return CacheUsage(count=len(self.environments))

    async def end_egress(self, setup: Guest) -> Egress:
        if id(setup) not in self._setups:
            raise SandboxError("Only an open set-up sandbox has egress.")
        return self.egress

    async def keep_environment(
        self, setup: Guest, key: str, *, notes: Mapping[str, str] | None = None
    ) -> str:
        assert id(setup) in self._setups
        self.environments[key] = f"fake-env:{key}"
        self.notes[self.environments[key]] = dict(notes or {})
        return self.environments[key]

    async def environment_notes(self, image: str) -> dict[str, str]:
        return self.notes.get(image, {})

    @asynccontextmanager
    async def open(
        self, image: str, *, door: Door | None = None, surroundings: Surroundings = USUAL
    ) -> AsyncIterator[Guest]:
        guest = self._guest()
        self.opened.append(guest)
        try:
            yield guest
        finally:
            guest.dead = True

    async def digest(self, image: str) -> str:
        return f"sha256:{image}"
