"""A regression test proved in a real sandbox: it fails without the fix and passes with it."""

from pathlib import Path

import pytest

from bot.mission.pinning import propose_test
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource
from sandbox.workspace import Sandboxes
from tests.builders import a_candidate, a_change, a_mission, a_verification
from tests.unit.bot.mission.test_pinning import BROKEN, CALLS, RIGHT, TESTS

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]


async def test_the_test_is_seen_red_and_green(tmp_path: Path, docker_ready: None) -> None:
    tree = tmp_path / "tree"
    (tree / "tests").mkdir(parents=True)
    (tree / "shop.py").write_text(BROKEN)
    (tree / "conftest.py").write_text("")
    (tree / "tests" / "test_shop.py").write_text(TESTS)
    checkout = Checkout(source=FolderSource(path=str(tree)))
    sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec(pool=0)), tmp_path / "data")
    async with sandboxes.open_workspace(checkout) as workspace:
        red = await workspace.run_tests()
    candidate = a_candidate(calls=CALLS, changes=(a_change("shop.py", RIGHT),))
    mission = a_mission(test_results=red)
    (iteration,) = mission.iterations
    tried = iteration.with_(candidate=candidate, verification=a_verification())
    test = await propose_test(
        mission.with_(iterations=(tried,)), checkout, sandboxes.open_workspace
    )
    assert test is not None
    assert (test.name, test.call, test.result) == (
        "tests/test_shop.py::test_fits_regression",
        "fits(7, 7)",
        "True",
    )
    assert (tree / "tests" / "test_shop.py").read_text() == TESTS
