"""Our own check run: queued, in progress, completed. It is always neutral, so it never blocks."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self

from bot.domain.github import CheckAction, CheckAnnotation, CheckUpdate
from bot.domain.mission import MissionContext, Outcome
from bot.domain.request import MissionRequest
from bot.errors import MetaAgentError
from bot.ports import Clock, GitHub
from bot.publish.markdown import SafeWriter
from bot.publish.report import answer, mission_report
from bot.publish.story import Story, headline

INTERVAL_S = 2.0
"""Minimum time between progress updates, in seconds."""
CALL_S = 10.0
"""Timeout of a GitHub call, in seconds, so that a slow GitHub does not delay a mission."""
ANNOTATIONS = 10
CHECK_LIMIT = 60_000
"""Maximum characters of a text; GitHub's limit is 65,535 bytes."""

FIX = CheckAction(label="Fix", description="Look at this check (again)", identifier="fix")
APPLY = CheckAction(
    label="Apply", description="Verify the change again and offer it", identifier="apply"
)
RERUN = CheckAction(
    label="Rerun flaky", description="Run the failed jobs again", identifier="rerun"
)
OFF = CheckAction(
    label="Turn off here", description="Do nothing here until asked", identifier="off"
)
_BY_CHANCE = frozenset({Outcome.FLAKY, Outcome.INFRA, Outcome.NOT_REPRODUCED})


async def publish_result(story: Story, github: GitHub) -> int | None:
    """Publish the result with the report and annotations; return None without a commit.

    Raises:
        GitHubError: GitHub rejected the call, failed or could not be reached.
    """
    request = story.context.request
    if request.repository is None or request.head_sha is None:
        return None
    update = CheckUpdate(
        status="completed",
        title=headline(story)[:255],
        summary=answer(story, limit=CHECK_LIMIT),
        text=mission_report(story),
        annotations=annotations(story),
        actions=actions(story),
        details_url=story.pull_request_url or None,
        external_id=story.context.mission_id,
    )
    return await github.publish_check(request.repository, request.head_sha, update)


def actions(story: Story) -> tuple[CheckAction, ...]:
    """Return the buttons that fit the outcome; their identifiers are the commands."""
    if not story.context.policy.triggers.buttons:
        return ()
    if story.delivered or story.outcome in {Outcome.DUPLICATE, Outcome.STALE}:
        return (OFF,)
    if story.outcome in _BY_CHANCE:
        return (RERUN, FIX, OFF)
    # With several changes a person must name one; a button cannot.
    return (APPLY, FIX, OFF) if len(story.choices) == 1 else (FIX, OFF)


def annotations(story: Story) -> tuple[CheckAnnotation, ...]:
    """Return an annotation for each suspect line, most suspicious first."""
    diagnosis = story.context.diagnosis
    if diagnosis is None:
        return ()
    suspects = [s for s in diagnosis.suspects if s.line > 0 and not s.file.startswith("/")]
    return tuple(
        CheckAnnotation(
            path=story.pen.line(suspect.file, cap=500),
            line=suspect.line,
            title=f"suspect {suspect.score:.2f}",
            message=story.pen.title(suspect.reason, cap=1000) or "suspect",
        )
        for suspect in suspects[:ANNOTATIONS]
    )


class CheckRunProgress:
    """Progress in our own check run.

    Updates are rate limited, the last one is always sent, and errors are suppressed.

    Use it as a context manager around the mission, and close it before the result is published.

    Args:
        request: The mission's request.
        github: GitHub client.
        clock: Measures the pauses.
        interval_s: Minimum time between two updates, in seconds.
    """

    def __init__(
        self,
        request: MissionRequest,
        github: GitHub,
        clock: Clock,
        *,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._request = request
        self._github = github
        self._clock = clock
        self._interval_s = interval_s
        self._started = clock.monotonic()
        self._sent_at: float | None = None
        self._lines: list[str] = []
        self._pending: CheckUpdate | None = None
        self._sending = False
        self._timer: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Enter without side effects."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Drop a pending update, because the result follows."""
        await self.close()

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        """Show that a stage begins; never raises."""
        pen = SafeWriter()
        words = pen.title(f"{name} {detail}".strip(), cap=200)
        since = self._clock.monotonic() - self._started
        self._lines.append(
            f"- {since:.1f} s: iteration {max(1, len(context.iterations))}, {pen.prose(words)}"
        )
        self._pending = CheckUpdate(
            status="in_progress",
            title=words[:255] or "working",
            summary="\n".join(self._lines[-40:]),
            external_id=self._request.mission_id,
        )
        if self._timer is None or self._timer.done():
            wait = 0.0
            if self._sent_at is not None:
                wait = max(0.0, self._interval_s - (self._clock.monotonic() - self._sent_at))
            self._timer = asyncio.create_task(self._send_after(wait))

    async def close(self) -> None:
        """Stop sending updates."""
        self._pending = None
        if self._timer is None:
            return
        if not self._sending:
            # Await an active call instead of cancelling it: cancelled, it could still create a
            # second check run.
            self._timer.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._timer
        self._timer = None

    async def _send_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        # Updates that arrive during a call are merged into the newest.
        while (update := self._take()) is not None:
            self._sending = True
            await self._send(update)
            self._sending = False
            await asyncio.sleep(self._interval_s)

    def _take(self) -> CheckUpdate | None:
        """Return the newest pending update, and clear it."""
        update, self._pending = self._pending, None
        self._sent_at = self._clock.monotonic() if update else self._sent_at
        return update

    async def _send(self, update: CheckUpdate) -> None:
        if self._request.repository is None or self._request.head_sha is None:
            return
        # Progress must not break a mission; the next update or the result repeats the information.
        with contextlib.suppress(MetaAgentError, OSError, ValueError):
            async with asyncio.timeout(CALL_S):
                await self._github.publish_check(
                    self._request.repository, self._request.head_sha, update
                )
