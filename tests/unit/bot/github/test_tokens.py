"""Tokens carry just the rights a call needs, and are made once."""

import asyncio
import time

import pytest

from bot.github.tokens import CHECKS, PUBLISH, READ, Token, TokenStore, rights_for

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("needs", "rights"),
    [
        ("contents:read", READ),
        ("metadata:read", READ),
        ("checks:write", CHECKS),
        ("contents:write", PUBLISH),
        ("pull_requests:write", PUBLISH),
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
    await store.get(1, PUBLISH, mint)
    assert len(made) == 3
    first = await store.get(1, READ, mint)
    store.drop(1, READ, Token("another", 0.0))
    assert await store.get(1, READ, mint) is first
    store.drop(1, READ, first)
    assert await store.get(1, READ, lambda: mint(-1.0)) is not first
    await store.get(1, READ, mint)
    assert len(made) == 5
