"""The first run stops after some failures; a whole run follows where it did."""

import pytest

from bot.mission.verifying.reproduce import reproduce_failures
from sandbox.types import Checkout, GitSource, RunVerdict, TestReport
from tests.builders import BASE, HEAD
from tests.fakes.scripted_workspace import Asked, World, a_run, nothing_ran

pytestmark = pytest.mark.anyio

CHECKOUT = Checkout(
    source=GitSource(url="https://git.example/r", sha=HEAD, base_sha=BASE, repository_id="42")
)


def suite(failing: int, *, runner: str = "pytest", whole: TestReport | None = None) -> World:
    """A suite of so many failing tests and two that pass behind them, run as pytest would with `--maxfail`."""

    def run(asked: Asked) -> TestReport:
        if asked.maxfail is None and whole is not None:
            return whole
        bad = {f"t.py::bad{number}": "ValueError: x" for number in range(failing)}
        good = {"t.py::good": "", "t.py::better": ""}
        stops = (
            runner in {"pytest", "unittest"}
            and asked.maxfail is not None
            and failing >= asked.maxfail
        )
        return a_run(
            dict(list(bad.items())[: asked.maxfail]) if stops else bad | good, runner=runner
        )

    return World({"a.py": ""}, run)


async def reproduced(world: World, maxfail: int | None = 5) -> tuple[TestReport, list[int | None]]:
    async with world.open_workspace(CHECKOUT) as workspace:
        found = await reproduce_failures(workspace, maxfail=maxfail)
    return found.report, [asked.maxfail for asked in world.runs]


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
@pytest.mark.parametrize(
    ("failing", "maxfail", "runs"),
    [(4, 5, [5]), (5, 5, [5, None]), (12, 5, [5, None]), (2, 1, [1, None])],
)
async def test_the_first_run_is_short_and_every_test_is_known_in_the_end(
    runner: str, failing: int, maxfail: int, runs: list[int | None]
) -> None:
    report, asked = await reproduced(suite(failing, runner=runner), maxfail)
    assert asked == runs
    assert len(report.failing) == failing
    assert report.passing == {"t.py::good", "t.py::better"}


@pytest.mark.parametrize("none", [0, None])
async def test_without_a_limit_there_is_one_whole_run(none: int | None) -> None:
    report, asked = await reproduced(suite(9), none)
    assert (len(report.failing), asked) == (9, [None])


@pytest.mark.parametrize("runner", ["diagnostics", "junit", "command"])
async def test_what_names_no_tests_runs_once(runner: str) -> None:
    assert (await reproduced(suite(9, runner=runner)))[1] == [5]


@pytest.mark.parametrize(
    "whole",
    [nothing_ran("", verdict=RunVerdict.TIMEOUT), a_run({"t.py::good": ""})],
    ids=["cut off", "green"],
)
async def test_a_whole_run_that_shows_less_is_not_taken(whole: TestReport) -> None:
    report, asked = await reproduced(suite(9, whole=whole))
    assert asked == [5, None]
    assert len(report.failing) == 5
