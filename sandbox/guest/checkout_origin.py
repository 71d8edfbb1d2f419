"""Find a module that the tests would import from an installed package instead of the checkout.

Run as `checkout_origin.py CHECKOUT COMMAND ROOT...`, without `site`. It prints the version of
Python, then a JSON list: empty, or the module and the folder that it would come from. It runs
nothing of the checkout and imports nothing.
"""

import ast
import glob
import json
import os
import platform
import re
import sys
from typing import Dict, Iterator, Optional, Set, Tuple

MOST_FILES = 300
LARGEST = 256 * 1024
MOST_NAMESPACES = 4
"""Maximum number of namespace packages around a module."""
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py|tests\.py|conftest\.py")
_CONFIGURATIONS = ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "pytest.toml")
_BESIDE_TESTS = frozenset({"test", "tests", "testing", "setup", "conftest", "docs", "examples"})
"""Names that packages install by mistake; a test that imports them means its own."""


def find_shadowed(
    checkout: str, command: str, roots: Tuple[str, ...], sites: Tuple[str, ...]
) -> Optional[Tuple[str, str]]:
    """Return the first module that the tests import from elsewhere, and its folder there.

    Args:
        checkout: The checkout's folder.
        command: The test command.
        roots: Its import roots, relative to it.
        sites: Folders of installed packages, searched before the roots.
    """
    installed: Dict[str, str] = {}
    ours: Dict[str, str] = {}
    for root in reversed(roots):
        for site in reversed(sites):
            for name in _doubles(os.path.join(checkout, root), site):
                ours[name], installed[name] = root, site
    doubtful = {name for name in ours if name not in _BESIDE_TESTS}
    if not doubtful:
        return None
    files = list(_test_files(checkout))
    doubtful = {name for name in doubtful if not _is_first(checkout, ours[name], command, files)}
    imported = {name for path in files for name in _imported(path)} if doubtful else set()
    found = sorted(doubtful & imported)
    return (found[0], installed[found[0]]) if found else None


def _doubles(ours: str, installed: str, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of modules that two folders have both.

    A namespace package shadows nothing. Where both are one, so are its parts: Python searches them
    in the order of its path.
    """
    try:
        entries = sorted(os.listdir(ours))
    except OSError:
        return
    for name in dict.fromkeys(entry[:-3] if entry.endswith(".py") else entry for entry in entries):
        if not name.isidentifier():
            continue
        mine, other = os.path.join(ours, name), os.path.join(installed, name)
        if _is_module(mine) and _is_module(other):
            yield f"{prefix}{name}"
        elif (
            prefix.count(".") < MOST_NAMESPACES
            and not _is_module(mine)
            and not _is_module(other)
            and os.path.isdir(other)
        ):
            yield from _doubles(mine, other, f"{prefix}{name}.")


def _is_module(path: str) -> bool:
    """Return True for a regular package or a module."""
    return os.path.isfile(f"{path}.py") or os.path.isfile(os.path.join(path, "__init__.py"))


def _test_files(checkout: str) -> Iterator[str]:
    count = 0
    for folder, inner, names in os.walk(checkout):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            if _TEST_FILE.fullmatch(name) and count < MOST_FILES:
                count += 1
                yield os.path.join(folder, name)


def _is_first(checkout: str, root: str, command: str, files: "list[str]") -> bool:
    """Return whether a root is searched before installed packages.

    `python -m` puts the top first, pytest the first folder above a test that is no package, and
    its option `pythonpath` whatever it names.
    """
    if root == "." and re.search(r"python[\d.]* -m |manage\.py", command):
        return True
    place = os.path.normpath(os.path.join(checkout, root))
    if any(_base_folder(path) == place for path in files):
        return True
    return "PYTHONPATH" in command or any(
        re.search(rb"^\s*pythonpath\s*=", _read(os.path.join(checkout, name)), re.MULTILINE)
        for name in _CONFIGURATIONS
    )


def _base_folder(path: str) -> str:
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return os.path.normpath(folder)


def _imported(path: str) -> Set[str]:
    """Return the names that a file imports, with the packages around each."""
    try:
        tree = ast.parse(_read(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names: Set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    parts = [name.split(".") for name in names]
    return {".".join(each[:end]) for each in parts for end in range(1, len(each) + 1)}


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST)
    except OSError:
        return b""


def main() -> None:
    """Print the version of Python, and the shadowed module if there is one."""
    checkout, command, *roots = sys.argv[1:]
    home = os.path.dirname(os.path.dirname(sys.executable))
    sites = tuple(sorted(glob.glob(os.path.join(home, "lib*/python*/site-packages"))))
    # First, so that it is known even if a huge checkout takes too long.
    print(f"Python {platform.python_version()}", flush=True)
    print(json.dumps(find_shadowed(checkout, command, tuple(roots), sites) or []))


if __name__ == "__main__":
    main()
