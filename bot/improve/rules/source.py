"""A parsed Python file and edits of its bytes, so that comments and layout stay as they are."""

import ast
import builtins
import io
import re
import tokenize
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sandbox.types import Frozen

_LINE_END = re.compile(rb"\r\n|\r|\n")
_WORD = re.compile(rb"(?<![\w\x80-\xff.])[\w\x80-\xff]+")
_BOM = b"\xef\xbb\xbf"
_REFLECTIVE = frozenset({"eval", "exec", "globals", "locals", "vars", "dir", "__import__"})
"""Builtins that can reach a name without spelling it."""
_BUILTINS = frozenset(dir(builtins))
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
Function = ast.FunctionDef | ast.AsyncFunctionDef
Block = list[ast.stmt]


class SpliceEdit(Frozen):
    """A replacement of the bytes from `start` to `end`."""

    start: int
    end: int
    text: bytes = b""


@dataclass(frozen=True)
class Rule:
    """One kind of improvement."""

    name: str
    title: str
    """With `{things}` for the number of places and their noun."""
    noun: str
    reason: str
    """The proof that behaviour stays the same."""
    find: "Callable[[PythonFile], Iterator[SpliceEdit]]"
    plural: str = ""
    """The plural of the noun; the noun with an `s` by default."""
    same_tree: bool = False
    """The edits may only change layout: the file must parse to the same syntax tree."""


