"""The choices of the last question about a local folder, stored for `metaagent fix --choose`."""

import hashlib
import os
import tempfile
from pathlib import Path

from pydantic import ValidationError

from bot.domain.patch import Choice
from bot.errors import UsageError
from sandbox.types import Frozen

_FOLDER = "choices"


class KeptChoices(Frozen):
    """The choices of one question."""

    command: str | None = None
    """The red command, as the person gave it."""
    choices: tuple[Choice, ...] = ()


def keep_choices(data_dir: Path, folder: Path, kept: KeptChoices) -> None:
    """Store the choices of a question; without any, delete those of the previous question.

    Args:
        data_dir: The data directory.
        folder: The project's folder, resolved.
        kept: The choices. Only diffs are stored: whole files would undo later edits.
    """
    path = _path(data_dir, folder)
    if not kept.choices:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    slim = kept.with_(choices=tuple(choice.with_(edits=()) for choice in kept.choices))
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(slim.model_dump_json())
    # Atomic: a reader never sees half a file.
    Path(file.name).replace(path)


def read_choice(data_dir: Path, folder: Path, number: int) -> tuple[KeptChoices, Choice]:
    """Return the stored choices of a folder, and the one with this number.

    Args:
        data_dir: The data directory.
        folder: The project's folder, resolved.
        number: Counted from one.

    Raises:
        UsageError: nothing is stored, or there is no such choice.
    """
    try:
        kept = KeptChoices.model_validate_json(_path(data_dir, folder).read_bytes())
    except (OSError, ValidationError) as error:
        advice = "run metaagent fix without --choose first; when it asks, it numbers the choices"
        raise UsageError("no choices are kept for this folder", advice) from error
    if not 1 <= number <= len(kept.choices):
        raise UsageError(
            f"--choose {number} is not one of the choices", f"choose from 1 to {len(kept.choices)}"
        )
    return kept, kept.choices[number - 1]


def _path(data_dir: Path, folder: Path) -> Path:
    # A hash, because a path has slashes and may be longer than a file name.
    return data_dir / _FOLDER / f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]}.json"
