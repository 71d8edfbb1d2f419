"""A map of the repository in a prompt: paths and public names, the nearest to the failure first."""

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

from bot.domain.counted import counted
from bot.domain.model import Passage
from bot.fixers.rung2_model.budget import PromptSpace
from bot.fixers.rung2_model.excerpts import may_be_shown
from bot.fixers.rung2_model.sources import Files, Source
from sandbox.changes import is_protected
from sandbox.languages import JAVASCRIPT, TYPESCRIPT, Language, find_language, is_read_source

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
    there = [path for path in await files.paths() if path not in shown and is_listed(path)]
    ranked = nearest_first(there, shown)
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


def nearest_first(paths: Iterable[str], shown: Collection[str]) -> list[str]:
    """Sort files: shown ones, then those of their languages that share most folders; tests last.

    Args:
        paths: Paths of the checkout.
        shown: Paths of which something is shown or suspected.
    """
    near = {folder for path in shown for folder in _folders(path)}
    languages = {_language(path) for path in shown}

    def rank(path: str) -> tuple[bool, bool, bool, int, int, str]:
        shared = sum(folder in near for folder in _folders(path))
        other = _language(path) not in languages
        return path not in shown, other, is_protected(path), -shared, path.count("/"), path

    return sorted(paths, key=rank)


def _language(path: str) -> Language | None:
    """Return a file's language; JavaScript for TypeScript, because they import each other."""
    language = find_language(path)
    return JAVASCRIPT if language == TYPESCRIPT else language


def is_listed(path: str) -> bool:
    """Return True if a path names source outside of tests that may be shown."""
    return is_read_source(path) and not is_protected(path) and may_be_shown(path)


def _folders(path: str) -> tuple[str, ...]:
    """Return every folder that contains a path, except the checkout."""
    parts = path.split("/")[:-1]
    return tuple(accumulate(parts, "{}/{}".format))


def _public_names(source: Source) -> str:
    return ", ".join(
        one.signature
        for one in source.definitions
        if "." not in one.name and not one.name.startswith("_") and not one.is_titled
    )
