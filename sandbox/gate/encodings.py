"""Encodings in which a secret may leak."""

import base64
import binascii
import codecs
import html
import json
import re
import urllib.parse
from collections.abc import Iterator

MIN_LINE = 8
_PEM_FRAME = re.compile(r"-----(?:BEGIN|END) [A-Z0-9 ]{0,60}-----")
_UU_LINE = 45


def exact(value: str) -> Iterator[str]:
    """Yield the forms that are searched verbatim, for secrets of any length."""
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
    raw = _bytes(value)
    yield raw.hex()
    yield raw.hex().upper()
    yield base64.b85encode(raw).decode("ascii")
    yield base64.a85encode(raw).decode("ascii")
    for text in _base64(raw):
        yield text
        yield text.replace("+", "-").replace("/", "_")
    for line in value.splitlines():
        if len(line.strip()) >= MIN_LINE and not _PEM_FRAME.fullmatch(line.strip()):
            yield line.strip()


def long_forms(value: str) -> Iterator[tuple[str, float]]:
    """Yield the forms of which a part is enough, with their length for each byte of the secret.

    Only letters and digits count, in either case and either direction.
    """
    value = _PEM_FRAME.sub("", value)
    raw = _bytes(value)
    yield value, 1
    yield codecs.encode(value, "rot13"), 1
    yield value.translate(_ROT47), 1
    for data in (
        raw,
        raw[::-1],
        *(_bytes(value, f"utf-{name}") for name in ("16-le", "16-be", "32-le", "32-be")),
    ):
        width = len(data) / max(len(raw), 1)
        yield data.hex(), 2 * width
        for text in _base64(data):
            yield text, 4 / 3 * width
    yield _octal(raw), 3
    yield "".join(f"{byte:08b}" for byte in raw), 8
    yield "".join(map(str, raw)), 2
    yield base64.b85encode(raw).decode("ascii"), 5 / 4
    yield base64.a85encode(raw).decode("ascii"), 5 / 4
    yield (
        "".join(
            binascii.b2a_uu(raw[at : at + _UU_LINE]).decode("ascii")[1:]
            for at in range(0, len(raw), 45)
        ),
        4 / 3,
    )
    yield from _base32(raw)
    yield from _double_encodings(raw)


def _double_encodings(raw: bytes) -> Iterator[tuple[str, float]]:
    """Yield forms that are encoded twice."""
    for text in _base64(raw):
        inner = text.encode("ascii")
        yield inner.hex(), 8 / 3
        for outer in _base64(inner):
            yield outer, 16 / 9
    for text in _base64(raw.hex().encode("ascii")):
        yield text, 8 / 3


_ROT47 = {code: 33 + (code - 33 + 47) % 94 for code in range(33, 127)}


def _bytes(value: str, encoding: str = "utf-8") -> bytes:
    return value.encode(encoding, "surrogatepass")


def _octal(raw: bytes) -> str:
    return "".join(f"{byte:03o}" for byte in raw)


def _base64(raw: bytes) -> Iterator[str]:
    """Yield the part that is independent of neighbouring bytes, for all three alignments."""
    # Base64 encodes three bytes at a time: inside other data, a secret has one of three alignments.
    for shift, skip in ((0, 0), (1, 2), (2, 3)):
        stop = (shift + len(raw)) * 8 // 6
        yield base64.b64encode(b"\0" * shift + raw).decode("ascii").rstrip("=")[skip:stop]


def _base32(raw: bytes) -> Iterator[tuple[str, float]]:
    for shift in range(5):
        skip, stop = -(-shift * 8 // 5), (shift + len(raw)) * 8 // 5
        for encode in (base64.b32encode, base64.b32hexencode):
            yield encode(b"\0" * shift + raw).decode("ascii").rstrip("=")[skip:stop], 8 / 5
