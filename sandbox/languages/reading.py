"""Read source files of other languages than Python: their outline, and what cannot be parsed.

The parsers are loaded when the first such file is met.
"""

from collections import Counter
from typing import Any, Protocol

from sandbox.languages import GO, JAVASCRIPT, RUST, TYPESCRIPT, find_language
from sandbox.languages.outline import Outline


class Reader(Protocol):
    """Functions of the module of one language."""

    def grammar_for(self, path: str, /) -> Any:
        """Return the grammar of a file."""

    def read_outline(self, tree: Any, /) -> Outline:
        """Return what a file defines and imports."""


def read_outline(path: str, text: str) -> Outline | None:
    """Return what a file defines and imports; None if there is no reader or it is too large.

    Args:
        path: Its path, which names its language.
        text: Its text; hostile.
    """
    reader = _reader(path)
    if reader is None:
        return None
    tree = _parse(path, text, reader)
    return reader.read_outline(tree) if tree is not None else None


def new_syntax_error(path: str, old: str, new: str) -> str | None:
    """Return a syntax error that an edit adds, with its line; None if there is none.

    Text with errors may use newer syntax than the parser knows, so only more errors than before
    count.

    Args:
        path: The file.
        old: Its text before; empty for a new file.
        new: Its text after.
    """
    reader = _reader(path)
    if reader is None:
        return None
    after = _parse(path, new, reader)
    before = _parse(path, old, reader)
    if after is None:
        return "it is too large or takes too long to parse" if before is not None else None
    if before is None:
        return None
    errors, old_errors = after.errors, before.errors
    if len(errors) <= len(old_errors):
        return None
    known = Counter(words for _, words in old_errors)
    for line, words in errors:
        if not known[words]:
            return f"line {line}: {words}"
        known[words] -= 1
    return None


def _reader(path: str) -> Reader | None:
    language = find_language(path)
    if language in {JAVASCRIPT, TYPESCRIPT}:
        from sandbox.languages import javascript

        return javascript
    if language == GO:
        from sandbox.languages import go

        return go
    if language == RUST:
        from sandbox.languages import rust

        return rust
    return None


def _parse(path: str, text: str, reader: Reader) -> Any:
    from sandbox.languages.syntax_tree import parse_text

    return parse_text(text, reader.grammar_for(path))
