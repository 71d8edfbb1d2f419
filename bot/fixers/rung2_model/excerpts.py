"""Choose excerpts of files up to a size limit; omissions are listed by name."""

from itertools import accumulate

from bot.domain.model import Passage
from bot.fixers.rung2_model.budget import FILE_TOKENS, FUNCTION_TOKENS, PromptSpace, characters
from bot.fixers.rung2_model.edits import SentFile
from bot.fixers.rung2_model.sources import Excerpt, Files, Source
from sandbox.changes import PathClass, is_protected, is_safe_path, protected_class
from sandbox.languages.outline import Definition, Span

FILE = characters(FILE_TOKENS)
FUNCTION = characters(FUNCTION_TOKENS)
_MARKS = 120
"""Cost of a passage besides its text, in characters."""


class Excerpts:
    """Excerpts of files within one size limit.

    Args:
        files: Files of the checkout.
        room: Space for all excerpts.
        label: Label of the passages.
    """

    def __init__(self, files: Files, room: PromptSpace, label: str) -> None:
        self._files = files
        self._room = room
        self._label = label
        self._of: dict[str, Excerpt] = {}
        self.cut: list[str] = []
        """Names of omitted parts."""

    @property
    def shown(self) -> tuple[Excerpt, ...]:
        """Return every file of which something is shown."""
        return tuple(excerpt for excerpt in self._of.values() if excerpt.chosen)

    @property
    def passages(self) -> tuple[Passage, ...]:
        """Return one passage per file."""
        return tuple(
            Passage(label=self._label, text=excerpt.text, origin=excerpt.source.path)
            for excerpt in self.shown
        )

    @property
    def sent(self) -> tuple[SentFile, ...]:
        """Return the shown files for the edit parser."""
        return tuple(
            SentFile(
                path=excerpt.source.path,
                text=excerpt.source.text,
                regions=excerpt.spans,
                editable=not is_protected(excerpt.source.path),
            )
            for excerpt in self.shown
        )

    @property
    def lines(self) -> frozenset[str]:
        """Return the shown lines, stripped."""
        return frozenset(
            excerpt.source.lines[number - 1].strip()
            for excerpt in self.shown
            for number in excerpt.chosen
        ) - {""}

    async def add_line(self, path: str, line: int) -> None:
        """Add the code at a line: a small file whole, else its function, else surrounding lines.

        Args:
            path: Path in the checkout; ignored if it is missing or may not be shown.
            line: Line number, from 1.
        """
        source = await self._source(path)
        if source is None:
            return
        if len(source.text) <= FILE:
            self._add(source, (1, len(source.lines)), "the whole file")
            return
        whole = source.at(line)
        name, span = source.region(line, min(FUNCTION, self._room.left))
        self._add(source, span, name)
        if whole is not None and (whole.first, whole.last) != span:
            self.cut.append(f"{path}: {whole.name} (lines {whole.first}-{whole.last} in all)")

    async def add_name(self, path: str, name: str) -> bool:
        """Add a definition by name.

        Args:
            path: Path in the checkout.
            name: A name such as `Cart.total`, or its last part.

        Returns:
            True if there is one.
        """
        source = await self._source(path)
        found = source.named(name) if source is not None else None
        if source is None or found is None:
            return False
        self.add_definition(source, found)
        return True

    def add_definition(self, source: Source, definition: Definition) -> None:
        """Add a definition of a file that may be shown."""
        if may_be_shown(source.path):
            self._add(source, (definition.first, definition.last), definition.name)

    async def add_lines(self, path: str, first: int, last: int) -> bool:
        """Add some lines of a file.

        Args:
            path: Path in the checkout.
            first: First line, from 1.
            last: Last line; lines beyond the end are ignored.

        Returns:
            True if the file has such lines.
        """
        source = await self._source(path)
        if source is None or not 1 <= first <= min(last, len(source.lines)):
            return False
        self._add(source, (first, min(last, len(source.lines))), "lines")
        return True

    async def add_file(self, path: str) -> bool:
        """Add the beginning of a file, as far as it fits.

        Args:
            path: Path in the checkout.

        Returns:
            True if any of it is shown.
        """
        source = await self._source(path)
        if source is None:
            return False
        sizes = accumulate(len(line) + 1 for line in source.lines)
        # Sizes are cumulative, so this counts the lines that fit.
        last = sum(size + _MARKS <= self._room.left for size in sizes)
        self._add(source, (1, last), "its beginning")
        if last < len(source.lines):
            self.cut.append(f"{path} from line {last + 1} on")
        return last > 0

    async def _source(self, path: str) -> Source | None:
        if not may_be_shown(path):
            return None
        return await self._files.source(path)

    def _add(self, source: Source, span: Span, name: str) -> None:
        excerpt = self._of.setdefault(source.path, Excerpt(source))
        missing = excerpt.missing(span)
        if not missing:
            return
        if not self._room.take(missing + (0 if excerpt.chosen else _MARKS)):
            self.cut.append(f"{source.path}: {name} (lines {span[0]}-{span[1]})")
            return
        excerpt.add(span)
        for helpful in source.around(span):
            if self._room.take(excerpt.missing(helpful)):
                excerpt.add(helpful)


def may_be_shown(path: str) -> bool:
    """Return True if a model may see a file of the checkout.

    Args:
        path: Path in the checkout.
    """
    return is_safe_path(path) and protected_class(path) is not PathClass.SECRETS
