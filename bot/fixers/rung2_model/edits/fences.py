"""Code in fences, all of an answer: functions in place of those with their names, or short files as a whole."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from bot.fixers.rung2_model.edits.apply import Placed
from bot.fixers.rung2_model.edits.function import Piece, pieces_of, replaced
from bot.fixers.rung2_model.edits.imports import new_imports
from bot.fixers.rung2_model.edits.labels import Fence
from bot.fixers.rung2_model.edits.opened import Opened
from bot.fixers.rung2_model.edits.snippet import NotTaken, Snippet
from bot.fixers.rung2_model.edits.values import EditFormat, EditRules, Reason, Rejection
from bot.fixers.rung2_model.edits.whole import whole_file
from sandbox.types import Frozen

_MOST_CODE = 80_000


class Fenced(Frozen):
    """What the fences of an answer come to."""

    format: EditFormat | None = None
    placed: tuple[Placed, ...] = ()
    rejections: tuple[Rejection, ...] = ()


def from_fences(fences: Sequence[Fence], sent: Sequence[Opened], rules: EditRules, *, truncated: bool) -> Fenced:
    """The fences of an answer as edits; of several versions of one function the last one counts.

    Args:
        fences: Of an answer that speaks no other format.
        sent: The files the model saw.
        rules: What it may do.
        truncated: The answer was cut off: a fence without its end is not taken then.
    """
    pieces: dict[tuple[str, str], Piece] = {}
    whole: dict[str, Placed] = {}
    imports: dict[str, list[ast.stmt]] = {}
    rejections: list[Rejection] = []
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
            if found := pieces_of(snippet):
                pieces |= {(each.file.path, each.symbol.name): each for each in found if each.is_change}
                imports.setdefault(found[0].file.path, []).extend(snippet.imports)
            elif (file := whole_file(snippet, rules)) is not None:
                whole[file.path] = file
        except NotTaken as no:
            rejections.append(no.rejection.with_(block=number))
    placed = (*map(replaced, pieces.values()), *_imported(imports, pieces), *whole.values())
    form = EditFormat.FUNCTION if imports else EditFormat.WHOLE_FILE if whole else None
    return Fenced(format=form, placed=placed, rejections=tuple(rejections))


def _imported(imports: Mapping[str, Sequence[ast.stmt]], pieces: Mapping[tuple[str, str], Piece]) -> Iterator[Placed]:
    for path, statements in imports.items():
        mine = [piece for piece in pieces.values() if piece.file.path == path]
        if mine:
            splices = new_imports(mine[0].file.tree, statements, [piece.node for piece in mine])
            yield Placed(path=path, splices=splices)
