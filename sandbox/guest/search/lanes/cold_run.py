"""One run of tests, or of any command, in a process of its own with hard limits; records come back by descriptor."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import zlib
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.process.limits import fork
from sandbox.guest.search.session.collected import Command
from sandbox.guest.search.session.harness import FAIL, PASS, SKIP

RECORDS = 3
MOST_OUTPUT = 256 * 1024
DIGITS = 12
TEST_CPU_S = 5.0
"""Processor time after which one test is stopped as endless, so that the others are heard of."""


class Ran(NamedTuple):
    """How a command ended."""

    status: Optional[int]
    """None when it was killed for its time."""
    output: bytes
    """What it printed, or the records it wrote."""


class Bounds(NamedTuple):
    """What it may use."""

    wall_s: float
    memory_bytes: int
    processes: int
    """0 bounds nothing."""
    guard: Any = None


def run(argv: Sequence[str], cwd: str, bounds: Bounds, *, stdin: bytes = b"", takes: int = 1) -> Ran:
    """Run a program to its end, or kill it and its process group.

    Args:
        argv: The program and its arguments.
        cwd: Where.
        bounds: Its limits.
        stdin: What it reads.
        takes: The descriptor whose output is kept.
    """
    read, write = os.pipe()
    with tempfile.TemporaryFile() as order:
        order.write(stdin)
        order.seek(0)
        pid = fork()
        if pid == 0:
            _become(argv, cwd, bounds, ends=(order.fileno(), write), takes=takes)
    os.close(write)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    try:
        output, ended = _listen(read, time.monotonic() + bounds.wall_s)
    finally:
        os.close(read)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    if not ended:
        return Ran(None, output)
    return Ran(os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1, output)


def _become(argv: Sequence[str], cwd: str, bounds: Bounds, *, ends: Tuple[int, int], takes: int) -> None:
    stdin, write = ends
    try:
        os.setpgid(0, 0)
        if bounds.guard is not None:
            bounds.guard.put_on()
        null = os.open(os.devnull, os.O_RDWR)
        # To free numbers: one that is in use may be the next end.
        moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 4) for end in (stdin, null, write)]
        for target in range(4):
            end = moved[0] if target == 0 else moved[2] if target == takes or (takes == 1 and target == 2) else moved[1]
            os.dup2(end, target, inheritable=True)
        os.closerange(4, 1024)
        for kind, value in (
            (resource.RLIMIT_CPU, int(bounds.wall_s) + 2),
            (resource.RLIMIT_AS, bounds.memory_bytes),
            (resource.RLIMIT_NPROC, bounds.processes),
            (resource.RLIMIT_CORE, 0),
        ):
            hard = resource.getrlimit(kind)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            if value or kind == resource.RLIMIT_CORE:
                resource.setrlimit(kind, (value, value))
        os.chdir(cwd)
        os.execv(argv[0], list(argv))
    finally:
        os._exit(126)


def _listen(read: int, deadline: float) -> Tuple[bytes, bool]:
    kept: List[bytes] = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([read], [], [], left)[0]:
            return b"".join(kept), False
        data = os.read(read, 1 << 16)
        if not data:
            return b"".join(kept), True
        if size < 16 * MOST_OUTPUT:
            kept.append(data)
            size += len(data)


# --- tests -----------------------------------------------------------------------------------------------


def test_order(command: Command, targets: Sequence[str], wall_s: float, maxfail: Optional[int]) -> bytes:
    """What `pytest_entry` and `unittest_entry` read from standard input."""
    whole = [os.path.join(command.root, target) for target in targets]
    return json.dumps({
        "key": os.urandom(16).hex(), "args": command.parts.args, "order": "given", "seed": 0, "maxfail": maxfail,
        "targets": whole if command.runner == "pytest" else list(targets), "adds_cwd": command.parts.adds_cwd,
        "python_path": os.environ.get("PYTHONPATH", ""), "root": command.root,
        "canaries": ["test_plain_value", "test_other_value"], "wall_s": wall_s, "test_cpu_s": TEST_CPU_S,
    }).encode()  # fmt: skip


def test_argv(command: Command, guest: str) -> List[str]:
    """How the tests are started."""
    options = command.parts.interpreter_options
    return [sys.executable, "-s", "-B", *options, os.path.join(guest, f"{command.runner}_entry.py")]


def outcomes_of(records: bytes) -> Dict[str, str]:
    """Name to outcome of every test that ended, and of every file that could not be collected."""
    names: List[str] = []
    found: Dict[str, str] = {}
    ran: Dict[Any, int] = {}
    for line in records.split(b"\n")[:-1]:
        try:
            record = json.loads(line[DIGITS + 1 :].decode("utf-8", "replace"))
            if record[0] == "items":
                names = json.loads(zlib.decompress(base64.b64decode(record[1])))
            elif record[0] == "collect":
                found[str(record[1])] = FAIL
            elif record[0] == "ran":
                ran[record[1]] = record[2]
            elif record[0] == "test" and isinstance(record[1], int):
                _add(found, names[record[1]], str(record[2]), ran.get(record[1]))
        except (ValueError, IndexError, KeyError, TypeError, zlib.error, RecursionError):
            continue
    return found


def _add(found: Dict[str, str], name: str, phases: str, returned: Optional[int]) -> None:
    outcome = PASS if phases == "ppp" and returned == 1 else SKIP if "f" not in phases and "s" in phases else FAIL
    outcome = PASS if "x" in phases and "f" not in phases else outcome
    if found.get(name) in (None, PASS, SKIP):
        found[name] = outcome


def reached(outcomes: Mapping[str, str], goals: Sequence[str]) -> List[str]:
    """The goals that are reached: tests that pass, files that are collected and whose tests pass."""
    return [goal for goal in goals if _is_reached(outcomes, goal)]


def _is_reached(outcomes: Mapping[str, str], goal: str) -> bool:
    if goal in outcomes:
        return outcomes[goal] == PASS
    inside = [o for name, o in outcomes.items() if not goal or name.startswith((goal + "::", goal + "/"))]
    return PASS in inside and all(o in (PASS, SKIP) for o in inside)
