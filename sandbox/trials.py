"""Start the search inside the sandbox, and validate its events: every line is untrusted."""

import contextlib
import json
import posixpath
import re
import time
from collections.abc import AsyncIterator, Mapping
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from sandbox.backends.base import Guest
from sandbox.changes.proposed import is_template, is_valid_proposal, one_line
from sandbox.errors import SandboxDied
from sandbox.runners import detect_traits
from sandbox.runners.steps import CommandStep, split_steps
from sandbox.spec import MIB, RunLimits
from sandbox.types import (
    CommandResult,
    SearchNearMiss,
    SearchRequest,
    SpanEdit,
    Survivor,
    SurvivorComparison,
    TrialDone,
    TrialEvent,
    TrialProgress,
    TrialStarted,
)

GRACE_S = 3.0
"""Seconds after the search's own time limit until it is killed."""
PUT_BACK_S = 20.0
MAX_LINE_BYTES = 2 * MIB
MAX_EVENTS = 5_000
MAX_NEAR_MISSES = 20
MAX_TEXT = 400
MAX_WARNINGS = 10
MAX_NOTES = 20
MAX_EDITS = 60
"""Limit for one survivor. A template makes few edits, but reverting a diff makes many."""
MAX_DIFFERENCES = 40
MAX_CALLS = 24
MAX_SPENDING = 500
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
    """Run search-based repair in a sandbox.

    Args:
        guest: The sandbox with the checkout.
        request: The search to run.
        limits: Output limits; the time limit comes from the request.
        working_directory: The folder of the command, relative to the checkout.
        environment: Additional environment variables.

    Yields:
        The events of the search. TrialDone is always the last one, even if the search dies or
        cheats.
    """
    reader = _Reader(request)
    step = _test_step(request.command)
    if step is None:
        yield reader.ended("refused", "The command runs no tests with pytest or unittest.")
        return
    # The command may change its folder first, as in `cd sub && pytest`.
    folder = posixpath.normpath(f"{working_directory}/{step.folder}")
    folder_of_search = detect_traits(step.command).searched_by
    stream = guest.stream(
        (guest.python, f"{guest.guest_dir}/{folder_of_search}/server.py"),
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
        if close is not None:  # leaving early must kill the search
            await close()
        # The search restores its files itself, unless it was killed.
        if not through:
            await _restore_files(guest)
    yield reader.ended(reader.reason, reader.detail)


async def _restore_files(guest: Guest) -> None:
    """Restore files that an interrupted search was editing."""
    with contextlib.suppress(SandboxDied):
        argv = (guest.python, f"{guest.guest_dir}/search/server.py", "--put-back")
        await guest.run(argv, limits=RunLimits(wall_s=PUT_BACK_S))


def _test_step(command: str) -> CommandStep | None:
    """Return the first part of a command that runs pytest or unittest."""
    steps = split_steps(command) or (CommandStep(command=command),)
    return next((step for step in steps if detect_traits(step.command).takes_targets), None)


def _order(request: SearchRequest, step: CommandStep, guest: Guest) -> bytes:
    order = request.model_dump(mode="json") | {"command": step.command, "root": guest.workdir}
    return json.dumps(order).encode()


class _Reader:
    """Validator of one search's events.

    Args:
        request: The request; events that do not belong to it are dropped.
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
        self.detail = "The search ended without a result."

    def read(self, line: bytes) -> TrialEvent | None:
        """Return the event on a line, or None if it is invalid."""
        # Invalid lines count, too: a flood of them must end.
        self._events += 1
        if self._events > MAX_EVENTS:
            return self.ended("refused", "The search sent too many events.")
        event = _parse_event(line)
        match event:
            case None:
                return None
            case Survivor():
                return self._survivor(event)
            case SearchNearMiss():
                return self._near_miss(event)
            case TrialStarted():
                return self._start(event)
            case SurvivorComparison():
                return self._comparison(event)
            case TrialProgress():
                self._tried = max(self._tried, min(event.tried, self._request.max_candidates))
                return event
            case TrialDone():
                return self._done(event)

    def _start(self, event: TrialStarted) -> TrialStarted | None:
        first, self._started = not self._started, True
        # Only the first start is real; the search sends it once.
        if not first or len(event.suspect_lines) > MAX_EVENTS:
            return None
        return event.with_(lane_notes=tuple(_plain(note) for note in event.lane_notes[:MAX_NOTES]))

    def _done(self, event: TrialDone) -> TrialDone:
        spending = event.spending[:MAX_SPENDING]
        return event.with_(
            detail=event.detail[:MAX_TEXT],
            seconds=self._seconds(),
            spending=tuple(spent for spent in spending if is_template(spent.template)),
        )

    def _near_miss(self, event: SearchNearMiss) -> SearchNearMiss | None:
        self._near_misses += 1
        fits = self._near_misses <= MAX_NEAR_MISSES and self._may_make(event.path, event.edits)
        return (
            event.with_(description=_plain(event.description))
            if fits and is_template(event.template)
            else None
        )

    def _survivor(self, event: Survivor) -> Survivor | None:
        plausible = (
            # A revert of the red diff counts as one more.
            self._survivors <= max(self._request.max_survivors, self._request.most_survivors)
            and self._may_make(event.path, event.edits)
            and event.line >= 1
            and is_template(event.template)
        )
        if not plausible:
            return None
        self._survivors += 1
        return event.with_(
            description=_plain(event.description),
            # The text is only compared with others, and a hash needs nothing else.
            behaviour=event.behaviour if re.fullmatch(r"[0-9a-f]{0,64}", event.behaviour) else "",
            warnings=tuple(_plain(warning) for warning in event.warnings[:MAX_WARNINGS]),
            suspicion=min(max(event.suspicion, 0.0), 1.0),
        )

    def _comparison(self, event: SurvivorComparison) -> SurvivorComparison | None:
        """Return a comparison of the reported survivors, with cleaned texts."""
        count = self._survivors
        # Indices must refer to survivors that were reported, or later code would fail on them.
        sound = (
            len(event.clusters) == count
            and len(event.profiles) in {0, count}
            and all(0 <= cluster < count for cluster in event.clusters)
            and {len(event.calls), len(event.recognized)} <= {0, count}
            and all(n < len(self._request.known) for known in event.recognized for n in known)
        )
        if not sound or self._told_compared:
            return None
        self._told_compared = True
        differences = [
            d.with_(input=_plain(d.input), results=(_plain(d.results[0]), _plain(d.results[1])))
            for d in event.differences[:MAX_DIFFERENCES]
            if 0 <= d.first < count and 0 <= d.second < count
        ]
        profiles = [
            p.with_(warnings=tuple(_plain(w) for w in p.warnings[:MAX_WARNINGS]))
            for p in event.profiles
        ]
        calls = tuple(of_one[:MAX_CALLS] for of_one in event.calls)
        return event.with_(differences=tuple(differences), profiles=tuple(profiles), calls=calls)

    def _may_make(self, path: str, edits: tuple[SpanEdit, ...]) -> bool:
        return is_valid_proposal(path, edits, protected=self._request.protected, most=MAX_EDITS)

    def note_end(self, result: CommandResult) -> None:
        """Record how the program ended without TrialDone."""
        if result.timed_out:
            self.reason, self.detail = "time", "The search was killed at its time limit."
        elif self._survivors:
            self.reason, self.detail = "enough", "The search ended early."
        else:
            ending = f"status {result.exit_code}, signal {result.signal}"
            self.detail = f"The search program ended early ({ending})."

    def ended(
        self, reason: Literal["exhausted", "enough", "time", "candidates", "refused"], detail: str
    ) -> TrialDone:
        """Return the last event in our own words."""
        return TrialDone(
            reason=reason, detail=detail[:MAX_TEXT], tried=self._tried, seconds=self._seconds()
        )

    def _seconds(self) -> float:
        return round(time.monotonic() - self._started_at, 3)


def _parse_event(line: bytes) -> TrialEvent | None:
    try:
        return _EVENT.validate_json(line) if len(line) <= MAX_LINE_BYTES else None
    except ValidationError:
        return None


def _plain(text: str) -> str:
    """Return one line of printable text."""
    return one_line(text, MAX_TEXT)
