"""Make one call under limits and describe its result; the call must not affect anything outside."""

from __future__ import annotations

import inspect
import io
import os
import random
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Sequence

from sandbox.guest.search.compare.copies import copied_arguments
from sandbox.guest.search.compare.record import Input
from sandbox.guest.search.compare.values import shape, to_text
from sandbox.guest.search.process.limits import Limiter, TimeLimitExceeded

CALL_S = 0.05
MOST_STEPS = 200
MOST_ENDLESS = 12
"""Maximum number of endless calls; after that, the remaining calls are skipped."""
ENDLESS = "does not end"
REFUSED = (
    "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod", "os.chown", "os.link",
    "os.symlink", "os.kill", "os.killpg", "os.mkdir", "os.system", "os.exec", "os.posix_spawn",
    "os.spawn", "os.fork", "os.forkpty", "os.putenv", "os.unsetenv", "subprocess.Popen",
    "shutil.rmtree", "shutil.move", "shutil.copyfile", "socket.connect", "socket.bind",
    "socket.sendto", "ctypes.dlopen", "pty.spawn", "signal.pthread_kill",
)  # fmt: skip
"""Audit events that a call on a generated input may not cause."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class NotAllowed(BaseException):
    """The call tried to change something outside its process."""


class CallResult(NamedTuple):
    """The result of one call."""

    text: str
    """Value, changed arguments and output; equal texts mean equal results."""
    kind: str
    """Type of the value, `raises TypeError`, or that the call does not end."""
    shown: str
    """The result for a reader."""
    left: str = ""
    """The arguments after the call, for a reader, if the value does not show the difference."""

    @property
    def failed(self) -> bool:
        """True if there is no value."""
        return self.kind.startswith("raises ") or self.kind == ENDLESS


class AuditGuard:
    """An audit hook that denies dangerous events; it cannot be removed from the process."""

    def __init__(self) -> None:
        self.active = False
        self.events = 0
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, arguments: Any) -> None:
        if not self.active:
            return
        if event in REFUSED or (event == "open" and _writes(arguments)):
            self.events += 1
            raise NotAllowed(event)


def _writes(arguments: Any) -> bool:
    path, mode, flags = (*arguments, None, None, None)[:3]
    if isinstance(path, str) and path == os.devnull:
        return False
    if isinstance(mode, str):
        return bool(set(mode) & set("wax+"))
    return isinstance(flags, int) and bool(flags & WRITING)


def outcome(call: Input, number: int, limiter: Limiter, guard: AuditGuard) -> CallResult:
    """Make a call on copies of its arguments."""
    printed = io.StringIO()
    before = sys.stdout
    # All programs get the same random numbers for an input.
    random.seed(number)
    try:
        positional, named = copied_arguments(call.positional, call.named)
    except Exception:
        return CallResult("cannot be copied", "raises Uncopied", "cannot be called again")
    guard.active = True
    sys.stdout = printed
    try:
        with limiter.within(CALL_S):
            value = _finish(call.function(*positional, **named))
            text, after = shape(value), shape((positional, sorted(named.items())))
            left = to_text((*positional, *named.values()))
        said = printed.getvalue()[:2000]
        left = f"{left}, printing {to_text(said)}" if said else left
        return CallResult(
            f"{text} after {after} {said}", type(value).__name__, to_text(value), left
        )
    except TimeLimitExceeded:
        return CallResult(ENDLESS, ENDLESS, ENDLESS)
    except NotAllowed as error:
        return CallResult(f"wants {error}", "raises NotAllowed", f"wants {error}")
    except BaseException as error:
        name = type(error).__name__
        return CallResult(f"raises {name}", f"raises {name}", f"raises {name}")
    finally:
        guard.active = False
        sys.stdout = before


def _finish(value: Any) -> Any:
    """Return the items of a generator and the result of a coroutine."""
    if inspect.iscoroutine(value):
        import asyncio

        return asyncio.run(value)
    if inspect.isgenerator(value) or (hasattr(value, "__next__") and hasattr(value, "__iter__")):
        return [item for _, item in zip(range(MOST_STEPS), value)]
    return value


def outcomes(
    calls: Sequence[Input], limiter: Limiter, guard: AuditGuard, in_time: Callable[[], bool]
) -> List[CallResult]:
    """Return the result of each call, until the time is up."""
    results: List[CallResult] = []
    slow = 0
    for number, call in enumerate(calls):
        if not in_time():
            break
        result = outcome(call, number, limiter, guard)
        results.append(result)
        slow += result.kind == ENDLESS
        if slow >= MOST_ENDLESS:
            break
    return results


def read_globals(calls: Sequence[Input]) -> Dict[str, str]:
    """Return the plain values in the called functions' modules, to find side effects."""
    modules: Dict[str, Dict[str, Any]] = {
        call.function.__module__: call.function.__globals__
        for call in calls
        if call.edited or call.entry
    }
    return {
        f"{module}.{name}": shape(value)
        for module, values in modules.items()
        for name, value in list(values.items())
        if not name.startswith("__")
        and isinstance(value, (int, float, str, list, dict, set, tuple))
    }
