"""Suspicious lines when no test runs a line of the checkout in its own process.

Examples are programs under test and C extensions.
"""

from __future__ import annotations

import os
import re
from typing import Callable, Dict, Iterator, List, Sequence, Set

MOST_FILES = 40
MOST_BYTES = 400_000
MENTIONED, OTHERS = 0.6, 0.3
WORD = re.compile(r"\w+")


def lines_to_suspect(
    root: str, tests: Sequence[str], editable: Callable[[str], bool]
) -> Dict[str, Dict[int, float]]:
    """Return a score for every line of the editable files.

    Files that the failing tests mention score higher.

    Args:
        root: The checkout.
        tests: Files of the failing tests.
        editable: Returns True if a relative path may be edited.
    """
    words = _words(os.path.join(root, test) for test in tests)
    scores: Dict[str, Dict[int, float]] = {}
    size = 0
    for path in _files(root):
        if not editable(path) or len(scores) >= MOST_FILES:
            continue
        try:
            with open(os.path.join(root, path), "rb") as file:
                data = file.read(MOST_BYTES + 1)
        except OSError:
            continue
        size += len(data)
        if size > MOST_BYTES:
            break
        stem = os.path.splitext(os.path.basename(path))[0]
        # `pkg/__init__.py` is mentioned as `pkg`.
        name = os.path.basename(os.path.dirname(path)) if stem.startswith("__") else stem
        score = MENTIONED if name in words else OTHERS
        scores[path] = dict.fromkeys(range(1, data.count(b"\n") + 2), score)
    return scores


def _words(files: Iterator[str]) -> Set[str]:
    found: Set[str] = set()
    for name in files:
        try:
            with open(name, encoding="utf-8", errors="replace") as file:
                found.update(WORD.findall(file.read(MOST_BYTES)))
        except OSError:
            continue
    return found


def _files(root: str) -> List[str]:
    """Return the Python files of the checkout, sorted by name."""
    found: List[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in ("build", "dist")
        )
        found += [
            os.path.relpath(os.path.join(folder, name), root)
            for name in sorted(names)
            if name.endswith(".py")
        ]
    return found
