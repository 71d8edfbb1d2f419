"""Types as checkers spell them in their messages, and as a file can write them."""

from __future__ import annotations

import re
from typing import Iterator, Tuple

from sandbox.guest.search.findings.place import Place
from sandbox.guest.search.source.render import Edit

_PLAIN = frozenset(
    {"str", "int", "float", "bool", "bytes", "list", "dict", "set", "tuple", "None", "object", "complex"}
)
CONVERTS = frozenset({"str", "int", "float", "bool", "list", "tuple", "set", "dict", "bytes", "frozenset", "Path"})
GOT = re.compile(r"got \"([^\"]+)\"|expression has type \"([^\"]+)\"|[Tt]ype \"([^\"]+)\" is not assignable"
                  r"|has incompatible type \"([^\"]+)\"|Argument of type \"([^\"]+)\"")  # fmt: skip
WANTED = re.compile(r"expected \"([^\"]+)\"|has type \"([^\"]+)\"\)|(?:return|declared) type \"([^\"]+)\""
                     r"|parameter \"\w+\" of type \"([^\"]+)\"")  # fmt: skip


def said(pattern: re.Pattern[str], message: str) -> str:
    """The type a message names; empty when it names none."""
    match = pattern.search(message)
    return next((group for group in match.groups() if group), "") if match else ""


def spelt(place: Place, text: str) -> Iterator[Tuple[str, Tuple[Edit, ...]]]:
    """A checker's name of a type as this file can write it; none for what is no plain type."""
    short = re.sub(r"\b(?:builtins|typing|pathlib|datetime|collections\.abc)\.", "", text)
    if re.fullmatch(r"Literal\[.+\]\??", short):
        value = short[8:].rstrip("?]")
        short = "bool" if value in {"True", "False"} else "str" if value[:1] in "'\"" else "int"
    if "<" in short or "?" in short or "*" in short or len(short) > 80 or not re.fullmatch(r"[\w\[\], |.]+", short):
        return
    words = {word for word in re.findall(r"[A-Za-z_]\w*", short) if word not in _PLAIN}
    more: Tuple[Edit, ...] = ()
    for word in sorted(words):
        if word in {"Optional", "Union", "List", "Dict", "Tuple", "Set", "Callable", "Iterator", "Sequence"}:
            more += place.typing(word)
        elif not place.binds(word):
            return
    yield short, more
