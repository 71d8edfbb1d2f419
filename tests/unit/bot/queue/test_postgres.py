"""How the engine's library is told to connect."""

import threading

import pytest
from typing_extensions import override

from bot.queue.postgres import Postgres, with_timeout


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


class Granting(Postgres):
    """A server that grants every lock."""

    @override
    def _run(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        return [(True,)]


def test_who_does_one_thing_alone_may_do_another_meanwhile() -> None:
    server, done = Granting("postgresql://db/bot", "ours"), list[bool]()

    def both() -> None:
        with server.alone("judging", wait=False) as judging, server.alone("anew") as anew:
            done.append(judging and anew)

    thread = threading.Thread(target=both, daemon=True)
    thread.start()
    thread.join(5)
    assert done == [True]
