"""Clocks of workers that jump by an hour, forward and back: nobody dies of it, and nothing is done twice."""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.crew import DONE, Crew, say, until
from tests.missing import missing
from tests.postgres import Server

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

MISSIONS = 8
JUMPS = (3_600, -3_600, 0)
"""What the clock of the worker shows, in seconds from the truth, one after the other."""
PAUSE_S = 2.5
SOURCE = Path(__file__).with_name("clock.c")


class Clock:
    """The wall clock of one process, which somebody sets; `clock.c` is what tells it.

    Args:
        folder: Where the lie is kept.
    """

    def __init__(self, folder: Path) -> None:
        if (compiler := shutil.which("cc")) is None:
            missing("there is no C compiler for the clock that lies")
        self._lie, library = folder / "lie", folder / "clock.so"
        self.set(0)
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True
        )
        self.variables = {"LD_PRELOAD": str(library), "LIE": str(self._lie)}

    def set(self, seconds: int) -> None:
        """So far from the truth, at once."""
        with self._lie.open("r+b" if self._lie.exists() else "wb") as out:
            out.write(seconds.to_bytes(8, sys.byteorder, signed=True))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/engine.sqlite"
    server: Server = request.getfixturevalue("postgres")
    return server.new_database()


async def test_a_clock_that_jumps_kills_nobody_and_repeats_nothing(
    url: str, tmp_path: Path
) -> None:
    clock = Clock(tmp_path)
    alone = url.startswith("sqlite")
    options = ("--workers", "4", "--submit", str(MISSIONS if alone else 0))
    crew = Crew(url, tmp_path, options=options, more=clock.variables)
    try:
        crew.start()
        await until(crew.are_ready)
        if not alone:
            crew.more = {}
            crew.start()  # this one's clock is right
            await until(crew.are_ready)
            await crew.submit(MISSIONS)
        await until(lambda: len(crew.lines()) >= 4)
        for jump in JUMPS:
            clock.set(jump)
            await asyncio.sleep(PAUSE_S)
        await until(lambda: crew.are_done(MISSIONS), what="for all missions")
        assert crew.are_ready(), "all live"
        seen = [line.at for line in crew.lines()]
        begun = [line.key for line in crew.lines()]
        assert max(seen) - min(seen) > 7_000, "its clock did jump"
        assert len(begun) == len(set(begun)) == MISSIONS * crew.steps, "every step once"
        assert set(crew.states().values()) <= DONE
        figures = {"missions done": MISSIONS, "jumps s": JUMPS, "steps run twice": 0}
        say(f"clock of a worker jumps ({url.partition(':')[0]})", figures)
    finally:
        crew.stop()
