"""Checks of arguments that need nothing but the arguments. They import nothing slow."""

import argparse
import os
import shlex
from pathlib import Path

from bot.errors import UsageError

RUNGS = frozenset({0, 1, 2})
_THE_FOLDER = "give the folder of the project"


def check_arguments(arguments: argparse.Namespace) -> None:
    """Check the arguments of `fix` or `repair`, as far as possible without the settings.

    Args:
        arguments: The parsed arguments.

    Raises:
        UsageError: an option makes no sense, or the folder is missing or has no entry.
    """
    options = vars(arguments)
    check_test_command(options["command"])
    check_seconds("--time-limit", options["time_limit_s"])
    if "rungs" in options:
        check_rungs(options["rungs"])
        check_evidence(options["evidence"])
    folder = check_is_folder(arguments.path)
    with os.scandir(folder) as entries:
        if next(entries, None) is None:
            raise UsageError(f"{arguments.path} is empty", _THE_FOLDER)


def check_is_folder(path: str) -> Path:
    """Return the folder of a project.

    Raises:
        UsageError: it does not exist.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise UsageError(f"{path} is not a folder", _THE_FOLDER)
    return folder


def check_test_command(command: str | None) -> None:
    """Check that a test command can be parsed.

    Raises:
        UsageError: it is empty, or has an unclosed quote.
    """
    if command is not None and not command.strip():
        raise UsageError(
            "--test is empty", "give the command that is red, for example --test 'python -m pytest'"
        )
    # A document inside a command (`<<`) may hold quotes of its own.
    if command is None or "<<" in command:
        return
    try:
        shlex.split(command, comments=True)
    except ValueError as error:
        advice = "close it; from a shell, put the whole command into quotes of the other kind"
        raise UsageError(f"--test cannot be read: {str(error).lower()}", advice) from error


def check_seconds(option: str, seconds: float | None) -> None:
    """Check a time limit.

    Raises:
        UsageError: it is not positive.
    """
    if seconds is not None and not seconds > 0:
        raise UsageError(f"{option} must be more than 0 seconds")


def check_rungs(text: str) -> tuple[int, ...]:
    """Return the rungs of a list such as `0,1`.

    Raises:
        UsageError: it names something else.
    """
    try:
        rungs = tuple(sorted({int(word) for word in text.split(",")}))
    except ValueError:
        rungs = ()
    if not rungs or not set(rungs) <= RUNGS:
        raise UsageError(f"--rungs {text!r} is not a list of 0, 1 and 2", "for example --rungs 0,1")
    return rungs


def check_evidence(file: str | None) -> None:
    """Check that the evidence bundle can be written, as far as known before the mission.

    Raises:
        UsageError: its folder is not there, or may not be written.
    """
    path = Path(file) if file is not None else None
    if path is None:
        return
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(
            f"--evidence {file} cannot be written", "name a file in a folder that is there"
        )


def command_line(command: str, path: str, **options: str | float | None) -> str:
    """Return a metaagent command as a person types it, without options that have no value.

    Args:
        command: `fix`.
        path: The folder as given.
        options: Options by name, with `_` for `-`.
    """
    words = ["metaagent", command, path]
    for name, value in options.items():
        if value:
            words += [
                f"--{name.replace('_', '-')}",
                f"{value:g}" if isinstance(value, float) else str(value),
            ]
    return shlex.join(words)
