"""A failing JavaScript test never gets a PASS, whatever its repository does to its runner."""

import json
import posixpath
from collections.abc import Iterable

import pytest

from sandbox.backends.base import Guest
from sandbox.backends.docker_container import DockerBackend
from sandbox.judge import run_tests
from sandbox.setup.node.layout import NODE_LINKS
from sandbox.setup.shell import pack
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import NodePart, PythonPart, Recipe, RunVerdict, TestReport, TrustTier
from tests.hostile.javascript_forgeries import (
    COMMANDS,
    HONEST,
    REPOSITORIES,
    TARGET,
    TARGETS,
    USUAL,
)
from tests.hostile.javascript_honest import PACKAGE, SUITES, Suite
from tests.hostile.javascript_targeted import REPOSITORIES as TARGETED
from tests.hostile.javascript_unusual import SUITES as UNUSUAL

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.anyio]

WALL_S = 120.0
PACKAGES = {
    "mocha": "11.7.1", "chai": "4.5.0", "vitest": "3.2.4", "jest": "30.0.5",
    "chai-as-promised": "7.1.2", "jest-extended": "7.0.0", "tsx": "4.23.15",
    "ts-node": "10.9.2", "typescript": "5.9.3", "@types/node": "22.18.0", "@types/mocha": "10.0.10"}  # fmt: skip


@pytest.fixture(scope="module")
async def backend(docker_ready: None) -> DockerBackend:
    return DockerBackend(SandboxSpec(pool=0))


@pytest.fixture(scope="module")
async def image(backend: DockerBackend) -> str:
    node = NodePart(version="22", folders=(".",), locked=False)
    package = json.dumps({"name": "shop", "devDependencies": PACKAGES})
    environment = await Snapshotter(backend, SandboxSpec()).ensure(
        Recipe(command="npx mocha", parts=(PythonPart(), node)),
        EnvironmentOrigin(repository_id="tests", tier=TrustTier.LOCAL),
        files={"node/package.json": package},
    )
    return environment.image


async def place(guest: Guest, repositories: Iterable[dict[str, str]]) -> None:
    """Put every repository into a folder of its own, with links to the packages above them."""
    texts = {
        f"c{number}/{path}": text.encode()
        for number, files in enumerate(repositories)
        for path, text in files.items()
    }
    await guest.unpack(pack(texts), guest.workdir)
    home = posixpath.dirname(posixpath.dirname(guest.python))
    copy = ("cp", "-a", f"{home}/{NODE_LINKS}/.", guest.workdir)
    assert (await guest.run(copy, limits=RunLimits(wall_s=60), cwd="/")).ok


async def run_case(guest: Guest, number: int, runner: str) -> TestReport:
    """Run the failing test of a repository by its name."""
    target = f"c{number}/{TARGETS.get(runner, TARGET)}"
    return await run(guest, number, COMMANDS[runner], targets=[target])


async def run(guest: Guest, number: int, command: str, targets: Iterable[str] = ()) -> TestReport:
    programs = posixpath.dirname(guest.python)
    return await run_tests(
        guest,
        command,
        limits=RunLimits(wall_s=WALL_S),
        targets=targets,
        working_directory=f"c{number}",
        environment={"PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin"},
    )


async def test_no_forgery_in_javascript_is_believed(backend: DockerBackend, image: str) -> None:
    """All in one sandbox: whatever one leaves behind must not help the next either."""
    believed = {}
    async with backend.open(image) as guest:
        await place(guest, [{**USUAL[runner], **files} for runner, files in REPOSITORIES.values()])
        for number, (name, (runner, _)) in enumerate(REPOSITORIES.items()):
            report = await run_case(guest, number, runner)
            if report.success or report.verdict is RunVerdict.PASS:
                believed[name] = report.summary
    assert believed == {}
    assert len(REPOSITORIES) >= 40


@pytest.mark.parametrize("runner", list(USUAL))
async def test_no_forgery_of_one_test_or_value_is_believed(
    backend: DockerBackend, image: str, runner: str
) -> None:
    """By the test's name and in a run of the whole command; control tests notice few of them."""
    believed = {}
    cases = {name: files for name, (own, files) in TARGETED.items() if own == runner}
    async with backend.open(image) as guest:
        # Twice, because some change their own files.
        await place(guest, [{**USUAL[runner], **files} for files in cases.values() for _ in "12"])
        for number, name in enumerate(cases):
            for report in (
                await run_case(guest, 2 * number, runner),
                await run(guest, 2 * number + 1, COMMANDS[runner]),
            ):
                if report.success or report.verdict is RunVerdict.PASS:
                    believed[name] = report.summary
    assert believed == {}
    assert len(TARGETED) >= 30


async def test_honest_javascript_beside_them_is_believed(
    backend: DockerBackend, image: str
) -> None:
    found = {}
    async with backend.open(image) as guest:
        await place(guest, [{**USUAL[runner], **files} for runner, files in HONEST.items()])
        for number, runner in enumerate(HONEST):
            report = await run_case(guest, number, runner)
            found[runner] = (report.verdict, report.summary)
    assert {verdict for verdict, _ in found.values()} == {RunVerdict.PASS}, found


@pytest.mark.parametrize("suites", [SUITES, UNUSUAL], ids=["usual", "unusual"])
async def test_honest_suites_get_the_verdict_of_their_own_runner(
    backend: DockerBackend, image: str, suites: dict[str, Suite]
) -> None:
    wrong = {}
    async with backend.open(image) as guest:
        await place(guest, [{**PACKAGE, **suite.files} for suite in suites.values()])
        for number, (name, suite) in enumerate(suites.items()):
            targets = [f"c{number}/{target}" for target in suite.targets]
            report = await run(guest, number, suite.command, targets)
            if report.verdict is not suite.verdict:
                wrong[name] = (report.verdict, report.summary)
    assert wrong == {}


async def test_passing_tests_of_unusual_suites_are_believed_by_name(
    backend: DockerBackend, image: str
) -> None:
    """So copies of each of them run, in the ways that they can."""
    wrong = {}
    async with backend.open(image) as guest:
        await place(guest, [{**PACKAGE, **suite.files} for suite in UNUSUAL.values()])
        for number, (name, suite) in enumerate(UNUSUAL.items()):
            if suite.verdict is not RunVerdict.PASS:
                continue
            whole = await run(guest, number, suite.command)
            report = await run(guest, number, suite.command, sorted(whole.passing))
            if not report.success:
                wrong[name] = (report.verdict, report.summary)
    assert wrong == {}
