"""Find out which package manager of Node.js a project uses, and in which version."""

import re
from collections.abc import Mapping

from sandbox.recipe.files import CheckoutFiles, beside, mapping
from sandbox.setup.node.layout import LOCK_FILES, Manager

_PINNED = re.compile(r"(npm|pnpm|yarn|bun)@v?(\d{1,3}\.\d{1,4}\.\d{1,4})(?:\+[\w.]+)?")
_EXACT = re.compile(r"\d{1,3}\.\d{1,4}\.\d{1,4}")
_YARN_PATH = re.compile(r"^yarnPath:\s*\S*yarn-(\d{1,3}\.\d{1,4}\.\d{1,4})\.c?js", re.MULTILINE)
_PNPM_LOCK = re.compile(r"^lockfileVersion:\s*'?(\d{1,3})\.(\d{1,3})", re.MULTILINE)
_BERRY_LOCK = re.compile(r"^__metadata:\s+version:\s*(\d{1,3})", re.MULTILINE)
_PNPM_BY_LOCK = {5: "7", 6: "8", 9: "10"}
_BERRY_BY_LOCK = {4: "2", 5: "2", 6: "3"}
_NEWEST_BERRY = "4"
_CLASSIC = "1"
_OPEN_BUN = (1, 3, 14)
"""Older versions pretend to encrypt the server's name (ECH GREASE), which the proxy refuses, and
then try again without end."""
_HEAD = 4000


def lock_of(files: CheckoutFiles, folder: str) -> tuple[Manager, str] | None:
    """Return the manager whose lock file a folder has, and the file's path."""
    pinned = _pinned(files, folder)
    found = [
        (manager, path)
        for manager, names in LOCK_FILES.items()
        for name in names
        if (path := beside(folder, name)) in files.contents
    ]
    # Of several lock files, the one of the manager that the project names counts.
    return next((one for one in found if pinned and one[0] == pinned[0]), next(iter(found), None))


def named_manager(files: CheckoutFiles, folder: str) -> Manager | None:
    """Return the manager that a project or the top of the checkout names; None without a name."""
    for place in dict.fromkeys((folder, ".")):
        if (pinned := _pinned(files, place)) is not None:
            return pinned[0]
    return None


def manager_version(
    files: CheckoutFiles, folder: str, manager: Manager, *, pnpm: str | None = None
) -> str | None:
    """Return the version of a project's manager: exact if it names one, else by its lock file.

    Args:
        files: The checkout.
        folder: The folder of the project.
        manager: Its package manager.
        pnpm: The pnpm that the job sets up, for a project that names none.
    """
    for place in dict.fromkeys((folder, ".")):
        pinned = _pinned(files, place)
        if pinned is not None and pinned[0] == manager:
            return pinned[1]
        volta = mapping(files.json(beside(place, "package.json")).get("volta")).get(manager)
        if isinstance(volta, str) and _EXACT.fullmatch(volta):
            return volta
    found = lock_of(files, folder)
    path = found[1] if found is not None else ""
    head = files.contents.get(path, b"")[:_HEAD].decode("utf-8", "replace")
    match manager:
        case "pnpm":
            version = _PNPM_LOCK.search(head)
            return pnpm or (_PNPM_BY_LOCK.get(int(version[1])) if version else None)
        case "yarn":
            return _yarn_version(files, folder, head)
        case _:
            return None


def usable_version(manager: Manager, version: str | None) -> str | None:
    """Return a project's version, or the first that can connect through the set-up's proxy."""
    if manager != "bun" or version is None:
        return version
    parts = tuple(int(part) for part in version.split("."))
    return version if parts >= _OPEN_BUN else ".".join(map(str, _OPEN_BUN))


def _yarn_version(files: CheckoutFiles, folder: str, head: str) -> str:
    """Return the version of yarn: `1` is the classic one."""
    release = _YARN_PATH.search(files.text(beside(folder, ".yarnrc.yml")))
    if release is not None:
        return release[1]
    version = _BERRY_LOCK.search(head)
    if version is not None:
        return _BERRY_BY_LOCK.get(int(version[1]), _NEWEST_BERRY)
    return _CLASSIC


def _pinned(files: CheckoutFiles, folder: str) -> tuple[Manager, str] | None:
    """Return the manager and version of `packageManager`."""
    package = files.json(beside(folder, "package.json"))
    tools: Mapping[str, object] = mapping(mapping(package.get("devEngines")).get("packageManager"))
    named = package.get("packageManager") or f"{tools.get('name')}@{tools.get('version')}"
    found = _PINNED.fullmatch(named) if isinstance(named, str) else None
    manager = next((one for one in LOCK_FILES if found and found[1] == one), None)
    return (manager, found[2]) if found and manager else None
