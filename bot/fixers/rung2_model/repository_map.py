"""A map of the repository in a prompt: paths and public names, the nearest to the failure first."""

from collections.abc import Sequence

from bot.domain.counted import counted
from bot.domain.model import Passage
from bot.fixers.rung2_model.budget import PromptSpace
from bot.fixers.rung2_model.excerpts import may_be_shown
from bot.fixers.rung2_model.sources import Files, Source
from sandbox.changes import is_protected
from sandbox.languages import is_source

_NAMED = 8
"""Number of the nearest files whose public names are listed."""
_LINE = 160
_PATHS = 60


async def repository_map(
    files: Files, shown: Sequence[str], room: PromptSpace
) -> tuple[Passage, ...]:
    """Return the source files that are not shown, so that a model knows what it may ask for.

    Args:
        files: Files of the checkout.
        shown: Paths of which something is shown.
        room: Space for the map.
    """
    there = [
        path
        for path in await files.paths()
        if path not in shown and is_source(path) and not is_protected(path) and may_be_shown(path)
    ]
    ranked = sorted(there, key=lambda path: (-_nearness(path, shown), path.count("/"), path))
    lines = []
    for number, path in enumerate(ranked[:_PATHS]):
        source = await files.source(path) if number < _NAMED else None
        line = f"{path}: {_public_names(source)}" if source and source.definitions else path
        if not room.take(len(line[:_LINE]) + 1):
            break
        lines.append(line[:_LINE])
    if lines and len(lines) < len(ranked):
        lines.append(f"and {counted(len(ranked) - len(lines), 'more source file')}")
    text = "\n".join(lines)
    return (
        (Passage(label="other source files", text=text, origin="the repository"),) if text else ()
    )


def _nearness(path: str, shown: Sequence[str]) -> int:
    """Return the number of folders that a path shares with the nearest shown file."""
    folders = path.split("/")[:-1]

    def shared(other: str) -> int:
        pairs = zip(folders, other.split("/")[:-1], strict=False)
        count = 0
        for one, two in pairs:
            if one != two:
                break
            count += 1
        return count

    return max(map(shared, shown), default=0)


def _public_names(source: Source) -> str:
    return ", ".join(
        one.name
        for one in source.definitions
        if "." not in one.name and not one.name.startswith("_")
    )
