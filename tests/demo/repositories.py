"""The broken repositories: a green commit, the commit that broke it, and how a mission on that must end."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "data" / "broken_repos"


@dataclass(frozen=True)
class BrokenRepository:
    """One of them.

    Attributes:
        name: Its folder's name.
        green: Files of the first commit, by path.
        red: Files of the commit that broke it.
        expected: `outcome`, and for a fix `rung` and `file`.
    """

    name: str
    green: dict[str, str]
    red: dict[str, str]
    expected: dict[str, Any]

    @property
    def needs_node(self) -> bool:
        """Return True if its CI needs Node.js on this machine."""
        return "package.json" in self.green

    def write(self, folder: Path) -> Path:
        """The red tree as a folder."""
        for path, content in {**self.green, **self.red}.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
        return folder


def broken_repositories() -> list[BrokenRepository]:
    """Every one there is, by name."""
    return [broken_repository(path.parent.name) for path in sorted(FOLDER.glob("*/expected.json"))]


def broken_repository(name: str) -> BrokenRepository:
    """One by name."""
    folder = FOLDER / name
    expected = json.loads((folder / "expected.json").read_text())
    return BrokenRepository(name, _files(folder / "green"), _files(folder / "red"), expected)


def _files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
