"""Trials: starts the search inside the sandbox and reads what it tells, every line as hostile data."""

import contextlib
import json
import posixpath
import re
import time
from collections.abc import AsyncIterator, Mapping
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from sandbox.backends.base import Guest
from sandbox.changes.proposed import is_template, may_propose, one_line
from sandbox.errors import SandboxDied
from sandbox.runners import detect_runner
from sandbox.runners.steps import Step, split_steps
from sandbox.spec import MIB, RunLimits
from sandbox.types import (
    CommandResult,
    Compared,
    NearMiss,
    SearchRequest,
    SpanEdit,
    Survivor,
    TrialDone,
    TrialEvent,
    TrialProgress,
    TrialStarted,
)

GRACE_S = 3.0
"""How much longer than its own limit the search may live before it is killed."""
PUT_BACK_S = 20.0
MAX_LINE_BYTES = 2 * MIB
MAX_EVENTS = 5_000
MAX_NEAR_MISSES = 20
MAX_TEXT = 400
MAX_WARNINGS = 10
MAX_NOTES = 20
MAX_EDITS = 60
"""Of one survivor; a template makes a few, reverting a diff makes many."""
MAX_DIFFERENCES = 40
_EVENT: TypeAdapter[TrialEvent] = TypeAdapter(TrialEvent)
SEARCH_LIMITS = RunLimits(results_bytes=64 * MIB)


