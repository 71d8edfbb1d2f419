"""Parse Python on the host, never run it; what cannot be parsed safely counts as not parsed."""

import ast
import warnings

from sandbox.guest.nesting import nesting_of

MAX_PARSED_CHARACTERS = 400_000
MAX_NESTING = 90


def is_python(path: str) -> bool:
    """Whether a file is Python by its name."""
    return path.endswith((".py", ".pyi"))


def parse(text: str) -> ast.Module | None:
    """The syntax tree, or None when there is none or it is not safe to build."""
    parsed = _parsed(text)
    return parsed if isinstance(parsed, ast.Module) else None


def why_not_parsed(text: str) -> str | None:
    """What is wrong with the syntax of a text, with the line; None when nothing is."""
    parsed = _parsed(text)
    return parsed if isinstance(parsed, str) else None


def _parsed(text: str) -> ast.Module | str:
    if len(text) > MAX_PARSED_CHARACTERS or nesting_of(text) > MAX_NESTING:
        return "it is too large or nested too deeply"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError):
        return "it cannot be read"


def same_program(old: str, new: str) -> bool:
    """Whether two texts mean the same to Python: only layout and comments differ."""
    before, after = parse(old), parse(new)
    if before is None or after is None:
        return False
    try:
        return ast.dump(before) == ast.dump(after)
    except RecursionError:
        return False
