"""How a case of the applier is written: files, an answer, and what must become of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.fixers.rung2_model.edits import EditRules, Reason, SentFile

MATHS = "src/maths.py"
SOURCE = '''"""Sums."""

import os


# what add does
def add(a, b):
    """The sum."""
    return a - b


def twice(a):
    return a + a


class Box:
    """Holds one thing."""

    size = 1

    def __init__(self, item):
        self.item = item

    def get(self):
        # the item
        return None

    def put(self, item):
        self.item = item
        return None
'''


@dataclass(frozen=True)
class Case:
    """One answer."""

    name: str
    answer: str
    becomes: dict[str, str] | Reason
    """The files that change, as they are then; or why nothing does."""
    files: dict[str, str] = field(default_factory=lambda: {MATHS: SOURCE})
    regions: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    read_only: tuple[str, ...] = ()
    rules: EditRules = field(default_factory=EditRules)
    truncated: bool = False
    windows: tuple[int, ...] | None = None
    """Where the windows of the first rejection begin."""

    @property
    def sent(self) -> list[SentFile]:
        """The files as values."""
        return [
            SentFile(
                path=path,
                text=text,
                regions=self.regions.get(path, ()),
                editable=path not in self.read_only,
            )
            for path, text in self.files.items()
        ]


def block(search: str, replace: str, *, mark: int = 7, head: Sequence[str] = ()) -> str:
    """A SEARCH/REPLACE block without path and fence; both texts end with a newline, or are empty."""
    top = "".join(f"{line}\n" for line in head)
    return f"{top}{'<' * mark} SEARCH\n{search}{'=' * mark}\n{replace}{'>' * mark} REPLACE\n"


def sr(search: str, replace: str, path: str = MATHS, *, mark: int = 7) -> str:
    """A block as the prompt asks for it."""
    return f"{path}\n```python\n{block(search, replace, mark=mark)}```\n"


def fence(code: str, language: str = "python") -> str:
    """Code in a fence."""
    return f"```{language}\n{code}```\n"


def swapped(old: str, new: str, text: str = SOURCE, path: str = MATHS) -> dict[str, str]:
    """The file with one piece replaced; the piece stands there once."""
    assert text.count(old) == 1
    return {path: text.replace(old, new)}


FIXED = swapped("    return a - b\n", "    return a + b\n")
"""The one mistake of the file mended."""
