"""Generate cases of the hostile corpus, chosen by what they are and not by their names."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from sandbox.types import Frozen


class Attack(Frozen):
    """One generated case."""

    folder: Path
    about: dict[str, Any]

    @property
    def name(self) -> str:
        """Its identity, for messages."""
        return str(self.about["id"])

    @property
    def expect(self) -> dict[str, Any]:
        """What has to come out."""
        found: dict[str, Any] = self.about["expect"]
        return found

    def read(self, path: str) -> bytes | None:
        """A file of its repository."""
        file = self.folder / "repo" / path
        return file.read_bytes() if file.is_file() and not file.is_symlink() else None


def generate(shared: Path, out: Path, *kinds: str) -> list[Attack]:
    """All cases of some kinds; nothing of them is run."""
    generator = shared / "attacks" / "gen.py"
    listing = subprocess.run([sys.executable, generator, "--list"], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listing.stdout.splitlines()]
    names = [row[0] for row in rows if len(row) > 2 and row[1] in kinds]
    environment = {**os.environ, "ATTACK_CORPUS_OK": "1"}
    argv = [sys.executable, str(generator), "--out", str(out), *names]
    subprocess.run(argv, check=True, capture_output=True, env=environment)
    found = []
    for file in sorted(out.glob("*/attack.json")):
        about = json.loads(file.read_text())
        if about["kind"] in kinds:
            found.append(Attack(folder=file.parent, about=about))
    assert found, "the generator made nothing"
    return found
