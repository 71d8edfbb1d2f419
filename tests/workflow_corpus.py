"""The corpus of workflows in tests/data/workflows, for the tests that read it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.types import JobHints

ROOT = Path(__file__).parent / "data" / "workflows"


class Example:
    """One repository with a red step, and what is expected of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name
        self.expected: dict[str, Any] = json.loads((folder / "expected.json").read_text())

    @property
    def hints(self) -> JobHints:
        """What GitHub would say of the failed check."""
        return JobHints(
            job_name=self.expected.get("job"),
            step_name=self.expected.get("step"),
            matrix=self.expected.get("given", {}),
        )

    @property
    def feasible(self) -> bool:
        """Whether it can be rebuilt here."""
        return bool(self.expected["feasible"])

    def files(self) -> Mapping[str, bytes]:
        """The repository."""
        paths = [
            path
            for path in self.folder.rglob("*")
            if path.is_file() and path.name != "expected.json"
        ]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in paths}


def examples() -> tuple[Example, ...]:
    """All of them, by name."""
    return tuple(Example(folder) for folder in sorted(ROOT.iterdir()) if folder.is_dir())
