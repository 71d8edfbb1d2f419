"""Checks and preparations that several commands share."""

import argparse
import asyncio
import os
import shlex
from pathlib import Path

from bot.errors import UsageError
from bot.settings import Settings, load_from_options
from bot.telemetry import set_up_logging
from sandbox.checkout import check_folder as count_files
from sandbox.errors import ImportRejected, SetupFailed
from sandbox.spec import SandboxSpec
from sandbox.types import JobHints

RUNGS = frozenset({0, 1, 2})


def check_is_folder(path: str) -> Path:
    """Return the folder of a project.

    Raises:
        UsageError: it does not exist.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise UsageError(f"{path} is not a folder", "give the folder of the project")
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


def check_folder(folder: str, spec: SandboxSpec, *, command: str | None, since: str | None) -> None:
    """Check that a mission can work on a folder, before any sandbox is needed.

    Args:
        folder: Its path.
        spec: Limits of its size.
        command: The red command; None to detect it.
        since: The revision at which it was green.

    Raises:
        UsageError: it is missing, empty or over a limit; no such revision; nothing to run.
    """
    root = Path(folder).resolve()
    if not root.is_dir():
        raise UsageError(f"{folder} is not a folder", "give the folder of the project")
    try:
        if not count_files(str(root), spec, since=since):
            raise UsageError(f"{folder} is empty", "give the folder of the project")
        if command is None:
            _find_command(root, spec)
    except ImportRejected as error:
        advice = error.advice
        if error.limit:
            option = f"--sandbox-{error.limit.replace('_', '-')}"
            advice = (
                f"leave files out, or raise the limit with {option} (setting sandbox.{error.limit})"
            )
        raise UsageError(error.message.rstrip("."), advice) from error
    except SetupFailed as error:
        raise UsageError(error.message.rstrip("."), error.advice) from error


def _find_command(root: Path, spec: SandboxSpec) -> None:
    """Check that the folder's test command is configured or can be detected.

    Raises:
        SetupFailed: there is none.
    """
    # Reading policies and recipes takes a fifth of a second to import, and is seldom needed.
    from bot.policy.policy_file import read_folder_policy
    from sandbox.planning import read_folder

    policy = read_folder_policy(root)
    if policy.test_command is None:
        hints = JobHints(setup=policy.setup, python=policy.python)
        asyncio.run(read_folder(str(root), spec)).recipe(hints)


def check_arguments(arguments: argparse.Namespace) -> Settings:
    """Check the arguments of `fix` or `repair` without a sandbox, and return the settings.

    Args:
        arguments: The parsed arguments.

    Raises:
        UsageError: an option makes no sense, or the folder cannot be worked on.
        SettingsError: a setting is wrong.
    """
    options = vars(arguments)
    command, since = options["command"], options["since"]
    check_test_command(command)
    check_seconds("--time-limit", options["time_limit_s"])
    if "rungs" in options:
        check_rungs(options["rungs"])
        check_evidence(options["evidence"])
    settings = load_from_options(options)
    check_folder(arguments.path, settings.sandbox, command=command, since=since)
    if options.get("choose") is not None:
        from bot.terminal.choices import read_choice

        read_choice(settings.data_dir, Path(arguments.path).resolve(), options["choose"])
    return settings


def set_up_quiet_logging(settings: Settings) -> Settings:
    """Set up logging and return the settings with its level.

    Only warnings are logged, so that the terminal shows the result; at level debug everything is.
    """
    if settings.log_level != "debug":
        settings = settings.model_copy(update={"log_level": "warning"})
    set_up_logging(level=settings.log_level, secrets=settings.secrets)
    return settings


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
