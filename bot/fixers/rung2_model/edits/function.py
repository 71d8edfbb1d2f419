"""Replace definitions by name; surrounding comments and decorators are kept."""

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from pydantic import ConfigDict

from bot.fixers.rung2_model.edits.apply import PlacedEdits
from bot.fixers.rung2_model.edits.lines import Splice
from bot.fixers.rung2_model.edits.parse import MAX_BLOCKS
from bot.fixers.rung2_model.edits.parsed_file import ParsedFile
from bot.fixers.rung2_model.edits.reindent import docstring_node, first_line, reindent_definition
from bot.fixers.rung2_model.edits.snippet import FenceRejected, Snippet, is_other
from bot.fixers.rung2_model.edits.symbols import Definition, Symbol, is_named, normal_form
from bot.fixers.rung2_model.edits.values import Reason
from sandbox.diffs import line_changes
from sandbox.types import Frozen

_MOST_NAMED = 500
"""Maximum number of definitions with one name that are compared."""


class DefinitionEdit(Frozen):
    """A definition in a fence, and the symbol it replaces."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    file: ParsedFile
    symbol: Symbol
    node: Definition
    code: tuple[str, ...]
    """The lines that `node`'s line numbers refer to."""

    @property
    def is_change(self) -> bool:
        """Return True if it differs from the file. Models often show the old version first."""
        return normal_form(self.node) != normal_form(self.symbol.node)


def match_definitions(snippet: Snippet) -> list[DefinitionEdit]:
    """Return the definitions that replace others; empty if the fence holds anything else.

    Args:
        snippet: The fence.

    Raises:
        FenceRejected: The target is ambiguous or may not be edited.
    """
    if snippet.path and snippet.labelled is None:
        return []
    if len(snippet.definitions) > MAX_BLOCKS:
        raise FenceRejected(Reason.TOO_LARGE, f"the code has more than {MAX_BLOCKS} definitions")
    pieces: list[DefinitionEdit] = []
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


def _is_only_definitions(snippet: Snippet, file: ParsedFile) -> bool:
    """Return True if its other statements are exactly those of the file."""
    if not snippet.others:
        return True
    present = [
        normal_form(each)
        for each in (file.tree.body if file.tree is not None else [])
        if is_other(each)
    ]
    return {normal_form(each) for each in snippet.others} == set(present)


def _pieces(snippet: Snippet, node: Definition, owner: str) -> list[DefinitionEdit] | None:
    """Match a definition, or the members of a partial class; return None if one is new."""
    chosen = _choose(snippet, node, f"{owner}{node.name}")
    if chosen is None:
        return None
    file, symbol = chosen
    if isinstance(node, ast.ClassDef) and isinstance(symbol.node, ast.ClassDef):
        # A class without some of its members was sent in part.
        missing = Counter(_names(symbol.node.body)) - Counter(_names(node.body))
        if missing:
            return _members(snippet, node, symbol, file)
    return [DefinitionEdit(file=file, symbol=symbol, node=node, code=snippet.code)]


def _members(
    snippet: Snippet, node: ast.ClassDef, symbol: Symbol, file: ParsedFile
) -> list[DefinitionEdit]:
    known = {normal_form(each) for each in ast.iter_child_nodes(symbol.node)}
    pieces: list[DefinitionEdit] = []
    for each in node.body:
        found = _pieces(snippet, each, f"{symbol.name}.") if isinstance(each, Definition) else []
        plain = (
            isinstance(each, ast.Pass) or normal_form(each) in known or each is docstring_node(node)
        )
        if found is None or not (found or plain):
            message = f"`class {node.name}` is incomplete, and contains more than existing methods"
            raise FenceRejected(Reason.INCOMPLETE, message, file.path)
        pieces += found
    return pieces


