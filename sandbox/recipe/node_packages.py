"""Plan the Node part of a recipe, and the files of the checkout from which npm installs."""

import json
import re
from collections.abc import Collection, Mapping

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles, beside, inside, mapping
from sandbox.recipe.job import NodeInstall
from sandbox.recipe.node_managers import (
    lock_of,
    manager_version,
    named_manager,
    usable_version,
)
from sandbox.recipe.node_settings import PNPM_SETTINGS, PNPM_WORKSPACE, read_npmrc, settings_files
from sandbox.recipe.node_versions import node_of_project
from sandbox.recipe.preparing import line_needs_node
from sandbox.setup.node.layout import LOCK_FILES, NODE_FILES, Manager
from sandbox.types import Fidelity, NodePart, Recipe

_KEPT = (
    *("name", "version", "private", "bin", "workspaces", "overrides"),
    *("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"),
    *("peerDependenciesMeta", "bundleDependencies", "bundledDependencies", "dependenciesMeta"),
    *("resolutions", "pnpm", "catalog", "catalogs", "patchedDependencies"),
)
"""Fields of a `package.json` that decide what is installed; scripts are none.

The classic yarn only accepts workspaces in a private package. The lock file of pnpm repeats the
folder in `publishConfig`, from which other packages of a workspace take this one.
"""
_HAS_SCRIPT = "hasInstallScript"
_INSTALL_SCRIPTS = ("preinstall", "install", "postinstall")
_IN_LOCKS: Mapping[Manager, tuple[str, ...]] = {
    "npm": ("engines", "os", "cpu", "license", "funding", "acceptDependencies", _HAS_SCRIPT),
    "bun": ("trustedDependencies",),
}
"""Further fields that managers repeat in their lock files. They install nothing else.

Of scripts, npm's lock file says only that there is one.
"""
_NEEDED = ("dependencies", "devDependencies", "optionalDependencies")
_PATCH = re.compile(
    r"(?:\.yarn/|[\w.-]{1,80}/)?patches/(?:@[\w.-]+/)?[\w.@+!~-]{1,200}\.(?:patch|diff)"
)
_FOREIGN = re.compile(r"(?:.*/)?node_modules/")
_PNPMFILE = re.compile(r"^pnpmfileChecksum:.*\n", re.MULTILINE)
"""The digest of a file with hooks in pnpm's lock file. It does not match, as no hooks are run."""
_MOST_PACKAGES = 200
INSTALLED = "the locked packages are installed by the set-up"
"""Reason in the fidelity log for an installation by a package manager."""
UNREAD = "the lock file is too large to be read: the versions of today are installed"
UNLOCKED = "no lock file names the versions: those of today are installed"
_BY_LOCK = NodeInstall()
_MISSING = "Node.js packages are missing"


def node_folder(files: CheckoutFiles, folder: str) -> tuple[str, ...] | None:
    """Return the folder whose lock file names the packages of a project; empty if it needs none.

    Args:
        files: The checkout.
        folder: Where the package manager is started.

    Returns:
        The folder of the outermost `package.json` with dependencies if there is no lock file; None
        if there is no `package.json` either.
    """
    place, needing = folder, ""
    while True:
        if lock_of(files, place) is not None:
            return (place,)
        if needs_packages(files, place):
            needing = place
        if place == ".":
            break
        place = place.rpartition("/")[0] or "."
    if needing:
        return (needing,)
    return () if files.is_file(beside(folder, "package.json")) else None


def needs_packages(files: CheckoutFiles, folder: str) -> bool:
    """Return True if a folder has a lock file, or a `package.json` with dependencies."""
    package = files.json(beside(folder, "package.json"))
    is_needing = any(mapping(package.get(field)) for field in _NEEDED)
    return is_needing or lock_of(files, folder) is not None


def plan_node(
    files: CheckoutFiles,
    folders: tuple[str, ...],
    version: str | None,
    install: NodeInstall = _BY_LOCK,
    *,
    pnpm: str | None = None,
) -> NodePart:
    """Return the Node part of a recipe.

    Args:
        files: The checkout.
        folders: The folders whose packages to install.
        version: The job's Node.js; None takes the project's.
        install: The options of the job's installation.
        pnpm: The job's pnpm; None takes the project's.
    """
    # Folders with a lock file come first, and the first one chooses the manager.
    folders = tuple(sorted(folders, key=lambda folder: lock_of(files, folder) is None))
    first = next(iter(folders), ".")
    usual = install.manager or named_manager(files, first) or "npm"
    manager = _manager(files, first, usual)
    alike = tuple(folder for folder in folders if _manager(files, folder, usual) == manager)
    for folder in folders:
        if folder not in alike:
            files.log.dropped(f"the packages of {folder}", f"only {manager} installs in this job")
    asked = manager_version(files, first, manager, pnpm=pnpm)
    usable = usable_version(manager, asked)
    if usable != asked:
        reason = f"{usable} is installed: older ones cannot use the set-up's proxy"
        files.log.replaced(f"{manager} {asked}", reason)
    locks = [lock_of(files, folder) for folder in alike]
    is_locked = any(locks) and not install.unlocked
    for folder, lock in zip(alike, locks, strict=True):
        if lock is None or install.unlocked:
            where = "" if folder == "." else f" of {folder}"
            reason = UNREAD if _has_unread_lock(files, folder, manager) else UNLOCKED
            files.log.replaced(f"install the packages{where}", reason)
    return NodePart(
        version=version or node_of_project(files, first),
        manager=manager,
        manager_version=usable,
        folders=alike,
        locked=is_locked or not alike,
        frozen=not install.loose and (manager == "npm" or is_locked),
        legacy_peers=install.legacy_peers or "legacy-peer-deps=true" in read_npmrc(files, first),
        force=install.force,
        added=tuple(one for one in install.added if one.folder in alike),
    )


