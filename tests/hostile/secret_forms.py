"""One secret in every form a hostile test could print it in, and credentials of every maker."""

import base64
import binascii
import codecs
import html
import json
import quopri
import urllib.parse
from collections.abc import Callable, Iterator

SECRET = "ghx9QCANARYSECRETvalue7731/zz+Kq"
"""No shape of its own: only knowing it helps."""


def _base(raw: bytes) -> Iterator[tuple[str, str]]:
    encoders: dict[str, Callable[[bytes], bytes]] = {
        "base64": base64.b64encode, "urlsafe": base64.urlsafe_b64encode, "base32": base64.b32encode,
        "base32hex": base64.b32hexencode, "base85": base64.b85encode, "ascii85": base64.a85encode, "hex": binascii.hexlify,
        "uuencode": binascii.b2a_uu,
    }  # fmt: skip
    for name, encode in encoders.items():
        yield name, encode(raw).decode()
        yield f"{name} reversed", encode(raw)[::-1].decode()
    for shift in (1, 2):
        yield f"base64 phase {shift}", base64.b64encode(b"a" * shift + raw + b"tail").decode()
    yield "base64 twice", base64.b64encode(base64.b64encode(raw)).decode()
    yield "base64 of hex", base64.b64encode(raw.hex().encode()).decode()
    yield "hex of base64", base64.b64encode(raw).hex()
    yield "base64 of reversed", base64.b64encode(raw[::-1]).decode()
    yield "base64 in lines", base64.encodebytes(b"x" * 50 + raw + b"y" * 40).decode()
    for code in ("utf-16-le", "utf-16-be", "utf-16", "utf-32-le"):
        yield f"{code} base64", base64.b64encode(SECRET.encode(code)).decode()
        yield f"{code} hex", SECRET.encode(code).hex()
    yield "utf-16 text", SECRET.encode("utf-16-le").decode("latin-1")


def _escapes(raw: bytes) -> Iterator[tuple[str, str]]:
    formats = {
        "percent": "%{:02X}", "percent lower": "%{:02x}", "x escape": "\\x{:02x}", "X escape": "\\x{:02X}",
        "u escape": "\\u{:04x}", "u escape upper": "\\u{:04X}", "U escape": "\\U{:08x}", "javascript": "\\u{{{:x}}}",
        "octal escape": "\\{:03o}", "octal escape with 0": "\\0{:03o}", "entity": "&#{};", "hex entity": "&#x{:x};",
        "padded entity": "&#{:03};", "quoted printable": "={:02X}", "bits": "{:08b}", "old javascript": "%u00{:02x}",
    }  # fmt: skip
    for name, form in formats.items():
        yield name, "".join(form.format(byte) for byte in raw)
    for name, form, between in (
        ("octal", "{:03o}", " "), ("bits apart", "{:08b}", " "), ("hex list", "0x{:02x}", ", "), ("HEX list", "0x{:02X}", ", "),
        ("decimal list", "{}", ", "), ("decimal", "{}", " "), ("hex lines", "{:02x}", "\n"), ("hex colons", "{:02x}", ":"),
    ):  # fmt: skip
        yield name, between.join(form.format(byte) for byte in raw)
    text = raw.decode()
    yield "url", urllib.parse.quote(text, safe="")
    yield "url twice", urllib.parse.quote(urllib.parse.quote(text, safe=""), safe="")
    yield "json", json.dumps({"t": text})
    yield "json twice", json.dumps(json.dumps({"t": text}))
    yield "json with slashes", text.replace("/", "\\/")
    yield "html", html.escape(text)
    yield "soft line breaks", quopri.encodestring(("=é" + text * 3).encode()).decode()


