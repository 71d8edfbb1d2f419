"""The text of a repository's dashboard issue: what is open, active, asked, snoozed and off."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from bot.domain.boxes import DASHBOARD_MARKER, Box
from bot.domain.command import Verb
from bot.domain.mission import Outcome
from bot.domain.mission_record import MissionQuery, MissionRecord, RecordState
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import FixState, OfferedFix, Proposal, Switch
from bot.domain.request import RepositoryRef
from bot.policy.rules import describe_origin
from bot.ports import Services
from bot.publish.markdown import SafeWriter, Section, fit
from sandbox.gate import prepare_needles
from sandbox.types import Frozen

TITLE = "MetaAgent dashboard"
ON, OFF = f"{DASHBOARD_MARKER} -->", f"{DASHBOARD_MARKER} off -->"
"""The markers of a dashboard that the policy wants, and of one that it no longer wants."""
MOST = 10
"""Most entries of one section."""
RECENT = timedelta(days=14)
"""Age up to which ended missions are shown."""
CHECK = 100
"""Most characters of a check's name in a box."""
LIMIT = 60_000
"""Longest text, in bytes; GitHub refuses more than 65,536 characters."""

_SNOOZED = frozenset({Outcome.FLAKY})
_RETRIED = frozenset(
    {
        Outcome.BASE_RED,
        Outcome.BUDGET,
        Outcome.CANCELLED,
        Outcome.ENV_UNBUILDABLE,
        Outcome.ERROR,
        Outcome.INFRA,
        Outcome.NO_FIX,
        Outcome.NOT_REPRODUCED,
    }
)
"""Outcomes without a fix for which another mission may help."""
_BOXES = (
    "Tick a box to act. That is a command of yours: you need write access, and the answer is a "
    "comment in the pull request, or a check run of the commit, that the box is about. "
)
_INTRODUCTION = (
    "MetaAgent rewrites this text, so what you write into it is lost; a comment is not. Close this "
    "issue to snooze it, and open it again to wake it up. `dashboard_issue: false` in the policy "
    "ends it."
)


class Entry(Frozen):
    """One entry of a section."""

    row: str
    """Its first line; with a box, the line that is ticked."""
    detail: str = ""


class Board(Frozen):
    """The sections of a dashboard, in reading order."""

    sections: dict[str, tuple[Entry, ...]]
    has_boxes: bool = True
    """False if the policy refuses ticks."""

    @property
    def rows(self) -> frozenset[str]:
        """Return the first lines of all entries."""
        return frozenset(one.row for entries in self.sections.values() for one in entries)

    def render(self) -> str:
        """Return the text of the issue."""
        boxes = _BOXES if self.has_boxes else ""
        parts = [Section(lead=f"{ON}\n{boxes}{_INTRODUCTION}")]
        for title, entries in self.sections.items():
            lines = [
                line
                for one in entries[:MOST]
                for line in (one.row, f"  {one.detail}" if one.detail else "")
                if line
            ]
            if len(entries) > MOST:
                lines.append(f"- {len(entries) - MOST} more")
            if lines:
                parts.append(Section(title=title, body="\n".join(lines)))
        return fit(parts, limit=LIMIT)


def render_off() -> str:
    """Return the text of a dashboard that the policy no longer wants."""
    return f"{OFF}\nThe policy of this repository turned the dashboard off (`dashboard_issue`)."


