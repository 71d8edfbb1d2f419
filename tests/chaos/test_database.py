"""A database that goes away for a while: nothing is lost, nobody is taken for dead, and GitHub is told within a second."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bot.errors import QueueError
from bot.settings import Settings
from tests.chaos.crew import Crew, is_crowded, judge, say, until
from tests.chaos.wire import Wire
from tests.chaos.worker import a_request
from tests.demo.bot_process import BotProcess
from tests.github_server.server import LocalGitHub, Options
from tests.github_server.webhooks import Delivery
from tests.postgres import Server, a_server

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

AWAY_S = 20.0
MISSIONS = 12
ANSWER_S = 1.0
"""So long GitHub waits for the 503."""
GITHUB_WAITS_S = 10.0
"""The engine itself, off the request path, waits longer: a server that is silent may speak in a moment."""
BACK_S = 60.0
"""All is done so long after the database is back."""


@pytest.mark.parametrize("mode", ["immediate", "fast"])
async def test_an_outage_of_the_database_is_nobody_s_death(tmp_path: Path, mode: str) -> None:
    with a_server() as server:
        crew = Crew(server.new_database(), tmp_path, options=("--workers", "3"))
        web = crew.web()
        try:
            for _ in range(2):
                crew.start()
            await until(crew.are_ready)
            await web.launch()
            for number in range(MISSIONS):
                assert await web.submit(a_request(number))
            await until(lambda: len(crew.lines()) >= 10)
            server.stop(mode)
            stopped = time.monotonic()
            with pytest.raises(QueueError):
                await web.submit(a_request(MISSIONS))
            told = time.monotonic() - stopped
            await asyncio.sleep(AWAY_S - told)
            server.start()
            back = time.monotonic()
            await until(lambda: crew.are_done(MISSIONS), BACK_S, "for all missions")
            took = time.monotonic() - back
            assert crew.are_ready(), "all workers live"
            assert await web.submit(a_request(MISSIONS)), "who asked again is heard"
            await until(lambda: crew.are_done(MISSIONS + 1))
            say(
                f"PostgreSQL away for {AWAY_S:.0f} s ({mode})",
                {
                    **judge(crew, MISSIONS + 1),
                    "told after s": round(told, 2),
                    "all done after its return s": round(took),
                },
            )
            assert told < ANSWER_S or is_crowded()
        finally:
            crew.stop()
            await web.close()


async def test_a_database_that_falls_silent_is_nobody_s_death_either(
    postgres: Server, tmp_path: Path
) -> None:
    url = postgres.new_database()
    with Wire(urlsplit(url).port or 0) as wire:
        crew = Crew(
            url.replace(f":{urlsplit(url).port}/", f":{wire.port}/"),
            tmp_path,
            options=("--workers", "3"),
        )
        web = crew.web()
        try:
            for _ in range(2):
                crew.start()
            await until(crew.are_ready)
            await web.launch()
            for number in range(MISSIONS):
                assert await web.submit(a_request(number))
            await until(lambda: len(crew.lines()) >= 10)
            wire.set("silent")
            stopped = time.monotonic()
            with pytest.raises(QueueError):
                await web.submit(a_request(MISSIONS))
            told = time.monotonic() - stopped
            await asyncio.sleep(AWAY_S - told)
            wire.set("whole")
            back = time.monotonic()
            await web.submit(
                a_request(MISSIONS)
            )  # the first time may have been heard, only not answered
            await until(lambda: crew.are_done(MISSIONS + 1), BACK_S, "for all missions")
            took = time.monotonic() - back
            assert crew.are_ready(), "all workers live"
            figures = {"told after s": round(told, 2), "all done after it speaks s": round(took)}
            say(f"PostgreSQL silent for {AWAY_S:.0f} s", {**judge(crew, MISSIONS + 1), **figures})
            assert told < GITHUB_WAITS_S or is_crowded()
        finally:
            crew.stop()
            await web.close()


# --- the whole service ------------------------------------------------------------------------------


@contextmanager
def a_service(url: str, data: Path) -> Iterator[LocalGitHub]:
    """A web process and a worker on one database, and the GitHub they belong to."""
    more = {"METAAGENT_DATABASE_URL": url, "METAAGENT_SWEEP_S": "5", "METAAGENT_SETTLE_S": "5"}
    more["METAAGENT_WEBHOOK_ANSWER_S"] = str(Settings().webhook_answer_s)
    with (
        LocalGitHub(Options(data / "github")) as github,
        BotProcess(github, data / "bot", more, role="web") as web,
    ):
        with (data / "worker.log").open("ab") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "bot", "worker"], env=web.environment(), stderr=log
            )
        try:
            yield github
            assert worker.poll() is None, "the worker lives"
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(30)


def told(github: LocalGitHub, sha: str) -> int:
    """How often people were told of a red commit."""
    return len([run for run in github.own_check_runs(sha) if run.status == "completed"])


@pytest.mark.parametrize("how", ["away", "silent"])
async def test_what_github_dropped_meanwhile_is_fetched_by_the_sweep(
    tmp_path: Path, how: str
) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(a_server())
        url = server.new_database()
        wire = stack.enter_context(Wire(urlsplit(url).port or 0))
        there = url.replace(f":{urlsplit(url).port}/", f":{wire.port}/")
        github = stack.enter_context(a_service(there, tmp_path))
        files = {"a.py": "x = 1\n", ".github/metaagent.yml": "enabled: false\n"}
        github.create_repository("octo", "calculator", files)
        name = "octo/calculator"

        def red(branch: str) -> str:
            sha = github.push(name, branch, {"a.py": f"x = '{branch}'\n"})
            github.third_party_check(name, sha, "tests", "failure")
            return sha

        before = red("before")
        await until(lambda: told(github, before) == 1, 60, "for the first mission")
        server.stop() if how == "away" else wire.set("silent")
        stopped = time.monotonic()
        meanwhile = [red(f"meanwhile-{number}") for number in range(3)]
        sent = len(github.deliveries)
        await asyncio.to_thread(github.webhooks.drain, 60)
        answers: list[Delivery] = github.deliveries[sent:] or github.deliveries[-12:]
        await asyncio.sleep(max(0.0, AWAY_S - (time.monotonic() - stopped)))
        server.start() if how == "away" else wire.set("whole")
        back = time.monotonic()
        await until(
            lambda: all(told(github, sha) >= 1 for sha in meanwhile), BACK_S, "for what was dropped"
        )
        took = time.monotonic() - back
        await asyncio.sleep(6)  # one more sweep, which must find nothing new
        assert [told(github, sha) for sha in (before, *meanwhile)] == [1] * 4, "each is told once"
        slowest = max(one.duration for one in answers)
        figures = {
            "deliveries meanwhile": len(answers),
            "answered": sorted({one.status_code for one in answers}),
            "slowest answer s": round(slowest, 2),
            "all told after its return s": round(took, 1),
        }
        say(f"webhooks while PostgreSQL is {how} for {AWAY_S:.0f} s", figures)
        assert {one.status_code for one in answers} <= {202, 503}
        assert slowest < ANSWER_S or is_crowded()
