"""Find what the failed step needs and does not get, and the script that only a shell can follow."""

import re
from collections.abc import Sequence

from sandbox.recipe.command import check_only, classify_command
from sandbox.recipe.job import ToolCommand, ToolReading
from sandbox.recipe.preparing import is_file_work
from sandbox.recipe.shell.walk import AS_WRITTEN
from sandbox.types import Fidelity, StepKind

_INSTALLS = re.compile(r"\s*(?:(?:python3?\s+-m|uv|sudo)\s+)?pip3?\s+install\b[^\\]*$")
_CHECKS = re.compile(
    r"(?<![\w./-])(?:pytest|py\.test|unittest|ruff|flake8|pylint|mypy|pyright|black|isort|gofmt"
    r"|go (?:test|vet|build))(?![\w-])"
    r"|(?:^|\s)(?:\./(?!\.\.)|(?:ba)?sh\s+)[\w./-]+|(?:^|\s)[\w-]+/[\w/-]+\.sh(?:\s|$)",
)
_ACTIVATES = re.compile(r"\s*(?:source|\.)\s+\S*bin/activate\s*(?:#.*)?$")
_GIT_DIFF = re.compile(
    r"git\s+(?:diff\b.*(?:--exit-code|--quiet)|status\b)|(?:\$\(|`)\s*git\s+diff\b"
)
_NO_HISTORY = "`git diff` compares with the commit, and the sandbox has no history"
_LONGEST_SCRIPT = 20_000
_FETCHES = re.compile(r"curl\b|wget\b")


def missing_fetch(reading: ToolReading, entries: Sequence[Fidelity]) -> str:
    """Return the obstacle of a step without a known check that fetches what it works on."""
    kinds = {classify_command(command.command) for command in reading.commands}
    if not kinds or kinds - {StepKind.OTHER} or not all(map(is_file_work, reading.commands)):
        return ""
    dropped = (entry.step for entry in entries if entry.treatment == "dropped")
    fetch = next((line for line in dropped if _FETCHES.match(line)), None)
    return f"the failed step needs what `{fetch[:100]}` fetches" if fetch else ""


def describe_unknown(unknown: Sequence[str]) -> str:
    """Describe unknown values and who knows them."""
    computed = [name for name in unknown if name.endswith("computes")]
    others = [name for name in unknown if name not in computed]
    return " and ".join(
        [*computed, *([f"{', '.join(others)}, which only GitHub knows"] if others else [])]
    )


def shell_remainder(script: str) -> str:
    """Return a script that only a shell can follow, without installs; empty if it has no check."""
    lines = script.replace("\r\n", "\n").split("\n")
    lines = [line for line in lines if not _INSTALLS.match(line) and not _ACTIVATES.match(line)]
    left = "\n".join(lines).strip()
    return left if len(left) < _LONGEST_SCRIPT and _CHECKS.search(left) else ""


def find_unfollowed(entries: Sequence[Fidelity]) -> Fidelity | None:
    """Return the first part of the script that is left out."""
    return next((one for one in entries if one.reason != AS_WRITTEN), None)


def convert_git_diff(
    checks: list[ToolCommand], commands: Sequence[ToolCommand]
) -> tuple[list[ToolCommand], tuple[str, ...]]:
    """Convert `black . && git diff` to a check; other programs would need the history."""
    if not any(_GIT_DIFF.search(command.command) for command in commands):
        return checks, ()
    found = []
    for command in checks:
        if _GIT_DIFF.search(command.command):
            continue
        line = check_only(command.command)
        if line is None:
            return checks, (_NO_HISTORY,)
        found.append(command.with_(command=line))
    return (found, ()) if found else (checks, (_NO_HISTORY,))
