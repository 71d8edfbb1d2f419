"""Proposals worked out in a forked child: a parser that hostile source exhausts takes only the child with it."""

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
from sandbox.guest.search.source.render import Edit

MAX_ANSWER = 16 << 20
MEMORY = 1 << 30


def propose_in_child(source: bytes, error: Broken, seconds: float = 20.0) -> List[TextProposal]:
    """The same as `propose`, bounded in memory, CPU and wall time; empty when the child did not live to answer.

    Args:
        source: The file.
        error: What the interpreter said of it.
        seconds: How long the child may take.
    """
    return in_child(lambda: propose(source, error), seconds)


def in_child(work: Callable[[], Iterable[TextProposal]], seconds: float) -> List[TextProposal]:
    """Do some work in a child of its own; empty when it did not live to answer.

    Args:
        work: Makes proposals.
        seconds: How long the child may take.
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
            os._exit(status)
    os.close(writer)
    try:
        answer = _read(reader, time.monotonic() + seconds)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return _proposals(answer)


def _bound(seconds: float) -> None:
    cpu = int(seconds) + 1
    # What is mapped already counts; a child that cannot be bounded so is still bounded in time.
    for kind, limit in (
        (resource.RLIMIT_CPU, cpu), (resource.RLIMIT_AS, MEMORY + _mapped()), (resource.RLIMIT_CORE, 0),
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
        TextProposal(template, cost, tuple(Edit(*edit) for edit in edits), description)
        for template, cost, edits, description in rows
    ]
