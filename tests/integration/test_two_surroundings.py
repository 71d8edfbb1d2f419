"""Fixes that work where we try them only are found by trying them in two places; suites that ask where they run lose none."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.domain.mission import MissionContext
from bot.domain.patch import Rung, Verification
from bot.mission.judging.plan import plan_fix
from bot.mission.verifying.verify import verify_fix
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import CHANGED, USUAL, ChangeAction, Checkout, FileChange, FolderSource, JobHints
from sandbox.workspace import Sandboxes
from tests.builders import a_candidate, a_diagnosis, a_running_mission
from tests.hostile.edits import FIX, LOCAL, OLD

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

TEST = "from prices import price\n\n\ndef test_price():\n    assert price(4) == 8\n"
ASKING = """import os
import time

import pytest

from prices import price


def test_price():
    assert price(4) == 8


def test_zone():
    assert time.timezone == 0


@pytest.mark.skipif(not os.environ.get("CI"), reason="slow")
def test_slow():
    assert price(0) >= 0
"""


@dataclass
class Shop:
    """A red checkout, measured."""

    sandboxes: Sandboxes
    checkout: Checkout
    context: MissionContext

    async def verify(self, text: str) -> Verification:
        change = FileChange(action=ChangeAction.REPLACE, path="prices.py", content=text)
        fix = a_candidate(changes=(change,))
        opens = self.sandboxes.open_workspace
        return await verify_fix(fix, self.context, self.checkout, opens, clock=SystemClock())


def planted(folder: Path, test: str) -> Path:
    folder.mkdir()
    (folder / "prices.py").write_text(OLD)
    (folder / "test_prices.py").write_text(test)
    for name in ("one.txt", "two.txt"):
        (folder / name).write_text(name)
    return folder


async def a_shop(sandboxes: Sandboxes, folder: Path) -> Shop:
    checkout = Checkout(
        source=FolderSource(path=str(folder)), hints=JobHints(command="python -m pytest -q")
    )
    async with sandboxes.open_workspace(checkout) as workspace:
        facts, red = await workspace.facts(), await workspace.run_tests()
    plan = plan_fix(a_diagnosis(), red, facts, tuple(Rung))
    context = a_running_mission(
        facts=facts, test_results=red, triage=None, acceptance_criteria=plan.acceptance_criteria
    )
    return Shop(sandboxes, checkout, context)


@pytest.fixture(scope="module")
async def sandboxes(
    docker_ready: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Sandboxes]:
    opened = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec()), tmp_path_factory.mktemp("data"))
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
async def shop(sandboxes: Sandboxes, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return await a_shop(sandboxes, planted(tmp_path_factory.mktemp("shop") / "repo", TEST))


async def test_the_fix_holds_in_both(shop: Shop) -> None:
    found = await shop.verify(FIX)
    assert found.green, found.reason


@pytest.fixture(scope="module")
async def places(sandboxes: Sandboxes, shop: Shop) -> dict[str, tuple[bool, bool]]:
    """Whether each local fix passes in the usual surroundings, and in the changed ones."""
    modules = {name: f"local_{number}" for number, name in enumerate(LOCAL)}
    test = (
        "import importlib\n\nimport pytest\n\n\n"
        f"@pytest.mark.parametrize('name', {sorted(modules.values())!r})\n"
        "def test_price(name):\n    assert importlib.import_module(name).price(4) == 8\n"
    )
    texts = {f"{module}.py": LOCAL[name] for name, module in modules.items()}
    changes = tuple(
        FileChange(action=ChangeAction.CREATE, path=path, content=text)
        for path, text in {**texts, "test_local.py": test}.items()
    )
    passing = []
    for surroundings in (USUAL, CHANGED):
        checkout = shop.checkout.with_(surroundings=surroundings)
        async with sandboxes.open_workspace(checkout) as workspace:
            await workspace.apply_changes(changes)
            passing.append((await workspace.run_tests(targets=("test_local.py",))).passing)
    return {
        name: (f"test_local.py::test_price[{module}]" in passing[0],
               f"test_local.py::test_price[{module}]" in passing[1])
        for name, module in modules.items()
    }  # fmt: skip


@pytest.mark.parametrize("name", [name for name in LOCAL if "order of a folder" not in name])
async def test_what_works_in_one_place_fails_in_the_other(
    places: dict[str, tuple[bool, bool]], name: str
) -> None:
    assert places[name] == (True, False)


@pytest.mark.parametrize("name", ["the checkout's path", "a variable's presence", "the locale"])
async def test_what_works_in_one_place_is_refused_with_that_reason(shop: Shop, name: str) -> None:
    found = await shop.verify(LOCAL[name])
    assert not found.green
    assert found.reason.startswith("passes only in one of two different surroundings"), found.reason


@pytest.mark.parametrize("name", [name for name in LOCAL if "order of a folder" in name])
async def test_the_order_of_a_folder_is_refused_with_a_reason_of_its_runs(
    shop: Shop, name: str
) -> None:
    """The kernel chooses which of two orders a folder has, and a file that is written again may move in it."""
    found = await shop.verify(LOCAL[name])
    assert not found.green
    assert found.runs
    reasons = ("passes only in one of two", "the failure is still there", "flaky after the patch")
    assert found.reason.startswith(reasons), found.reason


async def test_a_suite_that_asks_where_it_runs_loses_no_fix(
    sandboxes: Sandboxes, tmp_path: Path
) -> None:
    asking = await a_shop(sandboxes, planted(tmp_path / "repo", ASKING))
    found = await asking.verify(FIX)
    assert found.green, found.reason
    told = " ".join(found.not_verified)
    assert "test_zone" in told
    dishonest = await asking.verify(LOCAL["the user's number"])
    assert not dishonest.green