async def read_board(
    repository: RepositoryRef,
    policy: RepositoryPolicy,
    services: Services,
    *,
    closed: frozenset[int] = frozenset(),
) -> Board:
    """Return the dashboard of a repository as it is now.

    Args:
        repository: The repository.
        policy: Its policy.
        services: The services to use; GitHub is not asked.
        closed: Closed pull requests, where no mission is possible.

    Raises:
        StoreError: registry or records cannot be read.
    """
    writer = _Writer(
        SafeWriter(secrets=prepare_needles(services.secrets)), has_boxes=policy.triggers.buttons
    )
    fixes = await services.registry.offered(repository.id)
    ended = [
        one for one in await _ended(repository, services) if one.for_pull_request not in closed
    ]
    proposals = await services.registry.undecided(repository.id)
    switches = await services.registry.turned_off(repository.id)
    pause = await services.pauses.of(repository) if services.pauses else None
    paused = [Entry(row=f"- {writer.pen.words(pause.in_words)}")] if pause else []
    paused += writer.policy(policy)
    refused = [f for f in fixes if f.state.blocks and f.for_pull_request not in closed]
    return Board(
        sections={
            "Open fixes": tuple(writer.open_fix(f) for f in fixes if f.state is FixState.OPEN),
            "Waiting and running": tuple(map(writer.active, await _active(repository, services))),
            "Questions": tuple(
                entry
                for proposal in proposals
                if proposal.pull_request not in closed
                for entry in writer.question(proposal)
            ),
            "Ended without a fix": tuple(
                writer.retry(one, "Try again") for one in ended if one.outcome in _RETRIED
            ),
            "Snoozed: flaky checks": tuple(
                writer.retry(one, "Wake up") for one in ended if one.outcome in _SNOOZED
            ),
            "Snoozed: refused fixes": tuple(map(writer.refused, refused)),
            "Off": (*paused, *(writer.off(one) for one in switches if one.pull_request)),
            "This repository": tuple(writer.repository(switches)),
        },
        has_boxes=policy.triggers.buttons,
    )


# --- facts ---------------------------------------------------------------------------------------


async def _active(repository: RepositoryRef, services: Services) -> list[MissionRecord]:
    found: list[MissionRecord] = []
    if services.records is not None:
        for state in (RecordState.RUNNING, RecordState.WAITING):
            query = MissionQuery(repository=repository.id, state=state)
            found += (await services.records.page(query)).missions
    return found


async def _ended(repository: RepositoryRef, services: Services) -> list[MissionRecord]:
    """Return the newest mission of each check and place, if it ended recently."""
    if services.records is None:
        return []
    since = (services.clock.now() - RECENT).isoformat()
    query = MissionQuery(repository=repository.id, since=since, limit=100)
    newest: dict[tuple[object, str], MissionRecord] = {}
    for record in (await services.records.page(query)).missions:
        newest.setdefault((record.for_pull_request or record.branch, record.check), record)
    return [one for one in newest.values() if one.state is RecordState.ENDED]


# --- words ---------------------------------------------------------------------------------------


