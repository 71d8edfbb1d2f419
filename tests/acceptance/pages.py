"""The blocks of a page as a reader meets them: commands to run, and what they print."""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.patience import COMMAND_S

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_TRIED = re.compile(r"\b\d+ tried\b")
_RIVALS = re.compile(r"\b\d+(?= (?:plausible )?fixes (?:that )?behave differently\b)")
"""How many candidates a search tries before it ends, and how many behaviours it finds, depends on how fast the machine is."""
_CONFIDENCE = re.compile(r"\bconfidence \d\.\d+\b")
"""Each further behaviour that is found changes it."""
_SECONDS = re.compile(r"\b\d+\.\d+ ?s\b|\b\d+\.\d+(?= s\b)")


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        kind: `sh` for commands, `text` for what they print.
        text: Without the page's indentation.
    """

    kind: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    """Read the fenced blocks of a page, in order."""
    for match in _FENCE.finditer((ROOT / page).read_text()):
        lines = match["text"].splitlines()
        text = "\n".join(line.removeprefix(match["indent"]).rstrip() for line in lines)
        yield Block(kind=match["kind"], text=text)


def same(text: str) -> str:
    """Replace what depends on the machine: seconds, candidates and behaviours found meanwhile, and blanks at the ends of lines."""
    told = "\n".join(line.rstrip() for line in text.strip().splitlines())
    counted = _RIVALS.sub("N", _TRIED.sub("N tried", told))
    return _SECONDS.sub("N s", _CONFIDENCE.sub("confidence N", counted))


class Shell:
    """Runs the commands of a page in an empty folder, as a new user would: no settings, a home of their own.

    Args:
        folder: Empty.
    """

    def __init__(self, folder: Path) -> None:
        # Sockets are below the home, and their paths may have 107 characters.
        home, self._here = Path(tempfile.mkdtemp(prefix="home-")), folder / "here"
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        self._here.mkdir()
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("METAAGENT_", "XDG_", "GIT_"))
        }
        person = {
            f"GIT_{who}_{what}": "Ada"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**kept, **person, "HOME": str(home), "PATH": programs}

    @property
    def here(self) -> Path:
        """The folder the commands run in."""
        return self._here

    def run(self, text: str, *, folder: Path | None = None) -> str:
        """Run a block that stops at its first error; what it printed on standard output.

        Args:
            text: The block.
            folder: Where; the page's own folder when not given.
        """
        done = subprocess.run(
            ["bash", "-e", "-c", text],
            cwd=folder or self._here,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        return done.stdout
