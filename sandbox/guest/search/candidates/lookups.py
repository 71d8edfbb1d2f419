"""Find names and modules in the checkout, in installed packages and in imported modules."""

from __future__ import annotations

import importlib.machinery
import os
import re
import sys
import time
import types
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

MAX_FILES = 600
MAX_BYTES = 12_000_000
LARGEST = 1_500_000
"""Maximum files per search, bytes read by all searches together, and bytes read per file."""
# Folders whose definitions product code does not import.
SKIPPED = {
    "tests",
    "test",
    "testing",
    "node_modules",
    "__pycache__",
    "build",
    "dist",
    "site-packages",
    "docs",
}
# A regular expression suffices, and avoids parsing every file.
DEFINED = re.compile(
    rb"^(?:async[ \t]+)?(?:def|class)[ \t]+([A-Za-z_]\w*)|^([A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=(?!=)",
    re.MULTILINE,
)
IMPORTED = re.compile(rb"^from[ \t]+[.\w]+[ \t]+import[ \t]+(\([^)]*\)|[^\n#\\]+)", re.MULTILINE)


class Lookups:
    """Bounded, read-only searches for names and modules.

    Args:
        root: Absolute path of the checkout.
        seconds: Time limit for all searches together.
    """

    def __init__(self, root: str, seconds: float = 4.0) -> None:
        self.root = root
        self._ends = time.monotonic() + seconds
        self._files: Dict[str, bytes] = {}
        self._names: Dict[str, List[str]] = {}
        self._bytes = 0

    # --- modules ---

    def find_source(self, module: str) -> Optional[str]:
        """Return the source file of a module, without importing anything."""
        spec = self._spec(module)
        origin = getattr(spec, "origin", None)
        if origin and origin.endswith(".py"):
            return str(origin)
        return None

    def exists(self, module: str) -> bool:
        """Return True if a module can be imported."""
        return (
            module in sys.modules
            or module in sys.builtin_module_names
            or self._spec(module) is not None
        )

    def _spec(self, module: str) -> Optional[importlib.machinery.ModuleSpec]:
        # The checkout may not be installed, so that its folders are searched too.
        path: Optional[Sequence[str]] = [*sys.path, self.root, os.path.join(self.root, "src")]
        spec: Optional[importlib.machinery.ModuleSpec] = None
        # `importlib.util.find_spec` would import the parent packages and run their code.
        name = ""
        for part in module.split("."):
            name = f"{name}.{part}" if name else part
            if path is None or not part.isidentifier():
                return None
            try:
                spec = importlib.machinery.PathFinder.find_spec(name, list(path))
            except (ImportError, ValueError, OSError, AttributeError, TypeError):
                return None
            if spec is None:
                return None
            places = spec.submodule_search_locations
            path = list(places) if places is not None else None
        return spec

    def submodules(self, package: str) -> List[str]:
        """Return the names of the modules directly inside a package.

        An empty name denotes the top level of the checkout.
        """
        if not package:
            folders = [self.root, os.path.join(self.root, "src")]
        else:
            spec = self._spec(package)
            folders = list(spec.submodule_search_locations or ()) if spec else []
        names: List[str] = []
        for folder in folders:
            try:
                entries = sorted(os.listdir(folder))
            except OSError:
                continue
            names += [
                e[:-3]
                for e in entries
                if e.endswith(".py") and e not in ("__init__.py", "setup.py")
            ]
            names += [e for e in entries if os.path.isfile(os.path.join(folder, e, "__init__.py"))]
        return list(dict.fromkeys(names))

    # --- names ---

    def defined_names(self, module: str) -> List[str]:
        """Return the names that a module defines, from memory if imported, else from its source."""
        if module in sys.modules:
            return list(_live_names(module))
        file = self.find_source(module)
        return self.names_in(file) if file else []

    def names_in(self, file: str) -> List[str]:
        """Return the names that a file binds or imports at module level."""
        if file not in self._names:
            data = self._read(file)
            names = [(m.group(1) or m.group(2)).decode() for m in DEFINED.finditer(data)]
            for match in IMPORTED.finditer(data):
                for item in match.group(1).strip(b"()").split(b","):
                    words = re.sub(rb"#[^\n]*", b"", item).split()
                    if words:
                        names.append(words[-1].decode("utf-8", "replace"))
            self._names[file] = list(dict.fromkeys(names))
        return self._names[file]

    def homes_in_package(self, name: str, package: str) -> List[str]:
        """Return modules of an installed package that define a name, public ones first."""
        spec = self._spec(package)
        if spec is None:
            return []
        found: List[str] = []
        if name in _live_names(package):
            found.append(package)
        for folder in spec.submodule_search_locations or ():
            found += [package + ("." + m if m else "") for m in self._defining(name, str(folder))]
        return sorted(dict.fromkeys(found), key=_publicity)[:6]

    def homes_in_checkout(self, name: str) -> List[str]:
        """Return the modules of the checkout that define a name, without tests."""
        found = [m for m in self._defining(name, self.root) if m]
        # In a `src` layout the package is imported without the folder's name.
        found = [m[len("src.") :] if m.startswith("src.") else m for m in found]
        return sorted(dict.fromkeys(found), key=_publicity)[:6]

    @staticmethod
    def homes_alive(name: str, packages: Sequence[str]) -> List[str]:
        """Return the imported modules of these packages that hold a name."""
        near = [m for m in sorted(sys.modules) if m.split(".")[0] in packages]
        found = [m for m in near if name in _live_names(m)]
        return sorted(found, key=_publicity)[:4]

    def _defining(self, name: str, folder: str) -> Iterator[str]:
        for path, _ in self._files_defining(name, folder):
            stem = os.path.relpath(path, folder)[:-3].replace(os.sep, ".")
            stem = (
                stem[: -len("__init__")].rstrip(".") if stem.split(".")[-1] == "__init__" else stem
            )
            if not stem or all(part.isidentifier() for part in stem.split(".")):
                yield stem

    def _files_defining(self, name: str, folder: str) -> Iterator[Tuple[str, bytes]]:
        wanted = name.encode("utf-8")
        for count, path in enumerate(_sources(folder), 1):
            if count > MAX_FILES or self._bytes > MAX_BYTES or time.monotonic() > self._ends:
                return
            data = self._read(path)
            if wanted in data and any(wanted in match.groups() for match in DEFINED.finditer(data)):
                yield path, data

    def _read(self, path: str) -> bytes:
        if path not in self._files:
            try:
                with open(path, "rb") as file:
                    self._files[path] = file.read(LARGEST)
            except OSError:
                self._files[path] = b""
            self._bytes += len(self._files[path])
        return self._files[path]


def _live_names(module: str) -> Dict[str, None]:
    """Return the names of an imported module without calling its `__getattr__`.

    Lazy modules would run code there.
    """
    found = sys.modules.get(module)
    if not isinstance(found, types.ModuleType):
        return {}
    # A module subclass may define `__getattribute__`; this bypasses it.
    space = object.__getattribute__(found, "__dict__")
    return dict.fromkeys(name for name in list(space) if isinstance(name, str))


def _publicity(module: str) -> Tuple[int, int, str]:
    parts = module.split(".")
    return (sum(part.startswith("_") for part in parts), len(parts), module)


def _sources(folder: str) -> Iterator[str]:
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(
            f for f in folders if f not in SKIPPED and not f.startswith(".") and f != "venv"
        )
        for name in sorted(files):
            if (
                name.endswith(".py")
                and not name.startswith("test_")
                and name not in ("conftest.py", "setup.py")
            ):
                yield os.path.join(where, name)
