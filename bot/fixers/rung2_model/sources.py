"""Source files as shown in a prompt: the relevant lines, found by the syntax tree if possible."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from bot.fixers.rung2_model.budget import PromptSpace
from bot.fixers.rung2_model.python_outline import read_python
from bot.ports import Workspace
from sandbox.changes.syntax import is_python
from sandbox.errors import ChangeRejected
from sandbox.languages import is_read_source
from sandbox.languages.modules import CheckoutModules, settings_for
from sandbox.languages.outline import TITLES, Definition, DefinitionKind, Import, Outline, Span
from sandbox.languages.reading import read_outline

AROUND = 25
"""Lines shown on either side of a suspect line if its function is too large or missing."""
_GAP = "[... lines {}-{} are not shown ...]"
_BRIDGED = 2
"""Gaps up to this many lines are shown instead of marked."""
_CONSTANT_LINES = 40
"""Longest module constant that is shown with a function that reads it, in lines."""
_GAPS = re.compile(r"%(?:\.\d{1,3})?[sdifjoOpc#$]|\$\{[^}]{0,200}\}|\$[\w.]{1,100}")
"""Gaps for parameters in the title of a test."""
_HEADER_LINES = 12
_IMPORTS = 60
_HEADER = 200
_PARSED = 400_000
"""Total size of files parsed for one prompt, in characters. It bounds the time on a hostile
checkout."""


class Source:
    """A source file.

    Args:
        path: Path in the checkout.
        text: Its content.
        parsed: True if it may be parsed.
        room: Size of the files that may still be parsed; None for no limit.
    """

    def __init__(
        self, path: str, text: str, *, parsed: bool = True, room: PromptSpace | None = None
    ) -> None:
        self.path = path
        self.text = text
        self.lines = _lines(text)
        self._parsed = parsed
        self._room = room

    @cached_property
    def _outline(self) -> Outline:
        """Return what it defines; nothing if it is not or cannot be parsed."""
        known = is_python(self.path) or is_read_source(self.path)
        if not (self._parsed and known) or (self._room and not self._room.take(len(self.text))):
            return Outline()
        read = read_python if is_python(self.path) else read_outline
        return read(self.path, self.text) or Outline()

    @property
    def imports(self) -> tuple[Import, ...]:
        """Return the first imports of the module."""
        return self._outline.imports[:_IMPORTS]

    @cached_property
    def constants(self) -> dict[str, Span]:
        """Return the lines of short module constants, by name."""
        found = self._outline.constants
        return {name: span for name, span in found if span[1] - span[0] < _CONSTANT_LINES}

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """Return functions, classes and methods in order, except those inside functions."""
        return self._outline.definitions

    @property
    def functions(self) -> tuple[Definition, ...]:
        """Return the functions and methods."""
        return tuple(one for one in self.definitions if not one.is_class)

    def at(self, line: int) -> Definition | None:
        """Return the innermost function, method or test that contains a line."""
        found = [one for one in self.functions if one.first <= line <= one.last]
        return found[-1] if found else None

    def named(self, name: str) -> Definition | None:
        """Return a definition by its qualified name, or the first with this last name."""
        exact = (one for one in self.definitions if one.name == name)
        return next(exact, None) or next(
            (one for one in self.definitions if name and one.last_name == name), None
        )

    def test(self, name: str) -> Definition | None:
        """Return a test by its titles, also if they have gaps for parameters.

        Args:
            name: Such as `cart > adds 2`, which `cart > adds %i` may be.
        """
        tests = [one for one in self.definitions if one.kind is DefinitionKind.TEST]
        exact = (one for one in tests if one.name == name)
        gaps = (one for one in tests if _fits(name, one.name))
        if found := next(exact, None) or next(gaps, None):
            return found
        # The title of a suite may be computed.
        title = name.rpartition(TITLES)[2]
        last = [one for one in tests if one.name.rpartition(TITLES)[2] == title]
        return last[0] if len(last) == 1 else None

    def setup(self, test: Definition) -> tuple[Definition, ...]:
        """Return the code that runs before and after a test."""
        return tuple(
            one
            for one in self.definitions
            if one.kind is DefinitionKind.SETUP
            and (not one.owner or f"{test.owner}{TITLES}".startswith(f"{one.owner}{TITLES}"))
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
        start = definition.line
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
            yield node.first, node.last
        for name in sorted(used & self.constants.keys()):
            yield self.constants[name]
        for one in inside:
            yield one.first, max(one.line, min(one.body - 1, one.first + _HEADER_LINES))


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
        self._room = PromptSpace(_PARSED)

    async def paths(self) -> frozenset[str]:
        """Return every path of the checkout."""
        if self._paths is None:
            self._paths = frozenset(await self._workspace.list_files())
        return self._paths

    async def source(self, path: str) -> Source | None:
        """Return a file, or None if it is missing or not text."""
        if path not in self._read:
            found: Source | None = None
            with suppress(ChangeRejected):
                text = await self._workspace.read_file(path)
                if text is not None and "\0" not in text and "\ufffd" not in text:
                    found = Source(path, text, room=self._room)
            self._read[path] = found
        return self._read[path]

    async def checkout(self, path: str) -> CheckoutModules:
        """Return what is known of the checkout to find the files that a file imports."""
        paths = await self.paths()
        read = [await self.source(one) for one in settings_for(path, paths)]
        return CheckoutModules(paths, {one.path: one.text for one in read if one is not None})


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


def _fits(name: str, title: str) -> bool:
    """Return True if a test's name can come from a title with gaps such as `%s` and `$value`."""
    first, *rest = _GAPS.split(title)
    if not rest or not name.startswith(first) or not name.endswith(rest[-1]):
        return False
    at = len(first)
    for piece in rest[:-1]:
        at = name.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return at <= len(name) - len(rest[-1])
