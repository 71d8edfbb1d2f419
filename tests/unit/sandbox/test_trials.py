"""Trials: whatever the program in the sandbox says, the host gets only valid events and one end."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from sandbox.backends.base import Guest
from sandbox.errors import SandboxDied
from sandbox.guest.search.candidates.sources import SOURCES
from sandbox.guest.search.context.suite_facts import SearchJob
from sandbox.spec import RunLimits
from sandbox.trials import MAX_LINE_BYTES, MAX_SPENDING, search
from sandbox.types import (
    CommandResult,
    GivenChange,
    SearchNearMiss,
    SearchRequest,
    SpanEdit,
    Survivor,
    TrialDone,
    TrialEvent,
    TrialProgress,
    TrialStarted,
)

pytestmark = pytest.mark.anyio

REQUEST = SearchRequest(
    command="python -m pytest -q",
    failing=("test_a.py::test_a",),
    protected=("test_*.py",),
    max_survivors=2,
)
SURVIVOR: dict[str, Any] = {
    "kind": "survivor",
    "template": "swap_operator",
    "path": "a.py",
    "line": 2,
    "cost": 1.2,
    "suspicion": 1.0,
    "edits": [{"path": "a.py", "start": 0, "end": 1, "text": "x"}],
    "description": "`-` became `+`",
    "behaviour": "00ff",
}
NEAR_MISS = {key: SURVIVOR[key] for key in ("template", "path", "line", "edits")} | {
    "kind": "near_miss",
    "fixed": [],
}
DONE = {"kind": "done", "reason": "enough", "tried": 3, "seconds": 1.0}


def at(path: str) -> dict[str, Any]:
    """A survivor in another file, sound in all else."""
    return {
        **SURVIVOR,
        "path": path,
        "edits": [{**edit, "path": path} for edit in SURVIVOR["edits"]],
    }


class TalkingGuest:
    """The part of Guest a search uses: says what it is told to say."""

    workdir = "/work/repo"
    guest_dir = "/opt/guest"
    python = "/opt/env/bin/python"

    def __init__(self, lines: Sequence[bytes], end: CommandResult | SandboxDied) -> None:
        self.lines = lines
        self.end = end
        self.asked: dict[str, Any] = {}
        self.closed = False
        self.ran: list[tuple[str, ...]] = []

    async def run(self, argv: tuple[str, ...], *, limits: RunLimits) -> CommandResult:
        self.ran.append(argv)
        return CommandResult(argv=argv, exit_code=0, duration_s=0.0)

    async def stream(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> AsyncIterator[bytes | CommandResult]:
        self.asked = {"argv": argv, "limits": limits, "cwd": cwd, "env": env, "stdin": stdin}
        try:
            for line in self.lines:
                yield line
            if isinstance(self.end, SandboxDied):
                raise self.end
            yield self.end
        finally:
            self.closed = True


async def told(
    *lines: object, end: CommandResult | SandboxDied | None = None, request: SearchRequest = REQUEST
) -> list[TrialEvent]:
    guest = TalkingGuest(
        [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines],
        end or CommandResult(argv=("python",), exit_code=0),
    )
    events = [event async for event in search(as_guest(guest), request)]
    assert guest.closed or not guest.asked
    assert [isinstance(event, TrialDone) for event in events] == [False] * (len(events) - 1) + [
        True
    ]
    return events


def as_guest(guest: TalkingGuest) -> Guest:
    return guest  # type: ignore[return-value]  # only what a search uses


async def test_what_the_hostile_cases_are_made_of_is_taken() -> None:
    assert [event.kind for event in await told(SURVIVOR, at("b/c.py"), NEAR_MISS, DONE)] == [
        *("survivor", "survivor", "near_miss", "done")
    ]


async def test_events_arrive_in_order() -> None:
    started = {"kind": "started", "candidates": 10}
    events = await told(started, {"kind": "progress", "tried": 1, "seconds": 0.1}, SURVIVOR, DONE)
    assert [type(event) for event in events] == [TrialStarted, TrialProgress, Survivor, TrialDone]


async def test_the_request_travels_with_the_command_the_root_and_the_limit() -> None:
    guest = TalkingGuest([json.dumps(DONE).encode()], CommandResult(argv=(), exit_code=0))
    request = REQUEST.with_(command="cd pkg && TZ=UTC pytest -q", time_limit_s=7.0)
    async for _ in search(as_guest(guest), request, working_directory="sub"):
        pass
    order = json.loads(guest.asked["stdin"])
    assert guest.asked["argv"] == ("/opt/env/bin/python", "/opt/guest/search/server.py")
    assert guest.asked["cwd"] == "/work/repo/sub/pkg"
    assert guest.asked["limits"].wall_s == 10.0
    assert guest.asked["env"]["PYTHONHASHSEED"] == "0"
    assert (order["root"], order["time_limit_s"], order["failing"]) == (
        "/work/repo",
        7.0,
        ["test_a.py::test_a"],
    )


async def test_a_command_without_pytest_is_refused_without_starting_anything() -> None:
    (done,) = await told(request=REQUEST.with_(command="make check"))
    assert isinstance(done, TrialDone)
    assert done.reason == "refused"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'"done"',
        b"x" * (MAX_LINE_BYTES + 1),
        {"kind": "unknown"},
        {**SURVIVOR, "extra": 1},
        at("../a.py"),
        at("/etc/passwd.py"),
        at("test_a.py"),
        at("a.yml"),
        at(".github/a.py"),
        at("a\n.py"),
        at("b/./a.py"),
        {**SURVIVOR, "line": 0},
        {**SURVIVOR, "template": "Do this: <b>"},
        {**SURVIVOR, "cost": float("nan")},
        {**SURVIVOR, "suspicion": float("inf")},
        {**SURVIVOR, "tried": 10**400},
        {**SURVIVOR, "tried": -1},
        {**SURVIVOR, "profile": {"changed_passing": -(10**6), "passing_calls": 1}},
        {**SURVIVOR, "profile": {"surprise": float("nan")}},
        {"kind": "compared", "clusters": [], "inputs": 10**400},
        {**DONE, "tried": 10**400},
        {**SURVIVOR, "content": None},
        {**SURVIVOR, "edits": []},
        {**SURVIVOR, "edits": [{"path": "b.py", "start": 0, "end": 1, "text": "x"}]},
        {
            **SURVIVOR,
            "edits": [*SURVIVOR["edits"], {"path": "test_a.py", "start": 0, "end": 1, "text": "x"}],
        },
        {**SURVIVOR, "edits": [{"path": "a.py", "start": 2, "end": 1, "text": "x"}]},
        {**SURVIVOR, "edits": SURVIVOR["edits"] * 61},
        {**NEAR_MISS, "path": "test_a.py", "edits": at("test_a.py")["edits"]},
        {**NEAR_MISS, "template": "Do this: <b>"},
    ],
)
async def test_what_is_not_a_valid_event_is_dropped(line: object) -> None:
    events = await told(line, DONE)
    assert len(events) == 1


async def test_words_are_cut_to_one_printable_line() -> None:
    events = await told(
        {**SURVIVOR, "description": "a\n\x1b[31mb" * 1000, "behaviour": "not hex"}, DONE
    )
    survivor = events[0]
    assert isinstance(survivor, Survivor)
    assert survivor.description.isprintable()
    assert len(survivor.description) <= 400
    assert survivor.behaviour == ""


async def test_no_more_survivors_than_asked_for_and_one_revert() -> None:
    events = await told(*[SURVIVOR] * 5, DONE)
    assert [event.kind for event in events] == [*["survivor"] * 3, "done"]


async def test_the_comparison_of_all_survivors_and_the_revert_is_kept() -> None:
    compared = {"kind": "compared", "clusters": [0, 1, 0]}
    events = await told(*[SURVIVOR] * 3, compared, DONE)
    assert [event.kind for event in events] == [*["survivor"] * 3, "compared", "done"]


async def test_a_search_that_ends_without_a_word_is_ended_by_us() -> None:
    (done,) = await told(end=CommandResult(argv=(), exit_code=None, signal=9))
    assert isinstance(done, TrialDone)
    assert "signal 9" in done.detail


async def test_a_search_that_outlives_its_limit_ended_for_time() -> None:
    (done,) = await told(end=CommandResult(argv=(), exit_code=None, signal=9, timed_out=True))
    assert isinstance(done, TrialDone)
    assert done.reason == "time"


async def test_survivors_told_before_the_death_of_the_sandbox_are_kept() -> None:
    events = await told(SURVIVOR, end=SandboxDied("gone"))
    assert [event.kind for event in events] == ["survivor", "done"]


async def test_a_flood_of_events_is_ended() -> None:
    events = await told(*[{"kind": "progress", "tried": 1, "seconds": 0.1}] * 6000)
    assert len(events) <= 5001


async def test_what_is_said_of_a_near_miss_is_one_printable_line() -> None:
    miss, _ = await told({**NEAR_MISS, "description": "a\nb\x1b[31m\u202e" + "x" * 900}, DONE)
    assert isinstance(miss, SearchNearMiss)
    assert miss.description.startswith("a b [31m xxx")
    assert len(miss.description) == 400


async def test_spending_is_bounded_and_names_templates_only() -> None:
    spent = {"origin": "functions", "template": "swap_operator", "tried": 3, "seconds": 0.5}
    strange = {**spent, "template": "../x\n"}
    (done,) = await told({**DONE, "spending": [spent, strange, *[spent] * 600]})
    assert isinstance(done, TrialDone)
    assert len(done.spending) == MAX_SPENDING - 1
    assert {one.template for one in done.spending} == {"swap_operator"}


async def test_given_changes_and_the_sources_that_are_asked_travel_with_the_request() -> None:
    guest = TalkingGuest([json.dumps(DONE).encode()], CommandResult(argv=(), exit_code=0))
    change = GivenChange(
        edits=(SpanEdit(path="a.py", start=0, end=1, text="x"),), description="mine", cost=0.5
    )
    request = REQUEST.with_(given=(change,), sources=("given",))
    async for _ in search(as_guest(guest), request):
        pass
    order = SearchJob.read(json.loads(guest.asked["stdin"]))
    assert order.given[0]["edits"] == [{"path": "a.py", "start": 0, "end": 1, "text": "x"}]
    assert order.sources == ("given",)
    assert set(SearchRequest(command="pytest", failing=()).sources) == {name for name, _ in SOURCES}
