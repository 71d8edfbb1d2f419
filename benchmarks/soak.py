"""Many missions and a `kill -9`: whatever ends, nothing of it stays on the host.

    python -m benchmarks.soak [--missions N] [--parallel N] [--kills N]

Every process works in folders of the soak's own, so that what it leaves can be told from what others leave.
"""

import argparse
import asyncio
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks import leftovers
from benchmarks.measure import ROOT, as_users_have_it, report
from bot.domain.request import MissionRequest, Trigger
from bot.pipeline import handle_folder
from bot.publish.progress import SilentProgress
from bot.queue.memory import MemoryCheckpoint
from bot.settings import load
from bot.wiring.mission_services import build_mission_services
from sandbox.backends import open_backend
from sandbox.types import Checkout, FolderSource, JobHints, TrustTier

TESTS = "python -m pytest -q"
SOURCE = "def add(a, b):\n    return a - b\n\n\ndef double(n):\n    return n * 2\n"
TEST = (
    "from m import add, double\n\n\n"
    "def test_add():\n    assert add(2, 3) == 5\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n\n\n"
    "def test_double():\n    assert double(4) == 8\n"
)
READY = "ready"
GRACE_S = 5.0
"""After so long nothing of a killed process may run any more."""
LONGEST_S = 120.0
"""A busy machine may take so long; then `met` is false."""
MISSION_S = 300.0


def main() -> None:
    """Run, kill, count, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missions", type=int, default=100)
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument(
        "--kills", type=int, default=2, help="processes killed in the middle of everything"
    )
    parser.add_argument("--role", choices=["missions", "victim"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.role == "missions":
        asyncio.run(_missions(arguments.folder, arguments.missions, arguments.parallel))
    elif arguments.role == "victim":
        asyncio.run(_everything_open(arguments.folder))
    else:
        was_off = as_users_have_it()
        found = soak(arguments.missions, arguments.parallel, arguments.kills)
        report("soak", found, bytecode_was_off=was_off)


def soak(missions: int, parallel: int, kills: int) -> dict[str, Any]:
    """Missions to their end, beside them processes that are killed, then what is left."""
    marker = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        before = leftovers.volumes(), leftovers.nameless_images()
        begun = time.perf_counter()
        worker = _start("missions", folder, marker, missions=missions, parallel=parallel)
        victims = [_kill_in_the_middle(folder, marker, number) for number in range(kills)]
        outcomes = _outcomes(worker, missions)
        seconds = time.perf_counter() - begun
        pids = [worker.pid, *(victim["pid"] for victim in victims)]
        left = _left(folder, marker, pids, before)
        swept = _after_the_next_start(folder, marker, pids, before)
    return {
        "missions": missions,
        "parallel": parallel,
        "kills": kills,
        "outcomes": outcomes,
        "seconds": round(seconds, 1),
        "seconds_until_a_killed_one_was_gone": [victim["gone_s"] for victim in victims],
        "left": left,
        "left_after_the_next_start": swept,
        "met": not any(swept.values())
        and all(v["gone_s"] is not None and v["gone_s"] <= GRACE_S for v in victims)
        and _runs_nothing(left),
    }


def _runs_nothing(left: dict[str, list[str]]) -> bool:
    """Files may wait for the next start; containers, processes and volumes may not."""
    return not (left["containers"] or left["processes"] or left["volumes"])


def _start(role: str, folder: Path, marker: str, **amounts: int) -> "subprocess.Popen[str]":
    """A process of the soak: its temporary files, its home and its data are in the soak's folder."""
    own = folder / f"{role}-{secrets.token_hex(3)}"
    for name in ("tmp", "home", "data"):
        (own / name).mkdir(parents=True)
    environment = os.environ | {
        "TMPDIR": str(own / "tmp"),
        "METAAGENT_DATA_DIR": str(own / "data"),
        "METAAGENT_SANDBOX__EGRESS_FOLDER": str(folder / "e"),
        "METAAGENT_SANDBOX__POOL": "1",
        leftovers.MARKER: marker,
    }
    command = [sys.executable, "-m", "benchmarks.soak", "--role", role, "--folder", str(own)]
    command += [word for name, value in amounts.items() for word in (f"--{name}", str(value))]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def _kill_in_the_middle(folder: Path, marker: str, number: int) -> dict[str, Any]:
    """A process with a workspace, a pool and a set-up sandbox open, killed; how long until its containers are gone."""
    victim = _start("victim", folder, marker)
    try:
        line = victim.stdout.readline() if victim.stdout else ""
        if line.strip() != READY:
            raise RuntimeError(f"victim {number} never had everything open: {line!r}")
        # Whoever counts nothing now would count nothing afterwards.
        if not leftovers.processes(marker) or not leftovers.files(folder / "e"):
            raise RuntimeError(f"victim {number}: neither its process nor its socket is seen")
        had = leftovers.containers([victim.pid])
        if len(had) < 3:
            raise RuntimeError(f"victim {number} has {len(had)} containers open, not three")
    finally:
        victim.send_signal(signal.SIGKILL)
        victim.wait(30)
        if victim.stdout:
            victim.stdout.close()
    gone = _until(lambda: not leftovers.containers([victim.pid]), LONGEST_S)
    return {"pid": victim.pid, "gone_s": gone}


