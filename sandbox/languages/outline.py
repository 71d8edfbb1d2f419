"""Definitions, imports and constants of one source file, in any language."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

Span = tuple[int, int]
"""First and last line, from 1."""
TITLES = " > "
"""Between the titles of suites and tests, as in the names of our records."""


class DefinitionKind(StrEnum):
    """The kind of a definition."""

    FUNCTION = "function"
    """A function or method."""
    CLASS = "class"
    """A class or another type, or a namespace or object with functions."""
    SUITE = "suite"
    """A group of tests: `describe` in JavaScript."""
    TEST = "test"
    """A test with a title instead of a name."""
    SETUP = "setup"
    """Code that runs before or after every test of its suite."""


@dataclass(frozen=True)
class Definition:
    """A function, method, class or test.

    Args:
        read_names: Returns every name read in it, attributes included.
    """

    name: str
    """Qualified name, such as `Cart.total`; of a test, its titles."""
    kind: DefinitionKind
    first: int
    """Includes decorators, and comments directly above."""
    line: int
    """The line with its name."""
    body: int
    """First line of its body."""
    last: int
    read_names: Callable[[], frozenset[str]]
    arguments: tuple[str, ...] = ()
    """Names of its parameters; empty for a class."""
    signature: str = ""
    """Name and parameters; the name alone if the language's parameters are not listed."""

    @property
    def is_class(self) -> bool:
        """Return True if it only contains other definitions."""
        return self.kind in {DefinitionKind.CLASS, DefinitionKind.SUITE}

    @property
    def is_titled(self) -> bool:
        """Return True for parts of a test file, which no code can name."""
        return self.kind in {DefinitionKind.SUITE, DefinitionKind.TEST, DefinitionKind.SETUP}

    @property
    def owner(self) -> str:
        """Return the name of the definition around it; empty if there is none."""
        return self.name.rpartition(TITLES if self.is_titled else ".")[0]

    @property
    def last_name(self) -> str:
        """Return the last part of its name: `total` for `Cart.total`; empty for a test."""
        return "" if self.is_titled else self.name.rpartition(TITLES)[2].rpartition(".")[2]

    @cached_property
    def names(self) -> frozenset[str]:
        """Return every name read in it, attributes included."""
        return self.read_names()


@dataclass(frozen=True)
class Import:
    """One import statement."""

    first: int
    last: int
    modules: tuple[str, ...]
    """Names as its language writes them; also names that may be modules."""


@dataclass(frozen=True)
class Outline:
    """Definitions, imports and constants of one file."""

    definitions: tuple[Definition, ...] = ()
    """Outer ones first; none inside functions, except tests."""
    imports: tuple[Import, ...] = ()
    constants: tuple[tuple[str, Span], ...] = ()
    """Module constants and types, with their lines."""


class Names:
    """Every name read in a file, by place.

    Args:
        found: Start of each name, and the name; in order.
    """

    def __init__(self, found: list[tuple[int, str]]) -> None:
        self._starts = [start for start, _ in found]
        self._names = [name for _, name in found]
        self.all = frozenset(self._names)

    def between(self, start: int, end: int) -> frozenset[str]:
        """Return the names that start in a range of bytes."""
        low, high = bisect_left(self._starts, start), bisect_left(self._starts, end)
        return frozenset(self._names[low:high])
