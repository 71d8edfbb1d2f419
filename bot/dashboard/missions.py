"""Pages and actions of missions: the list, one mission, its evidence, retry and cancel."""

import asyncio
import hashlib
import logging
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from fastapi.sse import EventSourceResponse, format_sse_event
from pydantic import ValidationError

from bot.dashboard.access import Refused, page
from bot.dashboard.parts import DashboardParts
from bot.dashboard.queries import Queries
from bot.dashboard.render import BASE, path
from bot.dashboard.sessions import Session
from bot.domain.mission import Outcome
from bot.domain.mission_record import (
    AuditEntry,
    MissionQuery,
    MissionRecord,
    RecordState,
    StageMark,
)
from bot.domain.request import MissionRequest, Trigger
from bot.errors import StoreError, UsageError
from bot.evidence.keep import bundle_name, find_bundle
from sandbox.types import Frozen

log = logging.getLogger(__name__)

DIGITS = 15
"""Most digits of a number in a query."""
LOOK_S = 2.0
"""Time between two looks of an event stream, in seconds."""
MOST_STREAMS = 50
"""Event streams at a time in one process; a page without one looks by itself."""
NONCE_BYTES = 4
"""Size of the random part of a retry's id."""
_NONCE = re.compile(rf"[0-9a-f]{{{2 * NONCE_BYTES}}}")
_ABOUT = ("repairs", "improvements")
_STATES = tuple(one.value for one in RecordState)


class Step(Frozen):
    """One stage on the timeline."""

    name: str
    at: str
    detail: str
    seconds: float
    share: int
    """Its part of the longest stage, from 0 to 100."""


