"""The folder a step of a workflow leaves: report, patch and mission; a later job may read it, and believes little."""

from pathlib import Path

from pydantic import ValidationError

from bot.domain.mission import MissionContext
from bot.errors import StoreError, UsageError

REPORT = "report.md"
PATCH = "fix.patch"
MISSION = "mission.json"
EVIDENCE = "evidence.zip"
MISSION_BYTES = 16 << 20
"""A mission's file that is larger is not ours."""


def write_report(folder: Path, context: MissionContext, report: str) -> None:
    """Leave everything a person or a later job needs; the patch only when there is one.

    Args:
        folder: Made when it is not there.
        context: The mission.
        report: Markdown.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        (folder / REPORT).write_text(report, encoding="utf-8")
        (folder / MISSION).write_text(context.model_dump_json(), encoding="utf-8")
        (folder / PATCH).unlink(missing_ok=True)
        if context.fix is not None and context.fix[1].diff:
            (folder / PATCH).write_text(context.fix[1].diff, encoding="utf-8", newline="")
    except OSError as error:
        raise StoreError(f"{folder} cannot be written ({error.strerror})", "check the runner's disk") from error


def read_mission(folder: Path) -> MissionContext:
    """The mission an earlier job left. What it is about is not taken from here, and its patch is checked again.

    Args:
        folder: As that job left it.

    Raises:
        UsageError: it is not there, or not what we write.
    """
    path = folder / MISSION
    try:
        if path.is_symlink() or not path.is_file():
            raise UsageError(f"input from-report: {path.name} is not there", "give the folder of an earlier job")
        with path.open("rb") as file:
            content = file.read(MISSION_BYTES + 1)
    except OSError as error:
        raise UsageError(f"input from-report: {path.name} cannot be read ({error.strerror})") from error
    if len(content) > MISSION_BYTES:
        raise UsageError(f"input from-report: {path.name} is larger than {MISSION_BYTES} bytes")
    try:
        return MissionContext.model_validate_json(content)
    except ValidationError as error:
        advice = "let both jobs use the same version of the Action"
        raise UsageError(f"input from-report: {path.name} is no mission of ours", advice) from error
