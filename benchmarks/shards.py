"""A million repositories on paper: rates, shards, what it costs, and what breaks first.

    python -m benchmarks.shards [--repositories N] [--measured FILE] [--seed N]

What one mission and one delivery cost is measured (`benchmarks.load`; its line in FILE replaces what is written down
here). What the world does is assumed, and every assumption is printed. The peak hour of one shard is played mission by
mission: lines of repositories, worker slots, waiting.
"""

import argparse
import json
import math
import random
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.measure import as_users_have_it, report
from benchmarks.shard_hours import HOUR_S, World, slots_for

DAY_S = 86_400.0


@dataclass(frozen=True)
class Measured:
    """What ours costs: by `benchmarks.load` with 4 workers and five steps a mission, and with sandboxes; on two cores.

    Attributes:
        service_cpu_s: Of a whole real mission in our process, without its sandbox.
        web_cpu_ms: Of a delivery that leads to a mission.
        idle_delivery_cpu_ms: Of a delivery that leads to nothing: assumed.
        database_cpu_ms: Of a mission in PostgreSQL, idle looks of the workers included.
        transactions: Of a mission in PostgreSQL.
        database_kib: Rows of a mission.
        rss_mib: Of a worker that had real missions.
        connections: Of a worker: one more than the load shows, which never touches our own tables there.
        web_connections: Of a web process.
        steps: Of a mission in that measurement.
        sweep_call_s: One request of the sweep to GitHub, made one after the other: assumed.
    """

    service_cpu_s: float = 3.39
    web_cpu_ms: float = 11.0
    idle_delivery_cpu_ms: float = 1.0
    database_cpu_ms: float = 19.1
    transactions: float = 45.8
    database_kib: float = 10.5
    rss_mib: float = 231.0
    connections: float = 5.0
    web_connections: float = 3.0
    steps: int = 5
    sweep_call_s: float = 0.1


@dataclass(frozen=True)
class Design:
    """What we decide.

    Attributes:
        steps: Of a real mission: what is measured with fewer is scaled up.
        slots: Missions at the same time in one worker process.
        shard_connections: That one PostgreSQL server gives us.
        shard_cores: Processors of that server.
        busy: So full a resource may be in the peak hour.
        sweep_s: Between two sweeps.
        sweep_calls: Of one repository.
        log_deliveries: The newest of GitHub's log that a sweep looks at.
        log_window_s: So much of it a sweep must cover: its period and ten minutes.
        installation_calls: That GitHub allows one installation in an hour.
        kept_days: Rows of finished missions.
        wait_p99_s: The longest wait for a slot that is acceptable.
    """

    steps: int = 40
    slots: int = 4
    shard_connections: int = 300
    shard_cores: int = 8
    busy: float = 0.6
    sweep_s: float = 900.0
    sweep_calls: float = 2.0
    log_deliveries: int = 20_000
    log_window_s: float = 1_500.0
    installation_calls: float = 15_000.0
    kept_days: int = 30
    wait_p99_s: float = 60.0


