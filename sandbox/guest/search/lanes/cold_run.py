"""One run of a command in a new process with hard limits; records return over a pipe."""

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
from sandbox.guest.search.session.collected import SuiteCommand
from sandbox.guest.search.session.harness import FAIL, PASS, SKIP

RECORDS = 3
MOST_OUTPUT = 256 * 1024
DIGITS = 12
TEST_CPU_S = 5.0
"""CPU time after which a single test is stopped as endless, in seconds; the other tests still run.
"""


class FinishedCommand(NamedTuple):
    """The result of a command."""

    status: Optional[int]
    """The exit status; None if the command was killed after its timeout."""
    output: bytes
    """The output, or the records that were written."""


class CommandLimits(NamedTuple):
    """The resource limits of a command."""

    wall_s: float
    memory_bytes: int
    processes: int
    """Maximum number of processes; 0 means unlimited."""
    guard: Any = None


def run(
    argv: Sequence[str], cwd: str, bounds: CommandLimits, *, stdin: bytes = b"", takes: int = 1
) -> FinishedCommand:
    """Run a program until it exits, or kill it and its process group after the timeout.

    Args:
        argv: The program and its arguments.
        cwd: The working directory.
        bounds: The resource limits.
        stdin: The data on its standard input.
        takes: The descriptor whose output is returned.
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
        # Parent and child both set the group, so that it exists before either continues.
        os.setpgid(pid, pid)
    try:
        output, ended = _listen(read, time.monotonic() + bounds.wall_s)
    finally:
        os.close(read)
        # The group comes first, because it includes processes that the command started.
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    if not ended:
        return FinishedCommand(None, output)
    return FinishedCommand(os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1, output)


def _become(
    argv: Sequence[str], cwd: str, bounds: CommandLimits, *, ends: Tuple[int, int], takes: int
) -> None:
    stdin, write = ends
    try:
        os.setpgid(0, 0)
        if bounds.guard is not None:
            bounds.guard.activate()
        null = os.open(os.devnull, os.O_RDWR)
        # Duplicate to free numbers first: a target number may be in use by another of these ends.
        moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 4) for end in (stdin, null, write)]
        for target in range(4):
            end = moved[1]
            if target == 0:
                end = moved[0]
            elif target == takes or (takes == 1 and target == 2):
                end = moved[2]
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


# --- tests ---------------------------------------------------------------------------------------


def test_order(
    command: SuiteCommand, targets: Sequence[str], wall_s: float, maxfail: Optional[int]
) -> bytes:
    """Return the request that `pytest_entry` and `unittest_entry` read from stdin."""
    whole = [os.path.join(command.root, target) for target in targets]
    return json.dumps({
        "key": os.urandom(16).hex(), "args": command.parts.args, "order": "given", "seed": 0,
        "maxfail": maxfail, "targets": whole if command.runner == "pytest" else list(targets),
        "adds_cwd": command.parts.adds_cwd, "python_path": os.environ.get("PYTHONPATH", ""),
        "root": command.root, "canaries": ["test_plain_value", "test_other_value"],
        "wall_s": wall_s, "test_cpu_s": TEST_CPU_S,
    }).encode()  # fmt: skip


def test_argv(command: SuiteCommand, guest: str) -> List[str]:
    """Return the command line that starts the tests."""
    options = command.parts.interpreter_options
    return [sys.executable, "-s", "-B", *options, os.path.join(guest, f"{command.runner}_entry.py")]


def parse_outcomes(records: bytes) -> Dict[str, str]:
    """Return outcomes by name of finished tests and of files that could not be collected."""
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
    outcome = FAIL
    expected_failure = "x" in phases and "f" not in phases
    if expected_failure or (phases == "ppp" and returned == 1):
        outcome = PASS
    elif "f" not in phases and "s" in phases:
        outcome = SKIP
    if found.get(name) in (None, PASS, SKIP):
        found[name] = outcome


def reached(outcomes: Mapping[str, str], goals: Sequence[str]) -> List[str]:
    """Return the goals that pass; a file has to be collected and all its tests have to pass."""
    return [goal for goal in goals if _is_reached(outcomes, goal)]


def _is_reached(outcomes: Mapping[str, str], goal: str) -> bool:
    if goal in outcomes:
        return outcomes[goal] == PASS
    inside = [
        o for name, o in outcomes.items() if not goal or name.startswith((goal + "::", goal + "/"))
    ]
    return PASS in inside and all(o in (PASS, SKIP) for o in inside)
