"""Suites that use the name of the checkout's folder pass in both sandboxes, as in the job."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.domain.mission import Outcome
from bot.domain.patch import Rung
from bot.domain.policy import RepositoryPolicy
from bot.fixers.rung1_search.engine import SearchFixer
from bot.intake.folder import folder_checkout
from bot.mission.loop import MissionPorts, run_mission
from bot.publish.progress import SilentProgress
from bot.queue.memory import MemoryCheckpoint
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import CHANGED, USUAL, Checkout, Surroundings
from sandbox.workspace import Sandboxes
from tests.builders import a_request
from tests.fakes.scripted_fixer import KnownLessons

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

NAME = "Shop.py"
PRICES = "def price(count):\n    return count * 2\n"
RED = PRICES.replace("* 2", "- 2")
PYTHON = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1.0"\n'
    '[tool.setuptools]\npy-modules = ["prices"]\n',
    "prices.py": PRICES,
    "tests/test_prices.py": f"""import subprocess
import sys
from pathlib import Path

import prices

ASK = "import prices; print(prices.__file__)"


def test_price():
    assert prices.price(4) == 8
    assert prices.price(3) == 6


def test_folder():
    assert Path.cwd().name == "{NAME}"
    assert Path(prices.__file__).parent == Path.cwd()


def test_a_program_without_our_variables():
    done = subprocess.run(
        [sys.executable, "-c", ASK], env={{}}, cwd="/", capture_output=True, text=True
    )
    assert done.stdout.strip() == prices.__file__, done.stderr
""",
}
NODE = {
    "package.json": json.dumps({"name": "shop", "private": True}),
    "package-lock.json": json.dumps(
        {"name": "shop", "lockfileVersion": 3, "requires": True, "packages": {"": {"name": "shop"}}}
    ),
    "shop.test.mjs": f"""import assert from 'node:assert'
import path from 'node:path'
import test from 'node:test'

test('folder', () => assert.equal(path.basename(process.cwd()), '{NAME}'))
test('sum', () => assert.equal(1 + 1, 2))
""",
}
SUITES = [("python -m pytest -q", PYTHON), ("node --test", NODE)]


@pytest.fixture(scope="module")
async def sandboxes(
    docker_ready: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Sandboxes]:
    spec = SandboxSpec(pool=0)
    opened = Sandboxes(spec, DockerBackend(spec), tmp_path_factory.mktemp("data"))
    yield opened
    await opened.close()


async def a_checkout(folder: Path, files: dict[str, str], command: str) -> Checkout:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return (await folder_checkout(str(folder), command))[1]


@pytest.mark.parametrize("surroundings", [USUAL, CHANGED], ids=["first", "second"])
@pytest.mark.parametrize(("command", "files"), SUITES, ids=["pytest", "node"])
async def test_a_suite_that_asks_for_its_folder_passes(
    sandboxes: Sandboxes,
    tmp_path: Path,
    surroundings: Surroundings,
    command: str,
    files: dict[str, str],
) -> None:
    asked = await a_checkout(tmp_path / NAME, files, command)
    results = []
    for checkout in (asked, asked.with_(name="")):
        async with sandboxes.open_workspace(checkout.with_(surroundings=surroundings)) as workspace:
            report = await workspace.run_tests()
            facts = await workspace.facts()
        results.append((report.success, len(report.failing), facts.environment_key))
    (named, red, key), (unnamed, unnamed_red, other_key) = results
    assert (named, red) == (True, 0)
    assert (unnamed, unnamed_red) == (False, 1)
    assert key == other_key


async def test_such_a_suite_is_repaired_and_verified(sandboxes: Sandboxes, tmp_path: Path) -> None:
    files = {**PYTHON, "prices.py": RED}
    checkout = await a_checkout(tmp_path / NAME, files, "python -m pytest -q")
    lessons = KnownLessons()
    ports = MissionPorts(
        open_workspace=sandboxes.open_workspace,
        fixers=(SearchFixer(lessons),),
        recall=lessons,
        checkpoint=MemoryCheckpoint(through_json=True),
        progress=SilentProgress(),
        clock=SystemClock(),
    )
    policy = RepositoryPolicy(rungs=(Rung.SEARCH,))
    context = await run_mission(a_request(head_sha=None), policy, checkout, ports)
    assert context.outcome is Outcome.FIXED, context.reason
    assert context.fix is not None
    verification = context.fix[1]
    assert {run.sandbox for run in verification.runs} == {1, 2}
    assert not any("usual surroundings" in text for text in verification.not_verified)
