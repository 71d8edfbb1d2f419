"""The search in a real sandbox: it finds fixes, says what it cannot do, and keeps to its limits."""

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from bot.fixers.rung1_search.attempt import run_search
from bot.fixers.rung1_search.plain_run import drop_refuted
from sandbox.backends.base import Backend
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import (
    Checkout,
    FolderSource,
    SearchNearMiss,
    SearchRequest,
    Survivor,
    TrialDone,
    TrialEvent,
    TrialStarted,
)
from sandbox.workspace import Sandboxes
from tests.patience import HANG_S, stretched
from tests.searching import PROTECTED, new_text, searched, survivors

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> Backend:
    return DockerBackend(SandboxSpec(pool=0))


ONE_BUG = {
    "pricing.py": "def total(prices, discount):\n    return sum(prices) + discount\n",
    "test_pricing.py": "from pricing import total\n\n\ndef test_total():\n    assert total([5, 3], 2) == 6\n",
}


async def test_two_independent_bugs_are_mended_together(backend: Backend, tmp_path: Path) -> None:
    files = {
        "maths.py": "def add(a, b):\n    return a - b  # here\n\n\ndef is_even(n):\n    return n % 2 == 1\n",
        "test_maths.py": (
            "from maths import add, is_even\n\n\ndef test_add():\n    assert add(2, 3) == 5\n    assert add(-1, 1) == 0\n"
            "\n\ndef test_is_even():\n    assert is_even(4)\n    assert not is_even(7)\n"
            "\n\ndef test_types():\n    assert isinstance(add(1, 2), int)\n"
        ),
    }
    events = await searched(backend, tmp_path, files)
    best = survivors(events)[0]
    assert "+" in best.template
    assert best.origin in {"joined", "second_edit"}
    assert "return a + b  # here\n" in new_text(best, files)
    done = events[-1]
    assert isinstance(done, TrialDone)
    assert sum(spent.tried for spent in done.spending) == done.tried
    assert sum(spent.seconds for spent in done.spending) <= done.seconds
    assert any(isinstance(event, SearchNearMiss) for event in events)


async def test_the_bug_may_stand_in_another_module_than_the_one_tested(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/rates.py": 'def rate(kind):\n    return {"book": 7, "other": 19}[kind]\n\n\ndef share(kind):\n    return rate(kind) * 100\n',
        "shop/invoice.py": "from shop.rates import share\n\n\ndef tax(price, kind):\n    return price * share(kind)\n",
        "test_invoice.py": "from shop.invoice import tax\n\n\ndef test_tax():\n    assert round(tax(100, 'book'), 2) == 7\n",
    }
    assert "shop/rates.py" in {s.path for s in survivors(await searched(backend, tmp_path, files))}


async def test_unittest_classes_fixtures_and_project_options_are_understood(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "pytest.ini": "[pytest]\naddopts = --cov=pricing --cov-report term -n 2 --timeout 5\n",
        "conftest.py": "import pytest\n\n\n@pytest.fixture(scope='module')\ndef prices():\n    return [5, 3]\n",
        "pricing.py": ONE_BUG["pricing.py"],
        "test_pricing.py": (
            "import unittest\n\nfrom pricing import total\n\n\nclass TestTotal(unittest.TestCase):\n"
            "    def setUp(self):\n        self.off = 2\n\n    def test_it(self):\n"
            "        self.assertEqual(total([5, 3], self.off), 6)\n\n    def test_nothing(self):\n"
            "        self.assertEqual(total([], 0), 0)\n\n\ndef test_fixture(prices):\n    assert total(prices, 2) == 6\n"
        ),
    }
    events = await searched(
        backend,
        tmp_path,
        files,
        failing=("test_pricing.py::TestTotal::test_it", "test_pricing.py::test_fixture"),
        passing=("test_pricing.py::TestTotal::test_nothing",),
    )
    assert "sum(prices) - discount" in new_text(survivors(events)[0], files)


async def test_endless_loops_and_greedy_candidates_do_not_stop_the_search(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "loops.py": "def count(n):\n    found = 0\n    while n:\n        n ^= n - 1\n        found += 1\n    return found\n",
        "test_loops.py": "from loops import count\n\n\ndef test_count():\n    assert count(7) == 3\n    assert count(8) == 1\n",
    }
    events = await searched(
        backend, tmp_path, files, failing=("test_loops.py::test_count",), passing=()
    )
    assert any("n &= n - 1" in new_text(s, files) for s in survivors(events))


