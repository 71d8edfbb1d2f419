"""The command a text gives: `/metaagent VERB [target] [--key=value]` on its first line, and nowhere else. Pure."""

import re

from pydantic import Field

from bot.domain.command import Verb
from sandbox.gate import clean
from sandbox.types import Frozen

_CALL = re.compile(r"/metaagent(?=\s|$)", re.IGNORECASE)
_OPTION = re.compile(
    r"(?:^|(?<=\s))(?:--|\u2014)(?P<key>[A-Za-z][A-Za-z0-9-]{0,39})"  # phones turn two hyphens into a dash
    r"(?:=(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<plain>\S*)))?(?=\s|$)"
)
_LINE = 4_000
"""Characters of a line that are looked at."""
_WORD, _TARGET, _VALUE, _OPTIONS = 100, 500, 300, 20


class Spoken(Frozen):
    """What was said to us."""

    verb: Verb | None
    """None for a word we do not know."""
    word: str = ""
    target: str = ""
    options: dict[str, str] = Field(default_factory=dict)


def spoken_in(body: str) -> Spoken | None:
    """The command of a comment, or None.

    A command starts the comment: its first line that is not blank. So quotes, code, replies by mail with the quoted
    text below or above, and prose that mentions a command give none. `/metaagent` alone asks for help.
    """
    line = _first_line(body)
    call = _CALL.match(line)
    if call is None:
        return None
    rest = clean(line[call.end() :], cap=_LINE)
    options = {}
    for found in _OPTION.finditer(rest):
        values = (found["double"], found["single"], found["plain"])
        options[found["key"].lower()] = next((v for v in values if v is not None), "true")[:_VALUE]
    words = _OPTION.sub(" ", rest).split()
    word = words[0][:_WORD] if words else ""
    return Spoken(
        verb=_verb(word),
        word=word,
        target=" ".join(words[1:])[:_TARGET],
        options=dict(list(options.items())[:_OPTIONS]),
    )


def _first_line(body: str) -> str:
    """The first line that is not blank, as it was written; CR, LF and both together end a line."""
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
