"""Workers that stand still and come back, and workers that are asked to go."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.chaos.crew import Crew, Death, judge, say, until
from tests.postgres import Server

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

MISSIONS = 8
HANDED_OVER_S = 3.0
"""From SIGTERM on, however long a silence would be a death."""


async def test_who_stood_still_too_long_finds_its_missions_gone_and_works_on_others(
    postgres: Server, tmp_path: Path
) -> None:
    # The first two steps of all are long past when it comes back; the step it stood still in is not.
    crew = Crew(postgres.new_database(), tmp_path, options=("--workers", "4"))
    try:
        still, other = crew.start(), crew.start()
        await until(crew.are_ready)
        await crew.submit(MISSIONS)
        await until(lambda: len(crew.at_work(still)) >= 2)
        async with crew.watched():
            os.kill(still, signal.SIGSTOP)
            at = time.time()
            held = crew.at_work(still, at)
            owned = frozenset(row for row in crew.owned() if row[0] in held)
            crew.deaths.append(Death(at, held, crew.ttl_s + 5, owned))
            await until(
                lambda: crew.are_done(MISSIONS), what="for the missions of who stands still"
            )
        before = crew.checkpoints()
        os.kill(still, signal.SIGCONT)
        await asyncio.sleep(3)
        assert crew.checkpoints() == before, "it wrote nothing"
        woken = [line for line in crew.lines() if line.worker == still and line.at > at + 1]
        assert not woken, f"it began nothing of what is others' now: {woken[:3]}"
        figures = judge(crew, MISSIONS)
        crew.end(signal.SIGTERM, other)
        await crew.submit(2, first=MISSIONS)
        await until(lambda: crew.are_done(MISSIONS + 2), what="for new work of who came back")
        say("SIGSTOP and SIGCONT", {**figures, "new missions of who came back": 2})
    finally:
        os.kill(still, signal.SIGCONT)
        crew.stop()


async def test_who_is_asked_to_go_hands_its_missions_over_at_once(
    postgres: Server, tmp_path: Path
) -> None:
    crew = Crew(
        postgres.new_database(),
        tmp_path,
        ttl_s=30,
        options=("--workers", "20", "--step-s", "2", "--steps", "3"),
    )
    crew.steps = 3
    try:
        leaving = crew.start()
        await until(crew.are_ready)
        await crew.submit(MISSIONS)
        await until(lambda: len(crew.at_work(leaving)) == MISSIONS)
        crew.start()
        await until(crew.are_ready)
        async with crew.watched():
            held = crew.at_work(leaving)
            owned = frozenset(row for row in crew.owned() if row[0] in held)
            crew.deaths.append(Death(time.time(), held, HANDED_OVER_S, owned))
            begun = time.monotonic()
            crew.end(signal.SIGTERM, leaving)
            gone = time.monotonic() - begun
        at = crew.deaths[0].at
        await until(
            lambda: {line.mission for line in crew.lines() if line.at > at} >= held,
            HANDED_OVER_S + 10,
        )
        on = (
            max(
                min(line.at for line in crew.lines() if line.mission == one and line.at > at)
                for one in held
            )
            - at
        )
        await until(lambda: crew.are_done(MISSIONS))
        say(
            "SIGTERM",
            {
                **judge(crew, MISSIONS),
                "gone after s": round(gone, 1),
                "all begun elsewhere after s": round(on, 1),
            },
        )
    finally:
        crew.stop()
