"""Run pnpm, yarn and bun: what each is called in the registry, and how it installs a lock file."""

import platform
from collections.abc import Callable, Collection, Sequence
from posixpath import normpath
from typing import NamedTuple

from sandbox.setup.node.layout import LOCK_FILES
from sandbox.setup.shell import Shell
from sandbox.types import NodePart

_BUN_ARCHITECTURES = {"x86_64": "x64", "aarch64": "aarch64"}
_CLASSIC = "1"
_TIMEOUT_MS = "300000"
"""Timeout for one request, in milliseconds, as in npm. The 60 s of Yarn are too short behind a busy
proxy if fifty downloads run at a time."""
_YARN_ADDRESS = r's#^( +resolved ")https://[^/"]+/((@[^/"]+/)?[^/"]+/-/)#\1{registry}\2#'
"""A script of sed: packages in a lock file of the classic yarn come from our registry."""
LOCK_ONLY = {
    "npm": ("--package-lock-only",),
    "pnpm": ("--lockfile-only",),
    "berry": ("--mode=update-lockfile",),
    "bun": ("--lockfile-only",),
}
"""Options with which a manager writes its lock file and installs nothing."""
_FREEZING = frozenset({"--frozen-lockfile", "--immutable"})


class ManagerProgram(NamedTuple):
    """A package manager as a package of the registry."""

    package: str
    """The package with its version, as npm installs it; empty for npm itself."""
    script: str
    """Its program inside the folder of packages."""
    links: dict[str, str]
    """Names in the environment's `bin`, with their programs."""


class InstallCommand(NamedTuple):
    """One way to install the packages of a lock file without running their scripts."""

    arguments: tuple[str, ...]
    environment: dict[str, str]


def find_program(node: NodePart) -> ManagerProgram:
    """Return the program of a recipe's package manager."""
    version = node.manager_version
    match node.manager:
        case "pnpm":
            links = {"pnpm": ".bin/pnpm", "pnpx": ".bin/pnpx"}
            return ManagerProgram(f"pnpm@{version or 10}", ".bin/pnpm", links)
        case "yarn":
            name = "yarn" if _is_classic(node) else "@yarnpkg/cli-dist"
            script = f"{name}/bin/yarn.js"
            return ManagerProgram(f"{name}@{version or _CLASSIC}", script, {"yarn": script})
        case "bun":
            machine = platform.machine()
            name = f"@oven/bun-linux-{_BUN_ARCHITECTURES.get(machine, machine)}"
            script = f"{name}/bin/bun"
            links = {"bun": script, "bunx": script}
            return ManagerProgram(f"{name}@{version or 1}", script, links)
        case _:
            return ManagerProgram("", "", {})


def install_command(node: NodePart, home: str, registry: str) -> InstallCommand:
    """Return how the manager installs what its lock file says, without any script.

    Args:
        node: The recipe's part.
        home: A folder for caches, removed afterwards.
        registry: The registry's address.
    """
    found = _COMMANDS[manager_kind(node)](home, registry)
    loose = {} if node.frozen else {"YARN_ENABLE_IMMUTABLE_INSTALLS": "false"}
    # Yarn writes every package to a temporary file, and the usual folder for these is in memory.
    own = {"CI": "true", "HOME": f"{home}/home", "TMPDIR": f"{home}/unpacked"}
    environment = {**own, **found.environment, **loose}
    arguments = found.arguments
    if not node.frozen:
        arguments = tuple(word for word in arguments if word not in _FREEZING)
        # pnpm freezes in CI by itself.
        arguments += ("--no-frozen-lockfile",) if node.manager == "pnpm" else ()
    return InstallCommand(arguments, environment)


def add_command(
    node: NodePart, packages: Sequence[str], home: str, registry: str
) -> InstallCommand:
    """Return how pnpm, the classic yarn or bun adds packages to the installed ones.

    Args:
        node: The recipe's part.
        packages: The packages, each with its range.
        home: A folder for caches, removed afterwards.
        registry: The registry's address.
    """
    found = install_command(node.with_(frozen=False), home, registry)
    options = tuple(word for word in found.arguments[1:] if word != "--no-frozen-lockfile")
    top = () if node.manager == "bun" else ("--ignore-workspace-root-check",)
    return InstallCommand(("add", *options, *top, *packages), found.environment)


