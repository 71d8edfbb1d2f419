"""Read lock files as constraints, line by line in one pass."""

import re
from collections.abc import Mapping

from sandbox.recipe.files import CheckoutFiles, beside, mapping
from sandbox.recipe.requirements import MOST_CHARACTERS, clean_line, normal_name

_MOST_BYTES = 4 << 20
_MOST = 3000
_KEY = re.compile(r"(name|version|source)\s*=\s*(.{1,300})")
_TEXT = re.compile(r'"([^"\\]{1,200})"')
_TOML = ("poetry.lock", "uv.lock", "pdm.lock", "pylock.toml")


def read_lock(files: CheckoutFiles, folder: str, name: str) -> tuple[str, ...]:
    """Return the pins of a lock file; empty if there is none.

    Args:
        files: The checkout.
        folder: The folder of the lock file.
        name: `poetry.lock`, `uv.lock`, `pdm.lock`, `pylock.toml` or `Pipfile.lock`.
    """
    return files.remember(("lock", folder, name), lambda: _read_lock(files, folder, name))


def _read_lock(files: CheckoutFiles, folder: str, name: str) -> tuple[str, ...]:
    path = beside(folder, name)
    if not is_lock(name) or path not in files.names:
        return ()
    raw = files.contents.get(path)
    if raw is None or len(raw) > _MOST_BYTES:
        files.log.dropped(path, "the lock file is too large: the installer chooses the versions")
        return ()
    pins = (
        _pipfile(files, path)
        if name == "Pipfile.lock"
        else _packages(raw.decode("utf-8", "replace"))
    )
    if pins:
        files.log.replayed(path, f"its {len(pins)} versions are used as constraints")
    return pins


def is_lock(name: str) -> bool:
    """Return True for the name of a supported lock file."""
    return name in {*_TOML, "Pipfile.lock"}


class _Versions:
    """The locked versions of each package with their markers."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, str]] = {}

    def add(self, name: str, version: str, marker: str = "") -> None:
        """Add one locked package."""
        if len(self._found) < _MOST:
            self._found.setdefault(normal_name(name), {})[version] = marker

    def pins(self) -> tuple[str, ...]:
        """Return the constraints. A name with several versions only counts if all have markers."""
        lines: list[str] = []
        for name, versions in sorted(self._found.items()):
            if len(versions) == 1:
                lines += [f"{name}=={version}" for version in versions]
            elif all(versions.values()):
                lines += [f"{name}=={version} ; {marker}" for version, marker in versions.items()]
        return tuple(line for line in lines if clean_line(line) is not None)


def _packages(text: str) -> tuple[str, ...]:
    """Parse the packages of a TOML lock line by line."""
    found = _Versions()
    package: dict[str, str] = {}
    # The additional header completes the last package.
    for line in [*text.splitlines(), "[[package]]"]:
        if line.startswith("[[pack"):
            _keep(package, found)
            package = {"in": "package"}
        elif line.startswith("["):
            # `[package.source]` of poetry marks a package outside of the default index
            package["foreign"] = (
                "yes" if line.startswith("[package.source]") else package.get("foreign", "")
            )
            package["in"] = "other"
        elif package.get("in") == "markers":
            _marker(line, package)
        elif line.startswith("resolution-markers = [") and package.get("in") == "package":
            package["in"] = "markers"
        elif (key := _KEY.match(line)) is not None and package.get("in") == "package":
            package.setdefault(key[1], key[2])
        elif package.get("foreign") == "yes" and line.startswith('type = "legacy"'):
            package["foreign"] = ""  # an index other than the default one
    return found.pins()


def _marker(line: str, package: dict[str, str]) -> None:
    """Parse one line of `resolution-markers`; any of them may apply."""
    if line.startswith("]"):
        package["in"] = "package"
    elif (text := _TEXT.match(line.strip())) is not None:
        before = package.get("marker", "")
        # A longer one makes no constraint.
        if len(before) <= MOST_CHARACTERS:
            package["marker"] = f"{before} or ({text[1]})" if before else f"({text[1]})"


def _keep(package: Mapping[str, str], found: _Versions) -> None:
    name, version = _TEXT.match(package.get("name", "")), _TEXT.match(package.get("version", ""))
    source = package.get("source", "registry")
    if (
        name is None
        or version is None
        or package.get("foreign") == "yes"
        or "registry" not in source
    ):
        return
    found.add(name[1], version[1], package.get("marker", ""))


def _pipfile(files: CheckoutFiles, path: str) -> tuple[str, ...]:
    found = _Versions()
    table = files.json(path)
    for group in ("default", "develop"):
        for name, details in list(mapping(table.get(group)).items())[:_MOST]:
            version = mapping(details).get("version")
            if isinstance(version, str) and version.startswith("=="):
                found.add(name, version.removeprefix("=="))
    return found.pins()
