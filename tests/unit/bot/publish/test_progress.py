"""Progress tells whoever listens, and nobody else."""

import io
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot.domain.mission import MissionContext
from bot.ports import Workspace
from bot.publish.progress import (
    BothProgress,
    LogProgress,
    SearchProgress,
    SilentProgress,
    TerminalProgress,
    telling_searches,
)
from sandbox.types import (
    Checkout,
    FolderSource,
    SearchRequest,
    TrialDone,
    TrialProgress,
    TrialStarted,
)
from tests.builders import a_running_mission, an_iteration
from tests.fakes.searching_workspace import SearchingWorkspace

pytestmark = pytest.mark.anyio


class Heard:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, str, str]] = []

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        self.stages.append((context.mission_id, name, detail))


async def test_a_terminal_gets_one_line_a_stage() -> None:
    stream = io.StringIO()
    progress = TerminalProgress(stream)
    await progress.stage(a_running_mission(), "TRIAGE", "running the tests")
    await progress.stage(a_running_mission(iterations=(an_iteration(),)), "PLAN")
    assert stream.getvalue() == "  TRIAGE       running the tests\n  [1] PLAN\n"


async def test_a_terminal_is_standard_error_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    await TerminalProgress().stage(a_running_mission(), "FIX")
    assert capsys.readouterr() == ("", "  FIX\n")


async def test_the_log_gets_the_missions_id(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="metaagent.mission"):
        await LogProgress().stage(a_running_mission(), "VERIFY", "twice")
    (record,) = caplog.records
    assert (
        record.__dict__.items()
        >= {"mission": "m-0001", "stage": "VERIFY", "detail": "twice"}.items()
    )


async def test_several_listeners_hear_the_same() -> None:
    one, two = Heard(), Heard()
    await BothProgress(one, SilentProgress(), two).stage(a_running_mission(), "FIX", "rung 1")
    assert one.stages == two.stages == [("m-0001", "FIX", "rung 1")]


async def test_a_search_tells_its_stages_and_now_and_then_that_it_goes_on() -> None:
    stream = io.StringIO()
    progress = SearchProgress(stream)
    progress.tell(TrialStarted(candidates=100, baseline_failing=1))
    for second in range(12):
        progress.tell(TrialProgress(tried=10 * second, seconds=second))
    progress.tell(TrialDone(reason="time", tried=120, seconds=12.0))
    assert stream.getvalue().splitlines() == [
        "  started      1 failing test, at most 100 candidates",
        "  searching    50 tried, 5.0 s",
        "  searching    100 tried, 10.0 s",
        "  time         120 tried, 12.0 s",
    ]


async def test_searches_of_a_mission_are_shown_while_they_run() -> None:
    stream = io.StringIO()
    searching = SearchingWorkspace({"a.py": "x = 1\n"}, {"t": ("a.py", "x = 2")}, [("1", "2")])

    @asynccontextmanager
    async def door(checkout: Checkout) -> AsyncIterator[Workspace]:
        yield searching

    checkout = Checkout(source=FolderSource(path="/", repository_id="local:/"))
    async with telling_searches(door, stream)(checkout) as workspace:
        assert await workspace.list_files() == ("a.py",), "everything else is passed on"
        heard = [
            event
            async for event in workspace.search(SearchRequest(command="pytest", failing=("t",)))
        ]
    assert isinstance(heard[-1], TrialDone)
    lines = stream.getvalue().splitlines()
    assert any(line.startswith("  found        a.py:1 ") for line in lines)
    assert lines[-1].split()[1:3] == [str(heard[-1].tried), "tried,"]
