"""Examples in docstrings, which state expected results; every survivor is tested on them."""

from __future__ import annotations

import ast
import doctest
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

MOST = 20
MOST_TEXT = 6000
ARROW = r"(?:==|=>|->|➞|→|⇒|=|#=>|#\s*=>|returns?|should return|should be|gives?|is|\u27f9)"


class Example(NamedTuple):
    """A call as source text, with its expected `repr` or its expected value as source text."""

    function: Any
    call: str
    wanted: str
    exactly: bool
    """True if the text is terminal output."""

    def thunk(self) -> Callable[[], Any]:
        """Return a function that makes the call in the function's module namespace."""
        scope: Dict[str, Any] = dict(self.function.__globals__)
        return lambda: eval(self.call, scope)


def find_examples(functions: Sequence[Any]) -> List[Example]:
    """Return the examples in the docstrings of these functions."""
    found: Dict[str, Example] = {}
    for function in functions:
        text = getattr(function, "__doc__", None)
        if not isinstance(text, str) or not text.strip():
            continue
        for example in [
            *_of_terminal(function, text[:MOST_TEXT]),
            *_of_prose(function, text[:MOST_TEXT]),
        ]:
            found.setdefault(example.call, example)
    return list(found.values())[:MOST]


def _of_terminal(function: Any, text: str) -> List[Example]:
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return []
    found = []
    for example in examples:
        source, want = example.source.strip(), example.want.strip()
        if want and not want.startswith("Traceback") and _calls_function(source, function.__name__):
            found.append(Example(function, source, want, exactly=True))
    return found


def _of_prose(function: Any, text: str) -> List[Example]:
    name = re.escape(function.__name__)
    found = []
    for line in text.splitlines():
        if line.lstrip().startswith(">>>"):
            continue
        for match in re.finditer(rf"(?<![\w.]){name}\(", line):
            split = _call_and_rest(line[match.start() :])
            wanted = _wanted(split[1]) if split else None
            if split and wanted is not None and _calls_function(split[0], function.__name__):
                found.append(Example(function, split[0], wanted, exactly=False))
    return found


def _call_and_rest(text: str) -> Optional[List[str]]:
    """Split `f(1, [2]) == 3` into `f(1, [2])` and ` == 3`."""
    for end in [i + 1 for i, letter in enumerate(text[:400]) if letter == ")"]:
        try:
            ast.parse(text[:end], mode="eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
        return [text[:end], text[end:]]
    return None


def _wanted(rest: str) -> Optional[str]:
    """Return the longest literal after an arrow, or None."""
    match = re.match(rf"[`'\"]?\s*{ARROW}\s*", rest)
    if match is None:
        return None
    text = rest[match.end() :].strip()
    for end in sorted(
        {len(text), *(m.start() for m in re.finditer(r"[\s,.;#`]", text))}, reverse=True
    ):
        piece = text[:end].rstrip(" .,;`")
        try:
            ast.literal_eval(piece)
        except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
            continue
        return piece
    return None


def _calls_function(source: str, name: str) -> bool:
    """Return True if the source contains a call of the function."""
    try:
        node = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return any(
        isinstance(inner, ast.Call)
        and ((isinstance(inner.func, ast.Name) and inner.func.id == name)
             or (isinstance(inner.func, ast.Attribute) and inner.func.attr == name))
        for inner in ast.walk(node)
    )  # fmt: skip


def broken(examples: Sequence[Example], run: Callable[[Callable[[], Any]], Any]) -> List[int]:
    """Return the indexes of the examples that fail.

    Args:
        examples: The examples.
        run: Calls under limits; raises the call's exception.
    """
    return [number for number, example in enumerate(examples) if not _holds(example, run)]


def _holds(example: Example, run: Callable[[Callable[[], Any]], Any]) -> bool:
    try:
        value = run(example.thunk())
        if not example.exactly:
            return bool(value == ast.literal_eval(example.wanted))
        if value is None:
            return False
        shown = repr(value)
        if shown == example.wanted or doctest.OutputChecker().check_output(
            example.wanted + "\n", shown + "\n", doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        ):
            return True
        return bool(value == ast.literal_eval(example.wanted.splitlines()[0].strip()))
    except BaseException:
        return False
