"""How the engine's library is told to connect."""

import pytest

from bot.queue.postgres import with_timeout


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite:////data/engine.sqlite", ""),
        ("postgresql://db/bot", "?connect_timeout=5&tcp_user_timeout=10000"),
        ("postgresql://db/bot?sslmode=require", "&connect_timeout=5&tcp_user_timeout=10000"),
        ("postgresql://db/bot?connect_timeout=2", "&tcp_user_timeout=10000"),
        ("postgresql://db/bot?tcp_user_timeout=1&connect_timeout=2", ""),
    ],
)
def test_a_url_gets_the_limits_it_has_not(url: str, told: str) -> None:
    assert with_timeout(url) == url + told
