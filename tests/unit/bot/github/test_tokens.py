"""Tokens carry just the rights a call needs, and are made once."""

import asyncio
import time

import pytest

from bot.github.tokens import (
    CHECKS,
    COMMIT,
    READ,
    RERUN,
    STATUSES,
    TALK,
    Token,
    TokenStore,
    rights_for,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("needs", "rights"),
    [
        ("contents:read", READ),
        ("metadata:read", READ),
        ("checks:write", CHECKS),
        ("contents:write", COMMIT),
        ("pull_requests:write", TALK),
        ("actions:write", RERUN),
        ("statuses:read", STATUSES),
    ],
)
async def test_a_call_gets_the_narrowest_of_our_sets(needs: str, rights: object) -> None:
    assert rights_for(needs) == rights


async def test_reading_never_carries_a_right_to_write() -> None:
    assert {level for _, level in READ} == {"read"}


async def test_a_token_does_not_show_in_its_repr() -> None:
    assert "ghs_" not in repr(Token("ghs_secret", 0.0))


async def test_many_at_once_make_one_and_an_old_one_is_made_anew() -> None:
    store, made = TokenStore(), []

    async def mint(life: float = 100.0) -> Token:
        await asyncio.sleep(0)
        made.append(life)
        return Token(f"t{len(made)}", time.monotonic(), life)

    await asyncio.gather(*(store.get(1, READ, mint) for _ in range(5)))
    assert len(made) == 1
    await store.get(2, READ, mint)
    await store.get(1, COMMIT, mint)
    assert len(made) == 3
    first = await store.get(1, READ, mint)
    store.drop(1, READ, Token("another", 0.0))
    assert await store.get(1, READ, mint) is first
    store.drop(1, READ, first)
    assert await store.get(1, READ, lambda: mint(-1.0)) is not first
    await store.get(1, READ, mint)
    assert len(made) == 5


async def test_who_only_talks_cannot_change_code() -> None:
    assert dict(TALK)["contents"] == "read"


async def test_tokens_that_are_taken_are_forgotten() -> None:
    store = TokenStore()

    async def mint() -> Token:
        return Token("t", time.monotonic())

    for repository, rights in ((1, READ), (1, COMMIT), (2, READ)):
        await store.get(repository, rights, mint)
    assert len(store.take(1)) == 2
    assert store.take(1) == []
    assert len(store.take()) == 1
