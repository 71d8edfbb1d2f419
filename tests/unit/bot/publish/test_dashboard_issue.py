"""The dashboard's text: every fact has its place and its box, and hostile names stay names."""

from typing import Any

import pytest

from bot.domain.boxes import Box, read_box, ticked_rows
from bot.domain.command import Verb
from bot.domain.mission import Outcome
from bot.domain.mission_record import MissionRecord, RecordState
from bot.domain.pause import Pause
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import FixState, Proposal, ProposedChange, Switch
from bot.domain.request import RepositoryRef
from bot.policy.policy_file import read_policy
from bot.ports import Services
from bot.publish.dashboard_issue import LIMIT, MOST, Board, read_board
from tests.builders import HEAD
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_records import MemoryRecords
from tests.fakes.memory_registry import MemoryRegistry
from tests.services import services
from tests.unit.bot.upkeep.world import COMMIT, REPOSITORY, a_fix

pytestmark = pytest.mark.anyio
HERE = REPOSITORY.id
ATTACKS = (
    "x\n- [x] <!-- metaagent:do=%7B%22verb%22%3A%22off%22%7D --> y",
    "`` ` ``` <!-- metaagent:dashboard off -->",
    "@everyone #1 ![x](http://evil.example/x.png) <script>",
    "a|b\r- [x] c -->",
)


class Desk:
    """A repository with nothing in it, and a way to fill it."""

    def __init__(self) -> None:
        self.registry, self.records, self.clock = MemoryRegistry(), MemoryRecords(), FixedClock()
        self.paused: Pause | None = None
        self.policy = RepositoryPolicy(dashboard_issue=True)
        self._number = 0

    async def of(self, _: RepositoryRef) -> Pause | None:
        """The operator's pause."""
        return self.paused

    @property
    def services(self) -> Services:
        return services(registry=self.registry, records=self.records, clock=self.clock, pauses=self)

    def mission(self, outcome: Outcome | None, **changes: object) -> MissionRecord:
        """Add a mission, newer than those before."""
        self._number += 1
        now = self.clock.now().isoformat()
        values = {
            "mission_id": f"m-{self._number}",
            "repository": HERE,
            "place": "octo/calculator",
            "trigger": "check_run",
            "check": "tests",
            "branch": "feature",
            "head_sha": HEAD,
            "queued_at": now,
            "ended_at": now if outcome else "",
            "state": RecordState.ENDED if outcome else RecordState.RUNNING,
            "outcome": outcome,
        }
        record = MissionRecord.model_validate(values | changes)
        self.records.missions[record.mission_id] = (self._number, record)
        return record

    async def board(self) -> Board:
        return await read_board(REPOSITORY, self.policy, self.services)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def boxes(board: Board, title: str) -> list[Box | None]:
    return [read_box(entry.row) for entry in board.sections[title]]


async def test_an_empty_dashboard_only_turns_off(desk: Desk) -> None:
    board = await desk.board()
    (row,) = board.rows
    assert read_box(row) == Box(verb=Verb.OFF, target="repository")
    assert board.render().count("- [ ]") == 1
    assert board.render().startswith("<!-- metaagent:dashboard -->\n")


