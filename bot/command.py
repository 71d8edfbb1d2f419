"""What the commands of the terminal share: what was asked is checked, the log is quiet, and a line is closed again."""

import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from bot.domain.request import MissionRequest
from bot.errors import UsageError
from bot.pipeline import Line, OpenProgress
from bot.ports import Progress
from bot.progress import SilentProgress
from bot.settings import Settings
from bot.telemetry import set_up_logging

BuildLine = Callable[[Settings, OpenProgress], Line]
"""From settings to everything a mission needs."""


def a_folder(path: str) -> Path:
    """The folder of a project.

    Raises:
        UsageError: it is not there.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise UsageError(f"{path} is not a folder", "give the folder of the project")
    return folder


def check_test_command(command: str | None) -> None:
    """See that a test command that is given can be read.

    Raises:
        UsageError: it is empty, or has a quote that does not end.
    """
    if command is not None and not command.strip():
        raise UsageError("--test is empty", "give the command that is red, for example --test 'python -m pytest'")
    # A document inside a command (`<<`) may hold quotes of its own.
    if command is None or "<<" in command:
        return
    try:
        shlex.split(command, comments=True)
    except ValueError as error:
        advice = "close it; from a shell, put the whole command into quotes of the other kind"
        raise UsageError(f"--test cannot be read: {str(error).lower()}", advice) from error


def check_seconds(option: str, seconds: float | None) -> None:
    """See that a time limit leaves time.

    Raises:
        UsageError: it does not.
    """
    if seconds is not None and not seconds > 0:
        raise UsageError(f"{option} must be more than 0 seconds")


def quiet(settings: Settings) -> Settings:
    """Set the log up so that the terminal shows the result; everything is logged when that is asked for."""
    if settings.log_level != "debug":
        settings = settings.model_copy(update={"log_level": "warning"})
    set_up_logging(level=settings.log_level, secrets=settings.secrets)
    return settings


def command_line(command: str, path: str, **options: str | float | None) -> str:
    """Return a command of ours as a person types it; options without a value are left out.

    Args:
        command: `fix`.
        path: The folder, as it was given.
        options: By name, with `_` for `-`.
    """
    words = ["metaagent", command, path]
    for name, value in options.items():
        if value:
            words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(words)


@asynccontextmanager
async def open_line(settings: Settings, build: BuildLine, progress: Progress | None = None) -> AsyncIterator[Line]:
    """Everything a mission needs, given back at the end.

    Args:
        settings: All settings.
        build: Makes it.
        progress: Who listens; nobody when not given.
    """

    @asynccontextmanager
    async def listening(_: MissionRequest) -> AsyncIterator[Progress]:
        yield progress or SilentProgress()

    line = build(settings, listening)
    try:
        yield line
    finally:
        await line.close()
