"""What stays set up between runs of a test, in real pytest sessions of unedited tests."""

from typing import Any

import pytest

from tests.pytest_sessions import work_in_session

PROGRAM = """
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import Runner
from sandbox.guest.search.session.plans import make_plans


def work(session):
    found = {}
    plans = make_plans(session.items, range(len(session.items)))
    for index, item in enumerate(session.items):
        runner = Runner(session.items, Limiter(), plans)
        runner.run(index, 5.0)
        runner.finish()
        moves = runner.watch.moves
        runner.run(index, 5.0)
        runner.finish()
        found[item.name] = [plans[index].scoped, runner.watch.moves - moves]
        runner.close()
    return found
"""
TESTS = """
import pytest


@pytest.fixture(scope="session")
def database():
    return {}


@pytest.fixture(scope="class", autouse=True)
def per_class():
    return []


def test_plain():
    assert 1 == 2


def test_with_database(database):
    assert 1 == 2


class TestInClass:
    def test_in_class(self):
        assert 1 == 2
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("repo")
    (folder / "test_it.py").write_text(TESTS)
    return work_in_session(folder, PROGRAM)


@pytest.mark.parametrize(
    ("test", "outlived"),
    [("test_plain", False), ("test_with_database", True), ("test_in_class", True)],
)
def test_a_class_fixture_outlives_only_tests_in_a_class(
    found: dict[str, Any], test: str, *, outlived: bool
) -> None:
    """Otherwise a plugin's class fixture would look like a session fixture that is made again."""
    assert found[test] == [outlived, 0]
