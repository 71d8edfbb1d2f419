"""A world for improvements: workspaces in memory that hold what an archive holds."""

import io
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.pipeline import MissionServices, OpenProgress
from bot.settings import Settings
from bot.terminal.improve import ImproveOrder, ImproveResult, run_improve
from sandbox.errors import SandboxError
from sandbox.types import ArchiveSource, Checkout, CommandResult
from tests.fakes.fake_workspace import FakeWorkspace, Files, Judge, Shell, green, quiet
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_mind import ScriptedMind

FLAWED = "import os\n\n\ndef has(items, name):\n    return items.count(name) > 0\n"
BETTER = "def has(items, name):\n    return items.count(name) > 0\n"


def failed(files: Files, command: str) -> CommandResult:
    """Every command fails."""
    return CommandResult(argv=("/bin/sh", "-c", command), exit_code=1, stderr="Boom: it broke")


class ImprovementWorld:
    """Builds the dependencies of improvements on fakes.

    Args:
        settings: With data in a folder of the test.
        judge: The result of a test run.
        shell: The result of a command.
        mind: The models.
        broken: Raised by every workspace.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        judge: Judge = green,
        shell: Shell = quiet,
        mind: ScriptedMind | None = None,
        broken: SandboxError | None = None,
    ) -> None:
        self.settings = settings
        self.workspaces: list[FakeWorkspace] = []
        self._judge, self._shell, self._mind, self._broken = judge, shell, mind, broken

    @property
    def folder(self) -> Path:
        """The folder of all improvements."""
        return self.settings.data_dir / "improve"

    @property
    def lines(self) -> list[str]:
        """The lines of the history."""
        return (self.folder / "improvement_history.jsonl").read_text().splitlines()

    @property
    def commands(self) -> list[str]:
        """Every command that ran in a sandbox."""
        return [command for one in self.workspaces for command in one.commands]

    def build(self, _: Settings, open_progress: OpenProgress) -> MissionServices:
        return MissionServices(
            open_workspace=self._open,
            fixers=(),
            lessons=MemoryLessons(),
            clock=FixedClock(step=1.0),
            open_progress=open_progress,
            minds=self._mind,
        )

    def improve(self, target: Path | str, **options: object) -> ImproveResult:
        order = ImproveOrder(**{"target": str(target), **options})  # type: ignore[arg-type]
        return run_improve(order, self.settings, build=self.build)

    @asynccontextmanager
    async def _open(self, checkout: Checkout) -> AsyncIterator[FakeWorkspace]:
        assert isinstance(checkout.source, ArchiveSource)
        with tarfile.open(fileobj=io.BytesIO(checkout.source.content)) as archive:
            files: dict[str, str | bytes] = {}
            for entry in archive:
                file = archive.extractfile(entry)
                assert file is not None
                files[entry.name] = file.read()
        workspace = FakeWorkspace(files, judge=self._judge, shell=self._shell, broken=self._broken)
        self.workspaces.append(workspace)
        yield workspace
