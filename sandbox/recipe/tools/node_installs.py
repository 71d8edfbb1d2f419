"""Read how a job installs Node.js packages: its options, and the project's own install scripts."""

import re
from collections.abc import Mapping, Sequence

from sandbox.recipe.command import split_command
from sandbox.recipe.files import beside
from sandbox.recipe.job import NodeInstall, ToolReading
from sandbox.recipe.node_managers import lock_of, manager_version
from sandbox.recipe.node_packages import needs_packages, node_folder
from sandbox.recipe.preparing import TOLERATED, prepares
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Options, ToolContext
from sandbox.recipe.tools.node_calls import FREEZING
from sandbox.recipe.tools.node_scripts import scripts_of
from sandbox.recipe.tools.node_workspaces import list_packages, workspace_top
from sandbox.setup.node.layout import ADDED_PACKAGE, LOCK_FILES, Manager
from sandbox.types import AddedPackage

_LIFECYCLE = ("postinstall", "prepare")
_LOOSE = ("--no-frozen-lockfile", "--fix-lockfile", "--no-immutable", "--force")
_LOOSE_VALUES = frozenset({("--frozen-lockfile", "false"), ("--immutable", "false")})
_UNLOCKING = frozenset({("--no-package-lock", ""), ("--package-lock", "false")})
_ADDS = frozenset({"install", "i", "add"})
_PEERS = re.compile(r"legacy-peer-deps(?:=true)?")


def read_install(
    call: Call, words: Sequence[str], options: Options, context: ToolContext
) -> NodeInstall:
    """Return the options of one call that installs packages.

    Args:
        call: The call, in the folder of the project.
        words: The manager's sub-command; empty for `yarn` alone.
        options: The manager's options.
        context: The files of the checkout, and the step's variables.
    """
    variables = {**context.variables, **call.environment}
    is_npm = call.program == "npm"
    return NodeInstall(
        legacy_peers=_is_set("--legacy-peer-deps", options, variables),
        force=is_npm and (_is_set("--force", options, variables) or options.has("-f")),
        loose=not _freezes(call, words, options, context),
        manager=manager_of(call.program),
        unlocked=is_npm and not _UNLOCKING.isdisjoint(options.given),
    )


def install_folders(call: Call, context: ToolContext) -> tuple[str, ...] | None:
    """Return the folder whose packages a call installs, as `node_folder` does.

    It is the nearest one with a `package.json`, or the top of the workspace that it belongs to.
    """
    files, place = context.files, call.folder
    while place != "." and not files.is_file(beside(place, "package.json")):
        place = place.rpartition("/")[0] or "."
    top = workspace_top(files, place)
    is_member = top != place and (call.program == "pnpm" or place in list_packages(files, top))
    if is_member and lock_of(files, place) is None:
        return node_folder(files, top)
    return (place,) if needs_packages(files, place) else node_folder(files, place)


def manager_of(program: str) -> Manager | None:
    """Return the package manager that a program is; None for another one."""
    return next((one for one in LOCK_FILES if program.removesuffix("pkg") == one), None)


def read_added(
    call: Call, words: Sequence[str], options: Options, context: ToolContext
) -> NodeInstall | None:
    """Return the packages that a call adds to those of the lock file; None if it is not followed.

    A dependency of an added package may name a program that the newer yarn runs to fetch it.

    Args:
        call: The call: `npm install --no-save eslint@10`, `yarn add -D webpack@5`.
        words: The sub-command, and the first package.
        options: The manager's options, and the other packages.
        context: The files of the checkout, and the step's variables.
    """
    named = [*words[1:], *(word for rest in options.rest for word in split_command(rest))]
    packages = [word for word in named if not word.startswith("-")]
    is_here = install_folders(call, context) == (call.folder,)
    if words[0] not in _ADDS or not is_here or _is_berry(call, context):
        return None
    if not packages or not all(map(ADDED_PACKAGE.fullmatch, packages)):
        return None
    asked = read_install(call, words[:1], options, context)
    added = [AddedPackage(package=one, folder=call.folder) for one in packages]
    return asked.with_(loose=False, added=tuple(added))


def _freezes(call: Call, words: Sequence[str], options: Options, context: ToolContext) -> bool:
    """Return True if the lock file must name exactly the dependencies."""
    is_named = not FREEZING.isdisjoint(words[:1])
    if call.program == "npm":
        return is_named
    if options.has(*_LOOSE) or not _LOOSE_VALUES.isdisjoint(options.given):
        return False
    variables = {**context.variables, **call.environment}
    immutable = variables.get("YARN_ENABLE_IMMUTABLE_INSTALLS", "true") not in {"false", "0"}
    # pnpm and the newer yarn freeze in CI; the classic one and bun only if they are asked to.
    asked = options.has("--frozen-lockfile", "--immutable", "--pure-lockfile")
    by_default = is_named or call.program == "pnpm" or _is_berry(call, context)
    return (asked or by_default) and immutable


def _is_berry(call: Call, context: ToolContext) -> bool:
    """Return True if the project has the newer yarn."""
    version = manager_version(context.files, call.folder, "yarn") or "1"
    return call.program.startswith("yarn") and version.split(".")[0] != "1"


def _is_set(option: str, options: Options, variables: Mapping[str, str]) -> bool:
    name = f"npm_config_{option.removeprefix('--').replace('-', '_')}"
    values = [value for key, value in variables.items() if key.lower() == name]
    return options.has(option) or any(value.lower() in {"true", "1"} for value in values)


def read_setting(words: Sequence[str]) -> NodeInstall:
    """Read `npm config set legacy-peer-deps true`; other settings change nothing here."""
    is_peers = "set" in words and any(_PEERS.fullmatch(word) for word in words)
    return NodeInstall(legacy_peers=is_peers and "false" not in words)


def read_lifecycle(call: Call, context: ToolContext) -> ToolReading:
    """Return the builds in the project's own install scripts, which may fail.

    The set-up runs no script of the repository, so that they run in the workspace.

    Args:
        call: The installation, in its folder.
        context: The files of the checkout.
    """
    files, folder = context.files, call.folder
    reading = ToolReading()
    for place in (*list_packages(files, folder), folder):
        scripts = scripts_of(files, place)
        for name in _LIFECYCLE[: 1 if _is_berry(call, context) else None]:
            if name in scripts:
                found = context.script(scripts[name], place, call.environment)
                made = [one for one in found.commands if prepares(one, files)]
                made = [one.with_(command=_tolerated(one.command)) for one in made]
                reading = reading.plus(ToolReading(commands=tuple(made)))
    return reading


def _tolerated(command: str) -> str:
    return command if command.endswith(TOLERATED) else f"{command}{TOLERATED}"
