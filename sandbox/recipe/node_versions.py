"""Read which Node.js a project requests: `20`, `v20.11`, `lts/iron`, `^20.9 || >=22`, a file."""

import re
from collections.abc import Mapping

from sandbox.recipe.files import CheckoutFiles, beside, mapping, named_version
from sandbox.setup.node.layout import USUAL_MAJOR

_PLAIN = re.compile(r"[~^=v\s]*(\d{1,3})(?:\.(\d{1,4}|x|\*))?(?:\.(\d{1,4}|x|\*))?")
_BELOW = re.compile(r"<\s*v?(\d{1,3})(?:\.0)*\s*$")
_UP_TO = re.compile(r"<=\s*v?(\d{1,3})(?:\.[\dx*]+)*\s*$")
_LTS = {"gallium": "16", "hydrogen": "18", "iron": "20", "jod": "22", "krypton": "24"}
_LTS_MAJORS = sorted(_LTS.values(), reverse=True)
"""The newest first: `lts/*`, `lts/-1`."""
_NEWEST_MAJOR = "26"
_NEWEST = frozenset({"latest", "node", "current", "stable"})
_FILES = (".nvmrc", ".node-version", ".tool-versions", "package.json")
_LONGEST = 200


def read_node(words: object) -> str | None:
    """Return the requested version as `20`, `20.11` or `20.11.1`; None for any or an unknown one.

    Of alternatives the last counts. A range that includes the usual version counts as any.
    """
    text = str(words).split("||")[-1].strip().lower()[:_LONGEST]
    if text in _NEWEST:
        return _NEWEST_MAJOR
    if text == "lts" or text.startswith("lts/"):
        return _read_lts(text.removeprefix("lts").removeprefix("/"))
    if text.startswith((">", "<")):
        return _read_range(text)
    found = _PLAIN.fullmatch(text)
    if found is None:
        return None
    if text.startswith("^"):
        return found[1]
    # a tilde leaves the last part open
    parts = found.groups()[: 2 if text.startswith("~") else 3]
    exact = [part for part in parts if part is not None and part.isdecimal()]
    return ".".join(exact)


def _read_lts(name: str) -> str | None:
    """Return the release with long-term support: by its name, or counted from the newest one."""
    older = 0 if name in {"", "*"} else int(name[1:]) if re.fullmatch(r"-\d", name) else None
    if older is None:
        return _LTS.get(name)
    return _LTS_MAJORS[older] if older < len(_LTS_MAJORS) else None


def _read_range(text: str) -> str | None:
    """Return the newest version of a range; None if it includes the usual version."""
    below, up_to = _BELOW.search(text), _UP_TO.search(text)
    least = _PLAIN.match(text[2:]) if text.startswith(">=") else None
    newest = int(below[1]) - 1 if below else int(up_to[1]) if up_to else None
    if newest is not None and newest < USUAL_MAJOR:
        return str(newest)
    return least[1] if least and int(least[1]) > USUAL_MAJOR else None


def node_in_file(path: str, contents: Mapping[str, bytes]) -> str | None:
    """Return the version in `.nvmrc`, `.node-version` or `.tool-versions`."""
    return read_node(named_version(path, contents, "node(?:js)?"))


def _runtime(package: Mapping[str, object]) -> object:
    """Return the version of Node.js in `devEngines.runtime`; None if it names none."""
    named = mapping(package.get("devEngines")).get("runtime")
    entries = map(mapping, named if isinstance(named, list) else [named])
    return next((one.get("version") for one in entries if one.get("name") == "node"), None)


def node_of_project(files: CheckoutFiles, folder: str) -> str | None:
    """Return the version that a project's files request; those of the top count last."""
    for place in dict.fromkeys((folder, ".")):
        for name in _FILES:
            path = beside(place, name)
            if name == "package.json":
                package = files.json(path)
                pinned = mapping(package.get("volta")).get("node") or _runtime(package)
                asked = pinned or mapping(package.get("engines")).get("node")
                found = read_node(asked) if isinstance(asked, str) else None
            else:
                found = node_in_file(path, files.contents)
            if found is not None:
                return found
    return None