def _torn(text: str) -> Iterator[tuple[str, str]]:
    for between in " -._/|:,\t\n\0*`'\"\u00a0\u2003\u200b\u0301\ufe0f":
        yield f"torn by U+{ord(between):04X}", between.join(text)
    pieces = [text[at : at + 6] for at in range(0, len(text), 6)]
    yield "lines", "\n".join(pieces)
    yield "diff", "\n".join(f"+ {piece}" for piece in pieces)
    yield "pytest", "\n".join(f"E   {piece}" for piece in pieces)
    yield "quote", "\n".join(f"> {piece}" for piece in pieces)
    yield "concatenation", "'" + "' + '".join(pieces) + "'"
    yield "list", str(list(text))
    yield "colours", "\x1b[0m".join(text)
    yield "overstrike", "".join(f"{letter}\b{letter}" for letter in text)
    yield "full width", "".join(chr(0xFEE0 + ord(letter)) for letter in text)
    yield "mathematical", "".join(chr(0x1D5BA + ord(c) - 97) if c.islower() else c for c in text)
    raw = text.encode()
    rows = [raw[at : at + 16] for at in range(0, len(raw), 16)]
    yield (
        "xxd",
        "\n".join(f"{n:08x}: {row.hex(' ', 2)}  {row.decode()}" for n, row in enumerate(rows)),
    )
    yield (
        "hexdump",
        "\n".join(f"{n:08x}  {row.hex(' ')}  |{row.decode()}|" for n, row in enumerate(rows)),
    )


def every_form() -> dict[str, str]:
    """Name and text of each."""
    turned = {
        "plain": SECRET, "reversed": SECRET[::-1], "rot13": codecs.encode(SECRET, "rot13"), "upper": SECRET.upper(),
        "lower": SECRET.lower(), "swapped case": SECRET.swapcase(), "rot47": "".join(chr(33 + (ord(c) + 14) % 94) for c in SECRET),
        "half": SECRET[:20], "other half": SECRET[12:],
    }  # fmt: skip
    raw = SECRET.encode()
    return {**turned, **dict(_base(raw)), **dict(_escapes(raw)), **dict(_torn(SECRET))}


