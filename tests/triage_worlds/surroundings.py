"""Failures that are not the commit's: red before, outages, missing parts, other Pythons, hangs, and green ones."""

from bot.domain.mission import Outcome
from sandbox.types import LogReading, LogSignal, TestResult, TestStatus
from tests.triage_worlds.world import BUG, World

BASE_RED = frozenset({Outcome.BASE_RED})
INFRA = frozenset({Outcome.INFRA})
UNBUILDABLE = frozenset({Outcome.ENV_UNBUILDABLE})
NOT_REPRODUCED = frozenset({Outcome.NOT_REPRODUCED})
_GREEN = {
    "m.py": "def one():\n    return 1\n",
    "test_m.py": "from m import one\n\n\ndef test_one():\n    assert one() == 1\n",
}
_WORD: dict[str, str | None] = {"README.md": "innocent\n"}
_RAISES = "import pytest\n\n\n@pytest.mark.parametrize('n', range(6))\ndef test_fetch(n):\n    raise {error}\n"


def worlds() -> list[World]:
    """Every one."""
    return [
        *_base_red(),
        *_outages(),
        *_missing(),
        *_pythons(),
        *_hangs(),
        *_green(),
        *_obstacles(),
    ]


def _base_red() -> list[World]:
    broken = {**_GREEN, "m.py": "def one():\n    return 2\n"}
    unparsable = {**_GREEN, "m.py": "def one(:\n"}
    hang = {**_GREEN, "m.py": "def one():\n    while True:\n        pass\n"}
    two = {
        **broken,
        "test_n.py": "from m import one\n\n\ndef test_two():\n    assert one() + one() == 2\n",
    }
    untouched = [
        World(name=f"base_red_{name}", kind="base red", expected=BASE_RED, base=files, head=_WORD)
        for name, files in (("value", broken), ("syntax", unparsable), ("two", two))
    ]
    refactored = World(
        name="base_red_refactored",
        kind="base red",
        expected=BASE_RED,
        base=broken,
        head={"m.py": "TWO = 2\n\n\ndef one():\n    return TWO\n"},
    )
    imports = World(
        name="base_red_import",
        kind="base red",
        expected=BASE_RED,
        base={
            **_GREEN,
            "test_m.py": "from m import two\n\n\ndef test_two():\n    assert two() == 2\n",
        },
        head={"m.py": "def one():\n    return 0 + 1\n"},
    )
    hanging = World(name="base_red_hang", kind="time-out", expected=BASE_RED, base=hang, head=_WORD)
    return [*untouched, refactored, imports, hanging]


def _outages() -> list[World]:
    signals = {
        LogSignal.RUNNER_LOST: "The runner has received a shutdown signal.",
        LogSignal.CANCELLED: "The operation was canceled.",
        LogSignal.DISK_FULL: "No space left on device",
        LogSignal.RATE_LIMITED: "toomanyrequests: You have reached your pull rate limit.",
        LogSignal.REGISTRY: "ERROR: HTTP error 503 while getting https://registry.example/simple/",
        LogSignal.TIMED_OUT: "The job running on runner has exceeded the maximum execution time of 360 minutes.",
    }
    in_log = [
        World(
            name=f"outage_{signal.value}",
            kind="outage",
            expected=INFRA,
            base=_GREEN,
            head=_WORD,
            ci_log=LogReading(signals=(signal,), signs={signal: line}),
        )
        for signal, line in signals.items()
    ]
    said = [
        World(
            name=f"outage_said_{name}",
            kind="outage",
            expected=INFRA,
            base=_GREEN,
            head={"test_fetch.py": _RAISES.format(error=error), "test_m.py": None},
        )
        for name, error in (
            ("dns", "OSError('[Errno -3] Temporary failure in name resolution')"),
            ("service", "RuntimeError('503 Server Error: Service Unavailable for url')"),
            ("refused", "ConnectionRefusedError(111, 'Connection refused')"),
        )
    ]
    fetch = "import urllib.request\n\n\ndef test_fetch():\n    assert urllib.request.urlopen('http://data.example/x', timeout=3)\n"
    name = "test_fetch.py::test_fetch"
    down = TestResult(
        name=name,
        status=TestStatus.FAIL,
        error="URLError",
        error_message="Name or service not known",
    )
    needs = World(
        name="needs_network",
        kind="needs network",
        expected=UNBUILDABLE,
        says="network",
        base=_GREEN,
        head={"test_fetch.py": fetch},
    )
    was_down = World(
        name="outage_of_a_host",
        kind="outage",
        expected=INFRA,
        base=_GREEN,
        head={"test_fetch.py": fetch},
        ci_log=LogReading(failures=(down,), failure_count=1, signals=(LogSignal.NETWORK,)),
    )
    return [*in_log, *said, needs, was_down]


