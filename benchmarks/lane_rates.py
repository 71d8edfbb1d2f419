"""Candidates a processor second for each lane of the search, on packages that `benchmarks.sets.packages` built."""

import json
import shutil
import statistics
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from benchmarks.sets.bug import Bug
from benchmarks.sets.built import Built, Package, say
from benchmarks.sets.judge import open_bug
from bot.fixers.rung1_search.request import PROTECTED
from sandbox.backends.base import Guest
from sandbox.errors import SandboxError
from sandbox.trials import search
from sandbox.types import Lane, SearchRequest
from sandbox.workspace import Sandboxes, SandboxWorkspace

INSIDE = Path(__file__).with_name("lane_rates_inside.py")
READINGS = "lane_rates.json"
CANDIDATES: dict[Lane, int] = {"swap": 1000, "fresh": 100, "cold": 8}
"""How many are tried at most; a trial of the cold lane starts pytest anew."""
TIME_LIMIT_S = 120.0
NO_LIMIT = 100_000
DEMANDED = {"median": 50.0, "least": 10.0}
Reading = tuple[str, int, float]
"""Kind of an event, candidates so far, processor seconds so far."""


class CountingGuest:
    """A sandbox whose searches run under a program that notes processor seconds.

    Args:
        guest: The sandbox.
    """

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    def __getattr__(self, name: str) -> Any:
        return getattr(self._guest, name)

    def stream(self, argv: Sequence[str], **options: Any) -> AsyncIterator[Any]:
        """Run the search under the program."""
        program = f"{self._guest.workdir}/{INSIDE.name}"
        readings = f"{self._guest.workdir}/{READINGS}"
        return self._guest.stream((argv[0], program, readings, *argv[1:]), **options)


def bugs_of(folder: Path, only: Sequence[str], count: int) -> Iterator[Bug]:
    """Yield the first mutants of every package that was built."""
    for package in Package.all():
        built = Built(folder, package)
        if only and not package.name.startswith(tuple(only)):
            continue
        if not (built.is_surveyed and built.bugs("mutants")):
            say(f"{package.name}: not built")
            continue
        for planted in built.bugs("mutants")[:count]:
            yield built.as_bug(planted)


async def measure(sandboxes: Sandboxes, bug: Bug) -> dict[str, Any]:
    """Search one bug with each lane alone."""
    row: dict[str, Any] = {"bug": bug.name}
    with tempfile.TemporaryDirectory() as folder:
        bug.plant(Path(folder), ())
        shutil.copy(INSIDE, folder)
        try:
            async with open_bug(sandboxes, bug, Path(folder)) as workspace:
                for lane in CANDIDATES:
                    row[lane] = rate(await _readings(workspace, bug, lane))
        except SandboxError as error:
            row["because"] = error.message
    return row


async def _readings(workspace: SandboxWorkspace, bug: Bug, lane: Lane) -> list[Reading]:
    opened = await workspace._open()  # noqa: SLF001 - the search is started in another way here
    request = SearchRequest(
        command=bug.command,
        failing=tuple(sorted(bug.failing)),
        passing=tuple(test for test in bug.tests if test not in bug.failing),
        protected=PROTECTED,
        lanes=(lane,),
        max_candidates=CANDIDATES[lane],
        max_survivors=NO_LIMIT,
        time_limit_s=TIME_LIMIT_S,
    )
    events = search(
        cast(Guest, CountingGuest(opened.guest)),
        request,
        working_directory=opened.recipe.working_directory,
        environment=opened.baseline.variables,
    )
    ended = [event async for event in events][-1]
    text = await workspace.read_file(READINGS)
    found: list[Reading] = [(kind, tried, cpu_s) for kind, tried, cpu_s in json.loads(text or "[]")]
    if not any(tried for _, tried, _ in found):
        say(f"{bug.name}, {lane}: {ended}")
    return found


def rate(readings: Iterable[Reading]) -> float | None:
    """Candidates a second from the start of the trials to the last reading; None without any.

    The end itself counts only if there is no other: survivors are compared before it.
    """
    readings = list(readings)
    begun = next((cpu_s for kind, _, cpu_s in readings if kind == "started"), None)
    counted = [(tried, cpu_s) for kind, tried, cpu_s in readings if tried and kind != "done"]
    counted = counted or [(tried, cpu_s) for _, tried, cpu_s in readings if tried]
    if begun is None or not counted or counted[-1][1] <= begun:
        return None
    return round(counted[-1][0] / (counted[-1][1] - begun), 1)


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A row for each bug, and the median and the least of each lane."""
    lanes: dict[str, Any] = {}
    for lane in CANDIDATES:
        known = [row[lane] for row in rows if row.get(lane) is not None]
        lanes[lane] = {
            "bugs": len(known),
            "median": statistics.median(known) if known else None,
            "least": min(known, default=None),
        }
    return {"rows": list(rows), "lanes": lanes, "demanded": DEMANDED}