@dataclass(frozen=True)
class MissionPages:
    """The pages of missions.

    Args:
        parts: The dependencies.
        queries: What the pages show.
    """

    parts: DashboardParts
    queries: Queries
    _streams: set[object] = field(default_factory=set)
    """The open event streams."""

    async def list(self, request: Request, session: Session) -> Response:
        """Show a page of missions, newest first."""
        query = request.query_params
        outcome, state = query.get("outcome", ""), query.get("state", "")
        about = query.get("about", "")
        # PostgreSQL refuses a text with NUL.
        place = "".join(filter(str.isprintable, query.get("repository", ""))).strip()[:200]
        wanted = MissionQuery(
            outcome=Outcome(outcome) if outcome in set(Outcome) else None,
            state=RecordState(state) if state in _STATES else None,
            improves=about == "improvements" if about in _ABOUT else None,
            place=place,
            before=_number(query.get("before", "")),
        )
        found = await self.parts.records.page(wanted, session.viewer.sees)
        return page(
            "missions.html",
            session=session,
            here="missions",
            missions=found.missions,
            next=found.next,
            wanted={
                "outcome": wanted.outcome.value if wanted.outcome else "",
                "state": wanted.state.value if wanted.state else "",
                "about": about if about in _ABOUT else "",
                "repository": place,
                "before": wanted.before,
            },
            states=_STATES,
            topics=_ABOUT,
        )

    async def show(self, request: Request, session: Session) -> Response:
        """Show one mission."""
        record = await self._readable(request, session)
        stages = await self.parts.records.stages(record.mission_id)
        detail = await self.parts.records.detail(record.mission_id)
        may_act = session.viewer.may_act_on(record.repository)
        audit = await self.parts.audit.entries(
            mission=record.mission_id, readable=session.viewer.sees
        )
        now = self.parts.clock.now().isoformat()
        return page(
            "mission.html",
            session=session,
            here="missions",
            mission=record,
            steps=timeline(stages, record.ended_at or now),
            detail=detail or {},
            audit=audit,
            may_cancel=may_act and record.state is not RecordState.ENDED,
            may_retry=may_act and record.state is RecordState.ENDED and _can_retry(record, detail),
            is_active=record.state is not RecordState.ENDED,
            seen=_mark(record, stages),
            said=request.query_params.get("said", ""),
            nonce=secrets.token_hex(NONCE_BYTES),
        )

    async def events(self, request: Request, session: Session) -> Response:
        """Send an event when a mission is no longer as the page has it."""
        record = await self._readable(request, session)
        if len(self._streams) >= MOST_STREAMS:
            raise Refused(503, "Not now", "Too many pages listen. This one looks by itself.")
        seen = request.headers.get("last-event-id") or request.query_params.get("seen", "")
        if record.state is RecordState.ENDED:
            stages = await self.parts.records.stages(record.mission_id)
            if seen == _mark(record, stages):
                # A browser reopens a stream that ended, unless the answer has no content.
                return Response(status_code=204)
        # A proxy that collects the answer would hold back its events.
        return EventSourceResponse(
            self._changes(record.mission_id, session, seen), headers={"x-accel-buffering": "no"}
        )

    async def _changes(self, mission_id: str, session: Session, seen: str) -> AsyncIterator[bytes]:
        stream = object()
        self._streams.add(stream)
        until = self.parts.clock.monotonic() + self.parts.stream_s
        try:
            while True:
                record = await self.parts.records.find(mission_id, session.viewer.sees)
                if record is None:
                    return
                mark = _mark(record, await self.parts.records.stages(mission_id))
                if mark != seen:
                    seen = mark
                    yield format_sse_event(data_str="changed", id=mark)
                left = until - self.parts.clock.monotonic()
                if left <= 0 or record.state is RecordState.ENDED:
                    return
                await asyncio.sleep(min(LOOK_S, left))
        except StoreError as error:
            # The answer has begun, so an error page is impossible; the browser connects again.
            log.warning("event stream ended early: %s", error.message)
        finally:
            self._streams.discard(stream)

    async def evidence(self, request: Request, session: Session) -> Response:
        """Send the evidence bundle of a mission as a file."""
        record = await self._readable(request, session)
        try:
            content = await find_bundle(self.parts.blobs, record.mission_id)
        except UsageError as error:
            raise Refused(404, "No evidence", error.message) from error
        await self._note("download evidence", record, session)
        name = bundle_name(record.mission_id)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type="application/zip", headers=headers)

    async def cancel(self, request: Request, session: Session) -> Response:
        """Ask the workers to stop a mission."""
        record = await self._changeable(request, session)
        stopped = await self.parts.records.ask_stop(record.mission_id, session.viewer.login)
        if stopped:
            await self._note("cancel", record, session)
        return _back(record, "stopping" if stopped else "ended")

    async def retry(self, request: Request, session: Session) -> Response:
        """Enqueue the request of an ended mission again, under a new id."""
        record = await self._changeable(request, session)
        detail = await self.parts.records.detail(record.mission_id)
        if record.state is not RecordState.ENDED or not _can_retry(record, detail):
            raise Refused(409, "Not possible", "The request of this mission is no longer stored.")
        try:
            known = MissionRequest.model_validate((detail or {}).get("request"))
        except ValidationError as error:
            raise Refused(409, "Not possible", "Another version stored this mission.") from error
        # Each page has its own nonce, so a double click is one request.
        nonce = request.state.form.get("nonce", "")
        suffix = nonce if _NONCE.fullmatch(nonce) else secrets.token_hex(NONCE_BYTES)
        again = known.with_(
            mission_id=f"{known.mission_id.partition(':again:')[0]}:again:{suffix}",
            delivery_id=None,
            answer=None,
        )
        if not session.viewer.is_operator:
            # Their permission is checked again when the mission starts.
            again = again.with_(
                trigger=Trigger.COMMENT, requested_by=session.viewer.login, comment=None
            )
        if await self.parts.queue.submit(again):
            await self._note("retry", record, session)
        return _back(record.with_(mission_id=again.mission_id), "waiting")

    async def _readable(self, request: Request, session: Session) -> MissionRecord:
        """Return the mission of a request; one that is not readable does not exist.

        Raises:
            Refused: it is unknown, or not readable.
        """
        return await self.queries.mission(request.path_params["mission_id"], session.viewer)

    async def _changeable(self, request: Request, session: Session) -> MissionRecord:
        record = await self._readable(request, session)
        if not session.viewer.may_act_on(record.repository):
            raise Refused(403, "Not allowed", "This needs write access to the repository.")
        return record

    async def _note(self, action: str, record: MissionRecord, session: Session) -> None:
        entry = AuditEntry(
            at=self.parts.clock.now().isoformat(),
            actor=session.viewer.login,
            action=action,
            repository=record.repository,
            place=record.place,
            mission=record.mission_id,
            result="dashboard",
        )
        await self.parts.audit.note(entry)


def timeline(stages: tuple[StageMark, ...], end: str) -> tuple[Step, ...]:
    """Return the stages with their durations, up to a moment (ISO 8601)."""
    moments = [datetime.fromisoformat(one.at) for one in stages]
    moments.append(datetime.fromisoformat(end))
    took = [max(0.0, (after - before).total_seconds()) for before, after in pairwise(moments)]
    longest = max(took, default=0.0) or 1.0
    return tuple(
        Step(
            name=one.name,
            at=one.at,
            detail=one.detail,
            seconds=passed,
            share=round(100 * passed / longest),
        )
        for one, passed in zip(stages, took, strict=True)
    )


def _mark(record: MissionRecord, stages: tuple[StageMark, ...]) -> str:
    """Return a short text that changes with what the page shows."""
    shown = repr((record.state, record.verdict, record.reason, len(stages), stages[-1:]))
    return hashlib.sha256(shown.encode()).hexdigest()[:16]


def _number(text: str) -> int | None:
    """Return a whole number from a query, or None."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS else None


def _can_retry(record: MissionRecord, detail: dict[str, object] | None) -> bool:
    return record.repository is not None and bool(detail and detail.get("request"))


def _back(record: MissionRecord, said: str) -> Response:
    """Return to a mission's page after an action; a reload does not repeat it."""
    return RedirectResponse(f"{BASE}/missions/{path(record.mission_id)}?said={said}", 303)
