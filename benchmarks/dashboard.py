"""The dashboard of an installation with many missions: server time and bytes of every page, as one line of JSON.

    python -m benchmarks.dashboard [--missions 10000] [--repositories 40] [--database sqlite|postgresql]

Server time is processor time of the process that answers, and on PostgreSQL the time until the answer. The bytes of
the first page are those that a browser fetches that has nothing yet: the page, its style, its script and its icon.
"""

import argparse
import asyncio
import re
import tempfile
import time
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.measure import as_users_have_it, report, summary
from bot.domain.mission import Outcome
from bot.store.opening import open_database
from tests.contract.test_mission_records import an_end
from tests.unit.bot.dashboard.house import ACME, ENDED, House

PAGES = (
    "",
    "?outcome=FIXED",
    f"/missions/{ENDED}",
    "/repositories",
    f"/repositories/{ACME}",
    "/lessons",
    "/scoreboard?days=365",
    "/queue",
)
ASSET = re.compile(r'(?:href|src)="(/dashboard/static/[^"]+)"')
ROUNDS = 20


async def _fill(house: House, missions: int, repositories: int) -> None:
    """Add ended missions of every outcome, spread over the last months."""
    await house.furnish()
    outcomes = tuple(Outcome)
    for number in range(missions):
        at = house.clock.now() - timedelta(minutes=10 * number)
        place = number % repositories
        record = an_end(
            f"m:{number}",
            outcomes[number % len(outcomes)],
            repository=ACME + place,
            place=f"acme/shop{place}",
            title="Restore the check for an empty cart in total()",
            reason="the order of the two operands was exchanged " * 3,
            queued_at=at.isoformat(),
            began_at=at.isoformat(),
            ended_at=(at + timedelta(seconds=30)).isoformat(),
        )
        await house.missions.finish(record)


async def _measure(house: House, *, waits: bool) -> dict[str, Any]:
    """Ask for every page as the operator."""
    clock = time.perf_counter if waits else time.process_time
    pages = {}
    async with await house.browser_of("operator") as http:
        first = await http.get("/dashboard")
        fetched = [await http.get(path) for path in sorted(set(ASSET.findall(first.text)))]
        for path in PAGES:
            seconds, size = [], 0
            for _ in range(ROUNDS):
                start = clock()
                answer = await http.get(f"/dashboard{path}")
                seconds.append((clock() - start) * 1000)
                size = len(answer.raise_for_status().content)
            pages[path or "/"] = {**summary(seconds, digits=1), "bytes": size}
    total = sum(len(one.content) for one in (first, *fetched))
    return {"pages_ms": pages, "first_page_bytes": total, "files": 1 + len(fetched)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missions", type=int, default=10_000)
    parser.add_argument("--repositories", type=int, default=40)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    options = parser.parse_args()
    was_off = as_users_have_it()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        given, waits = None, options.database == "postgresql"
        if waits:
            from tests.postgres import a_server

            url = stack.enter_context(a_server()).new_database()
            given = stack.enter_context(closing(open_database(url)))
        house = House(folder, given=given)
        asyncio.run(_fill(house, options.missions, options.repositories))
        figures = asyncio.run(_measure(house, waits=waits))
    result = {"missions": options.missions, "database": options.database, **figures}
    report("dashboard", result, bytecode_was_off=was_off)


if __name__ == "__main__":
    main()
