"""A kept set-up that a trial changed is noticed, also where only a passing test shows it."""

from pathlib import Path

import pytest

from tests.pytest_sessions import work_in_session

PROGRAM = """
from sandbox.guest.search.execution.kept_fixtures import KeptFixtures
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import Runner
from sandbox.guest.search.session.plans import make_plans
from sandbox.guest.search.session.state_snapshot import StateSnapshot


def work(session, passing, trials):
    plans = make_plans(session.items, range(len(session.items)))
    runner = Runner(session.items, Limiter(), plans)
    snapshot = StateSnapshot(os.getcwd())
    kept = KeptFixtures(runner, plans, snapshot, lambda index: runner.run(index, 5.0))
    number_of = {item.name: index for index, item in enumerate(session.items)}
    red = number_of["test_red"]
    holds = kept.holds(red, (), [number_of[name] for name in passing])
    for number, trial in enumerate(trials):
        if trial in number_of:
            runner.run(number_of[trial], 5.0)
        else:
            runner.outliving(red)[0].execute(trial)
        kept.settle(number, hopeless=True)
    kept.tear_down()
    return {"holds": holds, "doubtful": kept.doubtful}
"""
TESTS = """
import sqlite3
import time

import pytest


@pytest.fixture(scope="session")
def database():
    time.sleep(0.02)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("create table rows (id integer)")
    return connection


@pytest.fixture(scope="session")
def other():
    return []


def test_red(database):
    assert database.execute("select 1").fetchone() == (2,)


def test_count(database):
    assert database.execute("select count(*) from rows").fetchone() == (0,)


def test_with_more(database, other):
    assert database and other == []


def test_also_red(database):
    assert not database
"""


@pytest.mark.parametrize(
    ("passing", "trials", "doubtful"),
    [
        (["test_count"], ["select 1", "insert into rows values (1)"], [0, 1]),
        (["test_count"], ["select 1", "select 2"], []),
        (["test_with_more", "test_count"], ["insert into rows values (1)"], [0]),
        (["test_also_red"], ["select 1"], []),
        (["test_with_more"], ["select 1"], []),
        ([], ["select 1"], []),
        (["test_count"], ["insert into rows values (1)", "test_with_more"], [0, 1]),
        (["test_count"], ["test_with_more"], []),
    ],
)
def test_trials_are_doubtful_once_a_witness_fails(
    tmp_path: Path, passing: list[str], trials: list[str], doubtful: list[int]
) -> None:
    """A test with other fixtures is no witness, nor is one that fails without any trial.

    A trial is a statement on the kept database, or a test that sets up another fixture: then
    nothing can be checked any more, and only a first trial is beyond doubt.
    """
    (tmp_path / "test_it.py").write_text(TESTS)
    found = work_in_session(tmp_path, PROGRAM, passing, trials)
    assert found == {"holds": True, "doubtful": doubtful}
