"""The file of rows, one line of JSON for each bug, which a run that was killed may have cut short."""

import json
import os
from pathlib import Path
from typing import Any


def parse_rows(path: Path) -> list[dict[str, Any]]:
    """Return the whole rows of a file; none if there is no file."""
    rows = []
    for line in path.read_text().splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
        except ValueError:  # the last one of a run that was killed
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def append_row(path: Path, row: dict[str, Any]) -> None:
    """Append a row, on a line of its own, and wait until it is on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(row).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
