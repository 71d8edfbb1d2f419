"""Read the runs of known tools from a failing command line."""

import posixpath
import re
import shlex
from collections.abc import Sequence

from bot.fixers.rung0_tools.tool import Tool, ToolCall
from sandbox.types import TestReport
from sandbox.types.launchers import (
    NODE_LAUNCHERS,
    PYTHON_LAUNCHERS,
    listing_command,
    without_selector,
)

_SEPARATORS = frozenset(";&|()\n")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_AROUND = frozenset({"time", "command", "exec"})
_PYTHON = re.compile(r"(?:.*/)?python(?:3(?:\.\d{1,2})?)?")
_ENVIRONMENT = re.compile(r"(?:.*/)?\.?(?:v?env|virtualenv)[\w.-]*/bin/")
_TOOLCHAIN = re.compile(r"\+[\w.-]+")


def read_calls(line: str, tools: Sequence[Tool]) -> tuple[ToolCall, ...]:
    """Return the checks by known tools in a shell command line, in their order."""
    folder = "."
    variables: list[str] = []
    found: list[ToolCall] = []
    for words in _commands(line):
        if words[0] == "cd" and len(words) == 2:  # noqa: PLR2004 - `cd FOLDER`
            folder = posixpath.normpath(posixpath.join(folder, words[1]))
        elif words[0] == "export":
            variables += [word for word in words[1:] if _ASSIGNMENT.fullmatch(word)]
        elif (call := _read_call(words, tools, variables)) is not None:
            found.append(call.with_(folder=folder))
    return tuple(found)


def find_failing(calls: Sequence[ToolCall], report: TestReport) -> ToolCall | None:
    """Return the call with which a red run ended; None if none of these did."""
    if not calls or not report.ended_at:
        return calls[0] if calls else None
    last = next(iter(_commands(report.ended_at)), [])
    ended = _read_call(last, [call.tool for call in calls], ())
    if ended is None:
        return None
    # The line may redirect output, which the command of the report no longer does.
    length = len(ended.arguments)
    return next(
        (
            call
            for call in calls
            if call.tool == ended.tool and call.arguments[:length] == ended.arguments
        ),
        None,
    )


def _read_call(
    words: Sequence[str], tools: Sequence[Tool], variables: Sequence[str]
) -> ToolCall | None:
    line = shlex.join([*variables, *words])
    words = list(words)
    start = [*variables]
    while words and (_ASSIGNMENT.fullmatch(words[0]) or words[0] in _AROUND):
        word = words.pop(0)
        start += [word] if word not in _AROUND else []
    words = without_selector(words)
    start += _take_launcher(words)
    if not words:
        return None
    # Only the repository's own folders keep their path: an environment is ours.
    program = words[0] if not _ENVIRONMENT.match(words[0]) else words[0].rpartition("/")[2]
    rest = words[1:]
    start.append(program)
    if rest and _TOOLCHAIN.fullmatch(rest[0]):
        start.append(rest.pop(0))  # `cargo +nightly fmt`
    for tool in tools:
        name, *subcommand = tool.runs.split()
        arguments = rest[len(subcommand) :]
        runs = program.rpartition("/")[2] == name and rest[: len(subcommand)] == subcommand
        if runs and tool.is_check(arguments):
            return ToolCall(tool=tool, start=tuple(start), arguments=tuple(arguments), line=line)
    return None


def _take_launcher(words: list[str]) -> list[str]:
    """Remove what starts the program from the words; return what the sandbox needs of it."""
    # The environment's programs come first in the sandbox, so that Python's are not needed there.
    for launchers, is_needed in ((PYTHON_LAUNCHERS, False), (NODE_LAUNCHERS, True)):
        found = next((one for one in launchers if tuple(words[: len(one)]) == one), None)
        if found is None:
            continue
        count = len(found)
        while words[count : count + 1] and words[count].startswith("-"):
            count += 1
        taken, words[:] = words[:count], words[count:]
        return taken if is_needed else _take_module(words)
    return _take_module(words)


def _take_module(words: list[str]) -> list[str]:
    if len(words) > 2 and words[1] == "-m" and _PYTHON.fullmatch(words[0]):  # noqa: PLR2004
        words[:] = words[2:]
        return ["python", "-m"]
    return []


def _commands(line: str) -> list[list[str]]:
    """Return the simple commands of a shell line; empty if it cannot be split."""
    # Split at shell operators; a line break ends a command, too.
    lexer = shlex.shlex(
        line.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=";&|()"
    )
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if set(word) <= _SEPARATORS:
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:
        return []
    return [_take_listing(words) for words in commands if words]


def _take_listing(words: list[str]) -> list[str]:
    """Return the command inside of `test -z "$(gofmt -l .)"`, else the words."""
    inner = listing_command(" ".join(words))
    try:
        return shlex.split(inner) or words
    except ValueError:  # an unclosed quote
        return words
