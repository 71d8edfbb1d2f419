"""Hostile set-up: every case of a corpus whose form says so; nothing of the repository runs while it is set up."""

import time
from pathlib import Path

import pytest

from sandbox.backends import open_backend
from sandbox.errors import SetupFailed
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, TrustTier
from sandbox.workspace import Sandboxes
from tests.attack_corpus import CORPORA, Attack, corpus, generate
from tests.patience import hang_after

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.shared, pytest.mark.slow]


@pytest.fixture(scope="module", params=CORPORA)
def cases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Attack]:
    """The cases for the set-up phase, found by their form."""
    return generate(corpus(request), tmp_path_factory.mktemp("corpus"), "setup")


async def test_no_attack_on_the_set_up_runs_or_hangs(
    cases: list[Attack], docker_ready: None, tmp_path: Path
) -> None:
    backend = open_backend(SandboxSpec(pool=0))
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path)
    for case in cases:
        source = FolderSource(path=str(case.folder / "repo"), repository_id=case.name)
        started = time.perf_counter()
        async with sandboxes.open_workspace(
            Checkout(source=source, tier=TrustTier.FORK)
        ) as workspace:
            try:
                facts = await workspace.facts()
            except SetupFailed:
                continue
            finally:
                spent = time.perf_counter() - started
                assert spent < hang_after(case.expect.get("max_wall_s", 120))
            # A Python project itself is never built: its folders are put on the import path instead.
            installed = {
                e.treatment for e in facts.recipe.fidelity if e.step == "install the project"
            }
            assert installed <= {"replaced"}, case.name
            left = await workspace.run(
                "cat /proc/net/route | wc -l; env; ls -a /tmp /home/sandbox; ls /opt/env/lib/*/site-packages/*.pth"
            )
            assert "canary" not in left.stdout.lower()
            assert left.stdout.split("\n")[0] in {"0", "1"}, "there is a route"
    await backend.close()