_MIXED = "abcdefghijABCDEFGHIJ0123456789"
_HEX = "0123456789abcdef"
UNKNOWN = {
    "installation token, short": "ghp_" + "Z9" * 18,
    "installation token, long": "ghs_" + "a1B2" * 130,
    "installation token with a JWT": "ghs_12345_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJnIn0.c2lnbmF0dXJl",
    "fine-grained": "github_pat_11ABCDEFG0" + _MIXED * 2,
    "old installation token": "v1." + _HEX * 3,
    "slack webhook": "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    "discord webhook": "https://discord.com/api/webhooks/123456789012345678/" + _MIXED * 2,
    "aws secret": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws in the environment": "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "aws session": "AWS_SESSION_TOKEN=IQoJb3JpZ2luX2VjE" + _MIXED * 5,
    "google": "ya29.a0AfH6SMB" + _MIXED * 2,
    "google service account": '"private_key": "-----BEGIN PRIVATE KEY-----\\nMIIEvQ\\n-----END PRIVATE KEY-----\\n"',
    "google secret": "GOCSPX-" + _MIXED[:28],
    "azure storage": "AccountName=x;AccountKey="
    + "Ab1+" * 21
    + "Aw==;EndpointSuffix=core.windows.net",
    "azure signature": "https://x.blob.core.windows.net/c?sv=2020&sig=AbC%2B123abc%2Fabcdefghijklmnopqrstuvwxyz0123%3D",
    "azure application": "Abc8Q~" + _MIXED[:28] + "abcdef",
    "stripe": "sk_live_" + _MIXED,
    "npm": "npm_" + "a1B2" * 9,
    "npmrc": "//registry.example/:_authToken=0123abcd-0000-1111-2222-333344445555",
    "pypi": "pypi-AgEIcHlwaS5vcmc" + _MIXED,
    "hugging face": "hf_" + _MIXED + "abcd",
    "database": "postgres://user:s3cr3t-pw@db.example/x",
    "password alone": "redis://:hunter2pass@h:6379/0",
    "password with an at sign": "https://user:p@ss@host/x",
    "token as user": "https://0123456789abcdef0123456789abcdef@o1.ingest.example/1",
    "basic": "Authorization: Basic dXNlcjpwYXNzd29yZA==",
    "bearer": "Bearer " + _MIXED,
    "curl": "-H 'Authorization: token abcdefabcdef'",
    "api key header": "X-API-Key: " + _MIXED,
    "cookie": "Set-Cookie: session=" + _MIXED,
    "digest": 'Authorization: Digest username="x", response="6629fae49393a05397450978507c4ef1"',
    "plain authorization": "Authorization: " + _MIXED,
    "password": "password=Tr0ub4dor&3xyz",
    "client secret": "client_secret: 8Q~abc.DEF_ghi-jkl",
    "quoted token": f'TOKEN="{_MIXED}"',
    "json password": '"password": "hunter2hunter2"',
    "flag": "--password hunter2hunter2",
    "environment": "export SECRET_KEY=djsk3kd93kd93kdk39",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "jwe": "eyJhbGciOiJSU0EtT0FFUCJ9..48V1_ALb6US04U3b.5eym8TW_c8SuK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4.XFBoMYUZodetZdvTiFvSkQ",
    "ssh": "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----",
    "pgp": "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ\n-----END PGP PRIVATE KEY BLOCK-----",
    "putty": "Private-Lines: 14\n" + "AAAA" * 16,
    "age": "AGE-SECRET-KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE",
    "sendgrid": f"SG.{_MIXED[:22]}.{_MIXED}abcdefghijklm",
    "twilio": "SK" + _HEX * 2,
    "telegram": f"123456789:AA{_MIXED}abc",
    "digitalocean": "dop_v1_" + _HEX * 4,
    "shopify": "shpat_" + _HEX * 2,
    "databricks": "dapi" + _HEX * 2,
    "gitlab runner": "glrt-" + _MIXED[:20],
    "atlassian": "ATATT3xFfGF0" + _MIXED * 3,
    "notion": f"ntn_{_MIXED}abcdefghij",
    "sentry": "sntrys_" + _MIXED * 2,
    "vault": "hvs." + _MIXED * 3,
    "terraform": "abcdefghij1234.atlasv1." + _MIXED * 2,
    "grafana": f"glsa_{_MIXED}_01234567",
    "openai": f"sk-proj-{_MIXED}",
    "anthropic": "sk-ant-api03-" + _MIXED * 3,
    "docker": "dckr_pat_" + _MIXED[:27],
    "docker file": '"auth": "dXNlcjpwYXNzd29yZA=="',
    "rubygems": "rubygems_" + _HEX * 3,
    "cargo": f"CARGO_REGISTRY_TOKEN=cio{_MIXED}ab",
    "codecov": "CODECOV_TOKEN=01234567-89ab-cdef-0123-456789abcdef",
    "netrc": "machine host.example login x password hunter2abc",
    "actions": f"ACTIONS_RUNTIME_TOKEN: {_MIXED}",
    "tailscale": "tskey-auth-" + _MIXED,
    "postman": "PMAK-0123456789abcdef01234567-" + _HEX * 2,
}
"""Credentials nobody told us about."""

HONEST = (
    "token = tokens[0]",
    "token: str | None = None",
    "password = get_password(user_1)",
    "assert token == expected_token_2",
    "def authorization(token): return basic",
    "see https://example.org:8080/a@b and a@b.example",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "secret_key_name = SETTINGS_KEY",
    "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    "tests/test_auth.py::test_token_2[param-1] PASSED",
    "Authorization: Bearer",
    "password: Annotated[str, Field(min_length=8)]",
    "api_key = os.environ['API_KEY']",
)
"""What a reader still has to be able to read."""
