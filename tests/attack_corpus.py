"""Generate cases of a hostile corpus, chosen by what they are and not by their names.

A corpus is a folder with `gen.py`. Its tests run on two: the shared one, and a small one of ours with other cases. So
no test can lean on the names, the number or the mix of one corpus.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.types import Frozen

CORPORA = ("shared", "other")
"""Parameters of the fixtures that make cases."""

_OTHER = Path(__file__).parent / "data" / "attacks"
_RUNS = 12
"""Draws of a case by chance that does not say how many it needs: one side alone shows once in 2048 times."""


class Attack(Frozen):
    """One generated case."""

    folder: Path
    about: dict[str, Any]

    @property
    def name(self) -> str:
        """Its identity, for messages."""
        return str(self.about["id"])

    @property
    def kind(self) -> str:
        """What it attacks."""
        return str(self.about["kind"])

    @property
    def expect(self) -> dict[str, Any]:
        """What has to come out; a case may leave any of it open."""
        found: dict[str, Any] = self.about.get("expect", {})
        return found

    @property
    def runs(self) -> int:
        """How often it runs."""
        return int(self.about.get("runs", _RUNS if self.expect.get("flaky") else 1))

    def read(self, path: str) -> bytes | None:
        """A file of its repository."""
        file = self.folder / "repo" / path
        return file.read_bytes() if file.is_file() and not file.is_symlink() else None


def corpus(request: pytest.FixtureRequest) -> Path:
    """Return the folder of the corpus that a fixture's parameter names."""
    return (
        _OTHER if request.param == "other" else Path(request.getfixturevalue("shared")) / "attacks"
    )


def kinds(folder: Path) -> dict[str, str]:
    """Return the kind of every case of a corpus, by identity."""
    generator = [sys.executable, str(folder / "gen.py"), "--list"]
    listing = subprocess.run(generator, capture_output=True, text=True, check=True)
    rows = [line.split(maxsplit=2) for line in listing.stdout.splitlines()]
    return {row[0]: row[1] for row in rows if len(row) > 2}


def generate(folder: Path, out: Path, *wanted: str) -> list[Attack]:
    """Write all cases of some kinds; nothing of them is run. A corpus without any skips the test."""
    names = [name for name, kind in kinds(folder).items() if kind in wanted]
    if not names:
        pytest.skip(f"this corpus has no case of {', '.join(wanted)}")
    environment = {**os.environ, "HOME": str(out), "ATTACK_CORPUS_OK": "1"}
    argv = [sys.executable, str(folder / "gen.py"), "--out", str(out), *names]
    subprocess.run(argv, check=True, capture_output=True, env=environment)
    files = [out / name / "attack.json" for name in sorted(names)]
    return [Attack(folder=file.parent, about=json.loads(file.read_text())) for file in files]


def pick(attacks: list[Attack], **expected: Any) -> list[Attack]:
    """Return the cases that expect just this; a corpus without any skips the test."""
    found = [attack for attack in attacks if expected.items() <= attack.expect.items()]
    if not found:
        pytest.skip(f"no case of this corpus expects {expected}")
    return found
