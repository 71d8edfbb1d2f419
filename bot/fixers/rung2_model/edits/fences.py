"""Convert fenced code to edits: functions replaced by name, or whole short files."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from bot.fixers.rung2_model.edits.apply import PlacedEdits
from bot.fixers.rung2_model.edits.function import (
    DefinitionEdit,
    match_definitions,
    replace_definition,
)
from bot.fixers.rung2_model.edits.imports import new_imports
from bot.fixers.rung2_model.edits.labels import Fence
from bot.fixers.rung2_model.edits.outlined import place_definitions
from bot.fixers.rung2_model.edits.parsed_file import ParsedFile
from bot.fixers.rung2_model.edits.snippet import FenceRejected, Snippet
from bot.fixers.rung2_model.edits.values import EditFormat, EditRules, Reason, Rejection
from bot.fixers.rung2_model.edits.whole import whole_file
from sandbox.types import Frozen

_MOST_CODE = 80_000


class Fenced(Frozen):
    """Edits and rejections of an answer's fences."""

    format: EditFormat | None = None
    placed: tuple[PlacedEdits, ...] = ()
    rejections: tuple[Rejection, ...] = ()


def from_fences(
    fences: Sequence[Fence], sent: Sequence[ParsedFile], rules: EditRules, *, truncated: bool
) -> Fenced:
    """Convert fences to edits; the last version of a function counts.

    Args:
        fences: Fences of an answer without another edit format.
        sent: The files the model saw.
        rules: Limits of the answer.
        truncated: True if the answer was cut off; an unclosed fence is then rejected.
    """
    pieces: dict[tuple[str, str], DefinitionEdit] = {}
    whole: dict[str, PlacedEdits] = {}
    named: dict[tuple[str, str], PlacedEdits] = {}
    imports: dict[str, list[ast.stmt]] = {}
    rejections: list[Rejection] = []
    replaces = False
    for number, fence in enumerate(fences, start=1):
        if truncated and not fence.closed:
            message = "the answer was cut off in the middle of the code"
            rejections.append(Rejection(reason=Reason.MALFORMED, block=number, message=message))
            continue
        if sum(map(len, fence.lines)) > _MOST_CODE:
            message = f"the code is longer than {_MOST_CODE} characters"
            rejections.append(Rejection(reason=Reason.TOO_LARGE, block=number, message=message))
            continue
        snippet = Snippet(fence, sent, rules)
        try:
            if found := match_definitions(snippet):
                # A later fence replaces an earlier version of the same function.
                pieces |= {
                    (each.file.path, each.symbol.name): each for each in found if each.is_change
                }
                imports.setdefault(found[0].file.path, []).extend(snippet.imports)
            elif (outlined := place_definitions(snippet, named)) is not None:
                named |= outlined
                replaces = True
            elif (file := whole_file(snippet, rules)) is not None:
                whole[file.path] = file
        except FenceRejected as no:
            rejections.append(no.rejection.with_(block=number))
    placed = (
        *map(replace_definition, pieces.values()),
        *_imported(imports, pieces),
        *named.values(),
        *whole.values(),
    )
    form = EditFormat.FUNCTION if imports or replaces else EditFormat.WHOLE_FILE if whole else None
    return Fenced(format=form, placed=placed, rejections=tuple(rejections))


def _imported(
    imports: Mapping[str, Sequence[ast.stmt]], pieces: Mapping[tuple[str, str], DefinitionEdit]
) -> Iterator[PlacedEdits]:
    for path, statements in imports.items():
        mine = [piece for piece in pieces.values() if piece.file.path == path]
        if mine:
            splices = new_imports(mine[0].file.tree, statements, [piece.node for piece in mine])
            yield PlacedEdits(path=path, splices=splices)
