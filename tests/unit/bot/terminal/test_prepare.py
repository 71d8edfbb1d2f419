"""What commands share: checks of what was asked, and a line that is closed whatever happens."""

from pathlib import Path

import pytest

from bot.domain.request import MissionRequest
from bot.errors import UsageError
from bot.pipeline import MissionServices, OpenProgress
from bot.publish.progress import SilentProgress, TerminalProgress
from bot.settings import Settings
from bot.terminal.prepare import check_is_folder, check_seconds, check_test_command
from bot.wiring.line import open_line
from tests.builders import a_request
from tests.fakes.fake_workspace import FakeSandboxes, FakeWorkspace
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons


def test_a_folder_is_a_folder(tmp_path: Path) -> None:
    assert check_is_folder(str(tmp_path)) == tmp_path
    with pytest.raises(UsageError, match="is not a folder"):
        check_is_folder(str(tmp_path / "missing"))


@pytest.mark.parametrize("command", ["", " \t"])
def test_an_empty_test_command_is_wrong_use(command: str) -> None:
    with pytest.raises(UsageError, match="--test is empty"):
        check_test_command(command)
    check_test_command(None)
    check_test_command("pytest")


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_a_limit_leaves_time(seconds: float) -> None:
    with pytest.raises(UsageError, match="--limit must be more than 0"):
        check_seconds("--limit", seconds)
    check_seconds("--limit", None)
    check_seconds("--limit", 0.1)


class Closing:
    """Builds a line that counts how often it is closed."""

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
        async with open_line(Settings(), closing.build):
            raise RuntimeError
    assert closing.closed == 1


@pytest.mark.anyio
async def test_who_listens_is_who_was_named_and_otherwise_nobody() -> None:
    closing, request = Closing(), a_request()
    assert isinstance(request, MissionRequest)
    terminal = TerminalProgress()
    async with open_line(Settings(), closing.build, terminal), closing.opened[0](request) as heard:
        assert heard is terminal
    async with open_line(Settings(), closing.build), closing.opened[1](request) as heard:
        assert isinstance(heard, SilentProgress)
