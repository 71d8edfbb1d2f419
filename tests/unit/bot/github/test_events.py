"""Signatures and slim payloads."""

import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import DeliveryRejected
from bot.github.events import CheckRunEvent, cut, read_delivery
from bot.github.signature import Signature

SECRET = "It's a Secret to Everybody"
BODY = b"Hello, World!"
SIGNATURE = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


def is_valid(secret: str, body: bytes, header: str | None) -> bool:
    signature = Signature(secret)
    signature.update(body[:5])
    signature.update(body[5:])
    return signature.matches(header)


def test_the_published_test_vector_is_valid() -> None:
    assert is_valid(SECRET, BODY, SIGNATURE)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        SIGNATURE.removeprefix("sha256="),
        SIGNATURE.upper(),
        SIGNATURE[:-1],
        SIGNATURE[:-1] + "8",
        "sha1=" + SIGNATURE.removeprefix("sha256="),
        SIGNATURE + "é",
        "sha256=é",
        " " + SIGNATURE,
    ],
)
def test_every_other_header_is_invalid_and_none_is_an_error(header: str | None) -> None:
    assert not is_valid(SECRET, BODY, header)


def test_an_empty_secret_lets_nobody_in() -> None:
    empty = "sha256=" + hmac.new(b"", BODY, "sha256").hexdigest()
    assert not is_valid("", BODY, empty)


@given(st.text())
def test_no_header_ever_raises(header: str | None) -> None:
    assert not is_valid(SECRET, BODY, header)


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"[1]", b'"text"', b"\xff\xfe", b"[" * 100_000, b'{"a": NaN}']
)
def test_a_body_that_is_no_json_object_is_rejected(body: bytes) -> None:
    with pytest.raises(DeliveryRejected) as rejected:
        read_delivery("ping", "d-1", body)
    assert rejected.value.status == 400


@pytest.mark.parametrize(
    ("event", "delivery"), [(None, "d"), ("ping", None), ("Ping!", "d"), ("ping", "a b"), ("", "")]
)
def test_missing_and_malformed_headers_are_rejected(
    event: str | None, delivery: str | None
) -> None:
    with pytest.raises(DeliveryRejected) as rejected:
        read_delivery(event, delivery, b"{}")
    assert rejected.value.status == 400


def test_an_action_that_is_no_word_counts_as_none() -> None:
    assert read_delivery("ping", "d", b'{"action": {"x": 1}}').action is None


@pytest.mark.parametrize("sha", ["main", "a" * 39, "A" * 40, None, 7])
def test_a_payload_with_a_false_commit_is_rejected_by_the_field_name(sha: Any) -> None:
    run = {"id": 1, "name": "x", "head_sha": sha}
    body = json.dumps({"repository": {"id": 1, "full_name": "o/n"}, "check_run": run}).encode()
    with pytest.raises(DeliveryRejected, match=r"check_run\.head_sha") as rejected:
        cut(read_delivery("check_run", "d", body), CheckRunEvent)
    assert rejected.value.status == 422


@pytest.mark.parametrize("name", ["o", "o/n/x", "../x", "o/n?x", "o/ n"])
def test_a_repository_name_that_could_change_an_address_is_rejected(name: str) -> None:
    run = {"id": 1, "name": "x", "head_sha": "a" * 40}
    body = json.dumps({"repository": {"id": 1, "full_name": name}, "check_run": run}).encode()
    delivery = read_delivery("check_run", "d", body)
    if name == "../x":
        # The form is right, the meaning is refused where an address is made.
        assert cut(delivery, CheckRunEvent).repository_ref.owner == ".."
    else:
        with pytest.raises(DeliveryRejected, match="full_name"):
            cut(delivery, CheckRunEvent)
