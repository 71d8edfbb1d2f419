"""Flakes: by chance that no seed fixes, by hash order, by the clock, by a race, by the order of tests."""

from bot.domain.mission import Outcome
from sandbox.types import LogReading, TestResult, TestStatus
from tests.triage_worlds.world import BUG, World

FLAKY = frozenset({Outcome.FLAKY})
_EACH = {0.1: 6, 0.3: 10, 0.5: 10}
_OTHERS = "def test_other():\n    assert True\n"
_CHANCE = """import os


def test_chance():
    assert os.urandom(2)[0] * 256 + os.urandom(1)[0] >= {below}
"""
_TIME = """import time


def test_clock():
    assert time.time_ns() // 1000 % 10 >= {below}
"""
_RACE = """import os
import threading
import time


def test_the_first_one_wins():
    finished = []

    def run(name):
        time.sleep(os.urandom(1)[0] / 5000)
        finished.append(name)

    threads = [threading.Thread(target=run, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert finished[0] == "a"
"""
_HASH = """from words import first


def test_first():
    assert first({{"{one}", "{two}", "{three}"}}) == "{one}"
"""
_POLLUTED = """import registry


def test_a_defaults():
    assert registry.names() == []


def test_b_adds():
    registry.add("x")
    assert "x" in registry.names()
"""
_POLLUTING = """import registry


def test_a_adds():
    registry.add("x")
    assert "x" in registry.names()


def test_b_defaults():
    assert registry.names() == []
"""


def worlds() -> list[World]:
    """Every one."""
    return [*_by_chance(), *_by_clock(), *_by_hash(), *_by_order()]


def _by_chance() -> list[World]:
    """So many at each rate; a random byte is asked for anew in each run."""
    return [
        World(
            name=f"flake_{int(rate * 100)}_{number}",
            kind=f"flake p={rate}",
            expected=FLAKY,
            rate=rate,
            base={"test_other.py": _OTHERS},
            head={"test_chance.py": _CHANCE.format(below=int(rate * 65536))},
            ci_log=_named("test_chance.py::test_chance") if number % 2 else None,
        )
        for rate, count in _EACH.items()
        for number in range(count)
    ]


def _by_clock() -> list[World]:
    races = [
        World(
            name=f"flake_race_{n}",
            kind="flake p=0.5",
            expected=FLAKY,
            rate=0.5,
            base={"test_other.py": _OTHERS},
            head={"test_race.py": _RACE},
        )
        for n in range(2)
    ]
    clocks = [
        World(
            name=f"flake_clock_{below}",
            kind=f"flake p={below / 10}",
            expected=FLAKY,
            rate=below / 10,
            base={"test_other.py": _OTHERS},
            head={"test_clock.py": _TIME.format(below=below)},
        )
        for below in (3, 5)
    ]
    hang = World(
        name="flake_hangs",
        kind="time-out",
        expected=FLAKY,
        rate=0.5,
        base={"test_other.py": _OTHERS},
        head={
            "test_hang.py": "import os, time\n\n\ndef test_hang():\n    time.sleep(600 * (os.urandom(1)[0] % 2))\n"
        },
    )
    return [*races, *clocks, hang]


def _by_hash() -> list[World]:
    words = [("ant", "bee", "cow"), ("dog", "eel", "fox")]
    return [
        World(
            name=f"flake_hash_{one}",
            kind="flake by hash",
            expected=FLAKY,
            base={
                "words.py": "def first(words):\n    return sorted(words)[0]\n",
                "test_other.py": _OTHERS,
            },
            head={
                "words.py": "def first(words):\n    return next(iter(words))\n",
                "test_words.py": _HASH.format(one=one, two=two, three=three),
            },
        )
        for one, two, three in words
    ]


def _by_order() -> list[World]:
    """Red in the given order is a bug, named as order-dependent; green in the given order and red in others a flake."""
    registry = "_NAMES = []\n\n\ndef add(name):\n    _NAMES.append(name)\n\n\ndef names():\n    return list(_NAMES)\n"
    base = {"registry.py": registry, "test_other.py": _OTHERS}
    same_file = World(
        name="order_same_file",
        kind="order-dependent",
        expected=BUG,
        says="order-dependent",
        base=base,
        head={"test_registry.py": _POLLUTING},
    )
    apart = World(
        name="order_other_file",
        kind="order-dependent",
        expected=BUG,
        says="`test_a.py::test_adds`",
        base=base,
        head={
            "test_a.py": "import registry\n\n\ndef test_adds():\n    registry.add('x')\n    assert registry.names()\n",
            "test_b.py": "import registry\n\n\ndef test_defaults():\n    assert registry.names() == []\n",
        },
    )
    on_base = World(
        name="order_on_base_too",
        kind="order-dependent",
        expected=frozenset({Outcome.BASE_RED}),
        base={**base, "test_registry.py": _POLLUTING},
        head={"README.md": "innocent\n"},
    )
    hidden = World(
        name="order_hidden",
        kind="order-dependent",
        expected=FLAKY,
        says="order-dependent",
        base=base,
        head={"test_registry.py": _POLLUTED},
    )
    return [same_file, apart, on_base, hidden]


def _named(*names: str) -> LogReading:
    """What CI's log says of failing tests."""
    failures = tuple(
        TestResult(name=name, status=TestStatus.FAIL, error="AssertionError") for name in names
    )
    return LogReading(failures=failures, failure_count=len(failures), exit_code=1)
