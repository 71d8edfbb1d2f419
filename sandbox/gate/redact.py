"""Replace secrets by stars: known ones in every usual encoding, and whatever has the shape of a credential."""

import base64
import codecs
import html
import json
import re
import urllib.parse
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from pydantic import Field, SecretStr

from sandbox.gate.shapes import AUTHORIZATION, KEY_TAIL, TOKEN_SHAPES, USER_INFO
from sandbox.types import Frozen

MASK = "***"
MIN_SECRET = 6
"""Shorter values are words; masking them would only tear the text."""
MIN_SPLIT = 12
"""A secret torn apart by spaces or quotes is looked for from this length on."""
MIN_LINE = 8
_SEPARATORS = re.compile(r"(?:\\[nrt]|[\s\"'`\\+|,;])+")
_PEM_FRAME = re.compile(r"-----(?:BEGIN|END) [A-Z0-9 ]{0,60}-----")

Secret = SecretStr | str


class Needles(Frozen):
    """Secrets made ready to be looked for: worked out once, used for many texts."""

    whole: tuple[str, ...] = Field(default=(), repr=False)
    """Every encoding, longest first."""
    squeezed: frozenset[str] = Field(default=frozenset(), repr=False)
    """The same without what may tear them apart."""


def needles_of(secrets: Iterable[Secret]) -> Needles:
    """What to look for. Takes a tenth of a second for a private key: do it once."""
    whole = all_variants(secrets)
    squeezed = frozenset(found for needle in whole if len(found := _SEPARATORS.sub("", needle)) >= MIN_SPLIT)
    return Needles(whole=whole, squeezed=squeezed)


def redact(text: str, secrets: Sequence[Secret] | Needles = ()) -> str:
    """The text with every secret masked."""
    needles = secrets if isinstance(secrets, Needles) else needles_of(secrets)
    for needle in needles.whole:
        if needle in text:
            text = text.replace(needle, MASK)
    text = _redact_split(text, needles.squeezed)
    text = AUTHORIZATION.sub(lambda found: found.group(1) + MASK, text)
    text = USER_INFO.sub(lambda found: found.group(1) + MASK + "@", text)
    return KEY_TAIL.sub(MASK, TOKEN_SHAPES.sub(MASK, text))


def all_variants(secrets: Iterable[Secret]) -> tuple[str, ...]:
    """What to look for, longest first."""
    found: set[str] = set()
    for secret in secrets:
        value = (secret.get_secret_value() if isinstance(secret, SecretStr) else secret).strip()
        if len(value) >= MIN_SECRET:
            found.update(variant for variant in variants(value) if len(variant) >= MIN_SECRET)
    return tuple(sorted(found, key=lambda variant: (-len(variant), variant)))


def variants(value: str) -> Iterator[str]:
    """One secret in every encoding it is known to leak in."""
    yield from _encoded(value)
    if "\n" in value:
        yield from _encoded(value.replace("\n", "\r\n"))
        yield value.replace("\n", "")
        for line in value.splitlines():
            if len(line.strip()) >= MIN_LINE and not _PEM_FRAME.fullmatch(line.strip()):
                yield from _encoded(line.strip())


def _encoded(value: str) -> Iterator[str]:
    raw = value.encode("utf-8", "surrogatepass")
    yield value
    yield value[::-1]
    yield value.replace("\n", "\\n")
    yield json.dumps(value)[1:-1]
    yield json.dumps(json.dumps(value)[1:-1])[1:-1]
    yield html.escape(value)
    yield codecs.encode(value, "rot13")
    quoted = urllib.parse.quote(value, safe="")
    yield quoted
    yield urllib.parse.quote(quoted, safe="")
    yield urllib.parse.quote_plus(value)
    yield from (form.format(*raw) for form in _byte_forms(len(raw)))
    for text in (raw, value.encode("utf-16-le", "surrogatepass")):
        yield text.hex()
        yield text.hex().upper()
        yield from _base64(text)
    yield from _base32(raw)
    yield base64.b85encode(raw).decode("ascii")
    yield base64.a85encode(raw).decode("ascii")


def _byte_forms(count: int) -> Iterator[str]:
    """Formats of one byte, repeated: percent, hexadecimal and Unicode escapes, bits, separated pairs."""
    for one, between in (("%{:02X}", ""), ("%{:02x}", ""), ("\\x{:02x}", ""), ("\\u{:04x}", ""), ("{:08b}", "")):
        yield between.join([one] * count)
    for one, between in (("{:02x}", ":"), ("{:02X}", ":"), ("{:02x}", "-"), ("{:d}", " "), ("0x{:02x}", " ")):
        yield between.join([one] * count)


def _base64(raw: bytes) -> Iterator[str]:
    """The part that does not depend on what stands before or after, for all three positions."""
    for shift, skip in ((0, 0), (1, 2), (2, 3)):
        total = shift + len(raw)
        stop = total * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(b"\0" * shift + raw).decode("ascii").rstrip("=")[skip:stop]


def _base32(raw: bytes) -> Iterator[str]:
    for shift in range(5):
        skip = -(-shift * 8 // 5)
        text = base64.b32encode(b"\0" * shift + raw).decode("ascii").rstrip("=")[skip : (shift + len(raw)) * 8 // 5]
        yield text
        yield text.lower()


def _redact_split(text: str, squeezed_needles: frozenset[str]) -> str:
    """Mask secrets that are torn apart by spaces, newlines, quotes or plus signs."""
    if not squeezed_needles:
        return text
    pieces: list[str] = []
    starts: list[int] = []
    sources: list[int] = []
    length = at = 0
    for gap in [*_SEPARATORS.finditer(text), None]:
        end = gap.start() if gap is not None else len(text)
        if end > at:
            pieces.append(text[at:end])
            starts.append(length)
            sources.append(at)
            length += end - at
        at = gap.end() if gap is not None else end
    squeezed = "".join(pieces)
    spans = []
    for needle in squeezed_needles:
        found = squeezed.find(needle)
        while found >= 0:
            spans.append((_source(found, starts, sources), _source(found + len(needle) - 1, starts, sources) + 1))
            found = squeezed.find(needle, found + len(needle))
    return _mask_spans(text, spans)


def _source(position: int, starts: list[int], sources: list[int]) -> int:
    piece = bisect_right(starts, position) - 1
    return sources[piece] + position - starts[piece]


def _mask_spans(text: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end <= at:
            continue
        parts += [text[at : max(at, start)], MASK]
        at = end
    return "".join([*parts, text[at:]])
