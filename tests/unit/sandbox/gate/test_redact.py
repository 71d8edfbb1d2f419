"""Secrets in every encoding, and shapes of credentials."""

import base64
import codecs
import html
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from sandbox.gate import MASK, clean, prepare_needles

SECRET = "k9/Qz+Tt=Canary&Value7Long"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIICXAIBAAKBgQ+/ab\nq8Yh0ZtCanaryLine2\n-----END RSA PRIVATE KEY-----"


def wrapped(prefix: str, text: str = SECRET) -> str:
    return base64.b64encode((prefix + text + "tail").encode()).decode()


ENCODINGS = {
    "plain": SECRET,
    "pair": f"x-access-token:{SECRET}",
    "url": f"https://x-access-token:{SECRET}@host/o/r.git",
    "quoted": urllib.parse.quote(SECRET, safe=""),
    "quoted twice": urllib.parse.quote(urllib.parse.quote(SECRET, safe=""), safe=""),
    "plus": urllib.parse.quote_plus(SECRET),
    "percent": "".join(f"%{byte:02X}" for byte in SECRET.encode()),
    "json": json.dumps({"token": SECRET}),
    "html": html.escape(SECRET),
    "hex": SECRET.encode().hex(),
    "HEX": SECRET.encode().hex().upper(),
    "hex pairs": SECRET.encode().hex(":"),
    "hexdump": SECRET.encode().hex(" "),
    "escapes": "".join(f"\\x{byte:02x}" for byte in SECRET.encode()),
    "unicode escapes": "".join(f"\\u{byte:04x}" for byte in SECRET.encode()),
    "reversed": SECRET[::-1],
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 phase 1": wrapped("a"),
    "base64 phase 2": wrapped("ab"),
    "base64 phase 3": wrapped("abc"),
    "basic": wrapped("x-access-token:"),
    "urlsafe": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "base32": base64.b32encode(SECRET.encode()).decode(),
    "base85": base64.b85encode(SECRET.encode()).decode(),
    "utf-16": base64.b64encode(SECRET.encode("utf-16-le")).decode(),
    "rot13": codecs.encode(SECRET, "rot13"),
    "decimal": " ".join(str(byte) for byte in SECRET.encode()),
    "split by lines": SECRET[:9] + "\n" + SECRET[9:],
    "split by quotes": SECRET[:9] + "' + '" + SECRET[9:],
    "letter by letter": " ".join(SECRET),
    "ansi inside": SECRET[:7] + "\x1b[1m" + SECRET[7:],
    "hidden inside": SECRET[:7] + "\u200b" + SECRET[7:],
    "base64 in lines": "\n".join(wrapped("header: ")[i : i + 16] for i in range(0, 60, 16)),
}
SHAPES = [
    "ghp_" + "Z" * 36, "gho_" + "a1" * 18, "ghs_123456_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJnaXRodWIi" + "fQ" * 400 + ".c2ln",
    "github_pat_" + "A1_" * 20, "sk-proj-" + "a" * 40, "sk-ant-api03-" + "b" * 40, "AKIA" + "Q" * 16, "ASIA" + "Q" * 16,
    "xoxb-1234567890-abcdefghij", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "glpat-" + "x" * 20,
    "npm_" + "a" * 36, "pypi-AgEIcHlwaS5vcmc" + "a" * 30, "hf_" + "a" * 34, "AIza" + "b" * 35, "sk_live_" + "c" * 24, PEM,
    PEM.replace("\n", "\\n"),
]  # fmt: skip


@pytest.mark.parametrize("text", ENCODINGS.values(), ids=list(ENCODINGS))
def test_a_known_secret_is_masked_in_every_encoding(text: str) -> None:
    cleaned = clean(f"before {text} after", secrets=[SecretStr(SECRET)])
    assert MASK in cleaned
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")
    middle = cleaned.removeprefix("before ").removesuffix(" after")
    assert not any(SECRET[at : at + 8] in middle for at in range(len(SECRET) - 7))
    assert len(middle) < len(text) + 3


def test_the_same_secrets_are_prepared_once_in_any_order_and_form() -> None:
    assert prepare_needles((SECRET, PEM)) is prepare_needles([SecretStr(PEM), SECRET, SECRET])


def test_every_line_of_a_key_is_a_secret_of_its_own() -> None:
    assert "Canary" not in clean("found q8Yh0ZtCanaryLine2 here", secrets=[PEM])
    assert clean("-----BEGIN RSA PRIVATE KEY-----", secrets=[PEM]) == MASK


@pytest.mark.parametrize("token", SHAPES)
def test_an_unknown_credential_is_masked_by_its_shape(token: str) -> None:
    assert clean(f"x {token} y") == f"x {MASK} y"
    assert clean(f'token="{token}"') == f'token="{MASK}"'


def test_headers_and_addresses_lose_their_credentials() -> None:
    assert clean("Authorization: Bearer abcdef123456") == "Authorization: Bearer ***"
    assert clean("git clone https://user:hunter2@host/x") == "git clone https://***@host/x"


@pytest.mark.parametrize(
    "text",
    [
        "risk-management-of-everything-we-ever-did",
        "see https://example.org:8080/a@b and a@b.example",
        "test_eyJ.py::test_x",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "assert 'npm_config' == 'x'",
        "def authorization(token): return basic",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert clean(text, secrets=["short", "a-long-secret-value"]) == text


def test_short_values_are_no_secrets() -> None:
    assert clean("the test is on", secrets=["is", "", "  "]) == "the test is on"


@pytest.mark.slow
@given(
    st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=60),
    st.text(max_size=40),
)
def test_no_secret_of_any_kind_comes_through(secret: str, around: str) -> None:
    for form in (
        secret,
        secret[::-1],
        secret.encode().hex(),
        base64.b64encode(secret.encode()).decode(),
    ):
        cleaned = clean(f"{around} {form} {around}", secrets=[secret])
        assert form not in cleaned or form in around or form in MASK * 20