def _missing() -> list[World]:
    imports = "import frobnicator\n\n\ndef test_it():\n    assert frobnicator\n"
    timed = "def test_it(benchmark):\n    assert benchmark(int, 1) == 1\n"
    return [
        World(
            name="missing_on_both",
            kind="missing dependency",
            expected=UNBUILDABLE,
            says="`frobnicator`",
            base={**_GREEN, "test_it.py": imports},
            head=_WORD,
        ),
        World(
            name="missing_in_new_test",
            kind="missing dependency",
            expected=UNBUILDABLE,
            says="`frobnicator`",
            base=_GREEN,
            head={"test_it.py": imports},
        ),
        World(
            name="missing_since",
            kind="missing dependency",
            expected=UNBUILDABLE,
            says="since this commit",
            base=_GREEN,
            head={"m.py": "import frobnicator\n\n\ndef one():\n    return frobnicator.one()\n"},
        ),
        World(
            name="missing_requirement",
            kind="missing dependency",
            expected=UNBUILDABLE,
            base=_GREEN,
            head={"requirements.txt": "metaagent-no-such-distribution==9.9.9\npytest\n"},
        ),
        World(
            name="missing_plugin_fixture",
            kind="collection error",
            expected=UNBUILDABLE,
            says="pytest-benchmark",
            base=_GREEN,
            head={"test_it.py": timed},
        ),
        World(
            name="missing_plugin_option",
            kind="collection error",
            expected=UNBUILDABLE,
            says="pytest-picked",
            base=_GREEN,
            head=_WORD,
            command="python -m pytest -q --picked=first",
        ),
        World(
            name="missing_command",
            kind="missing dependency",
            expected=UNBUILDABLE,
            says="frobnicate",
            base=_GREEN,
            head=_WORD,
            command="frobnicate --all",
        ),
    ]


def _pythons() -> list[World]:
    lazy = {"m.py": "lazy import json\n\n\ndef one():\n    return json.loads('1')\n"}
    form = {
        "m.py": "from typing import TypeFormOfTheFuture\n\n\ndef one():\n    return TypeFormOfTheFuture\n"
    }
    return [
        World(
            name=f"python_{name}",
            kind="wrong Python",
            expected=UNBUILDABLE,
            says="Python 3.15",
            base={**_GREEN, **(files if both else {})},
            head={**(_WORD if both else files)},
            python="3.15",
        )
        for name, files, both in (
            ("syntax", lazy, True),
            ("syntax_new", lazy, False),
            ("stdlib", form, True),
        )
    ]


def _hangs() -> list[World]:
    loop = {"m.py": "def one():\n    n = 2\n    while n != 1:\n        n = n + 1\n    return n\n"}
    right = {
        **_GREEN,
        "m.py": "def one():\n    n = 2\n    while n != 1:\n        n = n - 1\n    return n\n",
    }
    slow = (
        "import time\n\nimport pytest\n\n\n@pytest.mark.parametrize('n', range(400))\n"
        "def test_slow(n):\n    time.sleep(0.1 + (n % 7) / 100)\n"
    )
    return [
        World(name="hang_new", kind="time-out", expected=BUG, base=right, head={**loop}),
        World(
            name="hang_slow_suite",
            kind="time-out",
            expected=UNBUILDABLE,
            says="does not end within",
            base=_GREEN,
            head={"test_slow.py": slow},
        ),
    ]


def _green() -> list[World]:
    named = TestResult(name="test_m.py::test_one", status=TestStatus.FAIL, error="AssertionError")
    log = LogReading(failures=(named,), failure_count=1, exit_code=1)
    merged = {"m.py": "def one():\n    return 3\n"}
    return [
        World(name="green", kind="green", expected=NOT_REPRODUCED, base=_GREEN, head=_WORD),
        World(
            name="green_first_commit",
            kind="green",
            expected=NOT_REPRODUCED,
            base=None,
            head={**_GREEN},
        ),
        World(
            name="green_named",
            kind="green",
            expected=NOT_REPRODUCED,
            says="CI named",
            base=_GREEN,
            head=_WORD,
            ci_log=log,
        ),
        World(
            name="green_mended",
            kind="green",
            expected=NOT_REPRODUCED,
            base={**_GREEN, **merged},
            head={"m.py": _GREEN["m.py"]},
        ),
        World(
            name="merge_only",
            kind="merge",
            expected=frozenset({Outcome.NEEDS_HUMAN}),
            says="merged",
            base=_GREEN,
            head=_WORD,
            merge=merged,
        ),
    ]


def _obstacles() -> list[World]:
    flow = (
        "name: CI\non: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    services:\n      db:\n"
        "        image: postgres:16\n        ports: ['5432:5432']\n    steps:\n      - uses: actions/checkout@v4\n"
        "      - name: Test\n        run: python -m pytest -q\n"
    )
    test = (
        "import socket\n\n\ndef test_database():\n"
        "    socket.create_connection(('127.0.0.1', 5432), timeout=2).close()\n"
    )
    return [
        World(
            name="needs_service",
            kind="missing service",
            expected=UNBUILDABLE,
            says="postgres",
            base={**_GREEN, ".github/workflows/ci.yml": flow},
            head={"test_db.py": test},
            command=None,
            workflow=".github/workflows/ci.yml",
        )
    ]
