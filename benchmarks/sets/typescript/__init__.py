"""Seeded type errors for `benchmarks.typescript`: projects of TypeScript, and texts to replace.

The projects and the errors were written by hand before the repair was run on them. The results of
two projects were looked at while the templates were written, those of the last one were not.
"""

import json
from pathlib import Path
from typing import Literal, NamedTuple

Part = Literal["seen", "unseen"]
_FOLDER = Path(__file__).parent
_PROJECTS: dict[str, Part] = {"shop": "seen", "tracker": "seen", "mailer": "unseen"}


class SeededError(NamedTuple):
    """One type error.

    Attributes:
        project: The name of the project.
        part: Whether its results were looked at while the templates were written.
        path: The file with the error.
        files: The project with the error, by path.
        original: The text of the file without it.
    """

    project: str
    part: Part
    path: str
    files: dict[str, str]
    original: str


def seeded_errors() -> tuple[SeededError, ...]:
    """Return all errors."""
    found = []
    for project, part in _PROJECTS.items():
        files = _read(_FOLDER / project)
        mutations = json.loads((_FOLDER / project / "mutations.json").read_text())
        for path, rows in mutations.items():
            for old, new in rows:
                if files[path].count(old) != 1:
                    raise ValueError(f"{path} does not have one place for {old!r}")
                changed = {**files, path: files[path].replace(old, new)}
                found.append(SeededError(project, part, path, changed, files[path]))
    return tuple(found)


def _read(folder: Path) -> dict[str, str]:
    paths = (folder / "tsconfig.json", *sorted((folder / "src").iterdir()))
    return {str(path.relative_to(folder)): path.read_text() for path in paths}