def main() -> None:
    """Reckon, play, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repositories", type=int, default=World.repositories)
    parser.add_argument("--measured", type=Path, help="lines printed by benchmarks.load")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    measured = _measured(arguments.measured) if arguments.measured else Measured()
    world, design = World(repositories=arguments.repositories), Design()
    report("shards", plan(world, measured, design, arguments.seed), bytecode_was_off=was_off)


def plan(world: World, measured: Measured, design: Design, seed: int) -> dict[str, Any]:
    """The whole plan."""
    chance = random.Random(seed)  # noqa: S311 - a simulation
    rates = _rates(world)
    shards = _shards(rates, measured, design, world)
    one = rates["missions_a_second_at_peak"] / shards
    slots, waits = slots_for(one, world, design.wait_p99_s, chance)
    workers = math.ceil(slots / design.slots)
    return {
        "assumed": asdict(world),
        "measured": asdict(measured),
        "decided": asdict(design),
        "rates": {name: round(value, 2) for name, value in rates.items()},
        "shards": shards,
        "spread_over_shards": _spread(world, shards, chance),
        "one_shard_at_peak": {
            "missions_a_second": round(one, 2),
            "slots": slots,
            "workers": workers,
            "connections": round(workers * measured.connections + 2 * measured.web_connections),
            "worker_memory_gib": round(workers * measured.rss_mib / 1024, 1),
            "sandbox_cores": round(one * world.mission_mean_s * world.sandbox_cores),
            "database_cores": round(_database_cores(one, measured, design), 2),
            "transactions_a_second": round(
                one * measured.transactions * design.steps / measured.steps
            ),
            **waits,
        },
        "costs_usd_a_day": _costs(rates, measured, design, world),
        "breaks_at_repositories": _breaks(rates, measured, design, world),
    }


# --- on paper ---------------------------------------------------------------------------------------


def _rates(world: World) -> dict[str, float]:
    pushes = world.repositories * world.pushes_a_day / DAY_S
    missions = pushes * world.red_share
    return {
        "deliveries_a_second": pushes * world.deliveries_a_push,
        "deliveries_a_second_at_peak": pushes * world.deliveries_a_push * world.peak,
        "missions_a_day": missions * DAY_S,
        "missions_a_second": missions,
        "missions_a_second_at_peak": missions * world.peak,
        "missions_at_the_same_time_at_peak": missions * world.peak * world.mission_mean_s,
    }


def _database_cores(missions_a_second: float, measured: Measured, design: Design) -> float:
    return missions_a_second * measured.database_cpu_ms / 1000 * design.steps / measured.steps


def _shards(rates: dict[str, float], measured: Measured, design: Design, world: World) -> int:
    """As many databases as the tightest of their limits asks for."""
    peak = rates["missions_a_second_at_peak"]
    workers = peak * world.mission_mean_s / design.busy / design.slots
    connections = workers * measured.connections / design.shard_connections
    cores = _database_cores(peak, measured, design) / (design.shard_cores * design.busy)
    return max(1, math.ceil(max(connections, cores)))


def _spread(world: World, shards: int, chance: random.Random) -> dict[str, float]:
    """Installations laid on shards by their number's hash: how much fuller than the mean the fullest is.

    An installation is never split, so that its limits, budgets and lines are in one database.
    """
    load = [0.0] * shards
    left = world.repositories
    while left > 0:
        size = min(left, world.repositories_of_largest, math.ceil(chance.paretovariate(1.1)))
        load[chance.randrange(shards)] += size
        left -= size
    return {"fullest_against_mean": round(max(load) / (world.repositories / shards), 2)}


def _costs(
    rates: dict[str, float], measured: Measured, design: Design, world: World
) -> dict[str, float]:
    missions = rates["missions_a_day"]
    scale = design.steps / measured.steps
    core_day = 24 * world.core_hour_usd
    sandbox = rates["missions_a_second"] * world.mission_mean_s * world.sandbox_cores / design.busy
    ours = missions * (measured.service_cpu_s + measured.database_cpu_ms * scale / 1000) / DAY_S
    web = rates["deliveries_a_second"] * measured.idle_delivery_cpu_ms / 1000
    web += rates["missions_a_second"] * measured.web_cpu_ms / 1000
    disk = missions * design.kept_days * measured.database_kib * scale / 2**20
    return {
        "sandboxes": round(sandbox * core_day),
        "service_and_database": round(ours / design.busy * core_day, 1),
        "web": round(web / design.busy * core_day, 1),
        "database_disk": round(disk * world.gib_month_usd / 30, 1),
        "database_disk_gib": round(disk),
        "models_if_every_mission_asks": round(missions * world.model_usd),
        "of_ours_a_mission": round((sandbox + ours + web) * core_day / missions, 5),
    }


def _breaks(
    rates: dict[str, float], measured: Measured, design: Design, world: World
) -> dict[str, int]:
    """At how many repositories each part of one unsharded installation of ours reaches its limit, first ones first."""
    mission_rate = rates["missions_a_second_at_peak"] / world.repositories
    delivery_rate = rates["deliveries_a_second_at_peak"] / world.repositories
    per_second = world.calls_a_mission * mission_rate + design.sweep_calls / design.sweep_s
    limits = {
        "the sweep, one request after the other, takes longer than its period": design.sweep_s
        / (design.sweep_calls * measured.sweep_call_s),
        "GitHub's log of deliveries is longer than the sweep reads": design.log_deliveries
        / design.log_window_s
        / delivery_rate,
        "GitHub's hourly limit of one installation (repositories in it)": design.installation_calls
        / HOUR_S
        / per_second,
        "one process of the dispatcher, a delivery after the other": 1000
        / measured.web_cpu_ms
        / mission_rate,
        "one receiver process": 1000 / measured.idle_delivery_cpu_ms / delivery_rate,
        "connections of one PostgreSQL server": design.shard_connections
        / measured.connections
        * design.slots
        * design.busy
        / (mission_rate * world.mission_mean_s),
        "processors of one PostgreSQL server": design.shard_cores
        * design.busy
        / _database_cores(mission_rate, measured, design),
        "one machine of 64 cores for sandboxes": 64
        * design.busy
        / (mission_rate * world.mission_mean_s),
    }
    return {name: int(limits[name]) for name in sorted(limits, key=limits.__getitem__)}


def _measured(path: Path) -> Measured:
    """The figures of the last lines of `benchmarks.load` in a file: its round with most workers, and with sandboxes."""
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]
    found = {line["benchmark"]: line for line in lines}
    measured = Measured()
    if (load := found.get("load")) is not None:
        last = load["rounds"][-1]
        measured = replace(
            measured,
            web_cpu_ms=last["web_cpu_ms_a_delivery"],
            database_cpu_ms=last["database_cpu_ms_a_mission"],
            transactions=last["transactions_a_mission"],
            database_kib=last["database_kib_a_mission"],
            connections=1 + last["connections_of_a_worker"],
            web_connections=last["connections_of_web"],
            steps=load["load"]["steps"],
        )
    if (real := found.get("load_sandboxes")) is not None:
        measured = replace(
            measured, service_cpu_s=real["service_cpu_s_a_mission"], rss_mib=real["service_rss_mib"]
        )
    return measured


if __name__ == "__main__":
    main()
