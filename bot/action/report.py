"""Report folder of a workflow step: report, patch and mission. Later jobs distrust it."""

from pathlib import Path

from pydantic import ValidationError

from bot.domain.mission import MissionContext
from bot.errors import StoreError, UsageError

REPORT = "report.md"
PATCH = "fix.patch"
MISSION = "mission.json"
EVIDENCE = "evidence.zip"
MISSION_BYTES = 16 << 20
"""Maximum size of a mission file, in bytes."""


def write_report(folder: Path, context: MissionContext, report: str) -> None:
    """Write the report, the mission and, if there is a fix, the patch.

    Args:
        folder: An existing folder.
        context: The mission.
        report: Markdown.

    Raises:
        StoreError: The folder cannot be written.
    """
    try:
        (folder / REPORT).write_text(report, encoding="utf-8")
        (folder / MISSION).write_text(context.model_dump_json(), encoding="utf-8")
        # An earlier step of the job may have left a patch, which is not this mission's.
        (folder / PATCH).unlink(missing_ok=True)
        if context.fix is not None and context.fix[1].diff:
            # No newline translation: the patch is applied byte for byte.
            (folder / PATCH).write_text(context.fix[1].diff, encoding="utf-8", newline="")
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written ({error.strerror})", "check the runner's disk"
        ) from error


def read_mission(folder: Path) -> MissionContext:
    """Read the mission of an earlier job.

    Its subject is not taken from here, and its patch is validated again.

    Args:
        folder: The report folder of that job.

    Raises:
        UsageError: The file is missing or invalid.
    """
    path = folder / MISSION
    try:
        # An untrusted job may have made the folder: a link would read any file of this runner.
        if path.is_symlink() or not path.is_file():
            raise UsageError(
                f"input from-report: {path.name} is missing",
                "give the report folder of an earlier job",
            )
        with path.open("rb") as file:
            content = file.read(MISSION_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"input from-report: {path.name} cannot be read ({error.strerror})"
        ) from error
    if len(content) > MISSION_BYTES:
        raise UsageError(f"input from-report: {path.name} is larger than {MISSION_BYTES} bytes")
    try:
        return MissionContext.model_validate_json(content)
    except ValidationError as error:
        advice = "let both jobs use the same version of the Action"
        raise UsageError(
            f"input from-report: {path.name} is not a MetaAgent mission", advice
        ) from error
