"""Histories of repositories, read from clones that have no work tree."""

import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

_SAFE = ("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
"""A clone's own settings start no programs."""


@dataclass(frozen=True)
class Commit:
    """A commit with one parent, and the paths that it changes."""

    name: str
    parent: str
    date: str
    changes: tuple[tuple[str, str], ...] = field(repr=False)
    """Letters of `git log --name-status` with paths."""


class Clone:
    """A bare clone.

    Args:
        folder: The git directory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reader: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._reader = subprocess.Popen(
            self._command("cat-file", "--batch"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(),
        )
        return self

    def __exit__(self, *_: object) -> None:
        if self._reader is not None:
            self._reader.communicate()

    def commits(self, since: str, most: int) -> Iterator[Commit]:
        """Yield commits without a second parent, newest first.

        Args:
            since: The oldest date.
            most: The maximum number.
        """
        log = subprocess.run(
            self._command(
                "log", "--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv",
                "--no-show-signature", "--name-status", "--format=%x01%H %P %cs",
                f"--since={since}", f"-n{most}",
            ),
            capture_output=True,
            check=True,
            env=_environment(),
        )  # fmt: skip
        for block in log.stdout.decode("utf-8", "replace").split("\x01")[1:]:
            head, *rest = block.strip().split("\n")
            names = head.split()
            changes = [line.partition("\t") for line in rest]
            if len(names) == 3:
                name, parent, date = names
                yield Commit(name, parent, date, tuple((c[0], c[2]) for c in changes if c[2]))

    def text(self, commit: str, path: str) -> str | None:
        """Return a file at a commit, or None if it is missing or not UTF-8.

        Args:
            commit: Its name.
            path: The file's path.
        """
        to = self._reader.stdin if self._reader is not None else None
        back = self._reader.stdout if self._reader is not None else None
        if to is None or back is None or "\n" in path:
            return None
        to.write(f"{commit}:{path}\n".encode())
        to.flush()
        head = back.readline().split()
        if len(head) != 3:
            return None
        data = back.read(int(head[2]))
        back.read(1)
        try:
            return data.decode() if head[1] == b"blob" else None
        except UnicodeDecodeError:
            return None

    def write_tree(self, commit: str, folder: Path) -> None:
        """Write the files of a commit, unless the folder exists.

        Args:
            commit: Its name.
            folder: The folder to make.
        """
        if folder.is_dir():
            return
        packed = subprocess.run(
            self._command("archive", "--format=tar", commit),
            capture_output=True,
            check=True,
            env=_environment(),
        )
        made = folder.with_name(f"{folder.name}.new")
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(made, filter="data")
        made.rename(folder)

    def _command(self, *words: str) -> list[str]:
        return ["git", f"--git-dir={self._folder}", *_SAFE, *words]


def _environment() -> dict[str, str]:
    nothing = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_PAGER": "cat"}
    return {"PATH": os.environ["PATH"], "GIT_NO_LAZY_FETCH": "1", **nothing}
