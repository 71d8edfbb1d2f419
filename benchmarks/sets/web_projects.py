"""Small web projects of this repository (FastAPI, Flask, Django) with bugs as text to replace."""

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.sets.bug import Bug
from benchmarks.sets.built import Tree

HERE = Path(__file__).parent / "web"


def web_bugs() -> Iterator[Bug]:
    """Return every bug of every project."""
    for home in sorted(path for path in HERE.iterdir() if path.is_dir()):
        for row in json.loads((home / "bugs.json").read_text()):
            yield _bug(home, **row)


def _bug(home: Path, *, name: str, kind: str, path: str, search: str, replace: str) -> Bug:
    right = (home / "tree" / path).read_text()
    if right.count(search) != 1:
        raise ValueError(f"{home.name}/{name}: its text is there {right.count(search)} times")
    return Bug(
        name=f"{home.name}/{name}",
        right={path: right},
        tests=(),  # every test passes without the bug, so none has to be named
        failing=frozenset(),
        plant=Tree(home / "tree", {path: right.replace(search, replace)}),
        repository=f"local:bench-web-{home.name}",
        about={"kind": kind, "cases": True},
    )
