"""What `metaagent serve` needs besides: GitHub, inbox, dispatcher, engine."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from pydantic import SecretStr

from bot.clock import SystemClock
from bot.domain.command import Command
from bot.domain.mission import MissionContext
from bot.domain.request import Feedback, HeadMoved, InstallationChange, MissionRequest, RedHead
from bot.errors import SettingsError
from bot.evidence.keep import EvidenceFolder
from bot.github.gateway import GitHubGateway
from bot.intake.identity import OwnApp
from bot.intake.settle import first_request
from bot.pipeline import handle_feedback, handle_request
from bot.ports import Checkpoint, PatientCheckpoint, Progress
from bot.progress import BothProgress, LogProgress
from bot.publish.check_run import CheckRunProgress
from bot.queue.dispatch import Dispatcher
from bot.queue.engine import DurableEngine
from bot.queue.inbox import Inbox
from bot.queue.workflows import Handlers
from bot.settings import Settings
from bot.wiring.line import build_line

log = logging.getLogger(__name__)


def build_github(settings: Settings) -> GitHubGateway:
    """GitHub, as our App.

    Raises:
        SettingsError: the App's id or key is missing.
    """
    if settings.app_id is None:
        raise SettingsError("no App id", "set METAAGENT_APP_ID")
    return GitHubGateway(settings.app_id, settings.signing_key, settings.github_api_url)


class Service:
    """The parts of `metaagent serve`: inbox, dispatcher, engine, and the line they feed.

    Args:
        settings: All settings; the App and the webhook's secret must be set.

    Raises:
        SettingsError: something a service cannot do without is missing.
    """

    def __init__(self, settings: Settings) -> None:
        if settings.webhook_secret is None or not settings.webhook_secret.get_secret_value():
            raise SettingsError("no webhook secret", "set METAAGENT_WEBHOOK_SECRET to the secret of the GitHub App")
        self.secret: SecretStr = settings.webhook_secret
        self.github = build_github(settings)
        self.own = OwnApp(app_id=_numeric(settings.app_id), slug=settings.app_slug)
        clock = SystemClock()

        @asynccontextmanager
        async def listening(request: MissionRequest) -> AsyncIterator[Progress]:
            async with CheckRunProgress(request, self.github, clock) as check:
                yield BothProgress(LogProgress(), check)

        self._line = build_line(settings, listening)
        if settings.evidence.keep:
            evidence = EvidenceFolder(settings.data_dir / "evidence", settings.evidence, clock)
            self._line = replace(self._line, keep_evidence=evidence.keep)
        self.engine = DurableEngine(
            settings.engine_url,
            Handlers(
                mission=self._handle_request,
                settle=self._settle,
                command=self._obey,
                feedback=self._handle_feedback,
                notice=self._take_notice,
            ),
            workers=settings.workers,
        )
        self.inbox = Inbox(settings.data_dir / "inbox.sqlite", clock, self.engine.status)
        self._dispatcher = Dispatcher(self.inbox, self.engine)
        self._dispatching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the inbox, launch the engine, take up what a dead process left."""
        self.inbox.open()
        await self.engine.launch()
        self._dispatching = asyncio.create_task(self._dispatcher.run())

    @property
    def is_working(self) -> bool:
        """Whether deliveries are handed on to the engine."""
        return self._dispatching is not None and not self._dispatching.done()

    async def stop(self) -> None:
        """Stop taking work; what runs is taken up at the next start."""
        if self._dispatching is not None:
            self._dispatching.cancel()
            await asyncio.gather(self._dispatching, return_exceptions=True)
        await self.engine.close()
        await self._line.close()
        self.inbox.close()

    async def _handle_request(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        return await handle_request(request, self._line, self.github, checkpoint)

    async def _settle(self, red: RedHead, _: PatientCheckpoint) -> MissionRequest | None:
        return first_request(red)

    async def _obey(self, command: Command, _: Checkpoint) -> None:
        log.info("not obeyed yet: %s", command.word)

    async def _take_notice(self, change: HeadMoved | InstallationChange) -> None:
        log.info("noted: %s", change.kind)

    async def _handle_feedback(self, feedback: Feedback) -> None:
        await handle_feedback(feedback, self._line)


def _numeric(app_id: str | None) -> int | None:
    return int(app_id) if app_id is not None and app_id.isdecimal() else None
