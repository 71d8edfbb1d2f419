"""Writes keep their distance, limits are heeded, and what has not changed is not sent again."""

import asyncio
import time
from itertools import pairwise

import httpx
import pytest

from bot.errors import GitHubError, RateLimited
from bot.github.client import graphql_url
from bot.github.sending import ANSWER_LIMIT, ANSWERS_KEPT, Answers, Limit, Pace

pytestmark = pytest.mark.anyio


async def test_writes_to_one_repository_come_one_after_the_other_with_a_pause() -> None:
    pace, seen = Pace(), []

    async def write(number: int) -> None:
        async with pace.turn(0.05):
            seen.append((number, time.monotonic()))

    await asyncio.gather(*(write(number) for number in range(3)))
    assert [number for number, _ in seen] == [0, 1, 2]
    assert all(later - earlier >= 0.049 for (_, earlier), (_, later) in pairwise(seen))


async def test_a_write_that_failed_keeps_its_distance_too() -> None:
    pace, begun = Pace(), time.monotonic()
    with pytest.raises(ValueError, match="x"):
        async with pace.turn(0.05):
            raise ValueError("x")
    async with pace.turn(0.0):
        assert time.monotonic() - begun >= 0.049


async def test_a_limit_is_heeded_until_its_time_is_over() -> None:
    now = [100.0]
    limit = Limit(lambda: now[0])
    limit.heed()
    limit.refused(RateLimited("x", retry_after_s=30))
    now[0] += 10
    with pytest.raises(RateLimited) as early:
        limit.heed()
    assert early.value.retry_after_s == 20
    now[0] += 20
    limit.heed()


async def test_limits_without_a_time_grow_until_github_answers_again() -> None:
    limit = Limit(lambda: 0.0)
    waits = [limit.refused(RateLimited("x", retry_after_s=60)).retry_after_s for _ in range(6)]
    assert waits == [60, 120, 240, 480, 960, 960]
    limit.eased()
    assert limit.refused(RateLimited("x", retry_after_s=60)).retry_after_s == 60


def an_answer(content: bytes = b"{}", status: int = 200, etag: str = '"1"') -> httpx.Response:
    return httpx.Response(status, headers={"etag": etag} if etag else {}, content=content)


async def test_an_answer_with_an_etag_is_asked_for_by_it_and_found_again() -> None:
    answers, first = Answers(), an_answer(b'{"a": 1}')
    assert answers.condition("x") == {}
    assert answers.settle("x", first) is first
    assert answers.condition("x") == {"If-None-Match": '"1"'}
    assert answers.settle("x", an_answer(b"", 304)) is first
    second = an_answer(b'{"a": 2}', etag='"2"')
    assert answers.settle("x", second) is second
    assert answers.condition("x") == {"If-None-Match": '"2"'}


@pytest.mark.parametrize(
    "reply",
    [
        an_answer(etag=""),
        an_answer(b"[]"),
        an_answer(b"{" + b" " * ANSWER_LIMIT),
        an_answer(b"{}", 404),
    ],
    ids=["no etag", "a page of a list", "too large", "an error"],
)
async def test_what_may_not_be_kept_is_forgotten(reply: httpx.Response) -> None:
    answers = Answers()
    answers.settle("x", an_answer())
    assert answers.settle("x", reply) is reply
    assert answers.condition("x") == {}


async def test_nothing_new_of_what_was_forgotten_meanwhile_is_asked_for_again() -> None:
    answers = Answers()
    answers.settle("x", an_answer())
    answers.settle("x", an_answer(b"{}", 502))  # by somebody who asked at the same time
    with pytest.raises(GitHubError) as again:
        answers.settle("x", an_answer(b"", 304))
    assert again.value.retryable


async def test_only_the_latest_answers_are_kept() -> None:
    answers = Answers()
    answers.settle(0, an_answer())
    for number in range(1, ANSWERS_KEPT + 1):
        answers.settle(number, an_answer())
        answers.settle(1, an_answer(b"", 304))
    assert answers.condition(0) == {}
    assert answers.condition(1)


@pytest.mark.parametrize(
    ("api", "wanted"),
    [
        ("https://api.github.com/", "https://api.github.com/graphql"),
        ("https://api.example.ghe.com/", "https://api.example.ghe.com/graphql"),
        ("https://github.example.com/api/v3/", "https://github.example.com/api/graphql"),
        ("http://127.0.0.1:8123/api/v3/", "http://127.0.0.1:8123/api/graphql"),
    ],
)
async def test_graphql_is_found_from_where_rest_is(api: str, wanted: str) -> None:
    assert graphql_url(api) == wanted
