"""Notice code that rewrites a test's file before the test runs.

Copies of a rewritten test confirm it, because they are made of the text that is found.
"""

from collections.abc import Iterable
from hashlib import sha256

from sandbox.backends.base import Guest
from sandbox.changes.edits import MAX_FILE_BYTES
from sandbox.errors import ChangeRejected
from sandbox.known_answers.observer import can_copy

MAX_FILES = 300
"""Largest number of files that are read if no test was named."""
_WORDS = ("test", "spec")
_BUILT = frozenset({"dist", "build", "out", "tmp", ".tmp", "generated"})
"""Folders of files that a run may build."""


async def read_test_texts(guest: Guest, targets: Iterable[str]) -> dict[str, str]:
    """Return digests of the files of requested tests; without any, of files named like tests.

    Args:
        guest: The sandbox, before the run.
        targets: The tests.
    """
    paths = {target.partition("::")[0] for target in targets}
    if not paths:
        found = [path for path in await guest.list_files() if any(w in path for w in _WORDS)]
        paths = set(list(filter(can_copy, found))[:MAX_FILES])
    return {path: await _digest(guest, path) for path in paths if can_copy(path)}


async def find_rewritten(guest: Guest, before: dict[str, str], names: Iterable[str]) -> str:
    """Return a file of tests that was there and has changed; empty if there is none.

    Args:
        guest: The sandbox, after the run.
        before: The digests before it.
        names: The tests that passed. Other files may be what tests write.
    """
    for path in sorted({name.partition("::")[0] for name in names} & before.keys()):
        is_built = not before[path] or not _BUILT.isdisjoint(path.split("/")[:-1])
        if not is_built and await _digest(guest, path) != before[path]:
            return path
    return ""


async def _digest(guest: Guest, path: str) -> str:
    try:
        content = await guest.read(path, max_bytes=MAX_FILE_BYTES)
    except ChangeRejected:
        return ""
    return "" if content is None else sha256(content).hexdigest()
