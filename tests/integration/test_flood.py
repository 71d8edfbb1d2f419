"""Floods of a real service: its memory stays bounded, and it answers all the while.

The bars of the benchmark (`benchmarks/flood.py`) are 64 MiB and one second on a quiet machine; a busy one is slower.
There each flood goes on for longer, too.
"""

import time
from collections.abc import Iterator

import httpx
import pytest

from tests.flood import HALVES, MIB, UPLOADS, Service, flood, service
from tests.unit.bot.intake import payloads

pytestmark = pytest.mark.slow
MOST_GROWN = 64 * MIB
PATIENCE_S = 60.0
"""A health check's own time limit: none may be left without an answer."""
TRIES = 5
OPEN_FILES = 1024
FEW_FILES = 100
"""More than an idle service has open."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("flooded"), open_files=OPEN_FILES) as started:
        yield started


@pytest.mark.parametrize("kind", UPLOADS)
def test_two_hundred_large_bodies_without_a_signature(running: Service, kind: str) -> None:
    refused_early = kind in {"unsigned", "misshapen signature"}
    # A refusal ends a connection, so that a long limit costs no time.
    seen = flood(running, kind, 200, PATIENCE_S if refused_early else 2.0, tries=TRIES)
    assert seen.grown <= MOST_GROWN
    assert set(seen.health) == {200}
    assert not {"202", "500"} & set(seen.answers)
    assert seen.slowest_s < PATIENCE_S
    if refused_early:
        assert seen.answers.get("401", 0) > 150, "refused before the body was there"


@pytest.mark.parametrize("kind", HALVES)
def test_two_thousand_connections_that_do_not_go_on(running: Service, kind: str) -> None:
    seen = flood(running, kind, 2_000, 1.5, tries=TRIES)
    assert seen.grown <= MOST_GROWN
    assert set(seen.health) == {200}
    assert seen.most_files < OPEN_FILES
    assert seen.slowest_s < PATIENCE_S


def test_after_the_floods_a_delivery_is_taken_and_no_connection_is_left(running: Service) -> None:
    until = time.monotonic() + 60.0
    while running.open_files > FEW_FILES and time.monotonic() < until:
        time.sleep(0.2)
    assert running.open_files <= FEW_FILES
    body = payloads.encoded({"zen": "Anything added dilutes everything else."})
    answer = httpx.post(
        f"http://127.0.0.1:{running.port}/webhook",
        content=body,
        headers=payloads.signed(body, "ping", "after"),
        timeout=30,
    )
    assert answer.status_code == 202
