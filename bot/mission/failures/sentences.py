"""Describe one failure in one sentence, by its class of error. Pure."""

import re
from collections.abc import Callable

from sandbox.types import TestResult

_TITLE = 160
_PART = 60
# Also zero-width and bidirectional characters, which can hide or reorder text.
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
_COMPARED = re.compile(
    r"assert (?P<got>.+?) (?P<how>==|!=|<=|>=|<|>|is not|is|not in|in) (?P<wanted>.+)"
)
_UNEQUAL = re.compile(r"^(?:AssertionError: )?(?P<got>.+?) != (?P<wanted>.+?)(?: : .*)?$")
_ACTUAL = re.compile(
    r"assert (?:not )?(.+?)(?: (?:==|!=|<=|>=|<|>|is not|is|not in|in) .+)?$", re.MULTILINE
)
_CALLED = re.compile(r"(?:where|and) +(.+?) = ([\w.]+\(.*?\))\s*$", re.MULTILINE)


def one_line(text: str, limit: int = _TITLE) -> str:
    """Return untrusted text as one bounded line without control characters."""
    line = _CONTROL.sub(" ", text).strip()
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def first_line(failure: TestResult) -> str:
    """Return the message's first line with content."""
    lines = (line.strip() for line in (failure.error_message or "").splitlines())
    return one_line(next((line for line in lines if line), ""))


def sentence(failure: TestResult, place: str) -> str:
    """Describe the failure in one line.

    Args:
        failure: One failing test, or a linter's finding.
        place: The place as `module.function`; empty if unknown.
    """
    message = first_line(failure)
    error = failure.error or ""
    said = _SAYS.get(error, _anything)(message, failure)
    where = f" in {place}" if place else ""
    test = failure.test or failure.name.rpartition("::")[2]
    return one_line(f"{test} {said or error or 'failed'}{where}")


def lint_sentence(failure: TestResult) -> str:
    """Describe a linter's finding in one line."""
    place = f"{failure.file or failure.name}{f':{failure.line}' if failure.line else ''}"
    return one_line(f"{failure.error or 'finding'} at {place}: {first_line(failure)}")


def calls(failure: TestResult) -> tuple[str, ...]:
    """Return the calls that a failed comparison shows, `add(1, 2)`; the wrong value's call first.

    Args:
        failure: One failing test.
    """
    message = failure.error_message or ""
    shown = _CALLED.findall(message) or _CALLED.findall(failure.traceback or "")
    # False sorts first: the call whose value is the actual one leads.
    got = _ACTUAL.search(message)
    return tuple(
        call for _, call in sorted(shown, key=lambda pair: got is None or pair[0] != got[1])
    )


def _compared(message: str, failure: TestResult) -> str:
    """Describe a failed assertion by expected and actual value."""
    match = _COMPARED.search(message) or _UNEQUAL.search(message)
    shown = calls(failure)
    of = f" from {one_line(shown[0], _PART)}" if shown else ""
    if match is None:
        return f"failed: {message}" if message else "failed an assertion without a message"
    got, wanted = one_line(match["got"], _PART), one_line(match["wanted"], _PART)
    how = match.groupdict().get("how") or "=="
    expected = wanted if how == "==" else f"{how} {wanted}"
    return f"expected {expected}, got {got}{of}"


def _named(pattern: str, words: str) -> Callable[[str, TestResult], str]:
    """Return a sentence filled with the groups of a matched message."""
    compiled = re.compile(pattern)

    def say(message: str, failure: TestResult) -> str:
        match = compiled.search(message)
        if match is None:
            return _anything(message, failure)
        return words.format(*(one_line(group or "", _PART) for group in match.groups()))

    return say


def _type_error(message: str, failure: TestResult) -> str:
    """Describe the most common misuses of a type."""
    for pattern, words in _TYPE_ERRORS:
        match = re.search(pattern, message)
        if match:
            return words.format(*(one_line(group or "", _PART) for group in match.groups()))
    return _anything(message, failure)


def _anything(message: str, failure: TestResult) -> str:
    """Describe any other error by its own message."""
    error = failure.error or "error"
    own = message.removeprefix(f"{error}:").strip()
    return f"raised {error}: {own}" if own else f"raised {error}"


_TYPE_ERRORS = (
    (
        r"(\w+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: (.+)",
        "calls {0} without {1}",
    ),
    (
        r"(\w+)\(\) got an unexpected keyword argument '(\w+)'",
        "calls {0} with the unknown argument `{1}`",
    ),
    (
        r"(\w+)\(\) takes (.+?) but (\d+) (?:was|were) given",
        "calls {0} with {2} arguments, it takes {1}",
    ),
    (
        r"unsupported operand type\(s\) for (\S+): '(\w+)' and '(\w+)'",
        "applies `{0}` to a {1} and a {2}",
    ),
    (r"'NoneType' object is not (\w+)", "uses None where a value is needed (not {0})"),
    (r"'(\w+)' object is not (\w+)", "uses a {0}, which is not {1}"),
)
_SAYS: dict[str, Callable[[str, TestResult], str]] = {
    "AssertionError": _compared,
    "TypeError": _type_error,
    "NameError": _named(
        r"name '(\w+)' is not defined", "uses the name `{0}`, which is neither defined nor imported"
    ),
    "UnboundLocalError": _named(
        r"local variable '(\w+)'", "reads the variable `{0}` before it has a value"
    ),
    "AttributeError": _named(
        r"(?:'(\w+)' object|module '([\w.]+)'|type object '\w+') has no attribute '(\w+)'",
        "asks {0}{1} for the attribute `{2}`, which it does not have",
    ),
    "ImportError": _named(
        r"cannot import name '(\w+)' from '([\w.]+)'", "imports `{0}`, which `{1}` does not have"
    ),
    "ModuleNotFoundError": _named(
        r"No module named '([\w.]+)'", "imports the module `{0}`, which does not exist"
    ),
    "KeyError": _named(r"(?:KeyError: )?(.+)", "looks up the key {0}, which is absent"),
    "IndexError": _named(
        r"(list|tuple|string|pop from empty list).*", "reads past the end of a {0}"
    ),
    "ZeroDivisionError": _named(r"(.+)", "divides by zero"),
    "RecursionError": _named(r"(.+)", "recurses without end"),
    "SyntaxError": _named(r"(.+)", "cannot be compiled: {0}"),
    "IndentationError": _named(r"(.+)", "cannot be compiled: {0}"),
}
