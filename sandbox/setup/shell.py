"""Commands of ours in a set-up sandbox, within one common time limit."""

import io
import tarfile
import time
from collections.abc import Mapping
from posixpath import dirname
from typing import Self

from sandbox.backends.base import Guest
from sandbox.errors import SetupFailed
from sandbox.gate import clean
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import CommandResult

_ENV = {
    "UV_NO_PROGRESS": "1",
    # Configuration files could name another index than the operator's.
    "UV_NO_CONFIG": "1",
    "UV_PYTHON_DOWNLOADS": "never",
}
_LOG_CHARACTERS = 4000


class Shell:
    """One set-up sandbox.

    Args:
        guest: The sandbox.
        spec: Its limits.
        folder: The environment's folder inside.
    """

    def __init__(self, guest: Guest, spec: SandboxSpec, folder: str) -> None:
        self.guest = guest
        self.folder = folder
        self.scratch = f"{dirname(guest.workdir)}/setup"
        self.substituted: list[str] = []
        """Packages in other versions than the lock file's, which the registry no longer has."""
        self.left_out: list[str] = []
        """Development packages that the set-up does not reach."""
        self._spec = spec
        self._left_until = time.monotonic() + spec.setup_wall_s
        self._env = {**_ENV, "UV_PYTHON_INSTALL_DIR": f"{folder}/python"}

    @classmethod
    async def of(cls, guest: Guest, spec: SandboxSpec) -> Self:
        """Return the shell of a set-up sandbox, whose variables name the environment's folder."""
        command = ("/bin/sh", "-c", 'printf %s "$VIRTUAL_ENV"')
        where = await guest.run(command, limits=RunLimits(wall_s=30.0), cwd="/")
        return cls(guest, spec, where.stdout)

    @property
    def python(self) -> str:
        """Return the environment's interpreter."""
        return f"{self.folder}/bin/python"

    async def run(
        self,
        *argv: str,
        cwd: str = "/",
        env: Mapping[str, str] | None = None,
        wall_s: float | None = None,
    ) -> CommandResult:
        """Run a command within the remaining time of the set-up."""
        left = max(self._left_until - time.monotonic(), 1.0)
        limits = RunLimits(wall_s=min(left, wall_s or left))
        return await self.guest.run(argv, limits=limits, cwd=cwd, env=self._env | dict(env or {}))

    async def place(self, files: Mapping[str, bytes], folder: str) -> None:
        """Write files to a folder inside, which may be missing."""
        await self.check(await self.run("mkdir", "-p", folder), "make a folder")
        await self.guest.unpack(pack(files), folder)

    async def run_ours(self, module: str, *arguments: str) -> CommandResult:
        """Run a guest program with the environment's interpreter but without its packages."""
        start = (
            f"import sys; sys.path.insert(0, sys.argv.pop(1)); from sandbox.guest.{module} "
            f"import main"
        )
        library = f"{dirname(self.guest.guest_dir)}/lib"
        return await self.run(
            self.python, "-I", "-S", "-c", f"{start}; main(sys.argv[1:])", library, *arguments
        )

    async def check(self, result: CommandResult, what: str) -> None:
        """Check the result of a command.

        Raises:
            SetupFailed: The command failed.
        """
        if not result.ok:
            raise self.failure(result, f"could not {what}")

    def failure(
        self, result: CommandResult, what: str, requested: tuple[str, ...] = ()
    ) -> SetupFailed:
        """Return the error for a failed command.

        Args:
            result: How it ended.
            what: What failed.
            requested: The requested packages that cannot be installed.
        """
        log = clean(result.stdout + result.stderr, cap=_LOG_CHARACTERS)
        if result.timed_out:
            return SetupFailed(
                f"Set-up took longer than {self._spec.setup_wall_s:g} s: {what}.", log=log
            )
        return SetupFailed(
            f"Set-up failed: {what}.", "Read the set-up's output.", log=log, requested=requested
        )

    async def compile(self) -> None:
        """Compile installed modules, because the root is read-only afterwards.

        The installer could do this, but it starts the environment's interpreter. That runs the
        packages' `.pth` files while the index is still reachable.
        """
        script = 'exec "$1" -I -S -m compileall -qq -j 2 "$2"/lib/python*/site-packages'
        # Modules that cannot be compiled (for another Python) are ignored.
        await self.run("/bin/sh", "-c", script, "sh", self.python, self.folder)


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return files as a tar archive with reproducible bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return raw.getvalue()