def _choose(snippet: Snippet, node: Definition, name: str) -> tuple[ParsedFile, Symbol] | None:
    """Return the definition of this name in the sent files, or None.

    Raises:
        FenceRejected: Several definitions match.
    """
    named = (
        (file, symbol)
        for file in snippet.files
        for symbol in file.symbols
        if is_named(symbol.name, name)
        and isinstance(symbol.node, ast.ClassDef) == isinstance(node, ast.ClassDef)
    )
    found = list(islice(named, _MOST_NAMED))
    for keeps in _preferences(snippet.fence.label.anchor, node, name):
        if len(found) in {0, 1}:
            break
        found = [each for each in found if keeps(*each)] or found
    if len(found) > 1:
        shown = ", ".join(
            f"{symbol.name} ({file.path}:{symbol.first + 1})" for file, symbol in found[:5]
        )
        raise FenceRejected(
            Reason.AMBIGUOUS,
            f"`{name}` may be any of {shown}: add `@@ Class.method` before the code",
        )
    return found[0] if found else None


def _preferences(
    anchor: str, node: Definition, name: str
) -> Iterable[Callable[[ParsedFile, Symbol], bool]]:
    """Yield criteria that distinguish definitions of one name, strongest first."""
    anchors = (anchor, f"{anchor}.{name}") if anchor else ()
    yield lambda _, symbol: any(is_named(symbol.name, one) for one in anchors)
    yield _is_shown
    yield lambda _, symbol: _is_method(symbol.node) == _is_method(node)
    yield lambda _, symbol: not symbol.nested
    yield lambda _, symbol: symbol.name == name
    yield lambda _, symbol: _decorators(symbol.node) == _decorators(node)


def replace_definition(piece: DefinitionEdit) -> PlacedEdits:
    """Return the changed lines; an omitted docstring and omitted decorators are kept.

    Args:
        piece: A definition and the symbol it replaces.
    """
    old = piece.file.text.bodies
    was, node = piece.symbol.node, piece.node
    lines = reindent_definition(piece.code, node, old, was)
    if (text := docstring_node(was)) is not None and docstring_node(node) is None:
        at = _start(node.body[0]) - first_line(node)
        if (
            at > node.lineno - first_line(node)
            and was.lineno < text.lineno
            and _stands_alone(text, was)
        ):
            lines[at:at] = old[text.lineno - 1 : text.end_lineno]
    # Models rarely repeat decorators, and hardly ever mean to remove one.
    start = piece.symbol.first if node.decorator_list else was.lineno - 1
    changes = line_changes(old[start : piece.symbol.end], lines)
    splices = (
        Splice(start=start + a, end=start + b, lines=tuple(lines[c:d])) for a, b, c, d in changes
    )
    return PlacedEdits(path=piece.file.path, splices=tuple(splices))


def _start(statement: ast.stmt) -> int:
    return first_line(statement) if isinstance(statement, Definition) else statement.lineno


def _stands_alone(text: ast.stmt, node: Definition) -> bool:
    """Return True if a docstring shares its last line with no other statement."""
    return len(node.body) == 1 or _start(node.body[1]) > (text.end_lineno or text.lineno)


def _names(body: Sequence[ast.stmt]) -> list[str]:
    """Return the names that the statements of a class define."""
    found: list[str] = []
    for each in body:
        if isinstance(each, Definition):
            found.append(each.name)
        elif isinstance(each, ast.Assign | ast.AnnAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            found += [target.id for target in targets if isinstance(target, ast.Name)]
    return found


def _is_shown(file: ParsedFile, symbol: Symbol) -> bool:
    return not file.regions or any(
        first <= symbol.end and last > symbol.first for first, last in file.regions
    )


def _is_method(node: Definition) -> bool:
    if isinstance(node, ast.ClassDef):
        return False
    arguments = [*node.args.posonlyargs, *node.args.args]
    return bool(arguments) and arguments[0].arg in {"self", "cls"}


def _decorators(node: Definition) -> list[str]:
    return [normal_form(each) for each in node.decorator_list]