async def test_tests_that_share_state_are_tried_one_by_one(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "pricing.py": ONE_BUG["pricing.py"],
        "test_pricing.py": (
            "from pricing import total\n\nSEEN = []\n\n\ndef test_first():\n    SEEN.append(1)\n    assert len(SEEN) == 1\n\n\n"
            "def test_total():\n    assert SEEN\n    assert total([5, 3], 2) == 6\n"
        ),
    }
    events = await searched(backend, tmp_path, files)
    started = next(event for event in events if isinstance(event, TrialStarted))
    assert started.isolated
    assert "sum(prices) - discount" in new_text(survivors(events)[0], files)


async def test_the_time_limit_ends_a_search_without_a_fix(backend: Backend, tmp_path: Path) -> None:
    files = {
        "hopeless.py": "def answer(a, b, c):\n    while a:\n        a = b - c\n    return [a, b, c]\n",
        "test_hopeless.py": "from hopeless import answer\n\n\ndef test_answer():\n    assert answer(1, 2, 3) == 'so long'\n",
    }
    events = await searched(
        backend,
        tmp_path,
        files,
        failing=("test_hopeless.py::test_answer",),
        passing=(),
        time_limit_s=5.0,
    )
    assert survivors(events) == []
    done = events[-1]
    assert isinstance(done, TrialDone)
    assert done.seconds < HANG_S


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"failing": ("test_pricing.py::test_missing",)}, "collected"),
        ({"failing": ("test_pricing.py::test_green",)}, "fails here"),
        ({"command": "python -m pytest -q no_such_folder"}, "collect"),
    ],
)
async def test_what_cannot_be_searched_is_refused_with_a_reason(
    changes: dict[str, object], word: str, backend: Backend, tmp_path: Path
) -> None:
    files = {
        **ONE_BUG,
        "test_pricing.py": ONE_BUG["test_pricing.py"] + "\n\ndef test_green():\n    assert True\n",
    }
    done = (await searched(backend, tmp_path, files, **changes))[-1]
    assert isinstance(done, TrialDone)
    assert done.reason == "refused"
    assert word in done.detail


@pytest.mark.parametrize(
    "end", [ONE_BUG["pricing.py"].index("\n", 40), 9999], ids=["fits the file", "fits no file"]
)
async def test_code_that_writes_its_own_verdict_gains_nothing(
    backend: Backend, tmp_path: Path, end: int
) -> None:
    """The repository may lie on our channel; what it says is validated, and a plain run refutes it."""
    lie = json.dumps({
        "kind": "survivor", "template": "lie", "path": "pricing.py", "line": 1, "cost": 0, "suspicion": 1, "description": "",
        "edits": [{"path": "pricing.py", "start": 31, "end": end, "text": "    return 8"}],
    })  # fmt: skip
    sound: TypeAdapter[TrialEvent] = TypeAdapter(TrialEvent)
    assert isinstance(sound.validate_json(lie), Survivor), (
        "a lie in all but its form would be refused for its form"
    )
    writes = f"import os\n\ntry:\n    os.write(3, {lie!r}.encode() + b'\\n')\nexcept OSError:\n    pass\n"
    folder = tmp_path / "repo"
    folder.mkdir()
    for name, text in {**ONE_BUG, "conftest.py": writes}.items():
        (folder / name).write_text(text)
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    async with sandboxes.open_workspace(
        Checkout(source=FolderSource(path=str(folder)))
    ) as workspace:
        request = SearchRequest(
            command="python -m pytest -q",
            failing=("test_pricing.py::test_total",),
            protected=PROTECTED,
            time_limit_s=stretched(60.0),
        )
        found = await run_search(workspace, request)
        assert any(survivor.template == "lie" for survivor in found.survivors) is (end < 9999)
        await drop_refuted(workspace, found)
    assert "sum(prices) - discount" in (found.shown[0].changes[0].content or "")
    assert found.plain_run.startswith("1 passed")


async def test_one_request_finds_the_same_fixes_in_the_same_order(
    backend: Backend, tmp_path: Path
) -> None:
    one, other = [
        [
            (s.template, s.edits)
            for s in survivors(await searched(backend, tmp_path / turn, ONE_BUG))
        ]
        for turn in ("one", "other")
    ]
    sure = min(len(one), len(other))
    assert sure > 0
    assert one[:sure] == other[:sure], "only how far it comes depends on the time it has"
