"""`metaagent repair` on folders whose first run is no plain one, in a real sandbox."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.git_http import commit
from tests.patience import COMMAND_S

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def repaired(folder: Path, *options: str) -> dict[str, Any]:
    """What the command prints."""
    words = [
        "repair",
        str(folder),
        "--test",
        "python -m pytest -q",
        "--time-limit",
        "150",
        "--json",
        *options,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "bot", *words],
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
        env=environment,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_tests_without_an_end_are_all_named_and_mended(docker_ready: None, tmp_path: Path) -> None:
    files = {
        "loops.py": "def count(n):\n    found = 0\n    while n:\n        n ^= n - 1\n        found += 1\n    return found\n",
        "test_loops.py": (
            "import pytest\nfrom loops import count\n\n\n@pytest.mark.parametrize('n, ones', [(7, 3), (8, 1), (0, 0)])\n"
            "def test_count(n, ones):\n    assert count(n) == ones\n\n\ndef test_after():\n    assert count(0) == 0\n"
        ),
    }
    found = repaired(written(tmp_path, files), "--sandbox-test-cpu-s", "1", "--candidates", "60")
    assert found["failing"] == [f"test_loops.py::test_count[{one}]" for one in ("7-3", "8-1")]
    assert found["outcome"] == "FOUND", found
    assert any("n &= n - 1" in candidate["diff"] for candidate in found["candidates"])


def test_what_a_conftest_imports_is_mended_though_no_test_was_collected(
    docker_ready: None, tmp_path: Path
) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/prices.py": "from shop.rates import RATE\n\n\ndef gross(net):\n    return net * RATE\n",
        "shop/rates.py": "RATES = {'book': 7\n\nRATE = 2\n",
        "tests/conftest.py": "import pytest\nfrom shop.prices import gross\n\n\n@pytest.fixture\ndef price():\n    return gross(2)\n",
        "tests/test_prices.py": "def test_gross(price):\n    assert price == 4\n",
        "pytest.ini": "[pytest]\ntestpaths = tests\npythonpath = .\n",
    }
    found = repaired(written(tmp_path, files))
    assert found["failing"] == ["tests"]
    assert found["outcome"] == "FOUND", found
    assert {candidate["path"] for candidate in found["candidates"]} == {"shop/rates.py"}


def test_what_a_commit_broke_is_undone_in_a_checkout(docker_ready: None, tmp_path: Path) -> None:
    test = "from rates import price\n\n\ndef test_price():\n    assert price('book', 10) == 731\n\n\ndef test_none():\n    assert price('none', 0) == 0\n"
    green = "TABLE = {'book': (73, 1), 'none': (0, 0)}\n\n\ndef price(kind, n):\n    each, more = TABLE[kind]\n    return each * n + more\n"
    red = green.replace("(73, 1)", "(79, 4)")
    folder = written(tmp_path / "rates", {"rates.py": green, "test_rates.py": test})
    commit(folder, {})
    commit(folder, {"rates.py": red})
    found = repaired(folder, "--candidates", "60")
    assert found["outcome"] == "FOUND", found
    assert "(73, 1)" in found["candidates"][0]["diff"]