def _manager(files: CheckoutFiles, folder: str, usual: Manager) -> Manager:
    found = lock_of(files, folder)
    return found[0] if found is not None else usual


def _has_unread_lock(files: CheckoutFiles, folder: str, manager: Manager) -> bool:
    paths = [beside(folder, name) for name in LOCK_FILES[manager]]
    return any(path in files.names and path not in files.contents for path in paths)


def node_files(
    recipe: Recipe,
    names: Collection[str],
    contents: Mapping[str, bytes],
    *,
    for_lock: bool = False,
) -> dict[str, str]:
    """Return the files from which packages are installed, without scripts and addresses.

    They are part of the environment's key.

    Args:
        recipe: The recipe.
        names: The files of the checkout.
        contents: Those that are read.
        for_lock: Whether the lock file is to be written from them.
    """
    node = recipe.node
    files = CheckoutFiles(contents, names, FidelityLog())
    more = _IN_LOCKS.get(node.manager, ()) if for_lock and node is not None else ()
    found: dict[str, str] = {}
    for folder in node.folders if node is not None else ():
        prefix = "" if folder == "." else f"{folder}/"
        for name in sorted(contents):
            if not name.startswith(prefix) or _FOREIGN.match(name):
                continue
            if name.rsplit("/", 1)[-1] == "package.json" and len(found) < _MOST_PACKAGES:
                found[f"{NODE_FILES}{name}"] = json.dumps(_kept(files, name, more), sort_keys=True)
            elif _PATCH.fullmatch(name.removeprefix(prefix)):
                found[f"{NODE_FILES}{name}"] = contents[name].decode("utf-8", "replace")
        if (lock := lock_of(files, folder)) is not None:
            text = contents[lock[1]].decode("utf-8", "replace")
            found[f"{NODE_FILES}{lock[1]}"] = _PNPMFILE.sub("", text)
        if node is not None:
            found |= settings_files(files, folder, _manager(files, folder, node.manager))
    return found


def _kept(files: CheckoutFiles, path: str, more: tuple[str, ...]) -> dict[str, object]:
    """Return the fields of a `package.json` that decide what is installed, and more fields."""
    kept = {key: value for key, value in files.json(path).items() if key in {*_KEPT, *more}}
    if "pnpm" in kept:
        kept["pnpm"] = {
            key: value for key, value in mapping(kept["pnpm"]).items() if key in PNPM_SETTINGS
        }
    scripts = mapping(files.json(path).get("scripts"))
    if _HAS_SCRIPT in more and any(name in scripts for name in _INSTALL_SCRIPTS):
        kept[_HAS_SCRIPT] = True
    publish = mapping(files.json(path).get("publishConfig"))
    folder = publish.get("directory")
    if isinstance(folder, str) and inside(".", folder) is not None:
        linked = {"linkDirectory": False} if publish.get("linkDirectory") is False else {}
        kept["publishConfig"] = {"directory": folder, **linked}
    return kept


def unread_package(
    files: Mapping[str, str], names: Collection[str], contents: Mapping[str, bytes], folder: str
) -> str | None:
    """Return a `package.json` that may be of a workspace and is not read; None without one.

    A manager removes packages from its lock file that it does not see.

    Args:
        files: What the manager sees, as of `node_files`.
        names: The files of the checkout.
        contents: Those that are read.
        folder: The folder of the lock file.
    """
    checkout = CheckoutFiles(contents, names, FidelityLog())
    package = checkout.json(beside(folder, "package.json"))
    if "workspaces" not in package and beside(folder, PNPM_WORKSPACE) not in contents:
        return None
    prefix = "" if folder == "." else f"{folder}/"
    inside_folder = (name for name in names if name.startswith(prefix) and not _FOREIGN.match(name))
    packages = (name for name in inside_folder if name.rsplit("/", 1)[-1] == "package.json")
    return next((name for name in sorted(packages) if f"{NODE_FILES}{name}" not in files), None)


def without_node(recipe: Recipe, why: str) -> Recipe | None:
    """Return a recipe without a Node part that could not be set up.

    Args:
        recipe: The recipe.
        why: What failed.

    Returns:
        None if there is no such part, or the failing command needs it.
    """
    if recipe.node is None or not recipe.node.optional:
        return None
    reason = f"{_MISSING}: {why}"
    dropped = {line for line in recipe.prepare if line_needs_node(line)}
    entries = [
        entry.with_(treatment="dropped", reason=reason)
        if entry.reason == INSTALLED or any(line.endswith(entry.step) for line in dropped)
        else entry
        for entry in recipe.fidelity
    ]
    if not any(entry.reason == reason for entry in entries):
        entries.append(
            Fidelity(step="install the Node.js packages", treatment="dropped", reason=reason)
        )
    return recipe.with_(
        parts=tuple(part for part in recipe.parts if part.toolchain != "node"),
        prepare=tuple(line for line in recipe.prepare if line not in dropped),
        fidelity=tuple(entries),
        obstacles=(*recipe.obstacles, reason),
    )
