"""How much of the project tests run: all failing ones together, and passing ones at the edited lines."""

from types import SimpleNamespace

from sandbox.guest.search.compare import count_passing_at_change, lines_run
from sandbox.guest.search.compare.alternatives import Alternative

OLD = b"def f(a):\n    b = a + 1\n    return b\n"
NEW = OLD.replace(b"+ 1", b"+ 2")
GROUND = SimpleNamespace(
    coverage={0: {"m.py": {2, 3}}, 1: {"m.py": {2}}, 2: {"m.py": {3}, "n.py": {7}}},
    items=SimpleNamespace(failing=[0, 2], passing=[1, 2, 3]),
)
UNIT = SimpleNamespace(source=SimpleNamespace(path="m.py", data=OLD))


def test_passing_tests_count_that_run_an_edited_line() -> None:
    assert count_passing_at_change(GROUND, Alternative((), {"m.py": NEW}, (UNIT,))) == 1


def test_outside_of_functions_nobody_knows_who_runs_a_line() -> None:
    assert count_passing_at_change(GROUND, Alternative((), {"m.py": NEW})) is None


def test_lines_that_several_failing_tests_run_count_once() -> None:
    assert lines_run(GROUND, GROUND.items.failing) == {("m.py", 2), ("m.py", 3), ("n.py", 7)}