async def search(
    guest: Guest,
    request: SearchRequest,
    *,
    limits: RunLimits = SEARCH_LIMITS,
    working_directory: str = ".",
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[TrialEvent]:
    """Search-based repair in a sandbox.

    Args:
        guest: The sandbox; the checkout stands in it.
        request: What to search.
        limits: Output limits; the wall limit comes from the request.
        working_directory: Where the command is run, relative to the checkout.
        environment: Added to the sandbox's own few names.

    Yields:
        What the search tells. TrialDone is always the last, also when the search dies or lies.
    """
    reader = _Reader(request)
    step = _test_step(request.command)
    if step is None:
        yield reader.ended("refused", "The command runs no tests with pytest or unittest.")
        return
    folder = posixpath.normpath(f"{working_directory}/{step.folder}")
    stream = guest.stream(
        (guest.python, f"{guest.guest_dir}/search/server.py"),
        limits=limits.with_(wall_s=request.time_limit_s + GRACE_S),
        cwd=guest.workdir if folder == "." else f"{guest.workdir}/{folder}",
        env={**(environment or {}), **step.environment, "PYTHONHASHSEED": "0"},
        stdin=_order(request, step, guest),
    )
    through = False
    try:
        async for item in stream:
            if isinstance(item, CommandResult):
                reader.note_end(item)
            elif (event := reader.read(item)) is not None:
                through = isinstance(event, TrialDone)
                yield event
                if through:
                    return
    except SandboxDied as error:
        through = True
        yield reader.ended("refused", f"The sandbox went away: {error.message}")
        return
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:  # leaving early has to kill what runs
            await close()
        if not through:
            await _put_back(guest)
    yield reader.ended(reader.reason, reader.detail)


async def _put_back(guest: Guest) -> None:
    """Files that an interrupted search had edited for a moment are as they were."""
    with contextlib.suppress(SandboxDied):
        argv = (guest.python, f"{guest.guest_dir}/search/server.py", "--put-back")
        await guest.run(argv, limits=RunLimits(wall_s=PUT_BACK_S))


def _test_step(command: str) -> Step | None:
    """The first part of a command that runs pytest or unittest."""
    steps = split_steps(command) or (Step(command=command),)
    return next((step for step in steps if detect_runner(step.command).name in {"pytest", "unittest"}), None)


def _order(request: SearchRequest, step: Step, guest: Guest) -> bytes:
    order = request.model_dump(mode="json") | {"command": step.command, "root": guest.workdir}
    return json.dumps(order).encode()


class _Reader:
    """Reads the lines of one search and remembers what it has told.

    Args:
        request: What was asked; answers beyond it are dropped.
    """

    def __init__(self, request: SearchRequest) -> None:
        self._request = request
        self._started_at = time.monotonic()
        self._events = 0
        self._survivors = 0
        self._near_misses = 0
        self._started = False
        self._told_compared = False
        self._tried = 0
        self.reason: Literal["refused", "time", "enough"] = "refused"
        self.detail = "The search ended without a word."

    def read(self, line: bytes) -> TrialEvent | None:
        """The event on a line, or None when the line is not one we take."""
        self._events += 1
        if self._events > MAX_EVENTS:
            return self.ended("refused", "The search told too much.")
        event = _parsed(line)
        match event:
            case None:
                return None
            case Survivor():
                return self._survivor(event)
            case NearMiss():
                return self._near_miss(event)
            case TrialStarted():
                return self._start(event)
            case Compared():
                return self._compared(event)
            case TrialProgress():
                self._tried = max(self._tried, min(event.tried, self._request.max_candidates))
                return event
            case TrialDone():
                return event.with_(detail=event.detail[:MAX_TEXT], seconds=self._seconds())

    def _start(self, event: TrialStarted) -> TrialStarted | None:
        first, self._started = not self._started, True
        if not first or len(event.suspect_lines) > MAX_EVENTS:
            return None
        return event.with_(lane_notes=tuple(_plain(note) for note in event.lane_notes[:MAX_NOTES]))

    def _near_miss(self, event: NearMiss) -> NearMiss | None:
        self._near_misses += 1
        fits = self._near_misses <= MAX_NEAR_MISSES and self._may_make(event.path, event.edits)
        return event.with_(description=_plain(event.description)) if fits and is_template(event.template) else None

    def _survivor(self, event: Survivor) -> Survivor | None:
        plausible = (
            self._survivors < self._request.max_survivors
            and self._may_make(event.path, event.edits)
            and event.line >= 1
            and is_template(event.template)
        )
        if not plausible:
            return None
        self._survivors += 1
        return event.with_(
            description=_plain(event.description),
            behaviour=event.behaviour if re.fullmatch(r"[0-9a-f]{0,64}", event.behaviour) else "",
            warnings=tuple(_plain(warning) for warning in event.warnings[:MAX_WARNINGS]),
            suspicion=min(max(event.suspicion, 0.0), 1.0),
        )

    def _compared(self, event: Compared) -> Compared | None:
        """Only about survivors that were told, in words of ours."""
        count = self._survivors
        sound = (
            len(event.clusters) == count
            and len(event.profiles) in {0, count}
            and all(0 <= cluster < count for cluster in event.clusters)
        )
        if not sound or self._told_compared:
            return None
        self._told_compared = True
        differences = [
            d.with_(input=_plain(d.input), results=(_plain(d.results[0]), _plain(d.results[1])))
            for d in event.differences[:MAX_DIFFERENCES]
            if 0 <= d.first < count and 0 <= d.second < count
        ]
        profiles = [p.with_(warnings=tuple(_plain(w) for w in p.warnings[:MAX_WARNINGS])) for p in event.profiles]
        return event.with_(differences=tuple(differences), profiles=tuple(profiles))

    def _may_make(self, path: str, edits: tuple[SpanEdit, ...]) -> bool:
        return may_propose(path, edits, protected=self._request.protected, most=MAX_EDITS)

    def note_end(self, result: CommandResult) -> None:
        """The program ended without saying why."""
        if result.timed_out:
            self.reason, self.detail = "time", "The search was killed at its time limit."
        elif self._survivors:
            self.reason, self.detail = "enough", "The search ended early."
        else:
            self.detail = f"The search program ended early (status {result.exit_code}, signal {result.signal})."

    def ended(self, reason: Literal["exhausted", "enough", "time", "candidates", "refused"], detail: str) -> TrialDone:
        """The last event, in our own words."""
        return TrialDone(reason=reason, detail=detail[:MAX_TEXT], tried=self._tried, seconds=self._seconds())

    def _seconds(self) -> float:
        return round(time.monotonic() - self._started_at, 3)


def _parsed(line: bytes) -> TrialEvent | None:
    try:
        return _EVENT.validate_json(line) if len(line) <= MAX_LINE_BYTES else None
    except ValidationError:
        return None


def _plain(text: str) -> str:
    """One line of printable text."""
    return one_line(text, MAX_TEXT)