class PythonFile:
    """A Python file.

    Args:
        path: Its path in the project.
        content: Its bytes, without a byte order mark.
        tree: Its syntax tree.
        exported: Names that other files of the project may take from it.
        bom: The byte order mark, if it has one.
    """

    def __init__(
        self,
        path: str,
        content: bytes,
        tree: ast.Module,
        *,
        exported: frozenset[str] = frozenset(),
        bom: bytes = b"",
    ) -> None:
        self.path = path
        self.content = content
        self.tree = tree
        self.exported = exported
        self._bom = bom
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(content))]

    @classmethod
    def parse(
        cls, path: str, content: bytes, exported: frozenset[str] = frozenset()
    ) -> "PythonFile | None":
        """Parse a file; None if it is no Python of this version.

        Args:
            path: Its path in the project.
            content: Its bytes.
            exported: Names that other files may take from it.
        """
        bom = _BOM if content.startswith(_BOM) else b""
        content = content.removeprefix(_BOM)
        try:
            # Parsing bytes with a coding cookie would give columns of another encoding.
            tree = ast.parse(content.decode())
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        # The parser ends lines at form feeds in no case, but we would miscount after them.
        return None if b"\f" in content else cls(path, content, tree, exported=exported, bom=bom)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Return all nodes."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def outside_strings(self) -> tuple[ast.AST, ...]:
        """Return the nodes outside of f-strings, whose places are unreliable before Python 3.12."""
        strings = (node for node in self.nodes if isinstance(node, ast.JoinedStr))
        inside = {id(inner) for string in strings for inner in ast.walk(string)}
        return tuple(node for node in self.nodes if id(node) not in inside)

    @cached_property
    def tokens(self) -> tuple[tokenize.TokenInfo, ...]:
        """Return all tokens; none if the file cannot be split."""
        try:
            text = self.content.decode()
            return tuple(tokenize.generate_tokens(io.StringIO(text, newline="").readline))
        except (tokenize.TokenError, SyntaxError):
            return ()

    def token_span(self, token: tokenize.TokenInfo) -> tuple[int, int]:
        """Return the offsets of a token."""
        # Tokens count characters, edits count bytes.
        line, column = token.start
        first = self.offset(line, len(token.line[:column].encode()))
        return first, first + len(token.string.encode())

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Return all functions."""
        return tuple(node for node in self.nodes if isinstance(node, _FUNCTION))

    @cached_property
    def is_reflective(self) -> bool:
        """Return True if code may reach names without spelling them."""
        return any(isinstance(n, ast.Name) and n.id in _REFLECTIVE for n in self.nodes)

    @cached_property
    def bound(self) -> frozenset[str]:
        """Return every name that the file binds anywhere; `*` for a star import."""
        return frozenset(name for node in self.nodes for name in bound_by(node))

    def is_builtin(self, node: ast.expr, *names: str) -> bool:
        """Return True if an expression is one of these builtins, and the file never rebinds it."""
        return (
            isinstance(node, ast.Name)
            and node.id in names
            and node.id in _BUILTINS
            and not {node.id, "*"} & self.bound
        )

    def blocks(self, root: ast.AST | None = None) -> Iterator[Block]:
        """Yield every list of statements."""
        for node in self.nodes if root is None else ast.walk(root):
            for field in ("body", "orelse", "finalbody"):
                block = getattr(node, field, None)
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    yield block

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place; lines are counted from 1, columns in bytes."""
        return self._starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt | ast.alias | ast.excepthandler) -> tuple[int, int]:
        """Return the offsets of a node."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def text(self, node: ast.expr | ast.stmt) -> bytes:
        """Return the bytes of a node."""
        start, end = self.span(node)
        return self.content[start:end]

    def count_word(self, word: str, start: int = 0, end: int | None = None) -> int:
        """Return how often a word occurs, in code, strings and comments."""
        places = self._places.get(word.encode(), [])
        last = len(self.content) if end is None else end
        return bisect_left(places, last) - bisect_left(places, start)

    @cached_property
    def _places(self) -> Mapping[bytes, list[int]]:
        """Return the offsets of every word, in order."""
        found = defaultdict(list)
        for word in _WORD.finditer(self.content):
            found[word[0]].append(word.start())
        return found

    def whole_lines(self, first: ast.stmt, last: ast.stmt) -> tuple[int, int] | None:
        """Return the lines of statements; None if other code shares them, or a directive does."""
        start, end = self.span(first)[0], self.span(last)[1]
        line_start = self._starts[first.lineno - 1]
        found = _LINE_END.search(self.content, end)
        line_end = found.end() if found else len(self.content)
        rest = self.content[end:line_end].strip()
        lines = self.content[line_start:line_end]
        before = self.content[line_start:start].strip()
        if before or (rest and not rest.startswith(b"#")) or b"noqa" in lines or b"pragma" in lines:
            return None
        # The line before must not continue into these lines.
        return (
            None
            if self.content[:line_start].rstrip(b"\r\n").endswith(b"\\")
            else (line_start, line_end)
        )

    def without_overlaps(self, edits: Iterable[SpliceEdit]) -> tuple[SpliceEdit, ...]:
        """Return edits in order; of two that overlap, the first one."""
        kept: list[SpliceEdit] = []
        for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
            if not kept or edit.start >= kept[-1].end:
                kept.append(edit)
        return tuple(kept)

    def is_same_tree(self, content: bytes) -> bool:
        """Return True if another version of the file parses to the same syntax tree.

        Args:
            content: Its bytes.
        """
        other = PythonFile.parse(self.path, content)
        return other is not None and ast.dump(other.tree) == ast.dump(self.tree)

    def spliced(self, edits: Iterable[SpliceEdit]) -> bytes:
        """Return the file with edits that do not overlap."""
        pieces, at = [self._bom], 0
        for edit in edits:
            pieces += [self.content[at : edit.start], edit.text]
            at = edit.end
        return b"".join([*pieces, self.content[at:]])


def is_plain(text: bytes) -> bool:
    """Return True for code on one line without comments.

    Args:
        text: The code.
    """
    return not set(b"\n\r#") & set(text)


def bound_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds itself."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield (alias.asname or alias.name).split(".")[0]
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        yield node.name or ""
    elif isinstance(node, ast.MatchMapping):
        yield node.rest or ""
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, without those of nested functions and classes."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def exported_names(stem: str, others: Iterable[str]) -> frozenset[str]:
    """Return names that other files may take from a module; `*` for all of them.

    Too many names are harmless: the rules then leave them alone.

    Args:
        stem: The module's last name.
        others: The texts of the other files.
    """
    names: set[str] = set()
    imported = re.compile(
        rf"from\s+[\w.]*\b{re.escape(stem)}\s+import\s+(\([^)]*\)|[^\n;]*(?:\\\n[^\n;]*)*)"
    )
    for text in others:
        if re.search(rf"\b{re.escape(stem)}\b", text):
            names |= {
                found for part in imported.findall(text) for found in re.findall(r"\w+|\*", part)
            }
            names |= set(re.findall(r"\.\s*(\w+)", text))
    return frozenset(names)
