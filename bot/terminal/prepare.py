"""Checks that need the settings, and preparations that several commands share."""

import argparse
import asyncio
from pathlib import Path

from bot.errors import UsageError
from bot.settings import Settings, load_from_options
from bot.telemetry import set_up_logging
from sandbox.checkout import check_folder as count_files
from sandbox.errors import ImportRejected, SetupFailed
from sandbox.spec import SandboxSpec
from sandbox.types import JobHints


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


def check_with_settings(arguments: argparse.Namespace) -> Settings:
    """Check the folder of `fix` or `repair` without a sandbox, and return the settings.

    Args:
        arguments: The parsed arguments.

    Raises:
        UsageError: the folder cannot be worked on.
        SettingsError: a setting is wrong.
    """
    options = vars(arguments)
    command, since = options["command"], options["since"]
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
