"""Install locked packages: fetched without scripts, whose turn comes after the network is cut."""

import json
import re
from collections.abc import Mapping
from posixpath import normpath

from sandbox.backends.base import Backend
from sandbox.errors import LockDrift, SetupFailed
from sandbox.setup.node.layout import (
    LOCK_FILES,
    NODE_FILES,
    NODE_LINKS,
    NODE_TOOLS,
    USUAL_MAJOR,
)
from sandbox.setup.node.managers import (
    add_command,
    install_command,
    manager_kind,
    part_of_folder,
    redirect_yarn,
)
from sandbox.setup.node.npm import Npm
from sandbox.setup.node.programs import LINK, SCAN
from sandbox.setup.node.runtime import fetch_runtime, link_runtime, manager_path, runtime_npm
from sandbox.setup.node.substitutes import (
    Release,
    choose_version,
    leave_out_git,
    read_refused,
    replace_release,
)
from sandbox.setup.shell import Shell
from sandbox.spec import SandboxSpec
from sandbox.types import REFUSED_LOCK, CommandResult, NodePart, PythonPart, Recipe

_TREE = "node/tree"
"""Folder with the packages, laid out like the checkout."""

_NAME = re.compile(r"(?:@\w[\w.~-]{0,100}/)?\w[\w.~-]{0,200}", re.ASCII)
_AT, *_PROTOCOL = (f"(?:{char}|%(?:25)*{ord(char):02x})" for char in "@exec:")
_EXEC = re.compile(rf"(?:[\"']|{_AT})\s*{''.join(_PROTOCOL)}".encode(), re.IGNORECASE)
"""A dependency whose code Yarn runs to fetch it, with the network.

Inside of a patched dependency, Yarn decodes the percent signs of addresses.
"""
_OUTSIDE = re.compile(
    rb"\bgit\+(?:ssh|https?|file):|\bgit://|\bgithub:|\bcodeload\.github\.com/"
    rb"|\": ?\"https?://(?!registry\.)[^\"\s]{1,300}\.(?:tgz|tar\.gz)\""
)
"""A dependency that is no package of a registry."""
_ONLY_REGISTRY = "; some come from git or another address, and only the registry is reached"
_INTERRUPTED = re.compile(
    r"ECONNRESET|ECANCELED|ETIMEDOUT|EAI_AGAIN|ECONNREFUSED|socket (?:hang up|disconnected)"
    r"|`onCancel` handler was attached after the promise settled"
)
"""Signs of a lost connection. Yarn before 4.18.1 ends with the last one when it tries again."""
_DRIFT = re.compile(REFUSED_LOCK)
_MORE_TRIES = 2
_MOST_SUBSTITUTIONS = 5
"""Managers stop at the first package that is missing."""
_MOST_SCRIPTS = 50
_PATCHES = re.compile(r"patches/[^/]+\.patch")
_PATCHER = "node_modules/patch-package/index.js"
_LOCK = (
    '[ -d "$1" ] && cd "$1" && find . -path "*/node_modules/*" -type d -prune '
    "-o '(' -name .package-lock.json -o -name pnpm-lock.yaml -o -name yarn.lock -o -name bun.lock "
    "')' -print0 | sort -z | xargs -0 -r cat | sha256sum | cut -c-64"
)


