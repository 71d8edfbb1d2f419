"""Recording: calls of edited functions and of those that tests call, copied as they were, nothing else."""

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from typing_extensions import override

from sandbox.guest.search.compare.record import (
    CallRecorder,
    Input,
    project_functions,
    read_arguments,
)

HERE = __file__


def inner(rows: list[int], *rest: int, low: int = 0, **more: int) -> int:
    rows.append(low)
    return sum(rows) + sum(rest) + sum(more.values())


def outer(rows: list[int]) -> int:
    return inner(rows, 7, low=2, extra=1)


def unrelated(value: object) -> object:
    return value


def counting(limit: int) -> Iterator[int]:
    yield from range(limit)


def recorded(call: Callable[[], object], edited: Any, *known: Any) -> list[Input]:
    """The useful calls of a test."""
    recorder = a_recorder(edited, *known)
    recorder.around(call)
    return recorder.useful_calls()


def a_recorder(edited: Any, *known: Any) -> CallRecorder:
    """A recorder for which this file's functions are the project and its tests are not."""
    project = {function.__code__: function for function in (edited, *known)}
    inside = {function.__code__ for function in project.values()}

    class Project(CallRecorder):
        @override
        def _is_entry(self, frame: Any) -> bool:
            code, caller = frame.f_code, frame.f_back.f_code
            if caller in inside:
                return False
            self._entries[code] = None
            return code in inside

    return Project(project, [edited.__code__], lambda name: name == HERE)


def test_arguments_are_copied_before_the_call_changes_them() -> None:
    calls = recorded(lambda: outer([1]), inner, outer)
    told = {call.function.__name__: call for call in calls}
    assert told["inner"].positional == ([1], 7)
    assert told["inner"].named == {"low": 2, "extra": 1}
    assert (told["inner"].edited, told["inner"].entry) == (True, False)
    assert (told["outer"].edited, told["outer"].entry) == (False, True)


def test_functions_that_do_not_lead_to_an_edited_one_are_left_out() -> None:
    calls = recorded(lambda: (unrelated(3), outer([1])), inner, outer, unrelated)
    assert {call.function.__name__ for call in calls} == {"inner", "outer"}


def test_equal_calls_are_noted_once_and_a_generator_where_it_begins() -> None:
    calls = recorded(lambda: [list(counting(3)), list(counting(3)), list(counting(4))], counting)
    assert [call.positional for call in calls] == [(3,), (4,)]


def test_what_cannot_be_copied_is_given_up_after_a_while() -> None:
    locks = [threading.Lock() for _ in range(9)]
    assert recorded(lambda: [unrelated(lock) for lock in locks], unrelated) == []
    assert sys.getprofile() is None


def test_arguments_are_found_in_every_kind_of_parameter() -> None:
    def all_kinds(a: int, b: int = 2, *c: int, d: int, e: int = 5, **f: int) -> object:
        return read_arguments(sys._getframe())

    assert all_kinds(1, 2, 3, d=4, g=6) == ((1, 2, 3), {"d": 4, "e": 5, "g": 6})


def test_functions_of_the_project_are_found_by_their_code() -> None:
    assert project_functions(lambda name: name == HERE)[unrelated.__code__] is unrelated


def test_a_thread_that_outlives_its_test_is_no_longer_recorded() -> None:
    """Its calls would count for the next test, which may be a failing one."""
    started, ended = threading.Event(), threading.Event()

    def work() -> None:
        inner([1])
        started.set()
        ended.wait()
        inner([2])

    thread = threading.Thread(target=work)

    def test() -> None:
        thread.start()
        started.wait()

    recorder = a_recorder(inner)
    recorder.around(test)
    ended.set()
    thread.join()
    assert [call.positional for call in recorder.useful_calls()] == [([1],)]
