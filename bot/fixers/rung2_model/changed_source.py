"""Source that a reviewer of a change needs: each whole changed function, and its callers."""

from collections.abc import Sequence

from bot.domain.model import Passage
from bot.fixers.rung2_model.budget import PromptSpace, characters, shortened
from bot.fixers.rung2_model.excerpts import may_be_shown
from bot.fixers.rung2_model.repository_map import is_listed, nearest_first
from bot.fixers.rung2_model.sources import Files, Source
from bot.ports import Workspace
from sandbox.diffs import line_changes
from sandbox.languages.outline import Definition
from sandbox.types import FileEdit

TOKENS = 3_500
"""Size of all passages together, in tokens."""
_FUNCTION = characters(1_500)
_CALLERS = 3
_FILES_SEARCHED = 60


async def changed_source(edits: Sequence[FileEdit], workspace: Workspace) -> tuple[Passage, ...]:
    """Return the changed functions as they were before the change, and functions that call them.

    Args:
        edits: The change.
        workspace: The tree before the change.
    """
    files, room = Files(workspace), PromptSpace(characters(TOKENS))
    changed = [pair for edit in edits for pair in await _changed(edit, files)]
    shown = [_passage("changed function, before the change", *pair) for pair in changed]
    names = frozenset(one.last_name for _, one in changed) - {""}
    shown += [_passage("caller", *pair) for pair in await _callers(names, changed, files)]
    return tuple(one for one in shown if room.take(len(one.text)))


async def _changed(edit: FileEdit, files: Files) -> list[tuple[Source, Definition]]:
    source = await files.source(edit.path) if may_be_shown(edit.path) else None
    if source is None:
        return []
    after = edit.content.decode(errors="replace").splitlines()
    found: dict[str, Definition] = {}
    for first, last, *_ in line_changes(list(source.lines), after):
        for line in range(first + 1, max(last, first + 1) + 1):
            one = source.at(line)
            if one is not None:
                found.setdefault(one.name, one)
    return [(source, one) for one in found.values()]


async def _callers(
    names: frozenset[str], changed: Sequence[tuple[Source, Definition]], files: Files
) -> list[tuple[Source, Definition]]:
    """Return functions outside of tests that name a changed one, the nearest files first."""
    if not names:
        return []
    known = {(source.path, one.name) for source, one in changed}
    found: list[tuple[Source, Definition]] = []
    there = filter(is_listed, await files.paths())
    near = nearest_first(there, {source.path for source, _ in changed})
    for path in near[:_FILES_SEARCHED]:
        source = await files.source(path)
        if source is None or len(found) >= _CALLERS:
            continue
        found += [
            (source, one)
            for one in source.functions
            if one.names & names and (path, one.name) not in known
        ]
    return found[:_CALLERS]


def _passage(label: str, source: Source, one: Definition) -> Passage:
    text = "\n".join(source.lines[one.first - 1 : one.last])
    return Passage(
        label=f"{label}, from line {one.first}",
        text=shortened(text, _FUNCTION),
        origin=f"{source.path}: {one.name}",
    )
