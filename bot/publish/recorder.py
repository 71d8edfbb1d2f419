"""Records missions as they wait, run and end; a failed write never stops a mission."""

import logging
from collections.abc import Awaitable, Sequence

from bot.domain.mission import MissionContext, Outcome
from bot.domain.mission_record import Detail, MissionQuery, MissionRecord, StageMark
from bot.domain.publication import Publication
from bot.domain.request import MissionRequest
from bot.errors import StoreError
from bot.ports import Clock, MissionRecords
from bot.publish.mission_detail import build_detail, describe_request, summarize
from bot.publish.story import Story
from bot.traces import Traces
from sandbox.gate import clean, prepare_needles

LINE_CHARS = 300
"""Longest text in a record, in characters."""

log = logging.getLogger(__name__)


class Recorder:
    """Writes the records of missions. It is a progress listener, too.

    Args:
        records: The table of missions.
        clock: The clock.
        secrets: Values to mask.
        traces: Sends the traces of ended missions; None sends none.
    """

    def __init__(
        self,
        records: MissionRecords,
        clock: Clock,
        secrets: Sequence[str] = (),
        traces: Traces | None = None,
    ) -> None:
        self._records = records
        self._clock = clock
        self._traces = traces
        self._secrets = prepare_needles(tuple(secrets))

    async def enqueue(self, request: MissionRequest) -> None:
        """Record a mission that waits."""
        record = self._sanitized(describe_request(request, self._now()))
        await self._write(request.mission_id, self._records.enqueue(record))

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        """Record the start of a stage."""
        mark = StageMark(name=self._line(name), at=self._now(), detail=self._line(detail))
        await self._write(context.mission_id, self._records.stage(context.mission_id, mark))

    async def report(self, story: Story, publication: Publication) -> None:
        """Record the end of a mission with its outcome; repeating it changes nothing."""
        record = summarize(story, publication).with_(ended_at=self._now())
        detail = build_detail(story, publication)
        mission_id = record.mission_id
        await self._write(mission_id, self._records.finish(self._sanitized(record), detail))
        if self._traces is not None:
            await self._write(mission_id, self._trace(mission_id, detail, self._traces))

    async def is_first(self, request: MissionRequest) -> bool:
        """Return True if no fix or answer was shown in the repository before."""
        if request.repository is None:
            return False
        query = MissionQuery(repository=request.repository.id)
        try:
            page = await self._records.page(query)
        except StoreError as error:
            mission = {"mission": request.mission_id}
            log.warning("reading earlier missions failed: %s", error.message, extra=mission)
            return False
        others = [one for one in page.missions if one.mission_id != request.mission_id]
        # A mission without either was reported in a check run only; some are requested by us.
        seen = any(
            one.way or (one.requested_by and not one.requested_by.endswith("[bot]"))
            for one in others
        )
        return page.next is None and not seen

    async def _trace(self, mission_id: str, detail: Detail, traces: Traces) -> None:
        record = await self._records.find(mission_id)
        if record is not None:
            traces.send(record, await self._records.stages(mission_id), detail)

    async def stop(self, mission_id: str, outcome: Outcome | None = None, reason: str = "") -> None:
        """Record the end of a mission that did not report itself."""
        ending = self._records.stop(mission_id, self._now(), outcome, self._line(reason))
        await self._write(mission_id, ending)

    def _now(self) -> str:
        return self._clock.now().isoformat()

    def _line(self, text: str) -> str:
        return " ".join(clean(text, cap=LINE_CHARS, secrets=self._secrets).split())

    def _sanitized(self, record: MissionRecord) -> MissionRecord:
        texts = {
            name: self._line(value)
            for name, value in record.model_dump(exclude={"mission_id"}).items()
            if type(value) is str
        }
        return record.with_(**texts)

    async def _write(self, mission_id: str, write: Awaitable[None]) -> None:
        try:
            await write
        except StoreError as error:
            log.warning(
                "recording the mission failed: %s", error.message, extra={"mission": mission_id}
            )
