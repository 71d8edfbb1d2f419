"""Parse Python on the host without running it. Unsafe input counts as unparsable."""

import ast
import re
import warnings

from sandbox.guest.nesting import measure_nesting
from sandbox.languages import PYTHON

MAX_PARSED_CHARACTERS = 400_000
MAX_NESTING = 90
_HUGE_NUMBER = re.compile(
    r"0x[0-9a-f_]{3500}|0o[0-7_]{4700}|0b[01_]{14000}", re.IGNORECASE | re.ASCII
)
"""Numbers that Python reads but refuses to write: their text has more than 4,300 digits."""


def is_python(path: str) -> bool:
    """Return True if a file name has a Python suffix."""
    return path.endswith((*PYTHON.suffixes, *PYTHON.stub_suffixes))


def parse(text: str) -> ast.Module | None:
    """Return the syntax tree, or None if the text is invalid or unsafe to parse."""
    parsed = _parse(text)
    return parsed if isinstance(parsed, ast.Module) else None


def find_syntax_error(text: str) -> str | None:
    """Return the syntax error of a text with its line; None if there is none."""
    parsed = _parse(text)
    return parsed if isinstance(parsed, str) else None


def _parse(text: str) -> ast.Module | str:
    # ast.parse can exhaust memory or the C stack on huge or deeply nested input.
    is_large = len(text) > MAX_PARSED_CHARACTERS or has_huge_number(text)
    if is_large or measure_nesting(text) > MAX_NESTING:
        return "it is too large or nested too deeply"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError):
        return "it cannot be read"


def has_huge_number(text: str) -> bool:
    """Return True if a text has a number that is too long to be written in decimal."""
    return _HUGE_NUMBER.search(text) is not None


def unparse(node: ast.AST) -> str:
    """Return the source of a node; empty if it is nested too deeply."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return ""


def same_program(old: str, new: str) -> bool:
    """Return True if two texts differ only in layout and comments."""
    before, after = parse(old), parse(new)
    if before is None or after is None:
        return False
    try:
        return ast.dump(before) == ast.dump(after)
    except RecursionError:
        return False