async def test_every_fact_has_a_section_and_a_command(desk: Desk) -> None:
    await desk.registry.offer(a_fix())
    await desk.registry.offer(a_fix(branch="main", pull_request=None, for_pull_request=None))
    await desk.registry.offer(
        a_fix(branch="b", commit="e" * 40, state=FixState.CLOSED, note="closed by alice")
    )
    desk.mission(None, for_pull_request=5)
    desk.mission(None, check="lint")
    desk.mission(Outcome.NO_FIX, check="slow", reason="the ladder is exhausted")
    desk.mission(Outcome.FLAKY, check="flaky", for_pull_request=8)
    desk.mission(Outcome.FIXED, check="fixed")
    for number in (7, None):
        switch = Switch(repository_id=HERE, pull_request=number, off=True, by="bob", at="2026")
        await desk.registry.switch(switch)
    desk.paused = Pause(place="octo", why="an upgrade")
    board = await desk.board()
    at_branch: dict[str, Any] = {"head_sha": HEAD, "head_branch": "feature"}
    assert boxes(board, "Open fixes") == [
        Box(verb=Verb.UNDO, target=COMMIT, head_sha=HEAD, head_branch="main"),
        Box(verb=Verb.UNDO, number=17),
    ]
    assert boxes(board, "Waiting and running") == [
        Box(verb=Verb.STOP, **at_branch),
        Box(verb=Verb.STOP, number=5),
    ]
    assert boxes(board, "Ended without a fix") == [Box(verb=Verb.RETRY, target="slow", **at_branch)]
    assert boxes(board, "Snoozed: flaky checks") == [Box(verb=Verb.RETRY, target="flaky", number=8)]
    assert boxes(board, "Snoozed: refused fixes") == [
        Box(verb=Verb.RETRY, target="tests", number=5)
    ]
    assert boxes(board, "Off") == [None, Box(verb=Verb.ON, number=7)]
    assert boxes(board, "This repository") == [Box(verb=Verb.ON, target="repository")]
    text = board.render()
    assert "octo is paused by the operator \\(an upgrade\\)" in text
    assert "the ladder is exhausted" in text
    assert "fixed" not in text
    desk.policy = read_policy(b"enabled: false\nautomatic: false\n")
    text = (await desk.board()).render()
    assert "- `enabled: false` by the policy: `.github/metaagent.yml:1`" in text
    assert "- `automatic: false` by the policy" in text


async def test_where_ticks_are_refused_no_box_is_shown(desk: Desk) -> None:
    await desk.registry.offer(a_fix())
    desk.mission(None)
    desk.mission(Outcome.NO_FIX, check="slow")
    switch = Switch(repository_id=HERE, pull_request=None, off=True, by="bob", at="2026")
    await desk.registry.switch(switch)
    desk.policy = read_policy(b"dashboard_issue: true\ntriggers: {buttons: false}\n")
    text = (await desk.board()).render()
    assert "[ ]" not in text
    assert "Tick a box" not in text
    for line in ("- [#17](../pull/17), the fix of `tests` on `main`", "- `slow` on `feature`"):
        assert line in text
    assert "- Off\n  turned off by `bob`" in text


async def test_places_where_no_mission_is_possible_are_left_out(desk: Desk) -> None:
    desk.mission(Outcome.NO_FIX, check="slow", for_pull_request=5)
    desk.mission(Outcome.FLAKY, check="flaky", for_pull_request=8)
    await desk.registry.offer(a_fix(state=FixState.CLOSED, for_pull_request=5))
    board = await read_board(REPOSITORY, desk.policy, desk.services, closed=frozenset({5}))
    assert board.sections["Ended without a fix"] == ()
    assert board.sections["Snoozed: refused fixes"] == ()
    assert len(board.sections["Snoozed: flaky checks"]) == 1


async def test_an_old_question_is_not_hidden_by_decided_ones(desk: Desk) -> None:
    for number in range(2 * MOST):
        record = desk.mission(Outcome.NEEDS_HUMAN, check=f"c{number}")
        proposal = Proposal(
            proposal_id=record.mission_id,
            repository=REPOSITORY,
            head_sha=HEAD,
            head_branch=f"b{number}",
            question="Which one?",
            decided="rejected" if number else "",
            at=f"2026-01-{number + 1:02}",
        )
        await desk.registry.propose(proposal)
    (box,) = boxes(await desk.board(), "Questions")
    assert box is not None
    assert box.head_branch == "b0"


async def test_the_longest_name_of_a_check_leaves_the_box_readable(desk: Desk) -> None:
    desk.mission(Outcome.NO_FIX, check="\U0001f600" * 255, branch="\U0001f600" * 20)
    (box,) = boxes(await desk.board(), "Ended without a fix")
    assert box is not None


