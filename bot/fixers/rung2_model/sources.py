"""Source files as shown in a prompt: the relevant lines, found by the syntax tree if possible."""

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from bot.ports import Workspace
from sandbox.changes.syntax import is_python, parse
from sandbox.errors import ChangeRejected

AROUND = 25
"""Lines shown on either side of a suspect line if its function is too large or missing."""
_GAP = "[... lines {}-{} are not shown ...]"
_BRIDGED = 2
"""Gaps up to this many lines are shown instead of marked."""
_CONSTANT_LINES = 40
"""Longest module constant that is shown with a function that reads it, in lines."""
_HEADER_LINES = 12
_HEADER = 200
_IMPORTS = 60
_STATEMENTS = 3_000
_PARSED = 400_000
"""Total size of files parsed for one prompt, in characters. It bounds the time on a hostile
checkout."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Span = tuple[int, int]
"""First and last line, from 1."""


@dataclass(frozen=True)
class Definition:
    """A function, method or class."""

    name: str
    """Qualified name, such as `Cart.total`."""
    node: Function | ast.ClassDef
    first: int
    """Includes decorators."""
    last: int
    body: int
    """First line of its body."""

    @property
    def is_class(self) -> bool:
        """Return True for a class."""
        return isinstance(self.node, ast.ClassDef)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return the names of its parameters; empty for a class."""
        if isinstance(self.node, ast.ClassDef):
            return ()
        given = self.node.args
        return tuple(
            argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)
        )

    @cached_property
    def names(self) -> frozenset[str]:
        """Return every name read in it, attributes included."""
        found = set()
        for node in ast.walk(self.node):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
        return frozenset(found)


class Source:
    """A source file.

    Args:
        path: Path in the checkout.
        text: Its content.
        parsed: True if it may be parsed when it is Python.
    """

    def __init__(self, path: str, text: str, *, parsed: bool = True) -> None:
        self.path = path
        self.text = text
        self.lines = _lines(text)
        self._parsed = parsed and is_python(path)

    @cached_property
    def tree(self) -> ast.Module | None:
        """Return the syntax tree; None if there is none or parsing is not permitted."""
        return parse(self.text) if self._parsed else None

    @cached_property
    def imports(self) -> tuple[ast.Import | ast.ImportFrom, ...]:
        """Return the first imports of the module."""
        body = self.tree.body if self.tree else []
        return tuple(
            islice(
                (node for node in body if isinstance(node, ast.Import | ast.ImportFrom)), _IMPORTS
            )
        )

    @cached_property
    def constants(self) -> dict[str, Span]:
        """Return the lines of short module constants, by name."""
        found: dict[str, Span] = {}
        for node in self.tree.body[:_STATEMENTS] if self.tree else []:
            last = node.end_lineno or node.lineno
            if last - node.lineno < _CONSTANT_LINES:
                found.update(dict.fromkeys(_assigned(node), (node.lineno, last)))
        return found

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """Return functions, classes and methods in order, except those inside functions."""
        return tuple(_definitions(self.tree.body, "")) if self.tree else ()

    @property
    def functions(self) -> tuple[Definition, ...]:
        """Return the functions and methods."""
        return tuple(one for one in self.definitions if not one.is_class)

    def at(self, line: int) -> Definition | None:
        """Return the function or method that contains a line."""
        return next((one for one in self.functions if one.first <= line <= one.last), None)

    def named(self, name: str) -> Definition | None:
        """Return a definition by its qualified name, or the first with this last name."""
        exact = (one for one in self.definitions if one.name == name)
        return next(exact, None) or next(
            (o for o in self.definitions if o.name.rpartition(".")[2] == name), None
        )

    def shown(self, spans: Iterable[Span]) -> str:
        """Return the lines of some spans, with a note for each gap."""
        pieces, at = list[str](), 1
        for first, last in spans:
            if first > at:
                pieces.append(_GAP.format(at, first - 1))
            pieces += self.lines[first - 1 : last]
            at = last + 1
        if at <= len(self.lines):
            pieces.append(_GAP.format(at, len(self.lines)))
        return "\n".join(pieces)

    def size(self, span: Span) -> int:
        """Return the number of characters of some lines."""
        return sum(len(line) + 1 for line in self.lines[span[0] - 1 : span[1]])

    def header(self, definition: Definition) -> str:
        """Return a definition's signature in one line: `def add(a, b):`."""
        start = definition.node.lineno
        text = " ".join(
            line.strip() for line in self.lines[start - 1 : max(start, definition.body - 1)]
        )
        return text[:_HEADER]

    def window(self, line: int) -> Span:
        """Return the lines around a line."""
        line = min(max(1, line), max(1, len(self.lines)))
        return max(1, line - AROUND), min(len(self.lines), line + AROUND)

    def region(self, line: int, most: int) -> tuple[str, Span]:
        """Return the code to show at a line: its small function, else the lines around it.

        Args:
            line: The suspect line.
            most: Maximum size of a function shown whole, in characters.

        Returns:
            Its name and its lines.
        """
        function = self.at(line)
        if function is None:
            first, last = self.window(line)
            return f"lines {first}-{last}", (first, last)
        whole = function.first, function.last
        if self.size(whole) <= most:
            return function.name, whole
        first, last = self.window(line)
        return function.name, (max(first, function.first), min(last, function.last))

    def around(self, span: Span) -> Iterator[Span]:
        """Yield spans for context: imports, module constants in use, enclosing headers."""
        inside = [one for one in self.definitions if one.first <= span[1] and span[0] <= one.last]
        used = frozenset[str]().union(*(one.names for one in inside if not one.is_class))
        for node in self.imports:
            yield node.lineno, node.end_lineno or node.lineno
        for name in sorted(used & self.constants.keys()):
            yield self.constants[name]
        for one in inside:
            yield one.first, max(one.node.lineno, min(one.body - 1, one.first + _HEADER_LINES))


