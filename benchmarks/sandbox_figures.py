"""The figures demanded of the sandbox, each measured on its own."""

import asyncio
import os
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, figure, lasted, spread
from sandbox.backends import open_backend
from sandbox.backends.base import Backend, Guest
from sandbox.checkout import take_folder
from sandbox.gate import clean
from sandbox.spec import GIB, MIB, RunLimits, SandboxSpec
from sandbox.types import Checkout, FileEdit, FolderSource, JobHints, TrustTier
from sandbox.workspace import Sandboxes

TRUE = ("/bin/true",)
WHEELS = ("attrs", "certifi", "click", "idna", "iniconfig", "packaging", "pluggy", "six")
BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
POOL_FILLS_S = 5.0
LARGEST_CAP = 60_000
"""The most that is let through the gate anywhere at once: the diff in a pull request."""


class Amounts:
    """How much is measured.

    Args:
        small: As little as shows that it works; no figure is worth anything then.
        runs: Starts that are measured.
    """

    def __init__(self, *, small: bool, runs: int) -> None:
        self.starts = 1 if small else 3 * runs
        self.spawns = 5 if small else 200
        self.kills = 1 if small else 10
        self.files = 40 if small else 800
        self.file_bytes = 13_107
        self.flood_bytes = 8 * MIB if small else GIB
        self.line_bytes = 8 * MIB if small else 512 * MIB
        self.text_characters = 200_000 if small else 10_000_000
        self.whole_characters = 20_000 if small else 1_000_000
        self.cold = not small


async def starts(spec: SandboxSpec, image: str, amounts: Amounts) -> dict[str, Figure]:
    """From nothing to a supervisor that answers: started for this, and taken from the pool."""
    cold = open_backend(spec.with_(pool=0))
    fresh = [await _opening(cold, image) for _ in range(amounts.starts)]
    await cold.close()
    pooled = open_backend(spec.with_(pool=1))
    taken = []
    try:
        await _opening(pooled, image)  # from now on one waits
        for _ in range(amounts.starts):
            await _until_one_waits(pooled, image)
            taken.append(await _opening(pooled, image))
    finally:
        await pooled.close()
    return {
        "warm_start_ms": figure(spread(fresh), "ms", {"p50": 700, "p95": 1200}),
        "from_pool_ms": figure(spread(taken), "ms", {"p50": 10}),
    }


async def _opening(backend: Backend, image: str) -> float:
    begun = time.perf_counter()
    async with backend.open(image):
        return time.perf_counter() - begun


async def _until_one_waits(backend: Backend, image: str) -> None:
    """Nobody asks the next one before it is there: the pool is for those who come later."""
    waiting = getattr(getattr(backend, "_pool", None), "_waiting", None)
    limit = time.perf_counter() + POOL_FILLS_S
    while waiting is not None and not waiting.get(image) and time.perf_counter() < limit:  # noqa: ASYNC110 - no event
        await asyncio.sleep(0.05)
    if waiting is None:
        await asyncio.sleep(POOL_FILLS_S)


async def commands(guest: Guest, amounts: Amounts) -> dict[str, Figure]:
    """What a command costs, and how it is ended."""
    limits = RunLimits(wall_s=10)
    await guest.run(TRUE, limits=limits)
    idle = await _idle(guest)
    spawns = [await lasted(guest.run(TRUE, limits=limits)) for _ in range(amounts.spawns)]
    before = await _processes(guest)
    late = [await _late(guest, ("/bin/sleep", "60"), 0.5) for _ in range(amounts.kills)]
    bombs = [
        await _late(guest, ("/usr/bin/python3", "-c", BOMB), 1.0)
        for _ in range(min(amounts.kills, 3))
    ]
    left = await _processes(guest) - before
    return {
        "spawn_ms": figure(spread(spawns), "ms", {"p50": 15, "p95": 40}),
        "kill_after_timeout_ms": figure(spread(late), "ms", {"max": 250}),
        "kill_fork_bomb_ms": figure(spread(bombs), "ms", {"max": 2000}),
        "survivors": figure(max(0, left), "processes", 0),
        "wall_precision_ms": figure(spread([*late, *bombs]), "ms", {"max": 1000}),
        "supervisor_idle_mb": idle,
    }


