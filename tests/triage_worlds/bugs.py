"""Plain bugs: green before, red since, the same in every run."""

from bot.domain.mission import Outcome
from sandbox.types import LogReading, LogSignal
from tests.triage_worlds.world import BUG, World

_CASES: tuple[tuple[str, str, str, str, str], ...] = (
    ("clamp", "def clamp(x, low, high):\n    return max(low, min(x, high))\n", "min(x, high)", "max(x, high)",
     "assert clamp(5, 0, 3) == 3\n    assert clamp(-1, 0, 3) == 0"),
    ("mean", "def mean(xs):\n    return sum(xs) / len(xs)\n", "len(xs)", "(len(xs) + 1)", "assert mean([2, 4]) == 3"),
    ("even", "def even(n):\n    return n % 2 == 0\n", "== 0", "== 1", "assert even(4)\n    assert not even(3)"),
    ("last", "def last(xs):\n    return xs[len(xs) - 1]\n", "len(xs) - 1", "len(xs)", "assert last([1, 2, 3]) == 3"),
    ("area", "def area(w, h):\n    return w * h\n", "w * h", "w + h", "assert area(2, 5) == 10\n    assert area(3, 3) == 9"),
    ("between", "def between(x, a, b):\n    return a <= x <= b\n", "a <= x", "a < x",
     "assert between(1, 1, 2)\n    assert not between(0, 1, 2)"),
    ("absolute", "def absolute(n):\n    return -n if n < 0 else n\n", "n < 0", "n > 0",
     "assert absolute(-3) == 3\n    assert absolute(2) == 2"),
    ("total", "def total(xs):\n    t = 0\n    for x in xs:\n        t += x\n    return t\n", "t += x", "t = x",
     "assert total([1, 2, 3]) == 6"),
    ("join", "def join(a, b):\n    return a + '-' + b\n", "a + '-' + b", "b + '-' + a", "assert join('x', 'y') == 'x-y'"),
    ("rest", "def rest(xs):\n    return xs[1:]\n", "xs[1:]", "xs[2:]", "assert rest([1, 2, 3]) == [2, 3]"),
    ("both", "def both(a, b):\n    return bool(a and b)\n", "a and b", "a or b",
     "assert both(1, 1)\n    assert not both(1, 0)"),
    ("count", "def count(xs, y):\n    return sum(1 for x in xs if x == y)\n", "x == y", "x != y",
     "assert count([1, 1, 2], 1) == 2\n    assert count([], 1) == 0"),
)  # fmt: skip


def worlds() -> list[World]:
    """Every one."""
    plain = [
        World(
            name=f"bug_{name}",
            kind="bug",
            expected=BUG,
            base=_files(name, right, checks),
            head={f"{name}.py": right.replace(good, bad)},
        )
        for name, right, good, bad, checks in _CASES
    ]
    name, right, good, bad, checks = _CASES[0]
    # CI's runner complained about its network too, but the tests it names failed for a reason of their own.
    noisy = World(
        name="bug_beside_noise",
        kind="bug",
        expected=BUG,
        base=_files(name, right, checks),
        head={f"{name}.py": right.replace(good, bad)},
        ci_log=LogReading(
            signals=(LogSignal.NETWORK,), signs={LogSignal.NETWORK: "Retrying: connection broken"}
        ),
    )
    refused = World(
        name="bug_refuses_connections",
        kind="bug",
        expected=BUG,
        base={
            "port.py": "def port():\n    return 0\n",
            "test_port.py": _SERVER,
        },
        head={"port.py": "def port():\n    return 1\n"},
    )
    renamed = World(
        name="bug_renamed",
        kind="collection error",
        expected=BUG,
        base={
            "shop.py": "def price(n):\n    return 2 * n\n",
            "test_shop.py": "from shop import price\n\n\ndef test_price():\n    assert price(2) == 4\n",
        },
        head={"shop.py": "def cost(n):\n    return 2 * n\n"},
    )
    unparsable = World(
        name="bug_unparsable",
        kind="collection error",
        expected=BUG,
        base=renamed.base,
        head={"shop.py": "def price(n)\n    return 2 * n\n"},
    )
    conftest = World(
        name="bug_conftest",
        kind="collection error",
        expected=BUG,
        base={**(renamed.base or {}), "conftest.py": "from shop import price  # noqa: F401\n"},
        head=renamed.head,
    )
    return [*plain, conftest, noisy, refused, renamed, unparsable, *_ends()]


_SERVER = """import socket

from port import port


def test_it_connects():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        here = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", here if port() == 0 else port()), timeout=2):
            pass


def test_other():
    assert port() >= 0
"""


def _files(name: str, source: str, checks: str) -> dict[str, str]:
    test = f"from {name} import {name}\n\n\ndef test_{name}():\n    {checks}\n"
    return {
        f"{name}.py": source,
        f"test_{name}.py": test,
        "test_other.py": "def test_other():\n    assert True\n",
    }


def _ends() -> list[World]:
    """The other ends of a bug: partly mended, not mended, out of budget."""
    add, hard = (
        "def add(a, b):\n    return a + b\n",
        "def spell(n):\n    return {1: 'one', 2: 'two'}[n]\n",
    )
    tests = {
        "test_add.py": "from m import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n    assert add(1, 1) == 2\n",
        "test_spell.py": "from s import spell\n\n\ndef test_spell():\n    assert [spell(n) for n in (1, 2)] == ['one', 'two']\n",
    }
    base = {"m.py": add, "s.py": hard, **tests}
    broken = "def spell(n):\n    raise NotImplementedError\n"
    return [
        World(
            name="bug_partly",
            kind="bug",
            # Undoing the whole change is a way out that only a person may choose.
            expected=frozenset({Outcome.PARTIAL, Outcome.NEEDS_HUMAN}),
            base=base,
            head={"m.py": add.replace("+", "-"), "s.py": broken},
        ),
        World(
            name="bug_too_hard",
            kind="bug",
            # The same: no edit mends it but the undoing of the commit.
            expected=frozenset({Outcome.NO_FIX, Outcome.NEEDS_HUMAN}),
            base=base,
            head={"s.py": broken},
        ),
        World(
            name="bug_no_time",
            kind="bug",
            expected=frozenset({Outcome.BUDGET}),
            base=base,
            head={"s.py": broken},
            limits={"mission_wall_s": 0.001},
        ),
    ]
