"""Let a package manager write its lock file again: with the registry, without any script."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import basename, normpath
from typing import NamedTuple

from sandbox.backends.base import Backend
from sandbox.errors import ChangeRejected, SetupFailed
from sandbox.setup.node.install import npm_options
from sandbox.setup.node.layout import LOCK_FILES, NODE_FILES
from sandbox.setup.node.lock_file import (
    foreign_sources,
    restore_addresses,
    restore_line_ends,
    restore_name,
)
from sandbox.setup.node.managers import LOCK_ONLY, lock_command, manager_kind, redirect_yarn
from sandbox.setup.node.npm import Npm
from sandbox.setup.node.runtime import manager_path, runtime_npm
from sandbox.setup.shell import Shell
from sandbox.types import CommandResult, NodePart

_ADDRESS = re.compile(r"https://[\w.-]{1,200}/?", re.ASCII)
_HAND = "Install the packages and commit the lock file."


class WrittenLock(NamedTuple):
    """A lock file that its manager wrote."""

    path: str
    content: str
    program: str
    """The manager and its version."""
    command: str
    """The command that wrote it."""


async def write_lock(
    backend: Backend,
    shell: Shell,
    node: NodePart,
    files: Mapping[str, str],
    *,
    folder: str,
    registry: str | None,
) -> WrittenLock:
    """Return the lock file that the recipe's package manager writes from the declared packages.

    It runs in the sandbox's work folder, so that only regular files of limited size come out. All
    its caches are outside.

    Args:
        backend: Where the sandbox runs.
        shell: A set-up sandbox with the manager, which is discarded afterwards.
        node: The Node part of the recipe.
        files: The declared packages and the lock file of the checkout.
        folder: The folder of the lock file.
        registry: The operator's registry; None for npm's default.

    Raises:
        SetupFailed: The manager fails or changes another file, or the lock file names a source that
            the set-up does not reach.
    """
    own = {
        name.removeprefix(NODE_FILES): _laid_out(name, text)
        for name, text in files.items()
        if name.startswith(NODE_FILES)
    }
    paths = [normpath(f"{folder}/{name}") for name in LOCK_FILES[node.manager]]
    path = next((one for one in paths if one in own), None)
    if path is None:
        # The name of a package may look like the refusal of a lock file.
        raise SetupFailed(f"Set-up failed: there is no {paths[-1]}.", _HAND)
    old = own[path]
    await shell.place({name: text.encode() for name, text in own.items()}, shell.guest.workdir)
    npm = runtime_npm(shell, registry)
    address = await npm.open_registry(backend)
    manager = _Manager(npm, shell, node, folder)
    public = await manager.default_registries()
    # A private package may have a namesake of an attacker in the public registry.
    if foreign := foreign_sources(old, public):
        raise SetupFailed(f"Set-up failed: {path} has packages from {foreign[0]}.", _HAND)
    await shell.guest.snap()
    done = await manager.write(address)
    await shell.check(done, f"write {path} with `{lock_words(node)}`")
    written = await _take(shell, node, path) or old
    text = restore_line_ends(restore_addresses(written, old, public[0]), old)
    if "name" not in json.loads(own.get(normpath(f"{folder}/package.json"), "{}")):
        text = restore_name(text, old)
    if text == old:
        raise SetupFailed(f"Set-up failed: `{lock_words(node)}` leaves {path} as it is.", _HAND)
    if foreign := foreign_sources(text, public):
        raise SetupFailed(f"Set-up failed: the lock file would name {foreign[0]}.", _HAND)
    version = (await manager.run(("--version",))).stdout.strip()[:40]
    return WrittenLock(path, text, f"{node.manager} {version}".strip(), lock_words(node))


async def _take(shell: Shell, node: NodePart, path: str) -> str | None:
    """Return the written lock file; None if there is no plain file of limited size.

    Raises:
        SetupFailed: Another file of the work folder changed.
    """
    try:
        edits = await shell.guest.export()
    except ChangeRejected as error:
        raise SetupFailed(f"Set-up failed: {error.message}", _HAND) from error
    others = sorted(edit.path for edit in edits if edit.path != path)
    if others:
        raise SetupFailed(f"Set-up failed: `{lock_words(node)}` changes {others[0][:100]}.", _HAND)
    contents = (edit.content for edit in edits if edit.mode == "100644")
    return next((content.decode("utf-8", "replace") for content in contents), None)


@dataclass(frozen=True)
class _Manager:
    """A package manager at the folder of a lock file."""

    npm: Npm
    shell: Shell
    node: NodePart
    folder: str

    async def write(self, registry: str) -> CommandResult:
        """Write the lock file."""
        if self.node.manager == "npm":
            return await self.run(("install", *LOCK_ONLY["npm"], *npm_options(self.node)))
        command = lock_command(self.node, f"{self.shell.folder}/node/cache", registry)
        await self.shell.run("mkdir", "-p", command.environment["TMPDIR"])
        if self.node.manager == "yarn":
            await redirect_yarn(self.shell, self._place, registry)
        return await self.run(command.arguments, command.environment)

    async def run(
        self, arguments: tuple[str, ...], environment: Mapping[str, str] | None = None
    ) -> CommandResult:
        """Run it without scripts."""
        if self.node.manager == "npm":
            return await self.npm.run(*arguments, cwd=self._place)
        program = (manager_path(self.shell, self.node), *arguments)
        return await self.npm.run_other(program, cwd=self._place, env=environment or {})

    async def default_registries(self) -> tuple[str, ...]:
        """Return the addresses that the manager and npm have without any setting, its own first.

        Raises:
            SetupFailed: One names none.
        """
        npm, ask = runtime_npm(self.shell, None), ("config", "get", "registry")
        answers = [await npm.run(*ask)]
        if manager_kind(self.node) == "yarn":
            program = (manager_path(self.shell, self.node), *ask)
            answers.insert(0, await npm.run_other(program, cwd="/", env={}))
        addresses = [answer.stdout.strip() for answer in answers if answer.ok]
        if len(addresses) < len(answers) or not all(map(_ADDRESS.fullmatch, addresses)):
            raise SetupFailed(f"Set-up failed: {self.node.manager} names no registry.", _HAND)
        return tuple(f"{address.rstrip('/')}/" for address in addresses)

    @property
    def _place(self) -> str:
        return normpath(f"{self.shell.guest.workdir}/{self.folder}")


def _laid_out(name: str, text: str) -> str:
    """Return a `package.json` as managers write it, because Yarn corrects the layout of others."""
    if basename(name) != "package.json":
        return text
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def lock_words(node: NodePart) -> str:
    """Return the command that writes a lock file, as a person would type it."""
    if node.manager == "npm":
        return " ".join(("npm install --package-lock-only", *npm_options(node)))
    return " ".join((f"{node.manager} install", *LOCK_ONLY.get(manager_kind(node), ())))
