"""MemoryRecords and MemoryAudit: the MissionRecords and AuditLog ports in memory."""

from collections import Counter

from bot.domain.mission import Outcome
from bot.domain.mission_record import (
    AuditEntry,
    ClassTally,
    Detail,
    MissionPage,
    MissionQuery,
    MissionRecord,
    RecordState,
    RepositoryTally,
    Scoreboard,
    StageMark,
)
from bot.domain.request import is_improvement
from bot.ports import Readable


class MemoryRecords:
    """Missions in a dictionary, in the order in which they were added."""

    def __init__(self) -> None:
        self.missions: dict[str, tuple[int, MissionRecord]] = {}
        self.marks: dict[str, list[StageMark]] = {}
        self.details: dict[str, Detail] = {}
        self.stops: dict[str, str] = {}
        self._number = 0

    def _put(self, record: MissionRecord, number: int | None = None) -> None:
        if number is None:
            self._number += 1
            number = self._number
        self.missions[record.mission_id] = (number, record)

    async def enqueue(self, record: MissionRecord) -> None:
        """An ended one starts over."""
        known = self.missions.get(record.mission_id)
        if known is None:
            self._put(record)
        elif known[1].state is RecordState.ENDED:
            self.marks.pop(record.mission_id, None)
            self.stops.pop(record.mission_id, None)
            self._put(record.with_(tries=known[1].tries + 1))

    async def stage(self, mission_id: str, mark: StageMark) -> None:
        """The first one begins it."""
        self.marks.setdefault(mission_id, []).append(mark)
        if mission_id in self.missions:
            number, known = self.missions[mission_id]
            if known.state is not RecordState.ENDED:
                began = known.began_at or mark.at
                self._put(known.with_(state=RecordState.RUNNING, began_at=began), number)

    async def finish(self, record: MissionRecord, detail: Detail | None = None) -> None:
        """A fate stays."""
        number, known = self.missions.get(record.mission_id, (None, record))
        kept = {name: getattr(known, name) for name in ("queued_at", "began_at", "tries", "fate")}
        self._put(record.with_(state=RecordState.ENDED, **kept), number)
        if detail is not None:
            self.details[record.mission_id] = detail

    async def stop(
        self, mission_id: str, at: str, outcome: Outcome | None = None, reason: str = ""
    ) -> None:
        """A known outcome stays."""
        if mission_id not in self.missions:
            return
        number, known = self.missions[mission_id]
        if known.outcome is None:
            ended = known.with_(
                state=RecordState.ENDED,
                outcome=outcome,
                reason=reason,
                ended_at=known.ended_at or at,
            )
            self._put(ended, number)

    async def ask_stop(self, mission_id: str, by: str) -> bool:
        """False if it has ended."""
        if mission_id not in self.missions or self._has_ended(mission_id):
            return False
        self.stops[mission_id] = by
        return True

    async def asked_to_stop(self) -> dict[str, str]:
        """Of active ones."""
        return {name: by for name, by in self.stops.items() if not self._has_ended(name)}

    def _has_ended(self, mission_id: str) -> bool:
        return self.missions[mission_id][1].state is RecordState.ENDED

    async def find(self, mission_id: str, readable: Readable = None) -> MissionRecord | None:
        """None if it is not readable."""
        known = self.missions.get(mission_id)
        return known[1] if known and _may_read(known[1], readable) else None

    async def stages(self, mission_id: str) -> tuple[StageMark, ...]:
        """In order."""
        return tuple(self.marks.get(mission_id, ()))

    async def detail(self, mission_id: str) -> Detail | None:
        """As it was stored."""
        return self.details.get(mission_id)

    async def page(self, query: MissionQuery, readable: Readable = None) -> MissionPage:
        """Newest first."""
        found = sorted(
            (
                (number, one)
                for number, one in self.missions.values()
                if _may_read(one, readable) and _matches(one, query)
                if query.before is None or number < query.before
            ),
            key=lambda pair: -pair[0],
        )
        shown = found[: query.limit]
        following = shown[-1][0] if len(found) > query.limit else None
        return MissionPage(missions=tuple(one for _, one in shown), next=following)

    async def repositories(self, readable: Readable = None) -> tuple[RepositoryTally, ...]:
        """The latest mission first."""
        page = await self.page(MissionQuery(limit=200), readable)
        groups: dict[object, list[MissionRecord]] = {}
        for one in page.missions:
            groups.setdefault(one.repository or one.place, []).append(one)
        return tuple(
            RepositoryTally(
                repository=some[0].repository,
                place=some[0].place,
                missions=len(some),
                fixed=sum(one.outcome is Outcome.FIXED for one in some),
                flaky=sum(one.outcome is Outcome.FLAKY for one in some),
                merged=sum(one.fate == "merged" for one in some),
                refused=sum(one.fate in {"closed", "reverted"} for one in some),
                newest=max(one.queued_at for one in some),
            )
            for some in groups.values()
        )

    async def count_fixes(self, place: str) -> tuple[int, int]:
        """Of the repository that used the name last."""
        ordered = [one for _, one in sorted(self.missions.values(), key=lambda pair: pair[0])]
        owners = [one.repository for one in ordered if one.place == place and one.repository]
        of_it = [one for one in ordered if owners and one.repository == owners[-1]]
        still_open = sum(one.fate == "open" for one in of_it)
        return still_open, sum(one.outcome is Outcome.FIXED for one in of_it)

    async def scoreboard(self, since: str = "", readable: Readable = None) -> Scoreboard:
        """Of ended missions."""
        ended = [
            one
            for _, one in self.missions.values()
            if one.state is RecordState.ENDED and one.ended_at >= since
            if _may_read(one, readable)
        ]
        fixed = [one for one in ended if one.outcome is Outcome.FIXED]
        kinds = Counter(one.kind for one in ended if one.kind)
        ordered = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
        days = sorted({one.ended_at[:10] for one in ended})
        return Scoreboard(
            outcomes=Counter(one.outcome.value if one.outcome else "" for one in ended),
            fates=Counter(one.fate for one in ended if one.fate),
            kinds=tuple(
                ClassTally(kind=kind, missions=n, fixed=sum(one.kind == kind for one in fixed))
                for kind, n in ordered
            ),
            days={
                day: (
                    sum(one.ended_at[:10] == day for one in ended),
                    sum(one.ended_at[:10] == day for one in fixed),
                )
                for day in days
            },
            seconds=tuple(sorted(one.seconds for one in ended if one.seconds > 0)),
            cost_usd=sum(one.cost_usd or 0.0 for one in ended),
        )


class MemoryAudit:
    """Entries in a list."""

    def __init__(self) -> None:
        self.kept: list[AuditEntry] = []

    async def note(self, entry: AuditEntry) -> None:
        """Last."""
        self.kept.append(entry)

    async def entries(
        self, *, since: str = "", mission: str = "", limit: int = 100, readable: Readable = None
    ) -> tuple[AuditEntry, ...]:
        """Newest first."""
        found = [
            one
            for one in reversed(self.kept)
            if one.at >= since and mission in {"", one.mission}
            if readable is None or one.repository in readable
        ]
        return tuple(found[:limit])


def _may_read(record: MissionRecord, readable: Readable) -> bool:
    return readable is None or record.repository in readable


def _matches(record: MissionRecord, query: MissionQuery) -> bool:
    moment = record.ended_at if record.state is RecordState.ENDED else record.queued_at
    return (
        query.repository in {None, record.repository}
        and query.place.lower() in {"", record.place.lower()}
        and query.outcome in {None, record.outcome}
        and query.state in {None, record.state}
        and query.improves in {None, is_improvement(record.mission_id)}
        and moment >= query.since
    )
