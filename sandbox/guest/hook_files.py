"""Run a command on files of the checkout, chosen as pre-commit chooses those of a hook.

The patterns are regular expressions of the repository, and could take forever: they are tried here,
inside the sandbox, with a time limit.
"""

import argparse
import importlib
import os
import re
import signal
import subprocess
import sys
from typing import AbstractSet, Callable, FrozenSet, Iterator, List, Sequence
from urllib.parse import unquote

MATCHING_S = 20
"""Time limit for choosing the files, in seconds."""

MOST_BYTES = 100000
"""Length of the file names in one command."""

WRONG_USE = 2
NOT_FOUND, NOT_EXECUTABLE, SIGNALLED = 127, 126, 128
"""Exit statuses of shells."""

_LIST = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others")

KindsReader = Callable[[str], AbstractSet[str]]


def kinds_by_library(path: str) -> AbstractSet[str]:
    """Return the kinds of a file, as the library of pre-commit names them."""
    # A package of the environment. It is not in the Python of this program's tests.
    found = importlib.import_module("identify.identify").tags_from_path(path)
    return frozenset(map(str, found))


class Selection:
    """The files of one hook.

    Args:
        options: `files` and `exclude`, all of which apply, and the sets of kinds.
        read_kinds: Returns the kinds of a file.
    """

    def __init__(self, options: argparse.Namespace, read_kinds: KindsReader) -> None:
        self._read_kinds = read_kinds
        self._wanted = [re.compile(unquote(one)) for one in options.files]
        self._unwanted = [re.compile(unquote(one)) for one in options.exclude]
        self._all = _kinds(options.types or "file")
        self._any = _kinds(options.types_or)
        self._none = _kinds(options.exclude_types)

    def has(self, path: str) -> bool:
        """Return True if the hook checks this file."""
        if not all(one.search(path) for one in self._wanted):
            return False
        if any(one.search(path) for one in self._unwanted) or not os.path.lexists(path):
            return False
        kinds = self._read_kinds(path)
        one_of = not self._any or not self._any.isdisjoint(kinds)
        return self._all <= kinds and one_of and self._none.isdisjoint(kinds)


def _kinds(words: str) -> FrozenSet[str]:
    return frozenset(word for word in words.split(",") if word)


def list_files() -> List[str]:
    """Return the files that git knows, and new ones that it does not ignore."""
    done = subprocess.run((*_LIST, "--exclude-standard"), stdout=subprocess.PIPE, check=True)
    return sorted({os.fsdecode(name) for name in done.stdout.split(b"\0") if name})


def split_names(names: Sequence[str]) -> Iterator[List[str]]:
    """Yield the names in parts that fit into one command."""
    part: List[str] = []
    size = 0
    for name in names:
        size += len(os.fsencode(name)) + 1
        if part and size > MOST_BYTES:
            yield part
            part, size = [], len(os.fsencode(name)) + 1
        part.append(name)
    if part:
        yield part


def run(command: Sequence[str]) -> int:
    """Run a command and return its exit status as a shell would."""
    try:
        status = subprocess.call(command)
    except FileNotFoundError:
        print("%s: command not found" % command[0], file=sys.stderr)
        return NOT_FOUND
    except OSError as error:
        print("%s: %s" % (command[0], error), file=sys.stderr)
        return NOT_EXECUTABLE
    return SIGNALLED - status if status < 0 else status


def _stop(_number: int, _frame: object) -> None:
    raise TimeoutError("the patterns of the hook take too long")


def choose(options: argparse.Namespace, read_kinds: KindsReader, limit_s: int) -> List[str]:
    """Return the files of the hook.

    Raises:
        TimeoutError: Its patterns take longer than the limit.
    """
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(limit_s)
    try:
        selection = Selection(options, read_kinds)
        return [name for name in list_files() if selection.has(name)]
    finally:
        signal.alarm(0)


def main(
    words: Sequence[str],
    read_kinds: KindsReader = kinds_by_library,
    limit_s: int = MATCHING_S,
) -> int:
    """Choose the files and run the command on them. Return the worst exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", action="append", default=[])
    parser.add_argument("--exclude", action="append", default=[])
    parser.add_argument("--types", default="")
    parser.add_argument("--types-or", default="")
    parser.add_argument("--exclude-types", default="")
    parser.add_argument("--no-names", action="store_true")
    end = list(words).index("--")
    options, command = parser.parse_args(words[:end]), list(words[end + 1 :])
    try:
        names = choose(options, read_kinds, limit_s)
    except (ImportError, OSError, ValueError, re.error, subprocess.SubprocessError) as error:
        print("hook_files: %s" % error, file=sys.stderr)
        return WRONG_USE
    if options.no_names:
        return run(command) if names else 0
    return max((run([*command, *part]) for part in split_names(names)), default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
