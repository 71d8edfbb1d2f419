"""Definitions in a fence, each in place of the one that goes by its name: comments and decorators around it stay."""

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from pydantic import ConfigDict

from bot.fixers.rung2_model.edits.apply import Placed
from bot.fixers.rung2_model.edits.lines import Splice
from bot.fixers.rung2_model.edits.opened import Opened
from bot.fixers.rung2_model.edits.parse import MAX_BLOCKS
from bot.fixers.rung2_model.edits.reindent import documentation_of, first_line, reindented
from bot.fixers.rung2_model.edits.snippet import NotTaken, Snippet, is_other
from bot.fixers.rung2_model.edits.symbols import Definition, Symbol, form_of
from bot.fixers.rung2_model.edits.values import Reason
from sandbox.diffs import line_changes
from sandbox.types import Frozen

_MOST_NAMED = 500
"""Definitions of one name that are told apart."""


class Piece(Frozen):
    """A definition in a fence, and where it goes."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    file: Opened
    symbol: Symbol
    node: Definition
    code: tuple[str, ...]
    """The lines `node` counts in."""

    @property
    def is_change(self) -> bool:
        """A model often shows the old version first."""
        return form_of(self.node) != form_of(self.symbol.node)


def pieces_of(snippet: Snippet) -> list[Piece]:
    """The definitions that go in place of others; none when the fence is not made of such only.

    Args:
        snippet: The fence.

    Raises:
        NotTaken: it is not clear which ones are meant, or they may not be edited.
    """
    if snippet.path and snippet.labelled is None:
        return []
    if len(snippet.definitions) > MAX_BLOCKS:
        raise NotTaken(Reason.TOO_LARGE, f"the code defines more than {MAX_BLOCKS} things")
    pieces: list[Piece] = []
    for node in snippet.definitions:
        found = _pieces(snippet, node, "")
        if found is None:
            return []
        pieces += found
    files = {piece.file.path: piece.file for piece in pieces}
    if len(files) != 1:
        return []
    file = next(iter(files.values()))
    if not _is_only_definitions(snippet, file):
        return []
    snippet.check(file)
    return pieces


def _is_only_definitions(snippet: Snippet, file: Opened) -> bool:
    """Whether its other statements stand in the file already, and none of the file's is missing among them."""
    if not snippet.others:
        return True
    present = [form_of(each) for each in (file.tree.body if file.tree is not None else []) if is_other(each)]
    return {form_of(each) for each in snippet.others} == set(present)


def _pieces(snippet: Snippet, node: Definition, owner: str) -> list[Piece] | None:
    """A definition, or the members of a class that is sent in part; None when one of them is new."""
    chosen = _chosen(snippet, node, f"{owner}{node.name}")
    if chosen is None:
        return None
    file, symbol = chosen
    if isinstance(node, ast.ClassDef) and isinstance(symbol.node, ast.ClassDef):
        missing = Counter(_names(symbol.node.body)) - Counter(_names(node.body))
        if missing:
            return _members(snippet, node, symbol, file)
    return [Piece(file=file, symbol=symbol, node=node, code=snippet.code)]


def _members(snippet: Snippet, node: ast.ClassDef, symbol: Symbol, file: Opened) -> list[Piece]:
    known = {form_of(each) for each in ast.iter_child_nodes(symbol.node)}
    pieces: list[Piece] = []
    for each in node.body:
        found = _pieces(snippet, each, f"{symbol.name}.") if isinstance(each, Definition) else []
        plain = isinstance(each, ast.Pass) or form_of(each) in known or each is documentation_of(node)
        if found is None or not (found or plain):
            message = f"`class {node.name}` is not sent whole, and holds more than methods it has"
            raise NotTaken(Reason.INCOMPLETE, message, file.path)
        pieces += found
    return pieces


def _chosen(snippet: Snippet, node: Definition, name: str) -> tuple[Opened, Symbol] | None:
    """The definition of this name in what was sent, or None.

    Raises:
        NotTaken: there are several.
    """
    named = (
        (file, symbol)
        for file in snippet.files
        for symbol in file.symbols
        if symbol.is_named(name) and isinstance(symbol.node, ast.ClassDef) == isinstance(node, ast.ClassDef)
    )
    found = list(islice(named, _MOST_NAMED))
    for keeps in _preferences(snippet.fence.label.anchor, node, name):
        if len(found) in {0, 1}:
            break
        found = [each for each in found if keeps(*each)] or found
    if len(found) > 1:
        shown = ", ".join(f"{symbol.name} ({file.path}:{symbol.first + 1})" for file, symbol in found[:5])
        raise NotTaken(Reason.AMBIGUOUS, f"`{name}` may be any of {shown}: say `@@ Class.method` before the code")
    return found[0] if found else None


def _preferences(anchor: str, node: Definition, name: str) -> Iterable[Callable[[Opened, Symbol], bool]]:
    """What tells definitions of one name apart, strongest first."""
    yield lambda _, symbol: bool(anchor) and (symbol.is_named(anchor) or symbol.is_named(f"{anchor}.{name}"))
    yield _is_shown
    yield lambda _, symbol: _is_method(symbol.node) == _is_method(node)
    yield lambda _, symbol: not symbol.nested
    yield lambda _, symbol: symbol.name == name
    yield lambda _, symbol: _decorators(symbol.node) == _decorators(node)


def replaced(piece: Piece) -> Placed:
    """The lines that change; a docstring and decorators that were left out stay.

    Args:
        piece: A definition and the one it goes in place of.
    """
    old = piece.file.text.bodies
    was, node = piece.symbol.node, piece.node
    lines = reindented(piece.code, node, old, was)
    if (text := documentation_of(was)) is not None and documentation_of(node) is None:
        at = _start(node.body[0]) - first_line(node)
        if at > node.lineno - first_line(node) and was.lineno < text.lineno and _stands_alone(text, was):
            lines[at:at] = old[text.lineno - 1 : text.end_lineno]
    # A model rarely repeats decorators, and hardly ever means to take one away.
    start = piece.symbol.first if node.decorator_list else was.lineno - 1
    changes = line_changes(old[start : piece.symbol.end], lines)
    splices = (Splice(start=start + a, end=start + b, lines=tuple(lines[c:d])) for a, b, c, d in changes)
    return Placed(path=piece.file.path, splices=tuple(splices))


def _start(statement: ast.stmt) -> int:
    return first_line(statement) if isinstance(statement, Definition) else statement.lineno


def _stands_alone(text: ast.stmt, node: Definition) -> bool:
    """Whether nothing else stands on the last line of a docstring."""
    return len(node.body) == 1 or _start(node.body[1]) > (text.end_lineno or text.lineno)


def _names(body: Sequence[ast.stmt]) -> list[str]:
    """What the statements of a class define."""
    found: list[str] = []
    for each in body:
        if isinstance(each, Definition):
            found.append(each.name)
        elif isinstance(each, ast.Assign | ast.AnnAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            found += [target.id for target in targets if isinstance(target, ast.Name)]
    return found


def _is_shown(file: Opened, symbol: Symbol) -> bool:
    return not file.regions or any(first <= symbol.end and last > symbol.first for first, last in file.regions)


def _is_method(node: Definition) -> bool:
    if isinstance(node, ast.ClassDef):
        return False
    arguments = [*node.args.posonlyargs, *node.args.args]
    return bool(arguments) and arguments[0].arg in {"self", "cls"}


def _decorators(node: Definition) -> list[str]:
    return [form_of(each) for each in node.decorator_list]
