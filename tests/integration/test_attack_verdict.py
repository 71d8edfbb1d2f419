"""Hostile repositories of a corpus never get a verdict they did not earn."""

import io
import tarfile
from pathlib import Path

import pytest

from sandbox.backends.docker_container import DockerBackend
from sandbox.changes import ConcernSeverity, screen
from sandbox.judge import run_tests
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import PythonPart, Recipe, RunVerdict, TestReport, TrustTier
from tests.attack_corpus import CORPORA, Attack, corpus, generate, pick
from tests.patience import HANG_S, hang_after

pytestmark = [pytest.mark.docker, pytest.mark.shared, pytest.mark.slow, pytest.mark.anyio]

ABOUT_THE_VERDICT = {"verdict_in", "verdict_not", "max_wall_s", "stable", "flaky", "screen"}
WALL_S = 20.0


def is_about_the_verdict(attack: Attack) -> bool:
    """Cases of resources and containment have their own test."""
    if not set(attack.expect) <= ABOUT_THE_VERDICT:
        return False
    return attack.expect.get("max_wall_s", 0) <= 30 or attack.runs > 1


@pytest.fixture(scope="module", params=CORPORA)
def attacks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[Attack]:
    found = generate(corpus(request), tmp_path_factory.mktemp("verdicts"), "sandbox")
    return [attack for attack in found if is_about_the_verdict(attack)]


@pytest.fixture(scope="module")
async def backend(docker_ready: None) -> DockerBackend:
    return DockerBackend(SandboxSpec(pool=0))


@pytest.fixture(scope="module")
async def image(backend: DockerBackend) -> str:
    recipe = Recipe(command="python -m pytest", parts=(PythonPart(requirements=("pytest",)),))
    origin = EnvironmentOrigin(repository_id="tests", tier=TrustTier.LOCAL)
    return (await Snapshotter(backend, SandboxSpec()).ensure(recipe, origin)).image


def packed(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path in sorted(folder.iterdir()):
            if path.name != ".git":
                tar.add(path, arcname=path.name)
    return buffer.getvalue()


async def run(
    backend: DockerBackend, image: str, attack: Attack, times: int = 1, *, confirm: bool = True
) -> list[TestReport]:
    target = attack.about.get("target")
    async with backend.open(image) as guest:
        await guest.unpack(packed(attack.folder / "repo"), guest.workdir)
        has_to_pass = attack.expect.get("verdict_in") == ["PASS"]
        limits = RunLimits(wall_s=attack.about.get("wall", HANG_S if has_to_pass else WALL_S))
        return [
            await run_tests(
                guest,
                "python -m pytest -q",
                limits=limits,
                targets=[target] if target else [],
                confirm=confirm,
            )
            for _ in range(times)
        ]


async def test_no_attack_decides_its_own_verdict(
    backend: DockerBackend, image: str, attacks: list[Attack]
) -> None:
    wrong = {}
    for attack in attacks:
        if attack.expect.get("flaky"):
            continue
        # A fresh sandbox for every run: what the last one left cannot help the next.
        for _ in range(attack.runs):
            (report,) = await run(backend, image, attack)
            verdict = report.verdict.name
            if verdict in attack.expect.get("verdict_not", []) or verdict not in attack.expect.get(
                "verdict_in", [verdict]
            ):
                wrong[attack.name] = report.summary
            assert report.success is (report.verdict is RunVerdict.PASS)
            assert report.duration_s <= hang_after(attack.expect.get("max_wall_s", 60))
    assert wrong == {}


async def test_runs_of_an_attack_by_chance_disagree(
    backend: DockerBackend, image: str, attacks: list[Attack]
) -> None:
    for attack in pick(attacks, flaky=True):
        # As triage runs them: a pass that has to be confirmed has to be repeated several times.
        reports = await run(backend, image, attack, attack.runs, confirm=False)
        verdicts = {report.verdict for report in reports}
        assert RunVerdict.FAIL in verdicts, attack.name
        assert len(verdicts) > 1, attack.name


def test_an_attack_that_passes_honestly_is_seen_by_the_screen(attacks: list[Attack]) -> None:
    for attack in pick(attacks, screen="suspicious"):
        concerns = [
            concern
            for file in (attack.folder / "repo").rglob("*.py")
            if not file.name.startswith("test_")
            for concern in screen("", file.read_text(), file.name)
        ]
        assert any(concern.severity is ConcernSeverity.REFUSE for concern in concerns)


# Attacks of our own: each makes a failing test look green in a different way.
FORGERIES = {
    "swallows": """
        import pytest
        @pytest.hookimpl(hookwrapper=True, trylast=True)
        def pytest_runtest_call(item):
            outcome = yield
            outcome.force_result(None)
    """,
    "instance": "def pytest_collection_modifyitems(items):\n    for i in items: i.runtest = lambda: None\n",
    "function": "def pytest_collection_modifyitems(items):\n    for i in items: i.obj = lambda *a: None\n",
    "code": """
        def pytest_collection_modifyitems(items):
            for i in items:
                getattr(i.obj, "__func__", i.obj).__code__ = (lambda *a: None).__code__
    """,
    "unittest": """
        import unittest, _pytest.unittest
        _pytest.unittest.TestCaseFunction.runtest = lambda self: None
        def pytest_collection_modifyitems(items):
            items[:] = [i for i in items if i.cls]
    """,
    "protocol": """
        from _pytest.reports import TestReport
        def pytest_runtest_protocol(item, nextitem):
            for when in ("setup", "call", "teardown"):
                report = TestReport(item.nodeid, item.location, {}, "passed", None, when)
                item.ihook.pytest_runtest_logreport(report=report)
            return True
    """,
    "status": "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
    "exit": "import pytest\ndef pytest_runtestloop(session):\n    pytest.exit('done', returncode=0)\n",
    "loop": "def pytest_runtestloop(session):\n    return True\n",
    "empty": "def pytest_collection_modifyitems(items):\n    items.clear()\n",
}
FAILING = """
import unittest
def test_target():
    assert 1 + 1 == 3
class Case(unittest.TestCase):
    def test_unit(self):
        self.assertEqual(1 + 1, 3)
"""


async def test_no_attack_of_a_conftest_turns_a_failing_test_green(
    backend: DockerBackend, image: str, tmp_path: Path
) -> None:
    import textwrap

    believed = {}
    for name, conftest in FORGERIES.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "test_a.py").write_text(FAILING)
        (folder / "conftest.py").write_text(textwrap.dedent(conftest))
        async with backend.open(image) as guest:
            await guest.unpack(packed(folder), guest.workdir)
            report = await run_tests(guest, "pytest -q", limits=RunLimits(wall_s=WALL_S))
        if report.success or report.verdict is RunVerdict.PASS:
            believed[name] = report.summary
    assert believed == {}
