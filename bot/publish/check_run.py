"""Our own check: queued, running, result; always neutral, so that it never blocks anybody."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self

from bot.domain.github import CheckAction, CheckAnnotation, CheckUpdate
from bot.domain.mission import MissionContext, Outcome
from bot.domain.request import MissionRequest
from bot.errors import MetaAgentError
from bot.ports import Clock, GitHub
from bot.publish.markdown import Pen
from bot.publish.report import answer, mission_report
from bot.publish.story import Story, headline

INTERVAL_S = 2.0
"""At most one progress update in this time."""
CALL_S = 10.0
"""A slow GitHub must not hold up a mission."""
ANNOTATIONS = 10
CHECK_LIMIT = 60_000
"""Characters per text: below GitHub's 65,535 even with some characters of several bytes."""

FIX = CheckAction(label="Fix", description="Look at this check (again)", identifier="fix")
APPLY = CheckAction(label="Apply", description="Verify the change again and offer it", identifier="apply")
RERUN = CheckAction(label="Rerun flaky", description="Run the failed jobs again", identifier="rerun")
OFF = CheckAction(label="Turn off here", description="Leave this alone until somebody asks", identifier="off")
_BY_CHANCE = frozenset({Outcome.FLAKY, Outcome.INFRA, Outcome.NOT_REPRODUCED})


async def publish_result(story: Story, github: GitHub) -> int | None:
    """The result, with the whole report and notes at the suspect lines; None for a mission without a commit.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
    """
    request = story.context.request
    if request.repository is None or request.head_sha is None:
        return None
    update = CheckUpdate(
        status="completed",
        title=headline(story)[:255],
        summary=answer(story, limit=CHECK_LIMIT),
        text=mission_report(story, limit=CHECK_LIMIT),
        annotations=annotations(story),
        actions=actions(story),
        details_url=story.pull_request_url or None,
        external_id=story.context.mission_id,
    )
    return await github.publish_check(request.repository, request.head_sha, update)


def actions(story: Story) -> tuple[CheckAction, ...]:
    """The buttons that make sense after this outcome; what they are called is what can be commanded."""
    if not story.context.policy.triggers.buttons:
        return ()
    if story.delivered or story.outcome in {Outcome.DUPLICATE, Outcome.STALE}:
        return (OFF,)
    if story.outcome in _BY_CHANCE:
        return (RERUN, FIX, OFF)
    # Of several changes a person has to name one; a button cannot.
    return (APPLY, FIX, OFF) if len(story.choices) == 1 else (FIX, OFF)


def annotations(story: Story) -> tuple[CheckAnnotation, ...]:
    """A note at every suspect line, the likeliest first."""
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
    """Progress in our own check run: at most one update in `interval_s`, the last one never lost, errors swallowed.

    Use as a context manager around the mission, closed before the result is published.

    Args:
        request: Whose check run it is.
        github: Where to show it.
        clock: Measures the pauses.
        interval_s: The shortest pause between two updates.
    """

    def __init__(
        self, request: MissionRequest, github: GitHub, clock: Clock, *, interval_s: float = INTERVAL_S
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
        """Nothing to open."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop what was not shown yet: the result follows."""
        await self.close()

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        """Show that a stage begins; never raises."""
        pen = Pen()
        words = pen.title(f"{name} {detail}".strip(), cap=200)
        since = self._clock.monotonic() - self._started
        self._lines.append(f"- {since:.1f} s: iteration {max(1, len(context.iterations))}, {pen.prose(words)}")
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
        """No update comes after this."""
        self._pending = None
        if self._timer is None:
            return
        if not self._sending:
            # A call under way is awaited instead: cut off, it could still make a second check run behind our back.
            self._timer.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._timer
        self._timer = None

    async def _send_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        while (update := self._take()) is not None:
            self._sending = True
            await self._send(update)
            self._sending = False
            await asyncio.sleep(self._interval_s)

    def _take(self) -> CheckUpdate | None:
        """The newest update that was not shown yet."""
        update, self._pending = self._pending, None
        self._sent_at = self._clock.monotonic() if update else self._sent_at
        return update

    async def _send(self, update: CheckUpdate) -> None:
        if self._request.repository is None or self._request.head_sha is None:
            return
        # Progress must not break a mission: whatever GitHub answers, the next update or the result says it again.
        with contextlib.suppress(MetaAgentError, OSError, ValueError):
            async with asyncio.timeout(CALL_S):
                await self._github.publish_check(self._request.repository, self._request.head_sha, update)
