"""The peak hours of one shard, mission by mission: lines of repositories, worker slots, waiting."""

import heapq
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

HOUR_S = 3_600.0
PLAYED_S = 4 * HOUR_S
"""Of which the first hour fills the slots and does not count."""

Arrival = tuple[float, int, float]
"""When, in whose line, and for how long."""


@dataclass(frozen=True)
class World:
    """What repositories do: assumed, not measured.

    Attributes:
        repositories: With the App installed.
        pushes_a_day: Of one repository, in the mean; most push far less, a few far more.
        red_share: Pushes whose checks are red.
        deliveries_a_push: Webhooks that GitHub sends for one.
        peak: The busiest hour against the mean one.
        repositories_of_largest: The installation that no shard can share with another.
        mission_median_s: How long a mission holds its slot.
        mission_sigma: Its spread: at 1.2 one in a hundred would take sixteen times the median.
        mission_longest_s: Where its limits end it.
        sandbox_cores: Processors a mission keeps busy meanwhile.
        calls_a_mission: Requests to GitHub.
        model_usd: Of one mission, where models are used; the rules cost nothing.
        core_hour_usd: Rent of a processor.
        gib_month_usd: Rent of a gibibyte of disk.
    """

    repositories: int = 1_000_000
    pushes_a_day: float = 2.0
    red_share: float = 0.15
    deliveries_a_push: float = 20.0
    peak: float = 2.5
    repositories_of_largest: int = 10_000
    mission_median_s: float = 90.0
    mission_sigma: float = 1.2
    mission_longest_s: float = 1_800.0
    sandbox_cores: float = 1.0
    calls_a_mission: float = 40.0
    model_usd: float = 0.05
    core_hour_usd: float = 0.04
    gib_month_usd: float = 0.10

    @property
    def mission_mean_s(self) -> float:
        """Of a lognormal that is cut off at its longest."""
        normal, spread = NormalDist(), self.mission_sigma
        over = (math.log(self.mission_longest_s) - math.log(self.mission_median_s)) / spread
        whole = self.mission_median_s * math.exp(spread**2 / 2) * normal.cdf(over - spread)
        return whole + self.mission_longest_s * (1 - normal.cdf(over))


def slots_for(
    rate: float, world: World, wait_p99_s: float, chance: random.Random
) -> tuple[int, dict[str, float]]:
    """The fewest slots, in steps of a twentieth, with which nearly nobody waits too long."""
    slots = math.ceil(rate * world.mission_mean_s * 1.02)
    arrivals = arrivals_of(rate, world, chance)
    while True:
        waits = play(arrivals, slots)
        p99 = waits[int(len(waits) * 0.99)] if waits else 0.0
        if p99 <= wait_p99_s:
            break
        slots = math.ceil(slots * 1.05)
    return slots, {
        "missions_played": len(waits),
        "wait_for_a_slot_median_s": round(waits[len(waits) // 2], 1) if waits else 0.0,
        "wait_for_a_slot_p99_s": round(p99, 1),
        "slots_busy": round(rate * world.mission_mean_s / slots, 2),
    }


def arrivals_of(rate: float, world: World, chance: random.Random) -> list[Arrival]:
    """Peak hours, of which the first fills the slots; a few repositories get most of it."""
    now, found = 0.0, []
    while now < PLAYED_S:
        now += chance.expovariate(rate)
        repository = int(chance.paretovariate(0.8) * 1_000)
        seconds = min(
            world.mission_longest_s,
            chance.lognormvariate(math.log(world.mission_median_s), world.mission_sigma),
        )
        found.append((now, repository, seconds))
    return found


def play(arrivals: Sequence[Arrival], slots: int) -> list[float]:
    """How long each waited for a slot once its repository's line was free, in order of length."""
    running: list[tuple[float, int]] = []  # when it ends, whose
    lines: dict[int, list[Arrival]] = defaultdict(list)
    ready: list[tuple[float, int, float]] = []  # since when, whose, how long
    busy: set[int] = set()
    waits: list[float] = []

    def begin(now: float) -> None:
        while ready and len(running) < slots:
            since, whose, seconds = heapq.heappop(ready)
            if since > HOUR_S:
                waits.append(now - since)
            heapq.heappush(running, (now + seconds, whose))

    def end_until(now: float) -> None:
        while running and running[0][0] <= now:
            at, whose = heapq.heappop(running)
            busy.discard(whose)
            if lines[whose]:
                _, _, seconds = lines[whose].pop(0)
                busy.add(whose)
                heapq.heappush(ready, (at, whose, seconds))
            begin(at)

    for at, whose, seconds in arrivals:
        end_until(at)
        if whose in busy:
            lines[whose].append((at, whose, seconds))
        else:
            busy.add(whose)
            heapq.heappush(ready, (at, whose, seconds))
        begin(at)
    end_until(math.inf)
    return sorted(waits)
