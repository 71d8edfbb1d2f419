"""Progress tells whoever listens, and nobody else."""

import io
import logging

import pytest

from bot.domain.mission import MissionContext
from bot.progress import BothProgress, LogProgress, SearchProgress, SilentProgress, TerminalProgress
from sandbox.types import TrialDone, TrialProgress, TrialStarted
from tests.builders import a_running_mission, an_iteration

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
    assert record.__dict__.items() >= {"mission": "m-0001", "stage": "VERIFY", "detail": "twice"}.items()


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
        "  started      100 candidates, 1 failing tests",
        "  searching    50 tried, 5.0 s",
        "  searching    100 tried, 10.0 s",
        "  time         120 tried, 12.0 s",
    ]
