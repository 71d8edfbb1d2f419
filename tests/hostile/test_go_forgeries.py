"""A failing Go test never gets a PASS from the usual ways to fake one."""

import posixpath
from collections.abc import Iterable

import pytest

from sandbox.backends.base import Guest
from sandbox.backends.docker_container import DockerBackend
from sandbox.judge import run_tests
from sandbox.setup.go.layout import go_variables
from sandbox.setup.shell import pack
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import GoPart, PythonPart, Recipe, RunVerdict, TestReport, TrustTier
from tests.hostile.go_forgeries import REPOSITORIES, USUAL

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.anyio]

WALL_S = 120.0
MODULE = {"go.mod": "module example.org/shop\n\ngo 1.27\n"}
RIGHT = {"shop.go": USUAL["shop.go"].replace("* 10", "* 9")}
EXTERNAL = {"shop_test.go": USUAL["shop_test.go"].replace("package shop", "package shop_test")
            .replace("Price(10);", "shop.Price(10);").replace('"testing"', '(\n\t"example.org/shop"\n\t"testing"\n)')}  # fmt: skip


@pytest.fixture(scope="module")
async def backend(docker_ready: None) -> DockerBackend:
    return DockerBackend(SandboxSpec(pool=0))


@pytest.fixture(scope="module")
async def image(backend: DockerBackend) -> str:
    environment = await Snapshotter(backend, SandboxSpec()).ensure(
        Recipe(command="go test ./...", parts=(PythonPart(), GoPart(version="1.27"))),
        EnvironmentOrigin(repository_id="tests", tier=TrustTier.LOCAL),
    )
    return environment.image


async def place(guest: Guest, repositories: Iterable[dict[str, str]]) -> None:
    """Put every repository into a folder of its own."""
    texts = {
        f"c{number}/{path}": text.encode()
        for number, files in enumerate(repositories)
        for path, text in {**MODULE, **files}.items()
    }
    await guest.unpack(pack(texts), guest.workdir)


async def run(guest: Guest, number: int, *targets: str) -> TestReport:
    programs = posixpath.dirname(guest.python)
    home = posixpath.dirname(programs)
    cache = f"{posixpath.dirname(guest.workdir)}/go-build"
    copy = ("cp", "-as", f"{home}/go/compiled", cache)
    if number == 0:
        assert (await guest.run(copy, limits=RunLimits(wall_s=60), cwd="/")).ok
    environment = {"PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "GOCACHE": cache}
    return await run_tests(
        guest,
        "go test ./...",
        limits=RunLimits(wall_s=WALL_S),
        targets=targets,
        working_directory=f"c{number}",
        environment={**environment, **go_variables(home)},
    )


async def test_no_forgery_in_go_is_believed(backend: DockerBackend, image: str) -> None:
    believed = {}
    async with backend.open(image) as guest:
        await place(guest, [{**USUAL, **files} for files in REPOSITORIES.values()])
        for number, name in enumerate(REPOSITORIES):
            for targets in ((), ("example.org/shop::TestRebate",)):
                report = await run(guest, number, *targets)
                if report.success or report.verdict is RunVerdict.PASS:
                    believed[name, targets] = report.summary
    assert believed == {}


async def test_honest_go_beside_them_is_believed(backend: DockerBackend, image: str) -> None:
    found = {}
    honest = (RIGHT, {**RIGHT, **EXTERNAL})
    async with backend.open(image) as guest:
        await place(guest, [{**USUAL, **files} for files in honest])
        for number, _ in enumerate(honest):
            for targets in ((), ("example.org/shop::TestRebate",)):
                report = await run(guest, number, *targets)
                found[number, targets] = (report.verdict, report.summary)
    assert {verdict for verdict, _ in found.values()} == {RunVerdict.PASS}, found