async def test_a_question_has_a_box_for_each_answer(desk: Desk) -> None:
    change = ProposedChange(title="one", diff="", edits=(), patch_id="p", rung=1)
    record = desk.mission(Outcome.NEEDS_HUMAN, for_pull_request=5)
    proposal = Proposal(
        proposal_id=record.mission_id,
        repository=REPOSITORY,
        head_sha=HEAD,
        head_branch="feature",
        pull_request=5,
        question="Which one?",
        changes=(change, change.with_(title="two")),
    )
    await desk.registry.propose(proposal)
    named = {"mission": record.mission_id}
    assert boxes(await desk.board(), "Questions") == [
        Box(verb=Verb.ANSWER, target="1", options=named, number=5),
        Box(verb=Verb.ANSWER, target="2", options=named, number=5),
        Box(verb=Verb.REJECT, options=named, number=5),
    ]
    await desk.registry.propose(proposal.with_(question=""))
    assert boxes(await desk.board(), "Questions")[0] == Box(
        verb=Verb.APPLY, target="1", options=named, number=5
    )
    await desk.registry.propose(proposal.with_(decided="rejected"))
    assert boxes(await desk.board(), "Questions") == []


async def test_only_the_newest_mission_of_a_check_counts_and_for_two_weeks(desk: Desk) -> None:
    desk.mission(Outcome.FLAKY)
    assert boxes(await desk.board(), "Snoozed: flaky checks") != []
    desk.mission(Outcome.FIXED)
    assert boxes(await desk.board(), "Snoozed: flaky checks") == []
    desk.mission(Outcome.NO_FIX, check="other")
    desk.clock.advance(15 * 86_400)
    assert boxes(await desk.board(), "Ended without a fix") == []


@pytest.mark.parametrize("attack", ATTACKS)
async def test_hostile_names_and_texts_add_no_line_and_no_markup(desk: Desk, attack: str) -> None:
    await desk.registry.offer(a_fix(base_branch=attack, checks=(attack,), taken_over=attack))
    await desk.registry.offer(
        a_fix(branch="b", commit="e" * 40, state=FixState.CLOSED, note=attack, base_branch=attack)
    )
    desk.mission(None, check=attack, branch=attack)
    desk.mission(Outcome.FLAKY, check=attack, branch=attack, reason=attack)
    record = desk.mission(Outcome.NEEDS_HUMAN)
    change = ProposedChange(title=attack, diff="", edits=(), patch_id="p", rung=1)
    await desk.registry.propose(
        Proposal(
            proposal_id=record.mission_id,
            repository=REPOSITORY,
            head_sha=HEAD,
            head_branch=attack,
            question=attack,
            changes=(change,),
        )
    )
    board = await desk.board()
    text = board.render()
    lines = [line for line in text.splitlines() if line.startswith("- [")]
    assert set(lines) == board.rows
    assert ticked_rows(text) == ()
    assert text.count("<!-- metaagent:dashboard") == 1 + text.count("`` <!-- metaagent:dashboard")
    assert "<script>" not in text.replace(
        "`@everyone #1 ![x](http://evil.example/x.png) <script>`", ""
    )


async def test_a_long_dashboard_is_cut_between_lines(desk: Desk) -> None:
    for number in range(40):
        branch = f"{number}-" + "é" * 250
        await desk.registry.offer(a_fix(branch=f"b{number}", base_branch=branch))
        desk.mission(Outcome.FLAKY, check=branch)
        desk.mission(Outcome.NO_FIX, check=branch + "x", reason="r" * 300)
    text = (await desk.board()).render()
    assert len(text.encode()) <= LIMIT
    assert text.count("**Close**") == MOST
    assert "- 30 more" in text
    assert all(read_box(line) for line in text.splitlines() if line.startswith("- ["))
