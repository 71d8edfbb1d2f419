"""A kept set-up that a trial changed is noticed, also where only a passing test shows it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import pytest
from sandbox.guest.search.execution.kept_fixtures import KeptFixtures
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import Runner
from sandbox.guest.search.session.plans import make_plans
from sandbox.guest.search.session.state_snapshot import StateSnapshot

found = {}


class Plugin:
    def pytest_runtestloop(self, session):
        plans = make_plans(session.items, range(len(session.items)))
        runner = Runner(session.items, Limiter(), plans)
        snapshot = StateSnapshot(os.getcwd())
        kept = KeptFixtures(runner, plans, snapshot, lambda index: runner.run(index, 5.0))
        names = [item.name for item in session.items]
        passing = [names.index(name) for name in json.loads(sys.argv[2])]
        found["holds"] = kept.holds(names.index("test_red"), (), passing)
        for number, statement in enumerate(json.loads(sys.argv[3])):
            connection = runner.outliving(names.index("test_red"))[0]
            connection.execute(statement)
            kept.settle(number, hopeless=True)
        kept.tear_down()
        found["doubtful"] = kept.doubtful
        return True


pytest.main(["-q", "-s", "-p", "no:cacheprovider", "-p", "no:randomly"], plugins=[Plugin()])
sys.stderr.write(json.dumps(found))
sys.stderr.flush()
os._exit(0)
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


def run(folder: Path, passing: list[str], trials: list[str]) -> dict[str, Any]:
    (folder / "test_it.py").write_text(TESTS)
    root = str(Path(__file__).resolve().parents[6])
    command = [sys.executable, "-c", PROGRAM, root, json.dumps(passing), json.dumps(trials)]
    ran = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )
    read: dict[str, Any] = json.loads(ran.stderr.splitlines()[-1])
    return read


@pytest.mark.parametrize(
    ("passing", "trials", "doubtful"),
    [
        (["test_count"], ["select 1", "insert into rows values (1)"], [0, 1]),
        (["test_count"], ["select 1", "select 2"], []),
        (["test_with_more", "test_count"], ["insert into rows values (1)"], [0]),
        (["test_also_red"], ["select 1"], []),
        (["test_with_more"], ["select 1"], []),
        ([], ["select 1"], []),
    ],
)
def test_trials_are_doubtful_once_a_witness_fails(
    tmp_path: Path, passing: list[str], trials: list[str], doubtful: list[int]
) -> None:
    """A test with other fixtures is no witness, nor is one that fails without any trial."""
    assert run(tmp_path, passing, trials) == {"holds": True, "doubtful": doubtful}
