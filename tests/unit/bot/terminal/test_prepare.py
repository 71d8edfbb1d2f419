"""What commands share: services that are closed whatever happens."""

import pytest

from bot.domain.request import MissionRequest
from bot.pipeline import MissionServices, OpenProgress
from bot.publish.progress import SilentProgress, TerminalProgress
from bot.settings import Settings
from bot.wiring.mission_services import open_mission_services
from tests.builders import a_request
from tests.fakes.fake_workspace import FakeSandboxes, FakeWorkspace
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons


class Closing:
    """Builds services that count how often they are closed."""

    def __init__(self) -> None:
        self.closed = 0
        self.opened: list[OpenProgress] = []

    async def close(self) -> None:
        self.closed += 1

    def build(self, _: Settings, open_progress: OpenProgress) -> MissionServices:
        self.opened.append(open_progress)
        return MissionServices(
            open_workspace=FakeSandboxes(lambda _: FakeWorkspace({})).open_workspace,
            fixers=(),
            lessons=MemoryLessons(),
            clock=FixedClock(),
            open_progress=open_progress,
            close=self.close,
        )


@pytest.mark.anyio
async def test_a_line_is_closed_also_when_something_breaks() -> None:
    closing = Closing()
    with pytest.raises(RuntimeError):
        async with open_mission_services(Settings(), closing.build):
            raise RuntimeError
    assert closing.closed == 1


@pytest.mark.anyio
async def test_who_listens_is_who_was_named_and_otherwise_nobody() -> None:
    closing, request = Closing(), a_request()
    assert isinstance(request, MissionRequest)
    terminal = TerminalProgress()
    async with (
        open_mission_services(Settings(), closing.build, terminal),
        closing.opened[0](request) as heard,
    ):
        assert heard is terminal
    async with (
        open_mission_services(Settings(), closing.build),
        closing.opened[1](request) as heard,
    ):
        assert isinstance(heard, SilentProgress)
