"""Checks of arguments that need neither settings nor a sandbox."""

from pathlib import Path

import pytest

from bot.errors import UsageError
from bot.terminal.arguments import check_is_folder, check_seconds, check_test_command


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