async def _late(guest: Guest, argv: tuple[str, ...], wall_s: float) -> float:
    """How long after its limit a command was over."""
    begun = time.perf_counter()
    done = await guest.run(argv, limits=RunLimits(wall_s=wall_s))
    took = time.perf_counter() - begun
    if not done.timed_out:
        raise RuntimeError(f"{argv[0]} ended by itself: {done.exit_code} {done.stderr[-200:]}")
    return took - wall_s


async def _processes(guest: Guest) -> int:
    script = "set -- /proc/[0-9]*; echo $#"
    return int((await guest.run(("/bin/sh", "-c", script), limits=RunLimits(wall_s=10))).stdout)


async def _idle(guest: Guest) -> Figure:
    """What an idle sandbox costs: memory of PID 1 that is its own, and all of it with what it shares with others."""
    done = await guest.run(("/bin/cat", "/proc/1/status"), limits=RunLimits(wall_s=10))
    fields = dict(line.split(":", 1) for line in done.stdout.splitlines() if ":" in line)
    own, shared, resident = (
        round(int(fields[name].split()[0]) / 1024, 2) for name in ("RssAnon", "RssFile", "VmRSS")
    )
    return figure(own, "MB", 12, resident_mb=resident, file_pages_mb=shared)


async def transfers(
    guest: Guest, spec: SandboxSpec, folder: Path, amounts: Amounts
) -> dict[str, Figure]:
    """A repository in, changes out."""
    for number in range(amounts.files):
        path = folder / f"package_{number % 20}" / f"module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {secrets.token_hex(amounts.file_bytes // 2)}\n")
    source = await take_folder(str(folder), spec)
    unpacking = await lasted(guest.unpack(await source.archive(), "/tmp/once"))  # noqa: S108 - inside
    await guest.run(("/bin/rm", "-rf", "/tmp/once"), limits=RunLimits(wall_s=30))  # noqa: S108 - inside
    placed, out = [], []
    for turn in range(2 if amounts.starts == 1 else 5):
        begun = time.perf_counter()
        await source.place(guest)
        await guest.snap()
        placed.append(time.perf_counter() - begun)
        names = sorted(source.names())[:5]
        await guest.write(
            [FileEdit(path=n, mode="100644", content=b"x = %d\n" % turn) for n in names]
        )
        begun = time.perf_counter()
        edits = await guest.export()
        out.append(time.perf_counter() - begun)
        if len(edits) != len(names):
            raise RuntimeError(f"{len(edits)} edits came out instead of {len(names)}")
    size = amounts.files * amounts.file_bytes
    return {
        "repository_in_ms": figure(
            spread(placed),
            "ms",
            {"p50": 400},
            files=amounts.files,
            bytes=size,
            unpack_alone_ms=round(unpacking * 1000),
        ),
        "changes_out_ms": figure(spread(out), "ms", {"p50": 250}),
    }


async def floods(guest: Guest, amounts: Amounts) -> dict[str, Figure]:
    """How much this process grows while a command prints without end."""
    limits = RunLimits(wall_s=300, kill_output_bytes=8 * GIB)
    found = {}
    zeros = f"head -c {amounts.line_bytes} /dev/zero | tr '\\0' x"
    for name, script, size in (
        ("flood_growth_mb", f"yes | head -c {amounts.flood_bytes}", amounts.flood_bytes),
        ("one_line_growth_mb", zeros, amounts.line_bytes),
    ):
        begun = time.perf_counter()
        with _growth() as grown:
            done = await guest.run(("/bin/sh", "-c", script), limits=limits)
        if done.timed_out:
            raise RuntimeError("the flood took too long")
        seconds = round(time.perf_counter() - begun, 2)
        found[name] = figure(round(grown["mb"], 2), "MB", 32, bytes=size, seconds=seconds)
    return found


@contextmanager
def _growth() -> Iterator[dict[str, float]]:
    """The most this process grew meanwhile."""
    grown = {"mb": 0.0}
    before, done = _resident_mb(), threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            grown["mb"] = max(grown["mb"], _resident_mb() - before)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield grown
    finally:
        done.set()
        watcher.join()


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


