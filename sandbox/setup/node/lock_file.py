"""Read lock files of package managers: their packages, and the addresses that they name. Pure."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.setup.node.layout import Manager

SHOWN = 20
"""Most packages named in a report."""

_TARBALL = re.compile(
    r"https?://[^\s\"']{1,300}?/((?:@[^\s\"'/]{1,200}/)?[^\s\"'/]{1,200}/-/[^\s\"'#]+)"
)
"""The address of a package; its group is the part that all registries have in common."""
_ADDRESS = re.compile(r"[a-z][a-z0-9+]{1,12}://[^\s\"'#]*", re.IGNORECASE)
_OTHER_SOURCE = re.compile(r"__archiveUrl|\bgit@|@(?:github|gitlab|bitbucket):", re.IGNORECASE)
_TEXT = re.compile(r"\s*\"?(?:url|funding|deprecated|license|homepage)\"?:(?!\s*\[\")")
"""Lines that describe a package for people and say nothing about where it comes from.

In a lock file of Bun, a list of such a name is a package.
"""
_JSON_NAME = re.compile(r"^[ \t]+\"name\": \"[^\"\n]*\"", re.MULTILINE)

_ENTRIES: dict[Manager, re.Pattern[str]] = {
    "pnpm": re.compile(
        r"^  '?/?(@?[^@/'\s():]+(?:/[^@/'\s():]+)?)[@/](\d[^'():\s/_]*)", re.MULTILINE
    ),
    "yarn": re.compile(
        r"^\"?(@?[^@\"\s#]+)@[^\n]*:\n(?:  [^\n]*\n)*?  version:? \"?([^\"\n]+)\"?$", re.MULTILINE
    ),
    "bun": re.compile(r"^    \"[^\"\n]+\": \[\"(@?[^@\"\n]+)@([^\"\n]+)\"", re.MULTILINE),
}
"""Name and version of each package; npm's lock file is JSON."""
_PNPM_END = re.compile(r"^snapshots:$", re.MULTILINE)
_NAME = re.compile(r"(?:@[\w.~-]{1,100}/)?[\w.~-]{1,100}", re.ASCII)
_VERSION = re.compile(r"\d[\w.+-]{0,60}", re.ASCII)

Packages = Mapping[str, frozenset[str]]
"""The versions of each package."""


def read_packages(text: str, manager: Manager) -> Packages:
    """Return the packages of a lock file; those without a plain name and version are left out.

    Args:
        text: The lock file, untrusted.
        manager: The package manager.
    """
    found: dict[str, set[str]] = {}
    entries = _npm_entries(text) if manager == "npm" else _text_entries(text, manager)
    for name, version in entries:
        if _NAME.fullmatch(name) and _VERSION.fullmatch(version):
            found.setdefault(name, set()).add(version)
    return {name: frozenset(versions) for name, versions in found.items()}


def compare_packages(before: Packages, after: Packages) -> tuple[str, ...]:
    """Return the packages that differ between two lock files, each in words."""
    lines = []
    for name in sorted(before.keys() | after.keys()):
        was, now = (" and ".join(sorted(one.get(name, ()))) for one in (before, after))
        if was == now:
            continue
        if not was:
            lines.append(f"`{name}` {now} is added")
        elif not now:
            lines.append(f"`{name}` {was} is removed")
        else:
            lines.append(f"`{name}` changes from {was} to {now}")
    return tuple(lines)


def restore_addresses(new: str, old: str, public: str) -> str:
    """Return a lock file with the addresses of the old one, and public ones for new packages.

    The registry of a set-up may be a mirror that only the operator reaches.

    Args:
        new: The lock file as the manager wrote it.
        old: The lock file of the checkout.
        public: The manager's default registry.
    """
    known = {found[1]: found[0] for found in _TARBALL.finditer(old)}
    return _TARBALL.sub(lambda found: known.get(found[1], f"{public}{found[1]}"), new)


def restore_name(new: str, old: str) -> str:
    """Return npm's lock file with the old project name, for a package without a name.

    npm takes the folder's name then, which is another one in the set-up.
    """
    name = _JSON_NAME.search(old)
    return _JSON_NAME.sub(lambda _: name[0], new, count=1) if name else new


def restore_line_ends(new: str, old: str) -> str:
    """Return a lock file with the line ends of the old one; pnpm writes its own."""
    if "\r\n" not in old or "\n" in old.replace("\r\n", ""):
        return new
    return new.replace("\r\n", "\n").replace("\n", "\r\n")


def foreign_sources(text: str, public: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sources of packages in a lock file that are not a public registry.

    Args:
        text: The lock file.
        public: The addresses of the registries, each with its last slash.
    """
    lines = [line for line in text.splitlines() if not _TEXT.match(line)]
    sources = [match[0] for line in lines for match in _OTHER_SOURCE.finditer(line)]
    addresses = (match[0] for line in lines for match in _ADDRESS.finditer(line))
    sources += [address for address in addresses if not address.startswith(public)]
    return tuple(dict.fromkeys(source[:100] for source in sources))


def _npm_entries(text: str) -> Iterator[tuple[str, str]]:
    try:
        lock = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(lock, dict):
        return
    packages = lock.get("packages")
    if isinstance(packages, dict):
        for place, entry in packages.items():
            _, inside, name = place.rpartition("node_modules/")
            if inside and isinstance(entry, dict):
                yield str(entry.get("name") or name), str(entry.get("version", ""))
        return
    yield from _old_npm_entries(lock.get("dependencies"))


def _old_npm_entries(table: Any) -> Iterator[tuple[str, str]]:
    """Yield the packages of npm 6 and older, which nest them."""
    todo = [table]
    while todo:
        table = todo.pop()
        for name, entry in table.items() if isinstance(table, dict) else ():
            if isinstance(entry, dict):
                yield str(name), str(entry.get("version", ""))
                todo.append(entry.get("dependencies"))


def _text_entries(text: str, manager: Manager) -> Iterator[tuple[str, str]]:
    text = text.replace("\r\n", "\n")
    if manager == "pnpm":
        # Behind it, the packages follow once more, with their dependencies.
        text = text.partition("\npackages:")[2]
        text = _PNPM_END.split(text, maxsplit=1)[0]
    for found in _ENTRIES[manager].finditer(text):
        yield found[1], found[2]
