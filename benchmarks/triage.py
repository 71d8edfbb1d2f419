"""What triage calls repositories whose failure is known, through the real line in real sandboxes; one line of JSON.

    python -m benchmarks.triage [--only PREFIX ...] [--at-once N]

The worlds are made by `tests.triage_worlds`; every one that ends otherwise than it must is listed by name.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import as_users_have_it, report, summary
from bot.domain.mission import Outcome
from bot.mission.triage.rates import called_a_flake
from sandbox.backends import open_backend
from sandbox.workspace import Sandboxes
from tests.integration.git_http import serve_git
from tests.triage_worlds.play import Played, Playground, a_spec, all_worlds, confusion, served
from tests.triage_worlds.world import World

NO_FIX_FOR = frozenset({Outcome.FLAKY, Outcome.BASE_RED})
SEEN_FROM = 0.3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="beginnings of names; all by default")
    parser.add_argument("--at-once", type=int, default=2)
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    chosen = [
        w for w in all_worlds() if not arguments.only or w.name.startswith(tuple(arguments.only))
    ]
    if not chosen:
        parser.error("no such world")
    report(
        "triage", figures(asyncio.run(_play(chosen, arguments.at_once))), bytecode_was_off=was_off
    )


async def _play(worlds: Sequence[World], at_once: int) -> list[Played]:
    limit = asyncio.Semaphore(at_once)
    spec = a_spec(pool=0)
    with (
        tempfile.TemporaryDirectory() as folder,
        serve_git(served(Path(folder) / "served")) as server,
    ):
        sandboxes = Sandboxes(spec, open_backend(spec), Path(folder) / "data")
        ground = Playground(server, sandboxes)

        async def one(world: World) -> Played:
            async with limit:
                played = await ground.play(world)
            mark = (
                ""
                if played.right
                else f"  expected {sorted(world.expected)}: {played.context.reason[:200]}"
            )
            print(
                f"{world.name}: {played.outcome} {played.seconds:.1f} s{mark}",
                file=sys.stderr,
                flush=True,
            )
            return played

        try:
            return list(await asyncio.gather(*(one(world) for world in worlds)))
        finally:
            await sandboxes.close()


def figures(played: Sequence[Played]) -> dict[str, Any]:
    """Everything that is told about them."""
    kinds: dict[str, list[Played]] = defaultdict(list)
    for one in played:
        kinds[one.world.kind].append(one)
    flakes = [p for p in played if p.world.rate is not None and p.world.rate >= SEEN_FROM]
    called = [p.outcome is Outcome.FLAKY for p in flakes]
    expected = [called_a_flake(p.world.rate) for p in flakes if p.world.rate is not None]
    refused = [p for p in played if p.world.expected <= NO_FIX_FOR or p.outcome in NO_FIX_FOR]
    return {
        "repositories": len(played),
        "right": sum(p.right for p in played),
        "confusion": confusion(played),
        "kinds": {
            kind: {"of": len(ps), "right": sum(p.right for p in ps)}
            for kind, ps in sorted(kinds.items())
        },
        "flakes_from_0.3": len(flakes),
        "flakes_from_0.3_called_so": round(statistics.mean(called), 4) if called else None,
        "flakes_from_0.3_expected": round(statistics.mean(expected), 4) if expected else None,
        "flaky_or_base_red": len(refused),
        "flaky_or_base_red_with_a_fix": sum(p.got_a_fix for p in refused),
        "said_what_is_missing": [
            p.world.name for p in played if p.right and p.world.says not in p.told
        ],
        "wrong": {
            p.world.name: [p.outcome.value, p.context.reason[:200]] for p in played if not p.right
        },
        "seconds": summary([p.seconds for p in played], digits=1),
        "total_s": round(sum(p.seconds for p in played), 1),
    }


if __name__ == "__main__":
    main()
