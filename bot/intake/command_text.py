"""Parse commands: `/metaagent VERB [target] [--key=value]` on a text's first line. Pure."""

import re

from pydantic import Field

from bot.domain.command import Verb
from sandbox.gate import clean
from sandbox.types import Frozen

_CALL = re.compile(r"/metaagent(?=\s|$)", re.IGNORECASE)
_OPTION = re.compile(
    # Phones turn two hyphens into a dash.
    r"(?:^|(?<=\s))(?:--|\u2014)(?P<key>[A-Za-z][A-Za-z0-9-]{0,39})"
    r"(?:=(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<plain>\S*)))?(?=\s|$)"
)
_OLD_OPTIONS = {"command": "test", "test-command": "test", "seconds": "time-limit"}
"""Former names of options."""
_LINE = 4_000
"""Longest line that is parsed, in characters."""
_WORD, _TARGET, _VALUE, _OPTIONS = 100, 500, 300, 20
"""Limits of a verb, a target and an option's value, in characters, and of the number of options."""


class ParsedCommand(Frozen):
    """A parsed command."""

    verb: Verb | None
    """None for an unknown word."""
    word: str = ""
    target: str = ""
    options: dict[str, str] = Field(default_factory=dict)


def parse_command(body: str) -> ParsedCommand | None:
    """Return the command of a comment, or None.

    A command must start the comment's first line that is not blank. So quotes, code blocks, email
    replies and prose that mentions a command do not count. `/metaagent` alone asks for help.
    """
    line = _first_line(body)
    call = _CALL.match(line)
    if call is None:
        return None
    rest = clean(line[call.end() :], cap=_LINE)
    options = {}
    for found in _OPTION.finditer(rest):
        values = (found["double"], found["single"], found["plain"])
        key = found["key"].lower()
        options[_OLD_OPTIONS.get(key, key)] = next((v for v in values if v is not None), "true")[
            :_VALUE
        ]
    words = _OPTION.sub(" ", rest).split()
    word = words[0][:_WORD] if words else ""
    return ParsedCommand(
        verb=_verb(word),
        word=word,
        target=" ".join(words[1:])[:_TARGET],
        options=dict(list(options.items())[:_OPTIONS]),
    )


def _first_line(body: str) -> str:
    """Return the first line that is not blank; CR, LF and CRLF all end a line."""
    for line in body.removeprefix("\ufeff").replace("\r", "\n").split("\n"):
        if line.strip():
            return line[:_LINE]
    return ""


def _verb(word: str) -> Verb | None:
    if not word:
        return Verb.HELP
    try:
        return Verb(word.lower())
    except ValueError:
        return None
