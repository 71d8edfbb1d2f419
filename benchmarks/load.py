"""Deliveries in at a steady rate, missions through: how many a second, what each waited and cost, that none is lost.

    python -m benchmarks.load [--missions N] [--rate N] [--workers N ...] [--database sqlite|postgresql]
    python -m benchmarks.load --sandboxes [--missions N]

The first form sends signed webhooks to a receiver; behind it are the durable inbox, the dispatcher, the engine and
missions of steps that only sleep, so what is measured is ours. With `--workers 1 2 4` it goes through as many worker
processes, turn by turn (on PostgreSQL; SQLite is one process). `--sandboxes` plays the demo's broken repositories on a
local GitHub: red checks in, pull requests out, with real sandboxes.
"""

import argparse
import asyncio
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from benchmarks.load_process import STEPS_FILE
from benchmarks.measure import ROOT, as_users_have_it, report, summary
from tests.unit.bot.intake import payloads

READY_S = 60.0
DONE_S = 300.0


@dataclass(frozen=True)
class Load:
    """What is asked of the service.

    Attributes:
        missions: One delivery each, in a repository of its own.
        rate: Deliveries a second.
        steps: Of each mission.
        step_ms: How long one sleeps.
        at_once: Missions in one worker.
    """

    missions: int
    rate: float
    steps: int
    step_ms: float
    at_once: int = 20


@dataclass
class Sent:
    """What came back."""

    answers: Counter[int] = field(default_factory=Counter)
    spent_ms: list[float] = field(default_factory=list)
    at: dict[str, float] = field(default_factory=dict)
    """When the delivery of each mission was sent."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--missions", type=int, help="200 by default, 12 with sandboxes")
    parser.add_argument("--rate", type=float, default=20.0, help="deliveries a second")
    parser.add_argument(
        "--workers", type=int, nargs="*", default=[1, 2, 4], help="worker processes, turn by turn"
    )
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="postgresql")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--step-ms", type=float, default=0.0)
    parser.add_argument(
        "--sandboxes", action="store_true", help="the demo's repositories, with real sandboxes"
    )
    arguments = parser.parse_args()
    was_off = as_users_have_it()
    if arguments.sandboxes:
        from benchmarks.load_sandboxes import missions_through

        report(
            "load_sandboxes", missions_through(arguments.missions or 12), bytecode_was_off=was_off
        )
        return
    load = Load(arguments.missions or 200, arguments.rate, arguments.steps, arguments.step_ms)
    workers = [1] if arguments.database == "sqlite" else arguments.workers
    rounds = [_round(arguments.database, number, load) for number in workers]
    result = {"database": arguments.database, "load": vars(load), "rounds": rounds}
    met = all(one["lost"] == one["doubled"] == 0 for one in rounds)
    report("load", {**result, "met": met}, bytecode_was_off=was_off)


def _round(database: str, workers: int, load: Load) -> dict[str, Any]:
    """The whole load through so many workers, on a database of its own."""
    from tests.postgres import a_server

    with tempfile.TemporaryDirectory(prefix="load-") as name, ExitStack() as stack:
        folder = Path(name)
        url = f"sqlite:///{folder}/engine.sqlite"
        if database == "postgresql":
            url = stack.enter_context(a_server()).new_database()
        port = _free_port()
        crew = stack.enter_context(_running(url, folder, workers, _options(load, port)))
        _wait_for_port(port)
        database_before = _of_database(url)
        before = [_cpu_s(one) for one in crew]
        begun = time.time()
        sent = asyncio.run(_send(port, load))
        lines = _lines_of(folder, load)
        spent = [_cpu_s(one) - was for one, was in zip(crew, before, strict=True)]
        sizes = [round(one.memory_info().rss / 2**20) for one in crew]
        server = urlsplit(url).port
        connections = [
            sum(bool(c.raddr) and c.raddr.port == server for c in one.net_connections("tcp"))
            for one in crew
        ]
        web_cpu = (
            {}
            if len(crew) == 1
            else {"web_cpu_ms_a_delivery": round(1000 * spent[-1] / load.missions, 1)}
        )
        return {
            "workers": workers,
            **_figures(lines, sent, begun, load),
            "worker_cpu_ms_a_mission": round(1000 * sum(spent[:workers]) / load.missions, 1),
            **web_cpu,
            **{
                name: round((now - was) / load.missions, 1)
                for (name, now), was in zip(
                    _of_database(url).items(), database_before.values(), strict=True
                )
            },
            "worker_rss_mib": sizes[:workers],
            "connections_of_a_worker": max(connections[:workers]) if server else None,
            "connections_of_web": connections[-1] if server else None,
        }


def _figures(
    lines: Sequence[tuple[float, str, str]], sent: Sent, begun: float, load: Load
) -> dict[str, Any]:
    """What the lines of the steps say."""
    first: dict[str, float] = {}
    for at, mission, _ in lines:
        first.setdefault(mission, at)
    bodies = Counter((mission, step) for _, mission, step in lines)
    last = [at for at, _, step in lines if step == f"step-{load.steps - 1}"]
    waits = [1000 * (first[mission] - at) for mission, at in sent.at.items() if mission in first]
    seconds = max(last, default=begun) - begun
    return {
        "deliveries": load.missions,
        "answers": {str(status): count for status, count in sorted(sent.answers.items())},
        "answer_ms": summary(sent.spent_ms, digits=1),
        "missions_done": len(last),
        "lost": sent.answers[202] - len({mission for mission, _ in bodies} & sent.at.keys()),
        "doubled": sum(count - 1 for count in bodies.values()),
        "delivery_to_first_step_ms": summary(waits, digits=0) if waits else None,
        "seconds": round(seconds, 1),
        "missions_a_second": round(len(last) / seconds, 1) if seconds else None,
    }


async def _send(port: int, load: Load) -> Sent:
    """So many a second, whether earlier ones were answered or not; the time counts from when it was due."""
    import httpx

    sent = Sent()
    begun = time.perf_counter()
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=20
    ) as client:

        async def one(number: int) -> None:
            due = begun + number / load.rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            payload = payloads.check_run(head_sha=f"{number:040x}")
            payload["repository"] = {**payload["repository"], "id": 1_000 + number}
            body = payloads.encoded(payload)
            sent.at[f"mission:{1_000 + number}:{number:040x}:auto"] = time.time()
            answer = await client.post(
                "/webhook", content=body, headers=payloads.signed(body, "check_run", f"d-{number}")
            )
            sent.answers[answer.status_code] += 1
            sent.spent_ms.append((time.perf_counter() - due) * 1000)

        await asyncio.gather(*(one(number) for number in range(load.missions)))
    return sent


def _lines_of(folder: Path, load: Load) -> list[tuple[float, str, str]]:
    """Until every mission's last step is there, or for as long as anything is likely to come."""
    deadline = time.monotonic() + DONE_S
    lines: list[tuple[float, str, str]] = []
    while time.monotonic() < deadline:
        lines = _lines(folder)
        if (
            len({mission for _, mission, step in lines if step == f"step-{load.steps - 1}"})
            >= load.missions
        ):
            break
        time.sleep(0.5)
    time.sleep(1.0)  # what comes twice comes now
    return _lines(folder)


