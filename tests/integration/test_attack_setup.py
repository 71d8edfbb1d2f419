"""Hostile set-up: every case of the corpus whose form says so; nothing of the repository runs while it is set up."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox.backends import open_backend
from sandbox.errors import SetupFailed
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, TrustTier
from sandbox.workspace import Sandboxes

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.shared, pytest.mark.slow]


@pytest.fixture(scope="module")
def cases(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The corpus' cases for the set-up phase, found by their form."""
    script = shared / "attacks" / "gen.py"
    env = {"PATH": os.environ["PATH"], "ATTACK_CORPUS_OK": "1", "LANG": "C.UTF-8"}
    listed = subprocess.check_output([sys.executable, script, "--list"], env=env, text=True)
    names = [line.split()[0] for line in listed.splitlines() if line.split()[1:2] == ["setup"]]
    folder = tmp_path_factory.mktemp("corpus")
    subprocess.run([sys.executable, script, "--out", folder, *names], env={**env, "HOME": str(folder)}, check=True)
    return sorted(path.parent for path in folder.glob("*/attack.json"))


async def test_no_attack_on_the_set_up_runs_or_hangs(cases: list[Path], docker_ready: None, tmp_path: Path) -> None:
    assert cases
    backend = open_backend(SandboxSpec(pool=0))
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path)
    for case in cases:
        form = json.loads((case / "attack.json").read_text())
        source = FolderSource(path=str(case / "repo"), repository_id=case.name)
        started = time.perf_counter()
        async with sandboxes.open_workspace(Checkout(source=source, tier=TrustTier.FORK)) as workspace:
            try:
                facts = await workspace.facts()
            except SetupFailed:
                continue
            finally:
                assert time.perf_counter() - started < form["expect"].get("max_wall_s", 120)
            # the project itself is never built: its folders are put on the import path instead
            assert [e.treatment for e in facts.recipe.fidelity if e.step == "install the project"] == ["replaced"]
            left = await workspace.run(
                "cat /proc/net/route | wc -l; env; ls -a /tmp /home/sandbox; ls /opt/env/lib/*/site-packages/*.pth"
            )
            assert "canary" not in left.stdout.lower()
            assert left.stdout.split("\n")[0] in {"0", "1"}, "there is a route"
    await backend.close()
