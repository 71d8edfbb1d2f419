"""Plan the Node part of a recipe, and the files of the checkout from which npm installs."""

import json
import re
from collections.abc import Collection, Mapping

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles, beside, mapping
from sandbox.recipe.node_versions import node_of_project
from sandbox.recipe.preparing import line_needs_node
from sandbox.setup.node.layout import LOCKS, NODE_FILES
from sandbox.types import Fidelity, NodePart, Recipe

_KEPT = (
    *("name", "version", "bin", "workspaces", "overrides"),
    *("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"),
    *("peerDependenciesMeta", "bundleDependencies", "bundledDependencies", "dependenciesMeta"),
)
"""Fields of a `package.json` that decide what is installed; scripts are none."""
_NEEDED = ("dependencies", "devDependencies", "optionalDependencies")
_MANAGER = re.compile(r"npm@(\d{1,3}\.\d{1,4}\.\d{1,4})(?:\+[\w.]+)?")
_FOREIGN = re.compile(r"(?:.*/)?node_modules/")
_MOST_PACKAGES = 200
INSTALLED = "the locked packages are installed by the set-up"
"""Reason in the fidelity log for an installation by npm."""
_MISSING = "Node.js packages are missing"


def node_folder(files: CheckoutFiles, folder: str) -> tuple[str, ...] | None:
    """Return the folder whose lock file names the packages of a project; empty if it needs none.

    Args:
        files: The checkout.
        folder: Where npm is started.

    Returns:
        None if the packages cannot be installed, because no lock file of npm names them.
    """
    place, needs = folder, False
    while True:
        if any(beside(place, name) in files.contents for name in LOCKS):
            return (place,)
        package = files.json(beside(place, "package.json"))
        needs = needs or any(mapping(package.get(field)) for field in _NEEDED)
        if place == ".":
            break
        place = place.rpartition("/")[0] or "."
    return () if files.is_file(beside(folder, "package.json")) and not needs else None


def plan_node(files: CheckoutFiles, folders: tuple[str, ...], version: str | None) -> NodePart:
    """Return the Node part of a recipe.

    Args:
        files: The checkout.
        folders: The folders with a lock file.
        version: The job's Node.js; None takes the project's.
    """
    first = next(iter(folders), ".")
    manager = files.json(beside(first, "package.json")).get("packageManager")
    exact = _MANAGER.fullmatch(manager) if isinstance(manager, str) else None
    return NodePart(
        version=version or node_of_project(files, first),
        manager_version=exact[1] if exact else None,
        folders=folders,
        legacy_peers=_read_npmrc(files, first),
    )


def _read_npmrc(files: CheckoutFiles, folder: str) -> bool:
    """Return True if `.npmrc` ignores peer dependencies. Nothing else in it is obeyed."""
    path = beside(folder, ".npmrc")
    lines = ["".join(line.split()) for line in files.text(path).splitlines()[:200]]
    if any("registry=" in line or "_auth" in line or "_password" in line for line in lines):
        files.log.dropped(path, "registries and credentials of the repository are not used")
    return "legacy-peer-deps=true" in lines


def node_files(
    recipe: Recipe, names: Collection[str], contents: Mapping[str, bytes]
) -> dict[str, str]:
    """Return the files from which npm installs: lock files, and packages without their scripts.

    They are part of the environment's key.
    """
    folders = recipe.node.folders if recipe.node is not None else ()
    files = CheckoutFiles(contents, names, FidelityLog())
    found: dict[str, str] = {}
    for folder in folders:
        prefix = "" if folder == "." else f"{folder}/"
        packages = [
            name
            for name in sorted(contents)
            if name.startswith(prefix)
            and name.rsplit("/", 1)[-1] == "package.json"
            and not _FOREIGN.match(name)
        ]
        for name in packages[:_MOST_PACKAGES]:
            kept = {key: value for key, value in files.json(name).items() if key in _KEPT}
            found[f"{NODE_FILES}{name}"] = json.dumps(kept, sort_keys=True)
        lock = next(path for one in LOCKS if (path := f"{prefix}{one}") in contents)
        found[f"{NODE_FILES}{lock}"] = contents[lock].decode("utf-8", "replace")
    return found


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
