"""The figures demanded of the sandbox, and what isolation costs beside what a user would pick otherwise.

    python -m benchmarks.sandbox [--runs N] [--small]

Opening is measured warm (the environment is in the cache), with and without a sandbox that waits in the pool.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks import sandbox_figures as figures
from benchmarks.figures import Figure, attempted, measured, missed
from benchmarks.measure import as_users_have_it, report, run, summary, timed
from bot.settings import load
from sandbox.backends import open_backend
from sandbox.backends.base import Guest
from sandbox.backends.docker_hardening import OWNER_LABEL
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, JobHints, TrustTier
from sandbox.workspace import Sandboxes

TESTS = "python -m pytest -q"
PROJECT = {
    "calculator.py": "def add(a, b):\n    return a + b\n\n\ndef is_even(n):\n    return n % 2 == 0\n",
    "test_calculator.py": (
        "from calculator import add, is_even\n\n\n"
        "def test_add():\n    assert add(2, 3) == 5\n\n\ndef test_add_zero():\n    assert add(0, 0) == 0\n\n\n"
        "def test_even():\n    assert is_even(2)\n\n\ndef test_odd():\n    assert not is_even(3)\n"
    ),
}
POOL_FILLS_S = 3.0
COMMANDS = (
    *(
        "spawn_ms",
        "kill_after_timeout_ms",
        "kill_fork_bomb_ms",
        "survivors",
        "wall_precision_ms",
    ),
    "supervisor_idle_mb",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument(
        "--small",
        action="store_true",
        help="as little as shows that it works; judge no figure by it",
    )
    arguments = parser.parse_args()
    runs = arguments.runs
    was_off = as_users_have_it()
    settings = load(environment=None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project = folder / "project"
        project.mkdir()
        project.chmod(0o755)
        folder.chmod(0o755)
        for file, content in PROJECT.items():
            (project / file).write_text(content)
        result = attempted(
            lambda: asyncio.run(_ours(settings.sandbox, project, folder / "data", runs))
        )
        image = result.pop("image", None)
        if image is not None:
            amounts = figures.Amounts(small=arguments.small, runs=runs)
            found = asyncio.run(_figures(settings.sandbox, image, folder, amounts))
            result |= {
                "docker_run": attempted(lambda: _docker(image, project, runs)),
                "docker_exec": attempted(lambda: _docker_exec(image, project, runs)),
                "plain_process": attempted(lambda: _plain(project, runs)),
                "figures": found,
                "missed": missed(found),
            }
    report("sandbox", {"runs": runs, "small": arguments.small, **result}, bytecode_was_off=was_off)


async def _figures(
    spec: SandboxSpec, image: str, folder: Path, amounts: figures.Amounts
) -> dict[str, Figure]:
    """Every figure that is demanded, one after the other."""
    found = await measured(
        lambda: figures.starts(spec, image, amounts), "warm_start_ms", "from_pool_ms"
    )

    async def inside(call: Callable[[Guest], Awaitable[dict[str, Figure]]]) -> dict[str, Figure]:
        backend = open_backend(spec.with_(pool=0))
        async with backend.open(image) as guest:
            return await call(guest)

    async def transfers(guest: Guest) -> dict[str, Figure]:
        return await figures.transfers(guest, spec, folder / "large", amounts)

    found |= await measured(
        lambda: inside(lambda guest: figures.commands(guest, amounts)), *COMMANDS
    )
    found |= await measured(lambda: inside(transfers), "repository_in_ms", "changes_out_ms")
    floods = ("flood_growth_mb", "one_line_growth_mb")
    found |= await measured(lambda: inside(lambda guest: figures.floods(guest, amounts)), *floods)
    found |= await measured(
        lambda: figures.sanitiser(amounts), "sanitiser_worst_s", "sanitiser_whole_s"
    )
    if amounts.cold:
        data = folder / "cold-data"
        cold = await measured(
            lambda: figures.cold_set_up(spec, folder / "cold", data),
            "cold_set_up_s",
            "keep_environment_s",
        )
        if image := cold["cold_set_up_s"].pop("image", None):
            with suppress(RuntimeError):
                run("docker", "rmi", "--force", image)  # nobody will ask for it again
        found |= cold
    return found


async def _ours(spec: SandboxSpec, project: Path, data: Path, runs: int) -> dict[str, Any]:
    """A whole workspace: opened, `true` run in it, its tests run."""
    checkout = Checkout(
        source=FolderSource(path=str(project), repository_id="local:benchmark"),
        tier=TrustTier.LOCAL,
        hints=JobHints(command=TESTS),
    )
    found: dict[str, Any] = {}
    for name, pool in (("without_pool", 0), ("from_pool", 1)):
        sandboxes = Sandboxes(spec.with_(pool=pool), open_backend(spec.with_(pool=pool)), data)
        opens, trues, tests = [], [], []
        try:
            for turn in range(-1, runs):  # the first one prepares the environment
                if pool and turn >= 0:
                    await asyncio.sleep(POOL_FILLS_S)
                begun = time.perf_counter()
                async with sandboxes.open_workspace(checkout) as workspace:
                    facts = await workspace.facts()
                    opened = time.perf_counter()
                    await workspace.run("true")
                    ran = time.perf_counter()
                    tested = await workspace.run_tests()
                    done = time.perf_counter()
                if not tested.success:
                    raise RuntimeError(f"the tests do not pass in the sandbox: {tested.summary}")
                if turn >= 0:
                    opens.append(opened - begun)
                    trues.append(ran - opened)
                    tests.append(done - ran)
                elif not pool:
                    found |= {
                        "image": facts.image,
                        "warm_at_start": facts.warm,
                        "setup_s": round(facts.setup_s, 3),
                    }
        finally:
            await sandboxes.close()
        found[name] = {
            "open_s": summary(opens),
            "run_true_s": summary(trues),
            "pytest_s": summary(tests),
        }
    return found


# Labels come along with the image; one that named a dead owner would have the container swept.
_OPTIONS = ("--rm", "--network", "none", "--label", f"{OWNER_LABEL}=", "-w", "/project")
_PYTEST = ("/opt/env/bin/python", "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider")


def _docker(image: str, project: Path, runs: int) -> dict[str, Any]:
    """What somebody gets who starts a container per command, with nothing but the network taken away."""
    base = ["docker", "run", *_OPTIONS, "-v", f"{project}:/project:ro"]
    test = ["--entrypoint", _PYTEST[0], image, *_PYTEST[1:]]
    return {
        "run_true_s": summary(
            [timed(lambda: run(*base, "--entrypoint", "/bin/true", image)) for _ in range(runs)]
        ),
        "pytest_s": summary([timed(lambda: run(*base, *test)) for _ in range(runs)]),
    }


def _docker_exec(image: str, project: Path, runs: int) -> dict[str, Any]:
    """What somebody gets who keeps one container and execs into it; what a command leaves running stays."""
    base = ["docker", "run", "--detach", *_OPTIONS, "-v", f"{project}:/project:ro"]
    container = run(*base, "--entrypoint", "/bin/sleep", image, "3600").strip()
    try:
        return {
            "run_true_s": summary(
                [timed(lambda: run("docker", "exec", container, "/bin/true")) for _ in range(runs)]
            ),
            "pytest_s": summary(
                [timed(lambda: run("docker", "exec", container, *_PYTEST)) for _ in range(runs)]
            ),
        }
    finally:
        run("docker", "rm", "--force", container)


def _plain(project: Path, runs: int) -> dict[str, Any]:
    """No isolation at all."""
    test = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"]
    run(*test, cwd=project)
    return {
        "run_true_s": summary([timed(lambda: run("/bin/true")) for _ in range(runs)], digits=4),
        "pytest_s": summary([timed(lambda: run(*test, cwd=project)) for _ in range(runs)]),
    }


if __name__ == "__main__":
    main()
