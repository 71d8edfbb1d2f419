"""The work tree before any edit: the commit and the results of the job's earlier steps."""

import posixpath
import re
import shlex

from sandbox.backends.base import Guest
from sandbox.checkout import CheckoutSource
from sandbox.errors import ChangeRejected, SandboxError, SetupFailed
from sandbox.gate import clean
from sandbox.recipe.editable import CHECKOUT, WORKDIR, project_folders
from sandbox.recipe.preparing import leave_out
from sandbox.setup.go.layout import COMPILED, GO_PROCESSORS, go_variables
from sandbox.setup.node.layout import NODE_LINKS, NODE_TOOLS
from sandbox.spec import SYSTEM_PATH, RunLimits
from sandbox.types import USUAL, Recipe, Surroundings, beside

_LOG_CHARACTERS = 4000
_USUAL_PATH = re.compile(rf"{WORKDIR}(?![\w.@-])")
_CARGO = re.compile(r"(?<![\w./-])cargo\s")
_MARK = 'touch -- "$2" && sleep 0.02'
# Save the files that the commands touched. The change time (ctime) identifies them, because no
# program can set it. Git restores all other files.
_REMEMBER = """set -eu
cd "$1"
find . -path ./.git -prune \\
  -o '(' -type f -o -type l -o -type d -empty ')' -cnewer "$2" -print0 > "$2.names"
tar --format=posix --null --no-recursion --verbatim-files-from -T "$2.names" -cf "$2.tar"
git -c core.fsmonitor=false ls-files -z --deleted > "$2.gone"
"""
# A build cache that can be written: links to the compiled library, which is read-only. The date
# keeps Go from removing links to old files.
_LINK_CACHE = """set -eu
rm -rf "$2"
if [ -d "$1" ]; then cp -as "$1" "$2"; else mkdir "$2"; fi
rm -f "$2/trim.txt"
date +%s > "$2/trim.txt"
"""
_RECALL = """set -eu
cd "$1"
xargs -0 -r rm -f -- < "$2.gone"
tar -xpf "$2.tar"
"""


