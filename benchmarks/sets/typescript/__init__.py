"""Seeded type errors for `benchmarks.typescript`: projects of TypeScript, and texts to replace.

The projects and the errors were written by hand before the repair was run on them. The files are
in two halves: one was looked at while the templates were written, the other was not.
"""

import json
from pathlib import Path
from typing import Literal, NamedTuple

Half = Literal["seen", "unseen"]
_FOLDER = Path(__file__).parent
_PROJECTS = ("shop", "tracker")


class SeededError(NamedTuple):
    """One type error.

    Attributes:
        project: The name of the project.
        half: The half of its file.
        path: The file with the error.
        files: The project with the error, by path.
        original: The text of the file without it.
    """

    project: str
    half: Half
    path: str
    files: dict[str, str]
    original: str


def seeded_errors() -> tuple[SeededError, ...]:
    """Return all errors; the files of the halves alternate."""
    found = []
    number = 0
    for project in _PROJECTS:
        files = _read(_FOLDER / project)
        mutations = json.loads((_FOLDER / project / "mutations.json").read_text())
        for path, rows in mutations.items():
            half: Half = "unseen" if number % 2 else "seen"
            number += 1
            for old, new in rows:
                if files[path].count(old) != 1:
                    raise ValueError(f"{path} does not have one place for {old!r}")
                changed = {**files, path: files[path].replace(old, new)}
                found.append(SeededError(project, half, path, changed, files[path]))
    return tuple(found)


def _read(folder: Path) -> dict[str, str]:
    paths = (folder / "tsconfig.json", *sorted((folder / "src").iterdir()))
    return {str(path.relative_to(folder)): path.read_text() for path in paths}
