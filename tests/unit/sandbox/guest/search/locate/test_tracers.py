"""The tracers: functions of every test, lines in those that a failing test calls, who called whom."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sandbox.guest.search.locate.tracers import (
    IDLE_GREEN,
    NOTED,
    RETURNS,
    SetTrace,
    TracedFunction,
    Tracer,
    make_tracer,
)

MODULE = """
def outer(n):
    if n:
        return inner(n)
    return 0


def inner(n):
    total = 0
    for number in range(n):
        total += number
    return total


def other():
    return 1
"""


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    path = tmp_path / "shop.py"
    path.write_text(MODULE)
    loaded = ModuleType("shop")
    exec(compile(MODULE, str(path), "exec"), loaded.__dict__)  # noqa: S102 - our own text, no candidate
    return loaded


def tracer_of(
    tmp_path: Path, on_return: Callable[[TracedFunction, Any], None] = lambda _entry, _frame: None
) -> Tracer:
    return SetTrace(
        lambda name: "shop.py" if name == str(tmp_path / "shop.py") else None, on_return
    )


def lines(tracer: Tracer) -> dict[str, list[int]]:
    return {entry.code.co_name: sorted(entry.lines) for entry in tracer.called()}


def test_lines_of_everything_a_failing_test_calls_are_seen(
    module: ModuleType, tmp_path: Path
) -> None:
    tracer = tracer_of(tmp_path)
    assert tracer.run(lambda: module.outer(3), red=True) == 3
    assert lines(tracer) == {"outer": [3, 4], "inner": [9, 10, 11, 12]}


def test_a_passing_test_shows_lines_only_in_functions_that_a_failing_one_called(
    module: ModuleType, tmp_path: Path
) -> None:
    tracer = tracer_of(tmp_path)
    tracer.run(lambda: module.outer(0), red=True)
    tracer.run(lambda: (module.outer(2), module.other()), red=False)
    assert lines(tracer) == {"outer": [3, 4], "inner": [], "other": []}


def test_a_function_is_left_alone_when_a_passing_test_has_run_what_failing_ones_ran(
    module: ModuleType, tmp_path: Path
) -> None:
    looked: list[str] = []
    tracer = tracer_of(tmp_path, lambda entry, _frame: looked.append(entry.code.co_name))
    tracer.run(lambda: module.outer(2), red=True)
    tracer.run(lambda: module.outer(0), red=True)
    for _ in range(9):
        tracer.run(
            lambda: [module.outer(2), module.outer(0), module.outer(1), module.outer(1)], red=False
        )
        assert lines(tracer) == {"outer": [3, 4, 5], "inner": [9, 10, 11, 12]}
    assert looked.count("outer") == 2 + NOTED
    narrow = tracer_of(tmp_path)
    narrow.run(lambda: module.outer(2), red=True)
    narrow.run(lambda: [module.outer(2) for _ in range(RETURNS + 1)] + [module.outer(0)], red=False)
    assert lines(narrow)["outer"] == [3, 4]


def test_each_function_knows_who_called_it_first_and_how_deep_it_is(
    module: ModuleType, tmp_path: Path
) -> None:
    tracer = tracer_of(tmp_path)
    tracer.run(lambda: module.outer(3), red=True)
    outer, inner = tracer.called()
    assert (outer.depth, outer.caller) == (1, None)
    assert (inner.depth, inner.caller) == (2, outer.key)


def test_returns_are_told_with_the_line_they_happen_on(module: ModuleType, tmp_path: Path) -> None:
    seen: list[tuple[str, list[str]]] = []
    tracer = tracer_of(
        tmp_path, lambda entry, frame: seen.append((entry.code.co_name, sorted(frame.f_locals)))
    )
    tracer.run(lambda: module.outer(2), red=True)
    assert seen == [("inner", ["n", "number", "total"]), ("outer", ["n"])]
    assert [sorted(entry.exits) for entry in tracer.called()] == [[4], [12]]


def test_a_busy_loop_of_a_passing_test_is_left_alone_after_a_while(
    module: ModuleType, tmp_path: Path
) -> None:
    tracer = tracer_of(tmp_path)
    tracer.run(lambda: module.outer(1), red=True)
    tracer.run(lambda: module.outer(5 * IDLE_GREEN), red=False)
    inner = tracer.called()[1]
    assert inner.idle > IDLE_GREEN
    assert sorted(inner.lines) == [9, 10, 11, 12]


def test_lines_know_in_which_step_of_the_test_they_ran_last(
    module: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "test_shop.py"
    text = "def test_it(shop):\n    first = shop.outer(0)\n    second = shop.outer(2)\n    assert second == first + 9\n"
    tests: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), tests)  # noqa: S102 - our own text, no candidate
    tracer = make_tracer(
        lambda name: "shop.py" if name == str(tmp_path / "shop.py") else None,
        lambda _entry, _frame: None,
        lambda name: name == str(path),
    )
    with pytest.raises(AssertionError):
        tracer.run(lambda: tests["test_it"](module), red=True)
    assert tracer.recent() == {"shop.py": {3: 0, 4: 0, 5: 1, 9: 0, 10: 0, 11: 0, 12: 0}}


def test_tracing_ends_with_the_call_even_when_it_raises(module: ModuleType, tmp_path: Path) -> None:
    tracer = tracer_of(tmp_path)
    before = sys.gettrace()
    with pytest.raises(TypeError):
        tracer.run(lambda: module.inner("x"), red=True)
    assert sys.gettrace() in {None, before}
    assert lines(tracer)["inner"] == [9, 10]


@pytest.mark.parametrize("kind", [SetTrace, make_tracer])
def test_lines_that_another_thread_runs_are_seen_too(
    module: ModuleType, tmp_path: Path, kind: Callable[..., Tracer]
) -> None:
    """A web framework runs its handlers in threads of its own."""
    tracer = kind(
        lambda name: "shop.py" if name == str(tmp_path / "shop.py") else None, lambda *_: None
    )

    def elsewhere() -> int:
        with ThreadPoolExecutor(1) as threads:
            return int(threads.submit(module.outer, 3).result())

    assert tracer.run(elsewhere, red=True) == 3
    assert lines(tracer) == {"outer": [3, 4], "inner": [9, 10, 11, 12]}


def test_a_thread_that_outlives_its_test_is_no_longer_traced(
    module: ModuleType, tmp_path: Path
) -> None:
    tracer = tracer_of(tmp_path)
    with ThreadPoolExecutor(1) as threads:
        tracer.run(lambda: threads.submit(module.outer, 0).result(), red=True)
        assert threads.submit(module.outer, 3).result() == 3
        assert lines(tracer) == {"outer": [3, 5]}
        assert threads.submit(sys.gettrace).result() is None


def test_this_interpreter_has_a_tracer() -> None:
    assert isinstance(make_tracer(lambda _: None, lambda _entry, _frame: None), Tracer)