class Baseline:
    """The work tree of one workspace before any edit.

    Args:
        guest: The sandbox.
        source: The source of the work tree.
        recipe: The commands of earlier steps, and the variables of all commands.
        wall_s: Time limit for each of these commands, in seconds.
        surroundings: The surroundings in which the sandbox was opened.
    """

    def __init__(
        self,
        guest: Guest,
        source: CheckoutSource,
        recipe: Recipe,
        wall_s: float,
        *,
        surroundings: Surroundings = USUAL,
    ) -> None:
        self._guest = guest
        self._source = source
        self.recipe = recipe
        """Without the earlier builds that failed in this sandbox."""
        self._wall_s = wall_s
        self.surroundings = surroundings
        self._mark = beside(guest.workdir, "prepared")

    @property
    def working_directory(self) -> str:
        """Return the path inside the sandbox where the job's commands run."""
        return posixpath.normpath(f"{self._guest.workdir}/{self.recipe.working_directory}")

    @property
    def variables(self) -> dict[str, str]:
        """Return the recipe's variables, with the environment's programs first in PATH."""
        folder, workdir = posixpath.dirname(self._guest.python), self._guest.workdir
        elsewhere = {} if workdir == WORKDIR else {CHECKOUT: workdir}
        own = {} if self.recipe.go is None else {"GOMAXPROCS": GO_PROCESSORS}
        tools = f":{self._environment}/{NODE_TOOLS}/bin" if self._node_variables else ""
        if _CARGO.search(self.recipe.command):
            # What it compiles is no change of the checkout.
            built = beside(workdir, "cargo-target")
            own |= {"CARGO_NET_OFFLINE": "true", "CARGO_TARGET_DIR": built}
        # A recipe names the checkout by its usual path, as in PYTHONPATH.
        given = {
            name: _USUAL_PATH.sub(lambda _: workdir, value)
            for name, value in self.recipe.environment.items()
        }
        return {
            **own,
            **given,
            **self._go_variables,
            **self._node_variables,
            **elsewhere,
            "PATH": f"{folder}{tools}:/usr/local/bin:/usr/bin:/bin",
        }

    @property
    def _environment(self) -> str:
        """Return the environment's folder."""
        return posixpath.dirname(posixpath.dirname(self._guest.python))

    @property
    def _go_cache(self) -> str:
        return beside(self._guest.workdir, "go-build")

    @property
    def _go_variables(self) -> dict[str, str]:
        """Return the variables of Go; empty if the recipe does not need it."""
        if self.recipe.go is None:
            return {}
        return {**go_variables(self._environment), "GOCACHE": self._go_cache}

    @property
    def _node_variables(self) -> dict[str, str]:
        """Return the variables with which Node.js finds packages apart from the project."""
        if self.recipe.node is None or not self.recipe.node.tools:
            return {}
        prefix = f"{self._environment}/{NODE_TOOLS}"
        return {"NODE_PATH": f"{prefix}/lib/node_modules", "npm_config_prefix": prefix}

    @property
    def _steps(self) -> tuple[str, ...]:
        """Return the commands that complete the work tree: links to packages, then the recipe's."""
        node = self.recipe.node
        if node is None or not node.folders:
            return self.recipe.prepare
        links, workdir = f"{self._environment}/{NODE_LINKS}/.", self._guest.workdir
        return (shlex.join(("cp", "-a", links, workdir)), *self.recipe.prepare)

    async def make(self) -> int:
        """Place the commit, run the earlier steps and save the result. Return the number of files.

        Raises:
            SetupFailed: One of the steps failed.
        """
        if self.recipe.go is not None:
            await self._script(_LINK_CACHE, f"{self._environment}/{COMPILED}", self._go_cache)
        await self._place_and_prepare()
        if self._steps:
            # If saving fails (disk full, unusual tree), `restore` rebuilds the tree instead.
            await self._script(_REMEMBER)
        return await self._guest.snap()

    async def restore(self) -> None:
        """Restore the work tree, byte for byte.

        Raises:
            SandboxError: The work tree could not be restored.
        """
        try:
            await self._source.restore(self._guest)
            if self._steps:
                await self._script(_RECALL)
            if not await self._guest.export():
                return
        except ChangeRejected:
            pass  # the changes exceed the limits of an export
        except SandboxError as error:
            if type(error) is not SandboxError:  # the sandbox is gone: nothing can be placed in it
                raise
        # Repository code owns the work tree and its .git, so it can stop git from working. In that
        # case everything is placed again.
        await self._place_and_prepare()
        if await self._guest.export():
            raise SandboxError("The work tree could not be restored.")

    async def _place_and_prepare(self) -> None:
        await self._source.place(self._guest)
        await self._arrange()
        if not self._steps:
            return
        await self._script(_MARK)
        for line in self._steps:
            done = await self._guest.run(
                ("/bin/sh", "-c", line),
                limits=RunLimits(wall_s=self._wall_s),
                cwd=self.working_directory,
                env=self.variables,
            )
            if done.ok:
                continue
            why = f"took longer than {self._wall_s:g} s" if done.timed_out else "failed"
            if line in self.recipe.may_fail:
                reason = f"it {why} without network; it passed in the job"
                self.recipe = leave_out(self.recipe, line, reason)
                continue
            raise SetupFailed(
                f"A step before the failing one {why}: {line[:200]}",
                "Read its output.",
                log=clean(done.stdout + done.stderr, cap=_LOG_CHARACTERS),
            )

    async def _arrange(self) -> None:
        """Apply the surroundings that concern the work tree itself."""
        workdir, asked = self._guest.workdir, self.surroundings
        limits = RunLimits(wall_s=self._wall_s)
        if asked.reversed_folders:
            script = f"{self._guest.guest_dir}/reverse.py"
            argv = (self._guest.python, "-I", "-S", script, workdir, beside(workdir, "spare"))
            done = await self._guest.run(argv, limits=limits, cwd="/")
            if not done.ok:
                raise SandboxError(
                    f"The folders could not be reversed: {done.stderr[-300:].strip()}"
                )
        lines = (*self.recipe.prepare, self.recipe.command)
        is_named = any(_USUAL_PATH.search(line) for line in lines)
        holds_path = bool(is_named or self.recipe.setup or project_folders(self.recipe))
        if holds_path and workdir == asked.workdir != USUAL.workdir:
            # The path file of an editable project names the usual path; a command, and output of
            # set-up commands may, too. A process that a test starts without our variable must find
            # the checkout there.
            folder, name = posixpath.split(USUAL.workdir)
            await self._guest.run(("/bin/ln", "-sfn", workdir, name), limits=limits, cwd=folder)

    async def _script(self, script: str, *arguments: str) -> None:
        argv = ("/bin/sh", "-c", script, "sh", *(arguments or (self._guest.workdir, self._mark)))
        # A package of the environment may install programs called find, tar or git. Only use the
        # system's.
        await self._guest.run(
            argv, limits=RunLimits(wall_s=self._wall_s), cwd="/", env={"PATH": SYSTEM_PATH}
        )