async def cold_set_up(spec: SandboxSpec, folder: Path, data: Path) -> dict[str, Figure]:
    """Eight wheels nobody installed before, and keeping them."""
    folder.mkdir()  # noqa: ASYNC240 - nothing else runs
    nonce = secrets.token_hex(6)
    (folder / "pyproject.toml").write_text(f'[project]\nname = "bench-{nonce}"\nversion = "1"\n')
    (folder / "requirements.txt").write_text("".join(f"{name}\n" for name in WHEELS))
    (folder / "test_one.py").write_text("def test_one():\n    pass\n")
    backend = _Watched(open_backend(spec.with_(pool=0)))
    sandboxes = Sandboxes(spec.with_(pool=0), backend, data)
    checkout = Checkout(
        source=FolderSource(path=str(folder), repository_id=f"local:{nonce}"),
        tier=TrustTier.LOCAL,
        hints=JobHints(command="python -m pytest -q"),
    )
    try:
        async with sandboxes.open_workspace(checkout) as workspace:
            facts = await workspace.facts()
            tested = await workspace.run_tests()
    finally:
        await sandboxes.close()
    if facts.warm or not tested.success:
        raise RuntimeError(
            f"not a cold environment that works: warm {facts.warm}, {tested.summary}"
        )
    return {
        "cold_set_up_s": figure(
            round(facts.setup_s, 2), "s", 15, wheels=len(WHEELS) + 2, image=facts.image
        ),
        "keep_environment_s": figure(round(sum(backend.keeping), 2), "s", 5),
    }


class _Watched:
    """A backend, and how long it took to keep environments.

    Args:
        inner: The backend.
    """

    def __init__(self, inner: Backend) -> None:
        self._inner = inner
        self.keeping: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def keep_environment(
        self, setup: Guest, key: str, *, notes: Mapping[str, str] | None = None
    ) -> str:
        """As the backend does it."""
        begun = time.perf_counter()
        try:
            return await self._inner.keep_environment(setup, key, notes=notes)
        finally:
            self.keeping.append(time.perf_counter() - begun)


async def sanitiser(amounts: Amounts) -> dict[str, Figure]:
    """The worst of texts made to be slow: as the gate is used, which bounds first, and a whole text without a bound."""
    used = await asyncio.to_thread(_worst, amounts.text_characters, LARGEST_CAP)
    whole = await asyncio.to_thread(_worst, amounts.whole_characters, amounts.whole_characters)
    return {
        "sanitiser_worst_s": figure(used["seconds"], "s", 1.0, **used, cap=LARGEST_CAP),
        # The same demand, a second for ten megabytes, on a text that is small enough to try all of them.
        "sanitiser_whole_s": figure(
            whole["seconds"], "s", amounts.whole_characters / 10_000_000, **whole
        ),
    }


def _worst(size: int, cap: int) -> dict[str, Any]:
    took = {name: _cleaning(_filled(piece, size), cap) for name, piece in SLOW.items()}
    worst = max(took, key=lambda name: took[name])
    by_input = {name: round(seconds, 3) for name, seconds in took.items()}
    return {"seconds": by_input[worst], "characters": size, "worst": worst, "by_input": by_input}


SLOW = {
    "one letter": "a",
    "words": "lorem ipsum dolor ",
    "hexadecimal": "0123456789abcdef",
    "base64": "QUJDRA+/",
    "percent": "%41%42",
    "escapes": "\\u0041\\x42",
    "backslashes": "\\",
    "spaces": " ",
    "new lines": "\r\n",
    "terminal": "\x1b[31m",
    "hidden": "\u202e\u200b",
    "wide": "\U0001f600",
    "combining": "e\u0301",
    "keys": "sk-live_",
    "headers": "-----BEGIN ",
    "assignments": "password=",
    "addresses": "https://a:b@",
    "dots": "eyJ.eyJ.",
}


def _filled(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


def _cleaning(text: str, cap: int) -> float:
    begun = time.perf_counter()
    clean(text, cap=cap)
    return time.perf_counter() - begun
