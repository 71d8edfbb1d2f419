"""The work tree everything is compared with: the commit as it stands, and what the job's earlier steps made of it."""

import posixpath

from sandbox.backends.base import Guest
from sandbox.checkout import Source
from sandbox.errors import ChangeRejected, SandboxError, SetupFailed
from sandbox.gate import clean
from sandbox.recipe.editable import CHECKOUT, WORKDIR, project_folders
from sandbox.spec import SYSTEM_PATH, RunLimits
from sandbox.types import USUAL, Recipe, Surroundings

_LOG_CHARACTERS = 4000
_MARK = 'touch -- "$2" && sleep 0.02'
# What the commands touched, by the kernel's own time of change, which nobody can set; the rest is git's to restore.
_REMEMBER = """set -eu
cd "$1"
find . -path ./.git -prune -o '(' -type f -o -type l -o -type d -empty ')' -cnewer "$2" -print0 > "$2.names"
tar --format=posix --null --no-recursion --verbatim-files-from -T "$2.names" -cf "$2.tar"
git -c core.fsmonitor=false ls-files -z --deleted > "$2.gone"
"""
_RECALL = """set -eu
cd "$1"
xargs -0 -r rm -f -- < "$2.gone"
tar -xpf "$2.tar"
"""


class Baseline:
    """The work tree of one workspace before anybody edits it.

    Args:
        guest: The sandbox.
        source: What stands in the work tree.
        recipe: Names the commands of earlier steps, and the variables of all commands.
        wall_s: How long each of those commands may take.
        surroundings: Those the sandbox was opened in.
    """

    def __init__(
        self, guest: Guest, source: Source, recipe: Recipe, wall_s: float, *, surroundings: Surroundings = USUAL
    ) -> None:
        self._guest = guest
        self._source = source
        self._recipe = recipe
        self._wall_s = wall_s
        self._surroundings = surroundings
        self._mark = f"{posixpath.dirname(guest.workdir)}/prepared"

    @property
    def working_directory(self) -> str:
        """Where the job's commands run, inside."""
        return posixpath.normpath(f"{self._guest.workdir}/{self._recipe.working_directory}")

    @property
    def variables(self) -> dict[str, str]:
        """The recipe's variables, and the environment's programs first in PATH."""
        folder, workdir = posixpath.dirname(self._guest.python), self._guest.workdir
        elsewhere = {} if workdir == WORKDIR else {CHECKOUT: workdir}
        return {**self._recipe.environment, **elsewhere, "PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin"}

    async def make(self) -> int:
        """Place the commit, run the earlier steps, and remember what stands there; returns the number of files.

        Raises:
            SetupFailed: one of the steps failed.
        """
        await self._place()
        if self._recipe.prepare:
            # When it cannot be remembered (no room, an odd tree), a revert makes it anew.
            await self._script(_REMEMBER)
        return await self._guest.snap()

    async def restore(self) -> None:
        """Bring it back, byte for byte.

        Raises:
            SandboxError: that did not succeed.
        """
        try:
            await self._source.restore(self._guest)
            if self._recipe.prepare:
                await self._script(_RECALL)
            if not await self._guest.export():
                return
        except ChangeRejected:
            pass  # more was changed than an export may hold
        except SandboxError as error:
            if type(error) is not SandboxError:  # the sandbox is gone: nothing can be placed in it
                raise
        # Repository code owns the work tree and its .git, and can make git do nothing: then everything is placed anew.
        await self._place()
        if await self._guest.export():
            raise SandboxError("The work tree could not be restored.")

    async def _place(self) -> None:
        await self._source.place(self._guest)
        await self._arrange()
        if not self._recipe.prepare:
            return
        await self._script(_MARK)
        for line in self._recipe.prepare:
            done = await self._guest.run(
                ("/bin/sh", "-c", line),
                limits=RunLimits(wall_s=self._wall_s),
                cwd=self.working_directory,
                env=self.variables,
            )
            if not done.ok:
                why = f"took longer than {self._wall_s:g} s" if done.timed_out else "failed"
                log = clean(done.stdout + done.stderr, cap=_LOG_CHARACTERS)
                raise SetupFailed(f"A step before the failing one {why}: {line[:200]}", "Read its output.", log=log)

    async def _arrange(self) -> None:
        """What the surroundings ask of the work tree itself."""
        workdir, asked = self._guest.workdir, self._surroundings
        limits = RunLimits(wall_s=self._wall_s)
        if asked.reversed_folders:
            script = f"{self._guest.guest_dir}/reverse.py"
            argv = (self._guest.python, "-I", "-S", script, workdir, f"{posixpath.dirname(workdir)}/spare")
            done = await self._guest.run(argv, limits=limits, cwd="/")
            if not done.ok:
                raise SandboxError(f"The folders could not be reversed: {done.stderr[-300:].strip()}")
        holds_path = bool(self._recipe.setup or project_folders(self._recipe))
        if holds_path and workdir == asked.workdir != USUAL.workdir:
            # The path file of an editable project names the usual path, and so may whatever set-up commands made:
            # a process that a test starts without our variable finds the checkout there.
            folder, name = posixpath.split(USUAL.workdir)
            await self._guest.run(("/bin/ln", "-sfn", workdir, name), limits=limits, cwd=folder)

    async def _script(self, script: str) -> None:
        argv = ("/bin/sh", "-c", script, "sh", self._guest.workdir, self._mark)
        # A package of the environment may bring programs called find, tar or git: ours are the system's.
        await self._guest.run(argv, limits=RunLimits(wall_s=self._wall_s), cwd="/", env={"PATH": SYSTEM_PATH})
