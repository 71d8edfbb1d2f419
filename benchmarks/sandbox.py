"""What isolation costs: our sandbox beside `docker run` on the same image and a plain process of this host.

    python -m benchmarks.sandbox [--runs N]

Opening is measured warm (the environment is in the cache), with and without a sandbox that waits in the pool.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import as_users_have_it, report, run, summary, timed
from bot.settings import load
from sandbox.backends import open_backend
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    was_off = as_users_have_it()
    settings = load(environment=None)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        project.mkdir()
        project.chmod(0o755)
        Path(folder).chmod(0o755)
        for name, content in PROJECT.items():
            (project / name).write_text(content)
        result = asyncio.run(_ours(settings.sandbox, project, Path(folder) / "data", runs))
        image = result.pop("image")
        result |= {"docker_run": _docker(image, project, runs), "plain_process": _plain(project, runs)}
    report("sandbox", {"runs": runs, **result}, bytecode_was_off=was_off)


async def _ours(spec: SandboxSpec, project: Path, data: Path, runs: int) -> dict[str, Any]:
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
                    found |= {"image": facts.image, "warm_at_start": facts.warm, "setup_s": round(facts.setup_s, 3)}
        finally:
            await sandboxes.close()
        found[name] = {"open_s": summary(opens), "run_true_s": summary(trues), "pytest_s": summary(tests)}
    return found


def _docker(image: str, project: Path, runs: int) -> dict[str, Any]:
    """What somebody gets who starts a container per command, with nothing but the network taken away."""
    # Labels come along with the image; one that named a dead owner would have the container swept.
    options = ["--rm", "--network", "none", "--label", f"{OWNER_LABEL}="]
    base = ["docker", "run", *options, "-v", f"{project}:/project:ro", "-w", "/project"]
    test = ["--entrypoint", "/opt/env/bin/python", image, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return {
        "run_true_s": summary([timed(lambda: run(*base, "--entrypoint", "/bin/true", image)) for _ in range(runs)]),
        "pytest_s": summary([timed(lambda: run(*base, *test)) for _ in range(runs)]),
    }


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
