"""Commands of ours in a set-up sandbox, all within one time limit."""

import re
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
    "UV_NO_CONFIG": "1",
    "UV_PYTHON_DOWNLOADS": "never",
}
_LOG_CHARACTERS = 4000
_LOCK = """
import hashlib, importlib.metadata, re, sys
found = {(re.sub(r"[-_.]+", "-", one.metadata["Name"] or "").lower(), one.version)
         for one in importlib.metadata.distributions(path=sys.argv[1:])}
lines = "".join(f"{name}=={version}\\n" for name, version in sorted(found))
print(hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest())
"""


class Shell:
    """One set-up sandbox.

    Args:
        guest: The sandbox.
        spec: Its limits.
        folder: Of the environment, inside.
    """

    def __init__(self, guest: Guest, spec: SandboxSpec, folder: str) -> None:
        self.guest = guest
        self.folder = folder
        self.scratch = f"{dirname(guest.workdir)}/setup"
        self._spec = spec
        self._left_until = time.monotonic() + spec.setup_wall_s
        self._env = {**_ENV, "UV_PYTHON_INSTALL_DIR": f"{folder}/python"}

    @classmethod
    async def of(cls, guest: Guest, spec: SandboxSpec) -> Self:
        """The shell of a set-up sandbox, which says itself where its environment belongs."""
        command = ("/bin/sh", "-c", 'printf %s "$VIRTUAL_ENV"')
        where = await guest.run(command, limits=RunLimits(wall_s=30.0), cwd="/")
        return cls(guest, spec, where.stdout)

    @property
    def python(self) -> str:
        """The environment's interpreter."""
        return f"{self.folder}/bin/python"

    async def run(
        self, *argv: str, cwd: str = "/", env: Mapping[str, str] | None = None, wall_s: float | None = None
    ) -> CommandResult:
        """Run a command within what is left of the set-up's time."""
        left = max(self._left_until - time.monotonic(), 1.0)
        limits = RunLimits(wall_s=min(left, wall_s or left))
        return await self.guest.run(argv, limits=limits, cwd=cwd, env=self._env | dict(env or {}))

    async def run_ours(self, module: str, *arguments: str) -> CommandResult:
        """Run one of the guest programs, with the environment's interpreter and nothing that is installed for it."""
        start = f"import sys; sys.path.insert(0, sys.argv.pop(1)); from sandbox.guest.{module} import main"
        library = f"{dirname(self.guest.guest_dir)}/lib"
        return await self.run(self.python, "-I", "-S", "-c", f"{start}; main(sys.argv[1:])", library, *arguments)

    async def check(self, result: CommandResult, what: str) -> None:
        """Whether a command did what it should.

        Raises:
            SetupFailed: it did not.
        """
        if not result.ok:
            raise self.failure(result, f"could not {what}")

    def failure(self, result: CommandResult, what: str) -> SetupFailed:
        """What to raise for a command that did not do what it should."""
        log = clean(result.stdout + result.stderr, cap=_LOG_CHARACTERS)
        if result.timed_out:
            return SetupFailed(f"Set-up took longer than {self._spec.setup_wall_s:g} s: {what}.", log=log)
        return SetupFailed(f"Set-up failed: {what}.", "Read the set-up's output.", log=log)

    async def compile(self) -> None:
        """Compile what is installed: the root is read-only later, and every start of pytest would compile it anew.

        The installer would do it too, but starts the environment's interpreter for it, and that runs what packages put
        into `.pth` files, while the index can still be reached.
        """
        script = 'exec "$1" -I -S -m compileall -qq -j 2 "$2"/lib/python*/site-packages'
        # What cannot be compiled (code for another Python) is none of our business.
        await self.run("/bin/sh", "-c", script, "sh", self.python, self.folder)

    async def lock_hash(self) -> str:
        """SHA-256 over what is installed; nothing that is installed runs for it."""
        script = f'exec "$1" -I -S -c "$2" {self.folder}/lib*/python*/site-packages'
        done = await self.run("/bin/sh", "-c", script, "sh", self.guest.python, _LOCK, wall_s=60.0)
        return found[0] if (found := re.findall(r"^[0-9a-f]{64}$", done.stdout.strip())) else ""
