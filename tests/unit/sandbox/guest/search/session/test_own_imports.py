"""Modules of the checkout that tests import as they run are imported first, unless a test notices."""

from pathlib import Path

import pytest

from tests.pytest_sessions import work_in_session

PROGRAM = """
from sandbox.guest.search.session.baseline import reproduce
from sandbox.guest.search.session.harness import find_items
from sandbox.guest.search.session.own_imports import import_own_modules


def choose(baseline):
    return [*baseline.items.failing, *baseline.items.passing]


def work(session):
    items = find_items(session, os.getcwd(), ["test_it.py::test_red"], [])
    baseline = reproduce(items, 5.0, 60.0, choose)
    import_own_modules(baseline, 5.0, 60.0, choose)
    needed = list(baseline.own_imported)
    return {"needed": needed, "there": [name for name in needed if name in sys.modules]}
"""
MODULE = "import os\n\nLIMIT = int(os.environ.get('LIMIT', '3'))\n"
RED = "def test_red():\n    import late\n    assert late.LIMIT == 4\n"
GREEN = "\n\ndef test_green():\n    import late\n    assert late.LIMIT == 3\n"
SETS = (
    "import os\n\n\ndef test_red():\n    os.environ['LIMIT'] = '5'\n    import late\n"
    "    assert late.LIMIT == 5\n    assert late.LIMIT == 4\n"
)
PATCHED = (
    "import os\n\n\ndef test_first():\n    os.environ['LIMIT'] = '5'\n    import late\n"
    "    assert late.LIMIT == 5\n\n\ndef test_red():\n    import late\n    assert late.LIMIT == 4\n"
)


@pytest.mark.parametrize(
    ("module", "tests", "there"),
    [
        (MODULE, RED + GREEN, ["late"]),
        (MODULE, SETS, []),
        (MODULE, PATCHED, []),
        (
            MODULE + "import threading, time\n"
            "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
            RED,
            [],
        ),
    ],
    ids=["plain", "the failing test sets it up", "a passing test sets it up", "a thread"],
)
def test_only_imports_that_no_test_notices_are_made_first(
    tmp_path: Path, module: str, tests: str, there: list[str]
) -> None:
    (tmp_path / "late.py").write_text(module)
    (tmp_path / "test_it.py").write_text(tests)
    assert work_in_session(tmp_path, PROGRAM) == {"needed": ["late"], "there": there}
