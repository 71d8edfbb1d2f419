"""Compute proposals in a forked child, so that a crash of the parser ends only the child."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import time
from typing import Callable, Iterable, List

from sandbox.guest.search.candidates.broken.model import Broken, TextProposal
from sandbox.guest.search.candidates.broken.proposing import propose
from sandbox.guest.search.process.limits import fork
from sandbox.guest.search.source.render import TextEdit

MAX_ANSWER = 16 << 20
"""Maximum bytes read from the child."""
MEMORY = 1 << 30
"""Address space that the child may add to what is mapped at its start, in bytes."""


def propose_in_child(source: bytes, error: Broken, seconds: float = 20.0) -> List[TextProposal]:
    """Run `propose` with limits on memory, CPU time and wall time.

    Returns no proposals if the child died or ran out of time.

    Args:
        source: The file.
        error: The syntax error reported by the interpreter.
        seconds: Time limit for the child.
    """
    return in_child(lambda: propose(source, error), seconds)


def in_child(work: Callable[[], Iterable[TextProposal]], seconds: float) -> List[TextProposal]:
    """Run a function in a child process and return its proposals; none if the child failed.

    Args:
        work: Yields proposals.
        seconds: Time limit for the child.
    """
    reader, writer = os.pipe()
    child = fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            _bound(seconds)
            _tell(writer, list(work()))
            status = 0
        finally:
            # Skip the parent's exit handlers and buffers.
            os._exit(status)
    os.close(writer)
    try:
        answer = _read(reader, time.monotonic() + seconds)
    finally:
        os.close(reader)
        # The child may still run after a time-out; killing a finished one is harmless.
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return _proposals(answer)


def _bound(seconds: float) -> None:
    cpu = int(seconds) + 1
    # Mapped memory counts already. Where a limit cannot be set, the time limit still holds.
    for kind, limit in (
        (resource.RLIMIT_CPU, cpu), (resource.RLIMIT_AS, MEMORY + _mapped()),
        (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        try:
            resource.setrlimit(kind, (limit, limit))
        except (ValueError, OSError):
            continue


def _mapped() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return MEMORY


def _tell(writer: int, proposals: List[TextProposal]) -> None:
    data = json.dumps(proposals).encode("utf-8")
    while data:
        data = data[os.write(writer, data) :]


def _read(reader: int, until: float) -> bytes:
    answer = b""
    # A child under the control of hostile source must not fill our memory.
    while len(answer) < MAX_ANSWER:
        left = until - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            return b""
        data = os.read(reader, 1 << 16)
        if not data:
            return answer
        answer += data
    return b""


def _proposals(answer: bytes) -> List[TextProposal]:
    try:
        rows = json.loads(answer.decode("utf-8"))
    except (ValueError, UnicodeDecodeError):
        return []
    return [
        TextProposal(template, cost, tuple(TextEdit(*edit) for edit in edits), *more)
        for template, cost, edits, *more in rows
    ]
