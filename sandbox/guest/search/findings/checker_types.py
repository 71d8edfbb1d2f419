"""Types as checkers write them in messages, and as a file can write them."""

from __future__ import annotations

import re
from typing import Iterator, Tuple

from sandbox.guest.search.findings.place import FindingPlace
from sandbox.guest.search.source.render import TextEdit

_PLAIN = frozenset(
    {
        "str",
        "int",
        "float",
        "bool",
        "bytes",
        "list",
        "dict",
        "set",
        "tuple",
        "None",
        "object",
        "complex",
    }
)
CONVERTS = frozenset(
    {"str", "int", "float", "bool", "list", "tuple", "set", "dict", "bytes", "frozenset", "Path"}
)
GOT = re.compile(
    r"got \"([^\"]+)\"|expression has type \"([^\"]+)\"|[Tt]ype \"([^\"]+)\" is not assignable"
    r"|has incompatible type \"([^\"]+)\"|Argument of type \"([^\"]+)\""
)
WANTED = re.compile(
    r"expected \"([^\"]+)\"|has type \"([^\"]+)\"\)|(?:return|declared) type \"([^\"]+)\""
    r"|parameter \"\w+\" of type \"([^\"]+)\""
)


def find_type(pattern: re.Pattern[str], message: str) -> str:
    """Return the type in a message, or an empty string."""
    match = pattern.search(message)
    return next((group for group in match.groups() if group), "") if match else ""


def spell_type(place: FindingPlace, text: str) -> Iterator[Tuple[str, Tuple[TextEdit, ...]]]:
    """Yield a checker's type as this file can write it; nothing for an unusual type."""
    short = re.sub(r"\b(?:builtins|typing|pathlib|datetime|collections\.abc)\.", "", text)
    if re.fullmatch(r"Literal\[.+\]\??", short):
        value = short[8:].rstrip("?]")
        short = "str" if value[:1] in "'\"" else "int"
        if value in {"True", "False"}:
            short = "bool"
    if (
        "<" in short
        or "?" in short
        or "*" in short
        or len(short) > 80
        or not re.fullmatch(r"[\w\[\], |.]+", short)
    ):
        return
    words = {word for word in re.findall(r"[A-Za-z_]\w*", short) if word not in _PLAIN}
    more: Tuple[TextEdit, ...] = ()
    for word in sorted(words):
        if word in {
            "Optional",
            "Union",
            "List",
            "Dict",
            "Tuple",
            "Set",
            "Callable",
            "Iterator",
            "Sequence",
        }:
            more += place.typing(word)
        elif not place.binds(word):
            return
    yield short, more
