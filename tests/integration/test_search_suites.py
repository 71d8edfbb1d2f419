"""Suites as projects have them: every kind of test, plugins in the options, layouts, fixtures that outlive a test."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.search_rate import SUITE, measured
from sandbox.backends.base import Backend
from sandbox.backends.docker_container import DockerBackend
from sandbox.backends.guest_tree import GUEST_DIR
from sandbox.spec import SandboxSpec
from sandbox.types import TrialStarted
from sandbox.workspace import Sandboxes
from tests.searching import new_text, searched, survivors

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

SHOP = '''"""Of carts."""


def fits(items, limit=3):
    """Whether so many fit.

    >>> fits([1, 2, 3])
    True
    >>> fits([1, 2, 3, 4])
    False
    """
    return len(items) < limit
'''
OPTIONS = """[tool.pytest.ini_options]
addopts = \"\"\"-n 2 --dist loadgroup --cov=acme --cov-report=term-missing --reruns 1 --timeout 60 --strict-markers
    --strict-config --import-mode=importlib --doctest-modules --doctest-glob=*.rst -ra\"\"\"
pythonpath = ["src"]
testpaths = ["src", "tests", "docs"]
asyncio_mode = "auto"
asyncio_default_fixture_loop_scope = "function"
filterwarnings = ["error"]
timeout = 50
xfail_strict = true
"""
PLUGINS = (
    "pytest", "pytest-asyncio", "pytest-cov", "pytest-xdist", "pytest-randomly", "pytest-rerunfailures",
    "pytest-timeout", "pytest-mock", "hypothesis", "freezegun",
)  # fmt: skip
KINDS = (Path(__file__).parents[1] / "data" / "suites" / "kinds_of_tests.py").read_text()
RED = {
    "docs/shop.rst::shop.rst",
    "src/acme/shop.py::acme.shop.fits",
    *(
        f"tests/test_kinds.py::{name}"
        for name in (
            "AwaitedCart::test_three",
            "Cart::test_sizes",
            "Cart::test_three",
            "test_awaited",
        )
    ),
    *(f"tests/test_kinds.py::{name}" for name in ("test_invented", "test_on_a_day")),
    "tests/test_kinds.py::test_with_the_fixtures_of_pytest",
}


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> Backend:
    return DockerBackend(SandboxSpec(pool=0))


async def test_one_edit_mends_every_kind_of_test_at_once(backend: Backend, tmp_path: Path) -> None:
    files = {
        "pyproject.toml": OPTIONS,
        "requirements.txt": "\n".join(PLUGINS),
        "src/acme/shop.py": SHOP,
        "docs/shop.rst": "Use\n===\n\n>>> from acme.shop import fits\n>>> fits([1, 2, 3])\nTrue\n",
        "tests/test_kinds.py": KINDS,
    }
    events = await searched(backend, tmp_path, files, time_limit_s=120.0)
    started = next(event for event in events if isinstance(event, TrialStarted))
    assert started.baseline_failing == len(RED) + 4  # and the parameter sets of one test
    assert "swap: enabled" in started.lane_notes
    assert files["src/acme/shop.py"].replace("<", "<=") in [
        new_text(s, files) for s in survivors(events)
    ]


@pytest.mark.parametrize("lane", ["swap", "fresh"])
async def test_a_fixture_that_the_edited_code_made_is_made_anew(
    backend: Backend, tmp_path: Path, lane: str
) -> None:
    files = {
        "table.py": "def table(n):\n    made = []\n    for i in range(n):\n        made.append(i * 2)\n    return made[: n - 1]\n",
        "test_table.py": (
            "import pytest\nfrom table import table\n\n\n@pytest.fixture(scope='module')\ndef ten():\n"
            "    sum(range(1_000_000))\n    return table(10)\n\n\n"
            "def test_length(ten):\n    assert len(ten) == 10\n\n\ndef test_first(ten):\n    assert ten[0] == 0\n"
        ),
    }
    events = await searched(backend, tmp_path, files, lanes=(lane,))
    assert files["table.py"].replace("n - 1", "n - 0") in [
        new_text(s, files) for s in survivors(events)
    ]


async def test_a_dear_fixture_is_set_up_once_for_many_candidates(
    backend: Backend, tmp_path: Path
) -> None:
    folder = tmp_path / "repo"
    folder.mkdir()
    dear = SUITE["test_cart.py"].replace("    return {", "    sum(range(2_000_000))\n    return {")
    for name, text in {**SUITE, "test_cart.py": dear.replace("range(90)", "range(9)")}.items():
        (folder / name).write_text(text)
    red = "test_cart.py::TestDiscount::test_at_the_threshold[100]"
    (folder / "meta.json").write_text(json.dumps({"failing": [red], "passing": []}))
    told: dict[str, Any] = await measured(
        Sandboxes(SandboxSpec(), backend, tmp_path / "data"), folder, f"{GUEST_DIR} 100 2"
    )
    assert told.get("because") is None, told
    assert told["screens differ"] == []
    assert told["disagreements"] == []
    ways = told["ways"]
    assert (
        ways["e: chunks"]["cpu_ms_each"] < 0.5 * ways["d: fork for each candidate"]["cpu_ms_each"]
    )


LATE = "def fits(count, limit=3):\n    return count < limit\n"
LATE_TESTS = """def test_it():
    from late import fits
    assert fits(3)


def test_other():
    from late import fits
    assert not fits(4)
"""


async def test_code_that_tests_import_as_they_run_is_exchanged_in_memory(
    backend: Backend, tmp_path: Path
) -> None:
    files = {"late.py": LATE, "test_late.py": LATE_TESTS}
    events = await searched(backend, tmp_path, files, lanes=("swap",))
    assert LATE.replace("<", "<=") in [new_text(s, files) for s in survivors(events)]


async def test_code_whose_import_changes_a_test_is_not_imported_first(
    backend: Backend, tmp_path: Path
) -> None:
    """The module reads what the test has set, so an import before the tests would break them."""
    files = {
        "late.py": "import os\n\nLIMIT = int(os.environ.get('LIMIT', '9'))\n\n\n"
        "def fits(count):\n    return count < LIMIT\n",
        "test_late.py": "import os\n\n\ndef test_it():\n    os.environ['LIMIT'] = '3'\n"
        "    from late import fits\n    assert not fits(4)\n    assert fits(3)\n",
    }
    events = await searched(backend, tmp_path, files, lanes=("swap", "fresh"))
    started = next(event for event in events if isinstance(event, TrialStarted))
    assert started.baseline_failing == 1
    assert files["late.py"].replace("<", "<=") in [new_text(s, files) for s in survivors(events)]
