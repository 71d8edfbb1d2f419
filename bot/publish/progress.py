"""Report the progress of missions and searches to a terminal or the log."""

import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, TextIO, cast

from bot.domain.counted import counted
from bot.domain.mission import MissionContext
from bot.ports import OpenWorkspace, Progress, Workspace
from sandbox.gate import clean
from sandbox.types import (
    Checkout,
    SearchRequest,
    Survivor,
    TrialDone,
    TrialEvent,
    TrialProgress,
    TrialStarted,
)

_log = logging.getLogger("metaagent.mission")
EVERY_S = 5.0
"""Minimum time between two progress lines of a search, in seconds."""


class SilentProgress:
    """Reports nothing (`--json`, tests)."""

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        """Do nothing."""


class LogProgress:
    """Logs a line for each stage."""

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        """Log the stage with the mission's id."""
        _log.info(
            "stage reached", extra={"mission": context.mission_id, "stage": name, "detail": detail}
        )


class TerminalProgress:
    """Prints a line for each stage to a terminal.

    Args:
        stream: Where to write. Standard error by default: standard output has the result.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        """Print the stage."""
        iteration = f"[{len(context.iterations)}] " if context.iterations else ""
        self._stream.write(f"  {iteration}{name:<12} {detail}".rstrip() + "\n")
        self._stream.flush()


class BothProgress:
    """Reports to several listeners.

    Args:
        listeners: The listeners, in order.
    """

    def __init__(self, *listeners: Progress) -> None:
        self._listeners = listeners

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        """Report the stage to each listener."""
        for listener in self._listeners:
            await listener.stage(context, name, detail)


class SearchProgress:
    """Prints a search's stages and fixes to a terminal, and its progress every few seconds.

    Args:
        stream: Where to write; standard error by default.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._next_s = EVERY_S

    def tell(self, event: TrialEvent) -> None:
        """Print important events."""
        match event:
            case TrialStarted():
                failing = counted(event.baseline_failing, "failing test")
                line = f"  started      {failing}, at most {counted(event.candidates, 'candidate')}"
            case Survivor():
                line = f"  found        {event.path}:{event.line} after {event.tried} tried"
                line += f", {event.seconds:.1f} s"
            case TrialProgress() if event.seconds >= self._next_s:
                self._next_s = event.seconds + EVERY_S
                line = f"  searching    {event.tried} tried, {event.seconds:.1f} s"
            case TrialDone():
                line = f"  {event.reason:<12} {event.tried} tried, {event.seconds:.1f} s"
            case _:
                return
        self._stream.write(f"{clean(line)}\n")
        self._stream.flush()


def telling_searches(open_workspace: OpenWorkspace, stream: TextIO | None = None) -> OpenWorkspace:
    """Return an opener of workspaces whose searches are shown on a terminal.

    Args:
        open_workspace: Opens the workspaces.
        stream: Where to write; standard error by default.
    """

    @asynccontextmanager
    async def door(checkout: Checkout) -> AsyncIterator[Workspace]:
        async with open_workspace(checkout) as workspace:
            yield cast("Workspace", _TellingWorkspace(workspace, stream))

    return door


class _TellingWorkspace:
    """Delegates to a workspace, and shows the events of each search.

    Args:
        workspace: The real one.
        stream: Where to write.
    """

    def __init__(self, workspace: Workspace, stream: TextIO | None) -> None:
        self._workspace = workspace
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._workspace, name)

    async def search(self, request: SearchRequest) -> AsyncIterator[TrialEvent]:
        """Search, and print important events."""
        progress = SearchProgress(self._stream)
        events = self._workspace.search(request)
        # A listener that stops early also stops the search.
        async with aclosing(cast("AsyncGenerator[TrialEvent]", events)):
            async for event in events:
                progress.tell(event)
                yield event
