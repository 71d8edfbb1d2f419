"""What refusals mean, and how long they ask to wait."""

import json

import pytest

from bot.domain.model import ModelTrouble
from bot.llm.providers.replies import MOST_TOKENS, HttpReply, amount, count, refusal, retry_after_s

NOON = "Fri, 01 Jan 2027 12:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Fri, 01 Jan 2027 12:01:30 GMT", "date": NOON}, 90.0),
        ({"retry-after": "Fri, 01 Jan 2027 11:00:00 GMT", "date": NOON}, 0.0),
        ({"retry-after": "Fri, 01 Jan 2027 12:01:30 GMT"}, None),
        ({"retry-after": "Fri, 01 Jan 2027 12:01:30 -0000", "date": NOON}, None),
        ({"retry-after": "Fri, 99 Jan 2027 12:01:30 GMT", "date": NOON}, None),
    ],
)
def test_a_server_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


def told(status: int, **error: object) -> HttpReply:
    return HttpReply(status, {}, json.dumps({"error": error}).encode())


def test_an_error_code_is_passed_on_and_words_are_not() -> None:
    fault = refusal(
        told(
            404, code="model_not_found", type="invalid_request_error", message="sk-secret: no gpt-9"
        )
    )
    assert (
        fault.message
        == "there is no such model or address (404, invalid_request_error, model_not_found)"
    )
    assert "model's name" in fault.advice


@pytest.mark.parametrize(
    "code", ["sk-ABCDEF", "a key: sk", "sk-abc123", "x" * 60, 17, None, ["a"], {}]
)
def test_what_is_no_error_code_is_not_passed_on(code: object) -> None:
    assert refusal(told(400, code=code)).message == "the request was rejected (400)"


@pytest.mark.parametrize(
    "content", [b"", b"null", b"[]", b'"sk-secret"', b"\xff\xfe", b"[" * 9_000, b'{"error": "no"}']
)
def test_a_refusal_may_say_anything(content: bytes) -> None:
    assert refusal(HttpReply(401, {}, content)).message == "the key was rejected (401)"


@pytest.mark.parametrize(
    ("status", "words", "trouble"),
    [
        (400, "This model's maximum context length is 8192 tokens", ModelTrouble.TOO_LARGE),
        (422, "Input is too long for requested model", ModelTrouble.TOO_LARGE),
        (400, "Your credit balance is too low to access the API", ModelTrouble.AUTH),
        (403, "You exceeded your current quota: insufficient_quota", ModelTrouble.AUTH),
        (429, "You exceeded your current quota: insufficient_quota", ModelTrouble.AUTH),
        (429, "Number of request tokens has exceeded your rate limit", ModelTrouble.RATE_LIMIT),
        (
            400,
            "The response was filtered due to the prompt triggering content management policy",
            ModelTrouble.REFUSAL,
        ),
        (418, "", ModelTrouble.BAD_REQUEST),
        (307, "", ModelTrouble.BAD_REQUEST),
        (520, "", ModelTrouble.TRANSPORT),
        (204, "", ModelTrouble.BAD_RESPONSE),
        (99_999, "", ModelTrouble.BAD_RESPONSE),
    ],
)
def test_the_kind_of_trouble_is_read_from_status_and_words(
    status: int, words: str, trouble: ModelTrouble
) -> None:
    fault = refusal(told(status, message=words))
    assert fault.trouble is trouble
    assert fault.final is not trouble.retryable


@pytest.mark.parametrize("said", [None, True, -1, 1.5, "7", [], {}])
def test_what_is_no_number_of_tokens_counts_as_none(said: object) -> None:
    assert count(said) == 0


def test_a_number_of_tokens_fits_into_the_ledger() -> None:
    assert (count(7), count(10**30)) == (7, MOST_TOKENS)


@pytest.mark.parametrize("said", [None, True, -0.1, "0.2", float("nan"), float("inf"), 10**400, []])
def test_what_is_no_sum_of_money_is_unknown(said: object) -> None:
    assert amount(said) is None
    assert amount(0.25) == 0.25