@dataclass
class Excerpt:
    """The shown lines of one file."""

    source: Source
    chosen: set[int] = field(default_factory=set)

    @property
    def spans(self) -> tuple[Span, ...]:
        """Return the shown lines as spans."""
        spans = list[Span]()
        for line in sorted(self.chosen):
            if spans and line - spans[-1][1] <= _BRIDGED + 1:
                spans[-1] = (spans[-1][0], line)
            else:
                spans.append((line, line))
        return tuple(spans)

    @property
    def text(self) -> str:
        """Return the shown text."""
        return self.source.shown(self.spans)

    def missing(self, span: Span) -> int:
        """Return the number of characters a span would add."""
        lines = self.source.lines
        return sum(len(lines[n - 1]) + 1 for n in _within(span, lines) if n not in self.chosen)

    def add(self, span: Span) -> None:
        """Show these lines as well."""
        self.chosen.update(_within(span, self.source.lines))


class Files:
    """The checkout's text files, each read once.

    Args:
        workspace: The checkout.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._read: dict[str, Source | None] = {}
        self._paths: frozenset[str] | None = None
        self._left = _PARSED

    async def paths(self) -> frozenset[str]:
        """Return every path of the checkout."""
        if self._paths is None:
            self._paths = frozenset(await self._workspace.list_files())
        return self._paths

    async def source(self, path: str) -> Source | None:
        """Return a file, or None if it is missing or not text."""
        if path not in self._read:
            text = None
            with suppress(ChangeRejected):
                text = await self._workspace.read_file(path)
            readable = text is not None and "\0" not in text and "\ufffd" not in text
            self._read[path] = self._source(path, text) if text is not None and readable else None
        return self._read[path]

    def _source(self, path: str, text: str) -> Source:
        parsed = len(text) <= self._left
        self._left -= len(text) if parsed else 0
        return Source(path, text, parsed=parsed)


def changed_functions(before: Source, after: Source) -> tuple[str, ...]:
    """Return the names of functions that are new or changed.

    Args:
        before: A file.
        after: The same file after the change.
    """
    known = {one.name: before.lines[one.first - 1 : one.last] for one in before.functions}
    return tuple(
        one.name
        for one in after.functions
        if known.get(one.name) != after.lines[one.first - 1 : one.last]
    )


def _lines(text: str) -> tuple[str, ...]:
    """Split text as the syntax tree counts lines; only newlines end one."""
    lines = text.replace("\r\n", "\n").split("\n")
    return tuple(lines[:-1] if lines[-1] == "" else lines)


def _within(span: Span, lines: tuple[str, ...]) -> range:
    return range(max(1, span[0]), min(len(lines), span[1]) + 1)


def _definitions(body: Iterable[ast.stmt], inside: str) -> Iterator[Definition]:
    for node in body:
        if not isinstance(node, Function | ast.ClassDef):
            continue
        name = f"{inside}{node.name}"
        first = min((decorator.lineno for decorator in node.decorator_list), default=node.lineno)
        yield Definition(name, node, first, node.end_lineno or node.lineno, node.body[0].lineno)
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{name}.")


def _assigned(node: ast.stmt) -> set[str]:
    """Return the names that a module statement binds."""
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    return {
        name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
    }
