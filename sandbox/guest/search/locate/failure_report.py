"""The failure of a test: its frames, its message, and the values that should have been equal."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from sandbox.guest.search.locate.values import Pair, find_differences, plain
from sandbox.guest.search.process.limits import TimeLimitExceeded

CHAIN = 4
"""Maximum number of exceptions in a chain."""
FRAMES = 60
MESSAGE = 600
MOST_PAIRS = 12

Frame = Tuple[str, int, int]
"""Path, line, and the first line of the code."""


class FailureReport(NamedTuple):
    """The failure of one test; every value can be written as JSON."""

    kind: str = ""
    message: str = ""
    frames: Tuple[Tuple[Frame, ...], ...] = ()
    """Frames of the checkout's source, outermost first.

    One tuple per exception of the chain, starting with the one that failed the test.
    """
    asserted: bool = False
    """True if the test itself raised, not a function of the checkout."""
    pairs: Tuple[Pair, ...] = ()
    """Compared values that differ, actual and expected in either order."""
    called: Tuple[str, ...] = ()
    """Names in the failing statement of the test."""

    @classmethod
    def from_json(cls, told: Any) -> FailureReport:
        """Read a failure from JSON data."""
        frames = tuple(tuple((str(p), int(a), int(b)) for p, a, b in one) for one in told[2])
        pairs = tuple((pair[0], pair[1]) for pair in told[4])
        return cls(
            str(told[0]), str(told[1]), frames, bool(told[3]), pairs, tuple(str(n) for n in told[5])
        )


def describe_failure(
    error: BaseException, place: Callable[[str], Optional[str]], root: str, *, evaluate: bool = True
) -> FailureReport:
    """Describe the exception of a test in the process that saw it.

    Args:
        error: The exception.
        place: Returns the path of an editable file by its absolute name, else None.
        root: The checkout.
        evaluate: Evaluate the sides of a failed assertion again; this runs the program and may take
            long.
    """
    chain = list(_chain(error))
    stacks = [list(_stack(one)) for one in chain]
    frames = tuple(
        tuple(
            (path, line, frame.f_code.co_firstlineno)
            for frame, line in stack
            if (path := place(_file(frame)))
        )
        for stack in stacks
    )
    own = [
        (n, frame, line)
        for n, (frame, line) in enumerate(stacks[0])
        if is_test(_file(frame), place, root)
    ]
    asserted = bool(own) and not any(place(_file(frame)) for frame, _ in stacks[0][own[-1][0] :])
    pairs: List[Pair] = []
    called: List[str] = []
    if own and not isinstance(error, TimeLimitExceeded):
        # The innermost frame of the tests holds the failing statement.
        number, frame, line = own[-1]
        statement = _statement(_file(frame), line)
        if statement is not None:
            called = [*dict.fromkeys(_names(statement))]
            pairs += _compared(statement, frame) if evaluate else []
        if asserted and number + 1 < len(stacks[0]) and not pairs:
            pairs += _helper_values(stacks[0][number + 1][0])
    return FailureReport(
        type(error).__name__,
        _text(error),
        frames,
        asserted,
        tuple(pairs[:MOST_PAIRS]),
        tuple(called[:40]),
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: List[BaseException] = []
    one: Optional[BaseException] = error
    while one is not None and one not in seen and len(seen) < CHAIN:
        seen.append(one)
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _stack(error: BaseException) -> Iterator[Tuple[Any, int]]:
    """Return the frames of a traceback, outermost first; of a deep recursion only both ends."""
    found: List[Tuple[Any, int]] = []
    step = error.__traceback__
    while step is not None:
        found.append((step.tb_frame, step.tb_lineno))
        step = step.tb_next
    yield from found if len(found) <= 2 * FRAMES else [*found[:FRAMES], *found[-FRAMES:]]


def _file(frame: Any) -> str:
    return str(frame.f_code.co_filename)


def is_test(filename: str, place: Callable[[str], Optional[str]], root: str) -> bool:
    """Return True for a file of the checkout that may not be edited."""
    inside = filename.startswith(root.rstrip("/") + "/") and "/site-packages/" not in filename
    return inside and place(filename) is None


def _text(error: BaseException) -> str:
    try:
        return str(error)[:MESSAGE]
    except Exception:  # the repository's own method
        return ""


def _statement(filename: str, line: int) -> Optional[ast.stmt]:
    """Return the innermost statement around a line, or None."""
    tree = parse_file(filename)
    if tree is None:
        return None
    best: Optional[ast.stmt] = None
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            best = node if best is None or node.lineno >= best.lineno else best
    return best


@lru_cache(maxsize=16)
def parse_file(filename: str) -> Optional[ast.Module]:
    """Return a file's syntax tree, or None if it cannot be read or parsed."""
    try:
        with open(filename, "rb") as file:
            return ast.parse(file.read(2_000_000))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _names(statement: ast.stmt) -> Iterator[str]:
    """Yield names in the statement's own expressions; of a compound statement only its head."""
    body = getattr(statement, "body", None)
    heads = [
        v
        for f, v in ast.iter_fields(statement)
        if not (body and f in ("body", "orelse", "finalbody"))
    ]
    for head in heads:
        for node in head if isinstance(head, list) else [head]:
            for inner in ast.walk(node) if isinstance(node, ast.AST) else ():
                if isinstance(inner, ast.Attribute):
                    yield inner.attr
                elif isinstance(inner, ast.Name):
                    yield inner.id


def _compared(statement: ast.stmt, frame: Any) -> List[Pair]:
    """Evaluate both sides of a failed assertion again in its frame; return the differing parts."""
    if not isinstance(statement, ast.Assert):
        return []
    test = statement.test
    if isinstance(test, ast.UnaryOp):
        test = test.operand
    if not isinstance(test, ast.Compare):
        return []
    sides = [_value(node, frame) for node in [test.left, *test.comparators][:3]]
    known = [side[0] for side in sides if side]
    return [pair for one, two in zip(known, known[1:]) for pair in find_differences(one, two)]


def _value(node: ast.expr, frame: Any) -> List[Any]:
    if any(
        isinstance(inner, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr))
        for inner in ast.walk(node)
    ):
        return []
    try:
        code = compile(ast.fix_missing_locations(ast.Expression(node)), "<assert>", "eval")
        return [eval(code, frame.f_globals, dict(frame.f_locals))]
    except Exception:
        return []


def _helper_values(frame: Any) -> List[Pair]:
    """Return the values passed to an assertion helper (`assertEqual(first, second)`)."""
    values: Dict[str, Any] = {
        name: value
        for name, value in list(frame.f_locals.items())[:8]
        if name not in ("self", "msg") and plain(value)
    }
    known = list(values.values())
    return (
        find_differences(known[0], known[1])
        if len(known) >= 2
        else [(value, None) for value in known]
    )


def quoted_names(message: str) -> List[str]:
    """Return quoted words of a message: missing attributes, keys or arguments."""
    return [*dict.fromkeys(re.findall(r"['\"`]([^'\"`\n]{1,60})['\"`]", message))][:12]