class _Writer:
    """Writes entries; names and texts of other people are escaped."""

    def __init__(self, pen: SafeWriter, *, has_boxes: bool) -> None:
        self.pen = pen
        self._has_boxes = has_boxes

    def _row(self, box: Box | None, word: str, text: str) -> str:
        """Return a line with a box and its word, or without both where a tick would be refused."""
        if box is None or not self._has_boxes:
            return f"- {text.removeprefix(':').strip()}"
        return box.row(f"**{word}**{text}")

    def open_fix(self, fix: OfferedFix) -> Entry:
        detail = f"taken over by {self.pen.code(fix.taken_over)}" if fix.taken_over else ""
        what = f"the fix of {self._checks(fix.checks)} on {self.pen.code(fix.base_branch)}"
        if fix.pull_request is not None:
            box = Box(verb=Verb.UNDO, number=fix.pull_request)
            row = self._row(box, "Close", f" {_link(fix.pull_request)}, {what}")
        elif fix.commit != fix.head_sha:
            box = Box(
                verb=Verb.UNDO,
                target=fix.commit,
                head_sha=fix.head_sha,
                head_branch=fix.base_branch,
            )
            row = self._row(box, "Undo", f" the commit `{fix.commit[:12]}`, {what}")
        else:
            return Entry(row=f"- Suggested: {what}{self._place(fix.for_pull_request, '')}")
        return Entry(row=row, detail=detail)

    def active(self, record: MissionRecord) -> Entry:
        what = f"the mission for {self._check(record)}{self._where(record)}"
        detail = f"{record.state.value} since {self._time(record.began_at or record.queued_at)}"
        box = _at(Verb.STOP, record.for_pull_request, record.head_sha, record.branch)
        return Entry(row=self._row(box, "Cancel", f" {what}"), detail=detail)

    def retry(self, record: MissionRecord, word: str) -> Entry:
        text = f": {self._check(record)}{self._where(record)}"
        outcome = record.outcome.value if record.outcome else ""
        reason = self.pen.words(record.reason, cap=200)
        detail = ", ".join(part for part in (outcome, self._time(record.ended_at), reason) if part)
        box = _at(Verb.RETRY, record.for_pull_request, record.head_sha, record.branch)
        if box is not None:
            # Names are compared from their beginning, and a box must not get too long.
            box = box.with_(target=record.check[:CHECK])
        return Entry(row=self._row(box, word, text), detail=detail)

    def question(self, proposal: Proposal) -> Iterator[Entry]:
        branch = proposal.head_branch or ""
        place = self._place(proposal.pull_request, branch)
        reject = _at(Verb.REJECT, proposal.pull_request, proposal.head_sha, branch)
        if reject is None:
            return
        reject = reject.with_(options={"mission": proposal.proposal_id})
        verb = Verb.ANSWER if proposal.question else Verb.APPLY
        for number, change in enumerate(proposal.changes[:MOST], start=1):
            box = reject.with_(verb=verb, target=str(number))
            title = self.pen.words(change.title, cap=200)
            yield Entry(row=self._row(box, "Take", f" change {number}{place}: {title}"))
        asked = self.pen.words(proposal.question, cap=300)
        how = "" if proposal.changes else " (answer it by a comment `/metaagent answer …` there)"
        detail = f"{asked}{how}" if asked else ""
        row = self._row(reject, "Reject", f" what is proposed{place}")
        yield Entry(row=row, detail=detail)

    def refused(self, fix: OfferedFix) -> Entry:
        what = f"a fix of {self._checks(fix.checks)}"
        text = f": {what}{self._place(fix.for_pull_request, fix.base_branch)}"
        box = _at(Verb.RETRY, fix.for_pull_request, fix.head_sha, fix.base_branch)
        if box is not None and len(fix.checks) == 1:
            box = box.with_(target=fix.checks[0][:CHECK])
        named = f"{_link(fix.pull_request)} " if fix.pull_request else ""
        detail = f"{named}{fix.state.value}: {self.pen.words(fix.note, cap=200)}"
        return Entry(row=self._row(box, "Try again", text), detail=detail)

    def policy(self, policy: RepositoryPolicy) -> Iterator[Entry]:
        for key in ("enabled", "automatic"):
            if not getattr(policy, key):
                origin = self.pen.code(describe_origin(policy, key), cap=200)
                yield Entry(row=f"- `{key}: false` by the policy: {origin}")

    def off(self, switch: Switch) -> Entry:
        number = switch.pull_request or 0
        row = self._row(Box(verb=Verb.ON, number=number), "Turn on", f" {_link(number)}")
        return Entry(row=row, detail=self._by(switch))

    def repository(self, switches: Sequence[Switch]) -> Iterator[Entry]:
        off = next((one for one in switches if one.pull_request is None), None)
        if off is not None:
            box = Box(verb=Verb.ON, target="repository")
            row = self._row(box, "Turn on", " MetaAgent here again")
            yield Entry(row=row if self._has_boxes else "- Off", detail=self._by(off))
        elif self._has_boxes:
            box = Box(verb=Verb.OFF, target="repository")
            yield Entry(
                row=self._row(box, "Turn off", " MetaAgent here; active missions are stopped")
            )

    def _by(self, switch: Switch) -> str:
        return f"turned off by {self.pen.code(switch.by)}, {self._time(switch.at)}"

    def _check(self, record: MissionRecord) -> str:
        return self.pen.code(record.check) if record.check else "a command"

    def _checks(self, names: Sequence[str]) -> str:
        return ", ".join(self.pen.code(name) for name in names[:3]) or "a failure"

    def _where(self, record: MissionRecord) -> str:
        return self._place(record.for_pull_request, record.branch or "")

    def _place(self, number: int | None, branch: str) -> str:
        if number is not None:
            return f" in {_link(number)}"
        return f" on {self.pen.code(branch)}" if branch else ""

    def _time(self, at: str) -> str:
        """Return a time of ours, `2026-11-26T11:40:12+00:00`, in minutes."""
        return f"{self.pen.line(at, cap=16).replace('T', ' ')} UTC" if at else "an unknown time"


def _at(verb: Verb, number: int | None, head_sha: str | None, branch: str | None) -> Box | None:
    """Return a command at a pull request, else at a branch; None if neither is known."""
    if number is not None:
        return Box(verb=verb, number=number)
    if head_sha is None or not branch:
        return None
    return Box(verb=verb, head_sha=head_sha, head_branch=branch)


def _link(number: int) -> str:
    """Return a link that leaves no trace there, as `#5` would."""
    return f"[#{number}](../pull/{number})"
