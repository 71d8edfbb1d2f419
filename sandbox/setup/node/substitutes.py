"""Change a lock file so that packages can be installed that its registry does not have. Pure.

Authors withdraw releases: the nearest one stands in. Development packages from git are left out.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from sandbox.setup.node.layout import Manager

_NAME = r"(?:@\w[\w.~-]{0,100}/)?\w[\w.~-]{0,200}"
_VERSION = r"\d{1,9}\.\d{1,9}\.\d{1,9}(?:[-+][\w.+-]{1,60})?"
_REFUSED = re.compile(
    rf"https?://[^\s/]{{1,200}}/(?:[^\s/]{{1,200}}/)*?(?P<tarball>{_NAME})/-/"
    rf"[\w.~-]{{1,200}}?-(?P<address>{_VERSION})\.tgz"
    rf"|YN00(?:16|35): [^\s\w]{{1,3}} (?P<reference>{_NAME})@npm:(?P<version>{_VERSION}):",
    re.ASCII,
)
"""A package in the error of a manager; Yarn names it by its reference."""
_NUMBERS = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", re.ASCII)
_INTEGRITY = re.compile(r"sha\d{3}-[A-Za-z0-9+/=]{20,100}")
_MOST = 5
_GIT = ("git+", "git:", "github:", "https://codeload.github.com/")


class Reduced(NamedTuple):
    """A project without some of its development packages."""

    lock: str
    package: str
    """Its `package.json`."""
    left_out: tuple[str, ...]
    """The names of these packages."""


class Release(NamedTuple):
    """One release of a package.

    Attributes:
        name: The package.
        version: Its version.
        integrity: The digest that the registry has; empty if it is unknown.
    """

    name: str
    version: str
    integrity: str = ""


def read_refused(output: str) -> tuple[Release, ...]:
    """Return the packages that a manager names as those it cannot fetch.

    Args:
        output: What the manager printed, untrusted.
    """
    found = (
        Release(one["tarball"] or one["reference"], one["address"] or one["version"])
        for one in _REFUSED.finditer(output)
    )
    return tuple(dict.fromkeys(found))[:_MOST]


def choose_version(version: str, listed: Iterable[object]) -> str | None:
    """Return the release that stands in for a missing one: the next compatible one, or the last.

    Compatible releases have the same first number that is not zero.

    Args:
        version: The locked version.
        listed: The versions that the registry has.

    Returns:
        None if the registry has the version, or no compatible one.
    """
    versions = [one for one in listed if isinstance(one, str)]
    wanted = _NUMBERS.fullmatch(version)
    if wanted is None or version in versions:
        return None
    asked = _numbers(wanted)
    parts = next((number for number, part in enumerate(asked) if part), 2) + 1
    plain = sorted(_numbers(one) for one in map(_NUMBERS.fullmatch, versions) if one is not None)
    alike = [one for one in plain if one[:parts] == asked[:parts]]
    later = [one for one in alike if one > asked]
    chosen = next(iter(later), alike[-1] if alike else None)
    return ".".join(map(str, chosen)) if chosen is not None else None


def _numbers(found: re.Match[str]) -> tuple[int, ...]:
    return tuple(map(int, found.groups()))


def replace_release(text: str, manager: Manager, old: Release, new: Release) -> str:
    """Return a lock file with another version of a package; unchanged if that is not understood.

    Args:
        text: The lock file.
        manager: The package manager.
        old: The package that is missing.
        new: The same package in the version to install.
    """
    if not _INTEGRITY.fullmatch(new.integrity):
        return text
    if manager == "npm":
        return _replace_in_json(text, old, new)
    name, version = re.escape(old.name), re.escape(old.version)
    own = {"name": new.name, "new": new.version, "integrity": new.integrity}
    for pattern, replacement in _RULES[manager]:
        found = re.compile(pattern.format(name=name, old=version), re.MULTILINE)
        text = found.sub(replacement.format(**own), text)
    return text


_END = r"(?![\w.+-])"
_PNPM_KEY = r"((?:^|[\s'(])/?){name}@{old}"
_PNPM_ENTRY = r"^( {{1,12}}'?/?){name}@{old}"
_PNPM_DIGEST = r"([^\w.+-][^\n]*\n {{1,12}}resolution: \{{integrity: )[^}},]+"
_PNPM_DIRECT = r"^( {{1,40}}'?{name}'?:\n {{1,40}}specifier: [^\n]*\n {{1,40}}version: ){old}"
_CLASSIC_ADDRESS = r'^("?{name}@[^\n]*:\n  version "){old}("\n  resolved "[^"\n]*-){old}\.tgz'
_CLASSIC_DIGEST = r'[^"\n]*("\n  integrity )[^\n]*'
_BERRY_KEY = r'^("?{name}@npm:[^\n]*:\n  version: ){old}(\n  resolution: "{name}@npm:){old}"'
# Yarn 2 and later writes digests of its own archives, and adds those that are missing.
_BERRY_DIGEST = r"((?:\n  (?!checksum:)[^\n]*)*)(?:\n  checksum: [^\n]*)?"
_BUN_ENTRY = r'^( {{0,8}}"[^"\n]{{1,400}}": \["{name}@){old}("[^\n]*, ")sha\d{{3}}-[^"\n]*("\],?)$'
_RULES: dict[Manager, tuple[tuple[str, str], ...]] = {
    "pnpm": (
        (_PNPM_ENTRY + _PNPM_DIGEST, r"\g<1>{name}@{new}\g<2>{integrity}"),
        (_PNPM_KEY + _END, r"\g<1>{name}@{new}"),
        (r"^( {{1,40}}'?{name}'?: ){old}" + _END, r"\g<1>{new}"),
        (_PNPM_DIRECT + _END, r"\g<1>{new}"),
    ),
    "yarn": (
        (_CLASSIC_ADDRESS + _CLASSIC_DIGEST, r"\g<1>{new}\g<2>{new}.tgz\g<3>{integrity}"),
        (_BERRY_KEY + _BERRY_DIGEST, r'\g<1>{new}\g<2>{new}"\g<3>'),
    ),
    "bun": ((_BUN_ENTRY, r"\g<1>{new}\g<2>{integrity}\g<3>"),),
}
"""Patterns and replacements by manager, each a template."""


def leave_out_git(lock: str, package: str) -> Reduced | None:
    """Return npm's files without the development packages that come from git; None without any.

    Args:
        lock: The lock file.
        package: The `package.json`.
    """
    try:
        locked, declared = json.loads(lock), json.loads(package)
        places, wanted = locked["packages"], declared["devDependencies"]
        found = [
            name
            for name in wanted
            if name not in declared.get("dependencies", {})
            and str(places[f"node_modules/{name}"].get("resolved")).startswith(_GIT)
        ]
        own = places[""]["devDependencies"]
        for name in found:
            del wanted[name], own[name]
            locked.get("dependencies", {}).pop(name, None)
            for place in [*places]:
                if f"{place}/".startswith(f"node_modules/{name}/"):
                    del places[place]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    return Reduced(json.dumps(locked), json.dumps(declared), tuple(found)) if found else None


def _replace_in_json(text: str, old: Release, new: Release) -> str:
    try:
        lock = json.loads(text)
    except (ValueError, RecursionError):
        return text
    todo: list[Any] = [lock]
    is_changed = False
    while todo:
        table = todo.pop()
        for place, entry in table.items() if isinstance(table, dict) else ():
            if not isinstance(entry, dict):
                continue
            todo.append(entry)
            name = entry.get("name") or place.rpartition("node_modules/")[2]
            if (name, entry.get("version")) == old[:2] and "resolved" in entry:
                ends = (f"-{old.version}.tgz", f"-{new.version}.tgz")
                entry["resolved"] = str(entry["resolved"]).replace(*ends)
                entry |= {"version": new.version, "integrity": new.integrity}
                is_changed = True
    return json.dumps(lock, indent=2, ensure_ascii=False) + "\n" if is_changed else text