def lock_command(node: NodePart, home: str, registry: str) -> InstallCommand:
    """Return how pnpm, yarn or bun writes the lock file from the declared packages.

    The classic yarn cannot do that without an installation, which goes into the home then.

    Args:
        node: The recipe's part.
        home: A folder for caches.
        registry: The registry's address.
    """
    found = install_command(node.with_(frozen=False), home, registry)
    own = (f"--modules-folder={home}/modules",) if _is_classic(node) else ()
    only = LOCK_ONLY.get(manager_kind(node), own)
    # Yarn would keep its state beside the lock file.
    state = {"YARN_INSTALL_STATE_PATH": f"{home}/install-state.gz"}
    return InstallCommand((*found.arguments, *only), {**found.environment, **state})


def part_of_folder(node: NodePart, folder: str, files: Collection[str]) -> NodePart:
    """Return the part for one of its folders, which may lack a lock file that another one has.

    Args:
        node: The recipe's part.
        folder: The folder whose packages are installed.
        files: The paths of what the manager sees.
    """
    names = LOCK_FILES[node.manager]
    locked = [
        one for one in node.folders if any(normpath(f"{one}/{name}") in files for name in names)
    ]
    if folder in locked or not locked:
        return node
    return node.with_(locked=False, frozen=node.frozen and node.manager == "npm")


async def redirect_yarn(shell: Shell, folder: str, registry: str) -> None:
    """Let packages in the lock file of a classic yarn come from a registry.

    It follows the addresses in its lock file, whatever registry is set.
    """
    script = _YARN_ADDRESS.format(registry=f"{registry.rstrip('/')}/")
    await shell.run("sed", "-i", "-E", script, f"{folder}/yarn.lock")


def _is_classic(node: NodePart) -> bool:
    return (node.manager_version or _CLASSIC).split(".")[0] == _CLASSIC


def manager_kind(node: NodePart) -> str:
    """Return the manager's name, or `berry` for a Yarn that is not the classic one."""
    return "berry" if node.manager == "yarn" and not _is_classic(node) else node.manager


def _pnpm(home: str, registry: str) -> InstallCommand:
    arguments = ("install", "--frozen-lockfile", "--ignore-scripts", "--ignore-pnpmfile")
    return InstallCommand(
        (
            *arguments,
            "--reporter=append-only",
            f"--store-dir={home}/store",
            f"--registry={registry}",
        ),
        {"npm_config_manage_package_manager_versions": "false", "XDG_DATA_HOME": f"{home}/data"},
    )


def _yarn(home: str, registry: str) -> InstallCommand:
    arguments = ("install", "--frozen-lockfile", "--ignore-scripts", "--non-interactive")
    own = ("--ignore-engines", "--no-progress", "--no-default-rc", f"--cache-folder={home}/yarn")
    patient = f"--network-timeout={_TIMEOUT_MS}"
    return InstallCommand((*arguments, *own, patient), {"YARN_REGISTRY": registry})


def _berry(home: str, registry: str) -> InstallCommand:
    environment = {
        "YARN_ENABLE_SCRIPTS": "0",
        "YARN_ENABLE_TELEMETRY": "0",
        "YARN_ENABLE_GLOBAL_CACHE": "0",
        "YARN_ENABLE_HARDENED_MODE": "0",
        "YARN_HTTP_TIMEOUT": _TIMEOUT_MS,
        # At Yarn's usual 50, the proxy looks up too many names at once and refuses connections.
        "YARN_NETWORK_CONCURRENCY": "8",
        "YARN_CACHE_FOLDER": f"{home}/berry",
        "YARN_GLOBAL_FOLDER": f"{home}/global",
        "YARN_IGNORE_PATH": "1",
        # Every tool finds packages in folders; few know Plug'n'Play.
        "YARN_NODE_LINKER": "node-modules",
        "YARN_NPM_REGISTRY_SERVER": registry.rstrip("/"),
    }
    return InstallCommand(("install", "--immutable"), environment)


def _bun(home: str, registry: str) -> InstallCommand:
    arguments = ("install", "--frozen-lockfile", "--ignore-scripts", "--backend=copyfile")
    environment = {"BUN_INSTALL_CACHE_DIR": f"{home}/bun", "BUN_CONFIG_REGISTRY": registry}
    return InstallCommand((*arguments, f"--registry={registry}"), environment)


_COMMANDS: dict[str, Callable[[str, str], InstallCommand]] = {
    "pnpm": _pnpm,
    "yarn": _yarn,
    "berry": _berry,
    "bun": _bun,
}