def _lines(folder: Path) -> list[tuple[float, str, str]]:
    path = folder / STEPS_FILE
    text = path.read_text() if path.exists() else ""
    return [
        (float(at), mission, step)
        for at, mission, step in (line.split() for line in text.splitlines())
    ]


# --- the processes ----------------------------------------------------------------------------------


def _options(load: Load, port: int) -> list[str]:
    found = {"steps": load.steps, "step-ms": load.step_ms, "at-once": load.at_once, "port": port}
    return [word for name, value in found.items() for word in (f"--{name}", str(value))]


@contextmanager
def _running(
    url: str, folder: Path, workers: int, options: Sequence[str]
) -> Iterator[list[psutil.Process]]:
    """The workers, and the web process behind them; one process for both on SQLite."""
    roles = ["serve"] if url.startswith("sqlite") else [*["worker"] * workers, "web"]
    words = [sys.executable, "-m", "benchmarks.load_process", url, str(folder), *options]
    processes = []
    log = folder / "log"
    try:
        for role in roles:
            with log.open("ab") as out:
                processes.append(
                    subprocess.Popen([*words, "--role", role], cwd=ROOT, stdout=out, stderr=out)
                )
        deadline = time.monotonic() + READY_S
        while not all((folder / f"ready-{one.pid}").exists() for one in processes):
            if time.monotonic() > deadline or any(one.poll() is not None for one in processes):
                raise RuntimeError(
                    f"not all processes began: {log.read_text(errors='replace')[-2000:]}"
                )
            time.sleep(0.1)
        yield [psutil.Process(one.pid) for one in processes]
    finally:
        for one in processes:
            one.send_signal(signal.SIGTERM)
        for one in processes:
            one.wait(30)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _of_database(url: str) -> dict[str, float]:
    """What the server has used so far: processor, transactions, room."""
    import psycopg

    if url.startswith("sqlite"):
        return {}
    port = f"-p {urlsplit(url).port} "
    (server,) = [
        one
        for one in psutil.process_iter()
        if one.name() == "postgres" and port in " ".join(_words(one))
    ]
    alive = sum(_cpu_s(one) for one in server.children())
    gone = server.cpu_times().children_user + server.cpu_times().children_system
    with psycopg.connect(url) as database:
        query = "SELECT (SELECT sum(xact_commit) FROM pg_stat_database), pg_database_size(current_database())"
        ((transactions, size),) = database.execute(query).fetchall()
    return {
        "database_cpu_ms_a_mission": 1000 * (alive + gone),
        "transactions_a_mission": float(transactions),
        "database_kib_a_mission": size / 1024,
    }


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it ended meanwhile
        return []


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the receiver does not listen")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
