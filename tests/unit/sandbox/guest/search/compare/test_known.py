"""A known behaviour is recognized in an edit that brings it, and in no other."""

from sandbox.guest.search.compare.calls import CallResult
from sandbox.guest.search.compare.judge import ENOUGH, ObservedProgram
from sandbox.guest.search.compare.known import KnownBehaviour, digest, recognize_new
from sandbox.guest.search.compare.record import Input

CALLS = [Input(len, (str(n),), {}, entry=False, edited=True, failing=False) for n in range(ENOUGH)]


def gave(*values: int) -> ObservedProgram:
    return ObservedProgram([CallResult(str(value), "int", str(value)) for value in values])


REFUSED = gave(*range(ENOUGH))
OTHER = gave(*range(1, ENOUGH + 1))
KNOWN = [KnownBehaviour(CALLS, [digest(result) for result in REFUSED.results])]


def test_an_edit_that_brings_it_is_recognized_and_another_is_not() -> None:
    assert recognize_new(KNOWN, CALLS, OTHER, [REFUSED, OTHER, None]) == [[0], [], []]


def test_what_the_unedited_program_does_already_says_nothing_about_edits() -> None:
    assert recognize_new(KNOWN, CALLS, REFUSED, [REFUSED, OTHER]) == [[], []]


def test_without_the_unedited_program_it_is_recognized() -> None:
    assert recognize_new(KNOWN, CALLS, None, [REFUSED]) == [[0]]