class NodeToolchain:
    """The set-up of a recipe's Node part; a recipe without one needs nothing of it.

    Args:
        backend: Where environments are set up.
        spec: The registry.
    """

    def __init__(self, backend: Backend, spec: SandboxSpec) -> None:
        self._backend = backend
        self._registry = spec.npm_registry
        self._instead: dict[str, str] = {}
        """The replacement of each version that the registry does not have."""

    def expect(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the Node.js that an environment will probably get."""
        node = recipe.node
        instead = self._instead.get(_asked_version(node)) if node is not None else None
        if node is None or instead is None:
            return recipe
        return recipe.with_part(node.with_(version=instead))

    def runtime(self, recipe: Recipe) -> Recipe | None:
        """Return a recipe of Python and Node.js alone; None without a Node part."""
        node = recipe.node
        if node is None:
            return None
        return Recipe(
            command="", parts=(PythonPart(version=recipe.python.version), runtime_part(node))
        )

    async def provide(self, shell: Shell, recipe: Recipe) -> Recipe:
        """Fetch Node.js and npm. Return the recipe with the version that the registry has."""
        node = recipe.node
        if node is None:
            return recipe
        version = await fetch_runtime(self._backend, shell, node, self._registry)
        if version == _asked_version(node):
            return recipe
        self._instead[_asked_version(node)] = version
        return recipe.with_part(node.with_(version=version))

    async def fetch(
        self, shell: Shell, recipe: Recipe, files: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Fetch and unpack the locked packages. Return those whose code runs in `build`."""
        if recipe.node is None:
            return ()
        await self._install_tools(shell, recipe.node)
        if not recipe.node.folders:
            return ()
        own = {
            name.removeprefix(NODE_FILES): text.encode()
            for name, text in files.items()
            if name.startswith(NODE_FILES)
        }
        if recipe.node.manager == "yarn" and any(map(_EXEC.search, own.values())):
            raise SetupFailed(
                "Set-up failed: an `exec:` dependency of Yarn runs code while it is fetched.",
                "Replace it by a package of the registry.",
            )
        tree = f"{shell.folder}/{_TREE}"
        await shell.place(own, tree)
        npm = runtime_npm(shell, self._registry)
        registry = await npm.open_registry(self._backend)
        for folder in recipe.node.folders:
            node = part_of_folder(recipe.node, folder, own)
            done = await self._try(shell, node, folder, registry, own=own)
            where = "" if folder == "." else f" of {folder}"
            what = f"install the Node.js packages{where} with `{install_words(node)}`"
            is_outside = any(map(_OUTSIDE.search, own.values()))
            if _DRIFT.search(done.stdout + done.stderr) and not done.ok:
                failure = shell.failure(done, f"could not {what}")
                raise LockDrift(
                    failure.message,
                    failure.advice,
                    log=failure.log,
                    folder=folder,
                    refused=install_words(node),
                )
            await shell.check(done, f"{what}{_ONLY_REGISTRY if is_outside else ''}")
            await self._add(shell, node, folder, registry)
        scripted = tuple(name for name, _, _ in await self._scan(shell))
        # Its code runs in `build`, as that of install scripts does.
        patchers = [f"{tree}/{folder}/{_PATCHER}" for folder in _patched(recipe.node, files)]
        found = [path for path in patchers if (await shell.run("test", "-f", path)).ok]
        return (*scripted, "patch-package") if found else scripted

    async def _try(
        self,
        shell: Shell,
        node: NodePart,
        folder: str,
        registry: str,
        *,
        own: Mapping[str, bytes],
    ) -> CommandResult:
        """Install the packages of one folder, without those that cannot be had if need be."""
        done = await self._install(shell, node, folder, registry)
        for _ in range(_MORE_TRIES):
            if done.ok or not _INTERRUPTED.search(done.stdout + done.stderr):
                break
            done = await self._install(shell, node, folder, registry)
        if not done.ok:
            done = await self._substitute(shell, node, folder, registry, own=own, refused=done)
        if not done.ok and node.manager == "npm":
            done = await self._leave_out(shell, node, folder, own=own, refused=done)
        return done

    async def _install(
        self, shell: Shell, node: NodePart, folder: str, registry: str
    ) -> CommandResult:
        """Install the packages of one folder without their scripts."""
        npm, cwd = runtime_npm(shell, self._registry), f"{shell.folder}/{_TREE}/{folder}"
        if node.manager == "npm":
            return await npm.run(*_npm_words(node), cwd=cwd)
        command = install_command(node, f"{shell.folder}/node/cache", registry)
        await shell.run("mkdir", "-p", command.environment["TMPDIR"])
        program = (manager_path(shell, node), *command.arguments)
        if node.manager == "yarn":
            await redirect_yarn(shell, cwd, registry)
        return await npm.run_other(program, cwd=cwd, env=command.environment)

    async def _install_tools(self, shell: Shell, node: NodePart) -> None:
        """Install the packages apart from the project, without their scripts."""
        if not node.tools:
            return
        npm = runtime_npm(shell, self._registry)
        await npm.open_registry(self._backend)
        words = ("install", "--global", "--prefix", f"{shell.folder}/{NODE_TOOLS}")
        done = await npm.run(*words, *node.tools)
        await shell.check(done, f"install {' '.join(node.tools)}")

    async def _add(self, shell: Shell, node: NodePart, folder: str, registry: str) -> None:
        """Add the job's own packages to those of one folder, without their scripts."""
        packages = [one.package for one in node.added if one.folder == folder]
        if not packages:
            return
        npm, cwd = runtime_npm(shell, self._registry), f"{shell.folder}/{_TREE}/{folder}"
        if node.manager == "npm":
            words = ("install", "--no-save", *npm_options(node), *packages)
            words += () if node.locked else ("--no-package-lock",)
            done = await npm.run(*words, cwd=cwd)
        else:
            command = add_command(node, packages, f"{shell.folder}/node/cache", registry)
            program = (manager_path(shell, node), *command.arguments)
            done = await npm.run_other(program, cwd=cwd, env=command.environment)
        await shell.check(done, f"add {' '.join(packages)}")

    async def _substitute(
        self,
        shell: Shell,
        node: NodePart,
        folder: str,
        registry: str,
        *,
        own: Mapping[str, bytes],
        refused: CommandResult,
    ) -> CommandResult:
        """Install with other releases in place of those that the registry no longer has.

        Return the result of the first installation if that fails, too.
        """
        places = (normpath(f"{folder}/{name}") for name in LOCK_FILES[node.manager])
        path = next((place for place in places if place in own), None)
        text, done, made = own.get(path or "", b"").decode(), refused, list[str]()
        # Yarn adds the digest of its own archive to the lock file.
        node = node.with_(frozen=node.frozen and manager_kind(node) != "berry")
        for _ in range(_MOST_SUBSTITUTIONS if path else 0):
            before = text
            for old in read_refused(done.stdout + done.stderr):
                new = await _find_release(runtime_npm(shell, self._registry), old)
                changed = text if new is None else replace_release(text, node.manager, old, new)
                if new is not None and changed != text:
                    text = changed
                    made.append(f"{new.name}@{new.version} for {old.version}")
            if text == before:
                break
            await shell.place({str(path): text.encode()}, f"{shell.folder}/{_TREE}")
            done = await self._install(shell, node, folder, registry)
            if done.ok:
                shell.substituted.extend(made)
                return done
        return refused

    async def _leave_out(
        self,
        shell: Shell,
        node: NodePart,
        folder: str,
        *,
        own: Mapping[str, bytes],
        refused: CommandResult,
    ) -> CommandResult:
        """Install without development packages from git, which the set-up does not reach.

        Return the result of the first installation if that fails, too.
        """
        lock, package = (
            normpath(f"{folder}/{name}") for name in ("package-lock.json", "package.json")
        )
        reduced = leave_out_git(*(own.get(path, b"").decode() for path in (lock, package)))
        if reduced is None:
            return refused
        files = {lock: reduced.lock.encode(), package: reduced.package.encode()}
        await shell.place(files, f"{shell.folder}/{_TREE}")
        done = await runtime_npm(shell, self._registry).run(
            *_npm_words(node), cwd=f"{shell.folder}/{_TREE}/{folder}"
        )
        if not done.ok:
            return refused
        shell.left_out.extend(reduced.left_out)
        return done

    async def _scan(self, shell: Shell) -> list[tuple[str, tuple[str, ...], str]]:
        """Return the installed packages with scripts: name and version, scripts, folder."""
        tree = f"{shell.folder}/{_TREE}"
        command = (shell.guest.python, "-I", "-S", "-c", SCAN, tree, str(_MOST_SCRIPTS))
        done = await shell.run(*command)
        found = []
        for line in done.stdout.splitlines():
            try:
                name, scripts, folder = json.loads(line)
            except ValueError:
                continue  # the output was cut
            if _NAME.fullmatch(str(name).rpartition("@")[0]):
                found.append((str(name), tuple(map(str, scripts)), str(folder)))
        return found

    async def build(
        self, shell: Shell, recipe: Recipe, files: Mapping[str, str], fetched: tuple[str, ...]
    ) -> None:
        """Run install scripts without network, then make the links of a workspace.

        A script that fails, because it would download something, leaves its package as it is: most
        are not needed, and the failing command names one that is.
        """
        if recipe.node is None:
            return
        linked = await shell.run("/bin/sh", "-c", link_runtime(shell, recipe.node))
        await shell.check(linked, "link the programs of Node.js")
        tree, npm = f"{shell.folder}/{_TREE}", runtime_npm(shell, self._registry)
        for _, scripts, folder in await self._scan(shell) if fetched else ():
            for script in scripts:
                await npm.run_script(script, cwd=folder)
        for folder in _patched(recipe.node, files) if "patch-package" in fetched else ():
            # Packages are read-only in a workspace, where the project's script would do this.
            cwd = f"{tree}/{folder}"
            await npm.run_other((f"{cwd}/{_PATCHER}",), cwd=cwd, env={})
        links = (tree, f"{shell.folder}/{NODE_LINKS}")
        command = (shell.guest.python, "-I", "-S", "-c", LINK, *links)
        await shell.check(await shell.run(*command), "link the Node.js packages")
        await shell.run("rm", "-rf", f"{shell.folder}/node/cache")

    async def lock_hash(self, shell: Shell) -> str:
        """Return the SHA-256 over npm's own lists of the installed packages; empty without any."""
        done = await shell.run("/bin/sh", "-c", _LOCK, "sh", f"{shell.folder}/{_TREE}", wall_s=60.0)
        return found[0] if (found := re.findall(r"^[0-9a-f]{64}$", done.stdout.strip())) else ""

    def key(self, recipe: Recipe) -> dict[str, object]:
        """Return the versions, the folders, and the registry."""
        if recipe.node is None:
            return {}
        # Whether the command needs it does not change what is installed.
        node = recipe.node.model_dump(mode="json", exclude={"optional"})
        return {"node": node, "npm_registry": self._registry}


async def _find_release(npm: Npm, old: Release) -> Release | None:
    """Return the release that stands in for a missing one; None without one."""
    asked = await npm.run("view", old.name, "versions", "--json")
    try:
        listed = json.loads(asked.stdout)
    except ValueError:
        return None
    version = choose_version(old.version, listed if isinstance(listed, list) else [listed])
    if version is None:
        return None
    digest = await npm.run("view", f"{old.name}@{version}", "dist.integrity")
    return Release(old.name, version, digest.stdout.strip())


def runtime_part(node: NodePart) -> NodePart:
    """Return a part with Node.js and its package manager alone."""
    version = _asked_version(node)
    return NodePart(version=version, manager=node.manager, manager_version=node.manager_version)


def _asked_version(node: NodePart) -> str:
    return node.version or str(USUAL_MAJOR)


def _patched(node: NodePart, files: Mapping[str, str]) -> list[str]:
    """Return the folders with patches of `patch-package`."""
    prefixes = {
        folder: NODE_FILES if folder == "." else f"{NODE_FILES}{folder}/" for folder in node.folders
    }
    return [
        folder
        for folder, prefix in prefixes.items()
        if any(_PATCHES.fullmatch(name.removeprefix(prefix)) for name in files)
    ]


def npm_options(node: NodePart) -> tuple[str, ...]:
    """Return the job's options of npm that change what is installed."""
    peers = ("--legacy-peer-deps",) if node.legacy_peers else ()
    return (*peers, *(("--force",) if node.force else ()))


def _npm_words(node: NodePart) -> tuple[str, ...]:
    """Return npm's sub-command and options."""
    asked = ("ci",) if node.frozen else ("install",)
    return (*(asked if node.locked else ("install", "--no-package-lock")), *npm_options(node))


def install_words(node: NodePart) -> str:
    """Return the install command as a person would type it."""
    is_npm = node.manager == "npm"
    return f"npm {' '.join(_npm_words(node))}" if is_npm else f"{node.manager} install"