def _until(holds: Callable[[], bool], limit_s: float) -> float | None:
    """Seconds until it holds; None when it never did."""
    begun = time.perf_counter()
    while time.perf_counter() - begun < limit_s:
        if holds():
            return round(time.perf_counter() - begun, 2)
        time.sleep(0.1)
    return None


def _outcomes(worker: "subprocess.Popen[str]", missions: int) -> dict[str, int]:
    output, _ = worker.communicate(timeout=MISSION_S * max(1, missions))
    if worker.returncode != 0:
        raise RuntimeError(f"the missions ended with {worker.returncode}")
    return dict(Counter(output.split()))


def _left(
    folder: Path, marker: str, pids: list[int], before: tuple[set[str], set[str]]
) -> dict[str, list[str]]:
    """Everything that is still there."""
    homes = [path for path in folder.iterdir() if (path / "data").is_dir()]
    return {
        "containers": leftovers.containers(pids),
        "processes": leftovers.processes(marker),
        "volumes": sorted(leftovers.volumes() - before[0]),
        "nameless_images": sorted(leftovers.nameless_images() - before[1]),
        "temporary": leftovers.files(*(home / "tmp" for home in homes)),
        "egress": leftovers.files(folder / "e"),
        "unfinished": [one for home in homes for one in leftovers.unfinished(home / "data")],
    }


def _after_the_next_start(
    folder: Path, marker: str, pids: list[int], before: tuple[set[str], set[str]]
) -> dict[str, list[str]]:
    """The same once another process greeted the daemon, which sweeps."""
    settings = load({"sandbox.egress_folder": str(folder / "e")})

    async def greet() -> None:
        backend = open_backend(settings.sandbox)
        await backend.ensure_toolchain()
        await backend.close()

    asyncio.run(greet())
    return _left(folder, marker, pids, before)


# --- what the processes of the soak do ----------------------------------------------------------------


@asynccontextmanager
async def _silence(_: MissionRequest) -> AsyncIterator[SilentProgress]:
    yield SilentProgress()


async def _missions(folder: Path, count: int, parallel: int) -> None:
    """Whole missions, some at a time; each prints its outcome."""
    services = build_mission_services(load(), _silence)
    turns = asyncio.Semaphore(parallel)

    async def one(number: int) -> None:
        async with turns:
            tree = _tree(folder / f"tree-{number}")
            request = MissionRequest(
                mission_id=f"soak:{number}",
                trigger=Trigger.COMMAND_LINE,
                folder=str(tree),
                command=TESTS,
                tier=TrustTier.LOCAL,
                seed=number,
                time_limit_s=30.0,
            )
            context = await handle_folder(request, services, MemoryCheckpoint())
            print(context.outcome, flush=True)

    try:
        await asyncio.gather(*(one(number) for number in range(count)))
    finally:
        await services.close()


def _tree(folder: Path) -> Path:
    folder.mkdir()
    (folder / "m.py").write_text(SOURCE)
    (folder / "test_m.py").write_text(TEST)
    return folder


async def _everything_open(folder: Path) -> None:
    """A workspace with a command in it, a sandbox that waits, and a set-up sandbox; until killed."""
    settings = load()
    services = build_mission_services(settings, _silence)
    checkout = Checkout(
        source=FolderSource(path=str(_tree(folder / "tree")), repository_id="local:soak"),
        tier=TrustTier.LOCAL,
        hints=JobHints(command=TESTS),
    )
    backend = open_backend(settings.sandbox)
    toolchain = await backend.ensure_toolchain()
    async with services.open_workspace(checkout) as workspace, backend.open_setup(toolchain):
        await workspace.facts()
        busy = asyncio.create_task(workspace.run("setsid sleep 600 & sleep 600", timeout_s=900))
        with suppress(TimeoutError):
            async with asyncio.timeout(60):
                while len(leftovers.containers([os.getpid()])) < 3:  # noqa: ASYNC110 - the daemon tells nobody
                    await asyncio.sleep(0.2)
        print(READY, flush=True)
        await busy


if __name__ == "__main__":
    main()
