"""Outages, missing modules, runs cut short: what counts and what must not."""

import pytest

from bot.mission.failures.signatures import missing_modules, no_verdict, outage, stopped_early
from sandbox.types import RunVerdict
from tests.fakes.scripted_workspace import a_run, nothing_ran


def share(failing: int, passing: int, said: str) -> dict[str, str]:
    return {
        **{f"t.py::f{n}": said for n in range(failing)},
        **{f"t.py::p{n}": "" for n in range(passing)},
    }


@pytest.mark.parametrize(
    ("failing", "passing", "said"),
    [
        (9, 1, "ConnectionRefusedError: [Errno 111] Connection refused"),
        (3, 0, "ReadTimeout: Read timed out."),
        (1, 9, "gaierror: [Errno -3] Temporary failure in name resolution"),
        (2, 0, "OSError: [Errno 28] No space left on device"),
        (5, 5, "HTTPError: 503 Server Error: Service Unavailable for url"),
        (1, 0, "ConnectionError: HTTPSConnectionPool(host='x'): Max retries exceeded with url: /"),
    ],
)
def test_an_outage_is_recognised(failing: int, passing: int, said: str) -> None:
    assert outage(a_run(share(failing, passing, said)), share=0.9)


@pytest.mark.parametrize(
    ("failing", "passing", "said"),
    [
        (8, 2, "ConnectionRefusedError: Connection refused"),
        (1, 0, "ConnectionRefusedError: Connection refused"),
        (9, 0, "AssertionError: assert 'Connection refused' == 'ok'"),
        (9, 0, "AssertionError: assert 'Temporary failure in name resolution' in log"),
        (9, 0, "ValueError: nothing to do with it"),
    ],
)
def test_a_bug_is_no_outage(failing: int, passing: int, said: str) -> None:
    assert outage(a_run(share(failing, passing, said)), share=0.9) is None


def test_one_failure_of_another_kind_is_enough_to_doubt_an_outage() -> None:
    said = share(9, 0, "OSError: No space left on device") | {"t.py::other": "KeyError: 'x'"}
    assert outage(a_run(said), share=0.9) is None


def test_a_run_that_could_not_even_start_for_want_of_a_registry_is_an_outage() -> None:
    assert outage(nothing_ran("Could not fetch URL https://registry/simple"), share=0.9)
    assert outage(nothing_ran("boom"), share=0.9) is None


@pytest.mark.parametrize(
    ("said", "files", "missing"),
    [
        ("ModuleNotFoundError: No module named 'frobnicator'", ("calc.py",), ("frobnicator",)),
        ("ModuleNotFoundError: No module named 'frobnicator.sub'", ("calc.py",), ("frobnicator",)),
        ("ModuleNotFoundError: No module named 'calc'", ("src/calc.py",), ()),
        ("ModuleNotFoundError: No module named 'pkg.gone'", ("pkg/__init__.py",), ()),
        ("ModuleNotFoundError: No module named 'calcc'", ("calc.py", "calculus.py"), ()),
        ("ModuleNotFoundError: No module named 'jsn'", ("calc.py",), ()),
        ("AssertionError: assert 1 == 2", ("calc.py",), ()),
    ],
)
def test_missing_modules_are_told_from_moved_and_mistyped_ones(
    said: str, files: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    assert missing_modules(a_run({"tests/test_calc.py": said}), files) == missing


def test_one_failure_for_another_reason_means_that_the_environment_stands() -> None:
    said = {
        "a.py": "ModuleNotFoundError: No module named 'frobnicator'",
        "b.py::t": "ValueError: x",
    }
    assert missing_modules(a_run(said), ()) == ()


@pytest.mark.parametrize(
    ("output", "verdict", "early"),
    [
        ("!!!! stopping after 5 failures !!!!", RunVerdict.FAIL, True),
        ("", RunVerdict.TIMEOUT, True),
        ("2 failed", RunVerdict.FAIL, False),
    ],
)
def test_a_run_that_gave_up_is_known(output: str, verdict: RunVerdict, *, early: bool) -> None:
    assert stopped_early(a_run({"t": "E: x"}).with_(raw_output=output, verdict=verdict)) is early


def test_a_red_run_with_names_has_a_verdict_whatever_else_is_wrong() -> None:
    assert no_verdict(a_run({"t.py::t": "ValueError: x"}).with_(verdict=RunVerdict.TIMEOUT)) is None
    assert no_verdict(nothing_ran("")) is not None


def test_a_run_without_memory_names_the_setting() -> None:
    reason = no_verdict(nothing_ran("").with_(verdict=RunVerdict.OOM))
    assert reason is not None
    assert "sandbox.memory_bytes" in reason
