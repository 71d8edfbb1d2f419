"""What cannot be swapped into live functions is searched all the same: module level, imports, programs, unittest."""

from pathlib import Path

import pytest

from sandbox.backends.base import Backend
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import TrialDone, TrialEvent, TrialStarted
from tests.searching import new_text, searched, survivors

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> Backend:
    return DockerBackend(SandboxSpec(pool=0))


def fixes(events: list[TrialEvent], files: dict[str, str]) -> dict[str, list[str]]:
    """Texts that survivors make of files, by lane."""
    found: dict[str, list[str]] = {}
    for survivor in survivors(events):
        found.setdefault(survivor.lane, []).append(new_text(survivor, files))
    return found


TEST_RATE = "from shop.rates import rate\n\n\ndef test_book():\n    assert rate('book') == 7\n"


async def test_a_table_outside_functions_is_mended(backend: Backend, tmp_path: Path) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/rates.py": 'RATES = {"book": 8, "other": 19}\n\n\ndef rate(kind):\n    return RATES[kind]\n',
        "test_rates.py": TEST_RATE + "\n\ndef test_other():\n    assert rate('other') == 19\n",
    }
    events = await searched(backend, tmp_path, files)
    assert files["shop/rates.py"].replace("8", "7") in fixes(events, files)["fresh"]
    started = next(event for event in events if isinstance(event, TrialStarted))
    assert {"swap: enabled", "fresh: enabled"} <= set(started.lane_notes)


async def test_the_fresh_lane_is_believed_where_tests_import_as_they_run(
    backend: Backend, tmp_path: Path
) -> None:
    """The process that trials are forked from begins anew then; that it has, `test_link.py` waits for."""
    files = {
        "shop/__init__.py": "",
        "shop/rates.py": 'RATES = {"book": 8, "other": 19}\n\n\ndef rate(kind):\n    return RATES[kind]\n',
        "test_rates.py": TEST_RATE
        + "\n\ndef test_other():\n    import wsgiref.simple_server, xml.sax\n"
        "    assert wsgiref and xml.sax and rate('other') == 19\n",
    }
    events = await searched(backend, tmp_path, files)
    (started,) = (event for event in events if isinstance(event, TrialStarted))
    assert {"swap: enabled", "fresh: enabled"} <= set(started.lane_notes)
    assert files["shop/rates.py"].replace("8", "7") in fixes(events, files)["fresh"]


async def test_a_project_that_cannot_be_imported_is_mended(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/rates.py": "from colections import OrderedDict\n\n\ndef rate(kind):\n    return OrderedDict(book=7)[kind]\n",
        "test_rates.py": TEST_RATE,
        "test_others.py": "def test_fine():\n    assert True\n",
    }
    events = await searched(backend, tmp_path, files)
    assert any(
        "from collections import OrderedDict" in text for text in fixes(events, files)["fresh"]
    )


async def test_a_project_that_does_not_parse_is_mended(backend: Backend, tmp_path: Path) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/rates.py": 'def rate(kind:\n    return {"book": 7}[kind]\n',
        "test_rates.py": TEST_RATE,
    }
    assert any(
        "def rate(kind):" in text
        for text in fixes(await searched(backend, tmp_path, files), files)["fresh"]
    )


async def test_a_conftest_that_cannot_be_imported_is_no_obstacle(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/rates.py": 'def rate(kind):\n    return {"book": 7}[kind]\n\n\nDEFAULT = raet("book")\n',
        "conftest.py": "import shop.rates\n",
        "test_rates.py": TEST_RATE,
    }
    events = await searched(backend, tmp_path, files, failing=(), passing=())
    assert any('DEFAULT = rate("book")' in text for text in fixes(events, files)["fresh"])


async def test_programs_run_by_the_tests_are_mended_on_disk(
    backend: Backend, tmp_path: Path
) -> None:
    run = "subprocess.check_output([sys.executable, 'tool.py', *words], text=True).strip()"
    files = {
        "tool.py": "import sys\n\n\ndef main():\n    print(max(int(n) for n in sys.argv[1:]))\n\n\nmain()\n",
        "test_tool.py": (
            f"import subprocess, sys\n\n\ndef run(*words):\n    return {run}\n\n\n"
            "def test_least():\n    assert run('3', '5') == '3'\n\n\ndef test_one():\n    assert run('4') == '4'\n"
        ),
    }
    events = await searched(
        backend, tmp_path, files, time_limit_s=150.0, template_shifts={"rename_attribute": -1.1}
    )
    assert any("print(min(" in text for text in fixes(events, files)["cold"])


async def test_unittest_commands_are_searched_without_pytest(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "shop/__init__.py": "LIMIT = 3\n",
        "shop/cart.py": "from shop import LIMIT\n\n\ndef fits(items):\n    return len(items) < LIMIT\n",
        "tests/__init__.py": "",
        "tests/test_cart.py": (
            "import unittest\n\nfrom shop.cart import fits\n\n\nclass Cart(unittest.TestCase):\n"
            "    @classmethod\n    def setUpClass(cls):\n        cls.three = [1, 2, 3]\n\n"
            "    def test_three(self):\n        self.assertTrue(fits(self.three))\n\n"
            "    def test_sizes(self):\n        for size in (0, 1, 3):\n            with self.subTest(size=size):\n"
            "                self.assertTrue(fits([0] * size))\n\n"
            "    def test_four(self):\n        self.assertFalse(fits([1, 2, 3, 4]))\n\n"
            "    @unittest.skip('not now')\n    def test_later(self):\n        self.fail()\n\n"
            "    @unittest.expectedFailure\n    def test_never(self):\n        self.assertTrue(fits([0] * 9))\n"
        ),
    }
    events = await searched(backend, tmp_path, files, command="python -m unittest")
    assert files["shop/cart.py"].replace("<", "<=") in fixes(events, files)["swap"]


async def test_two_edits_are_found_when_the_first_lets_the_test_come_farther(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        "words.py": "def words(text):\n    return [word.strip().lower() for word in text.split(';')][1:]\n",
        "test_words.py": (
            "from words import words\n\n\ndef test_words():\n    found = words('Ab; cD')\n    assert len(found) == 2\n"
            "    assert found == ['AB', 'CD']\n"
        ),
    }
    events = await searched(backend, tmp_path, files, time_limit_s=120.0)
    survivor = survivors(events)[0]
    text = new_text(survivor, files)
    assert "+" in survivor.template
    assert "upper()" in text
    assert "[1:]" not in text


async def test_failing_tests_that_pass_now_and_then_are_refused(
    backend: Backend, tmp_path: Path
) -> None:
    files = {
        # Three draws of five pass: that nine in a row fail, and nobody notices, happens once in four thousand runs.
        "draw.py": "import os\n\n\ndef draw():\n    return int.from_bytes(os.urandom(4), 'big') % 5\n",
        "test_draw.py": "from draw import draw\n\n\ndef test_draw():\n    assert draw() >= 2\n",
    }
    events = await searched(
        backend, tmp_path, files, failing=("test_draw.py::test_draw",), passing=()
    )
    done = events[-1]
    assert isinstance(done, TrialDone)
    assert done.reason == "refused" or not survivors(events)
