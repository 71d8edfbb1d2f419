"""Which missing part explains every failure, and what must not be taken for one. Pure."""

from typing import Any

import pytest

from bot.mission.triage.environment import lacks_something, missing_part, why_unbuildable
from bot.mission.triage.values import Evidence, OtherCommit
from sandbox.types import LogReading, PythonPart, Recipe, TestReport, WorkspaceFacts
from tests.builders import facts
from tests.fakes.scripted_workspace import a_run, nothing_ran

TEST = "tests/test_m.py::test_m"
GREEN_BEFORE = Evidence(base=OtherCommit(checked=True, report=a_run({TEST: ""})))


def here(**recipe: Any) -> WorkspaceFacts:
    return facts(interpreter="Python 3.11.7", recipe=Recipe(command="python -m pytest", **recipe))


def missing(
    *said: str, evidence: Evidence | None = None, where: WorkspaceFacts | None = None, **log: Any
) -> str | None:
    """What explains failures that say this."""
    red = a_run({f"{TEST}_{n}": text for n, text in enumerate(said)})
    return missing_part(
        red, evidence or Evidence(), where or here(), LogReading(**log) if log else None
    )


@pytest.mark.parametrize(
    "said",
    [
        "SyntaxError: invalid syntax",
        "ImportError: cannot import name 'TypeForm' from 'typing' (/usr/lib/python3.11/typing.py)",
        "AttributeError: module 'asyncio' has no attribute 'Runner2'",
        "ModuleNotFoundError: No module named 'annotationlib'",
        "TypeError: unsupported operand type(s) for |: 'type' and 'NoneType'",
        "TypeError: 'type' object is not subscriptable",
    ],
)
def test_another_python_than_the_job_wants_is_named(said: str) -> None:
    reason = missing(said, where=here(parts=(PythonPart(version="3.14"),)))
    assert reason is not None
    assert "needs Python 3.14, and only Python 3.11.7" in reason
    if "annotationlib" not in said:
        assert missing(said, where=here(parts=(PythonPart(version="3.11"),))) is None
        assert missing(said) is None
    assert (
        missing(
            said, "AssertionError: assert 1 == 2", where=here(parts=(PythonPart(version="3.14"),))
        )
        is None
    )


def test_a_syntax_error_that_ci_saw_too_is_a_bug() -> None:
    assert (
        missing(
            "SyntaxError: invalid syntax",
            where=here(parts=(PythonPart(version="3.14"),)),
            error="SyntaxError: invalid syntax",
        )
        is None
    )


@pytest.mark.parametrize(
    ("said", "plugin"),
    [
        ("FixtureLookupError: fixture 'benchmark' not found", "pytest-benchmark"),
        ("FixtureLookupError: fixture 'httpx_mock' not found", "pytest-httpx"),
        ("Failed: async def functions are not natively supported.", "pytest-asyncio"),
    ],
)
def test_a_plugin_whose_fixtures_are_wanted_is_named(said: str, plugin: str) -> None:
    reason = missing(said)
    assert reason is not None
    assert f"`{plugin}`" in reason
    assert missing(said, "ValueError: x") is None


def test_a_fixture_that_no_plugin_is_known_for_is_a_bug() -> None:
    assert missing("FixtureLookupError: fixture 'clinet' not found") is None


@pytest.mark.parametrize(
    ("output", "plugin"),
    [
        ("pytest: error: unrecognized arguments: --cov=src --cov-report=xml", "pytest-cov"),
        ("pytest: error: unrecognized arguments: -n auto", "pytest-xdist"),
        ("pytest: error: unrecognized arguments: --asyncio-mode=auto", "pytest-asyncio"),
        ('ImportError: Error importing plugin "my_plugin": No module named x', "my_plugin"),
        ("ERROR: Missing required plugins: pytest-timeout>=2", "pytest-timeout>=2"),
    ],
)
def test_a_plugin_whose_options_are_refused_is_named(output: str, plugin: str) -> None:
    reason = why_unbuildable(nothing_ran(output), here())
    assert reason is not None
    assert f"`{plugin}` is not installed" in reason


def test_an_unknown_option_names_no_plugin() -> None:
    reason = why_unbuildable(nothing_ran("pytest: error: unrecognized arguments: --frob"), here())
    assert reason is not None
    assert "not installed" not in reason


def test_a_run_without_a_verdict_tells_python_and_obstacles() -> None:
    where = here(python="3.13", obstacles=("needs the service db, no service is started",))
    reason = why_unbuildable(nothing_ran("boom"), where)
    assert reason is not None
    assert "Python 3.13" in reason
    assert "needs the service db" in reason
    assert why_unbuildable(a_run({TEST: "ValueError: x"}), where) is None


SERVICE = "needs the service db, no service is started"
SECRET = "the command needs secrets.API_TOKEN, which only GitHub knows"


@pytest.mark.parametrize(
    ("said", "recipe"),
    [
        (
            "OperationalError: connection to server at 127.0.0.1 failed: Connection refused",
            {"obstacles": (SERVICE,)},
        ),
        ("gaierror: Name or service not known", {"obstacles": (SERVICE,)}),
        ("ConnectionRefusedError: [Errno 111] Connection refused", {"services": ("postgres:16",)}),
        ("KeyError: 'API_TOKEN'", {"obstacles": (SECRET,)}),
    ],
)
def test_an_obstacle_that_fits_every_failure_is_named(said: str, recipe: dict[str, Any]) -> None:
    reason = missing(said, where=here(**recipe))
    assert reason is not None
    assert next(iter(recipe.values()))[0] in reason
    assert missing(said, "AssertionError: assert 1 == 2", where=here(**recipe)) is None
    assert missing(said) is None
    assert missing(said, where=here(**recipe), evidence=GREEN_BEFORE) is None


def test_an_obstacle_explains_no_plain_failure() -> None:
    assert (
        missing(
            "AssertionError: assert 1 == 2",
            where=here(obstacles=(SERVICE, SECRET), services=("db",)),
        )
        is None
    )


def test_a_module_that_the_base_commit_still_had_was_taken_away_and_is_a_bug() -> None:
    said = "ModuleNotFoundError: No module named 'gadgets'"
    assert missing(said) is not None
    assert missing(said, evidence=Evidence(base=OtherCommit(files=("gadgets.py",)))) is None


def test_a_module_that_is_new_or_missing_in_ci_too_says_so() -> None:
    said = "ModuleNotFoundError: No module named 'gadgets'"
    assert "since this commit" in (missing(said, evidence=GREEN_BEFORE) or "")
    assert "CI misses it too" in (missing(said, error="E  No module named 'gadgets'") or "")


def test_a_file_that_lacks_a_module_is_named_though_other_failures_have_other_causes() -> None:
    lacking = "ModuleNotFoundError: No module named 'unheard_of'"
    red = a_run({"tests/test_a.py": lacking, "tests/test_b.py::test_b": "ValueError: x"})
    reason = missing_part(red, Evidence(), here())
    assert reason is not None
    assert "`unheard_of` is neither installed" in reason
    assert "(`tests/test_a.py`)" in reason
    base = OtherCommit(checked=True, report=a_run({"tests/test_a.py": lacking}))
    assert missing_part(red, Evidence(base=base), here()) is None
    ours = Evidence(files=("unheard_of/parts.py",))
    assert missing_part(red, ours, here()) is None
    inside = a_run({"tests/test_a.py::test_a": lacking, "tests/test_b.py::test_b": "ValueError: x"})
    assert missing_part(inside, Evidence(), here()) is None


def test_a_report_without_failures_has_no_missing_part() -> None:
    bare = TestReport(
        success=False,
        failed=False,
        exit_code=1,
        target="make",
        summary="",
        failure_count=0,
        runner="command",
    )
    assert missing_part(bare, Evidence(), here(parts=(PythonPart(version="3.14"),))) is None


def unset(name: str, traceback: str = "", place: str = "<frozen os>:679: KeyError") -> TestReport:
    """A test that reads a variable nothing sets."""
    red = a_run({TEST: f"KeyError: '{name}'"})
    failure = red.failures[0].with_(
        traceback=f"{traceback}\nself = environ({{'HOME': '/home'}})\n{place}"
    )
    return red.with_(failures=(failure,))


@pytest.mark.parametrize(
    "place",
    [
        "<frozen os>:679: KeyError",
        "/usr/lib/python3.8/os.py:675: KeyError",
        'File "<frozen os>", line 679, in __getitem__',
        'File "/usr/lib/python3.9/os.py", line 679, in __getitem__',
    ],
)
def test_a_variable_that_nothing_sets_is_named(place: str) -> None:
    reason = missing_part(unset("SERVICE_TOKEN", place=place), Evidence(), here())
    assert reason is not None
    assert "variables of the environment that nothing sets here: `SERVICE_TOKEN`" in reason


@pytest.mark.parametrize(
    "red",
    [
        unset("SERVICE_TOKEN", "    monkeypatch.delenv('SERVICE_TOKEN', raising=False)"),
        unset("SERVICE_TOKEN", "    os.environ['SERVICE_TOKEN'] = 'x'"),
        unset("API_ULR", "    monkeypatch.setenv('API_URL', 'x')"),
        unset("HOEM"),
        unset("SERVICE_TOKEN", place="conf.py:2: KeyError"),
        unset("token"),
    ],
)
def test_a_variable_that_the_test_handles_or_that_is_misspelt_is_a_bug(red: TestReport) -> None:
    assert missing_part(red, Evidence(), here()) is None


def test_a_variable_that_the_base_commit_did_without_is_a_bug() -> None:
    assert missing_part(unset("SERVICE_TOKEN"), GREEN_BEFORE, here()) is None


LEFT_OUT = {"parts": (PythonPart(left_out=("rsloop",)),)}
OTHER = "tests/test_n.py::test_n"
NO_LOOP = "ModuleNotFoundError: No module named 'rsloop'"


@pytest.mark.parametrize(
    "said",
    [
        NO_LOOP,
        "ModuleNotFoundError: No module named 'its_helper'",
        "PackageNotFoundError: No package metadata was found for rsloop",
        "fixture 'loops' not found",
        "async def functions are not natively supported.",
    ],
)
def test_one_failing_test_that_may_need_what_was_left_out_ends_it(said: str) -> None:
    red = a_run({TEST: said, OTHER: "ValueError: x"})
    reason = missing_part(red, GREEN_BEFORE, here(**LEFT_OUT))
    assert reason is not None
    assert "`rsloop` could not be installed here" in reason
    assert f"`{TEST}`" in reason
    assert missing_part(red, GREEN_BEFORE, here()) is None


def test_tests_that_always_need_what_was_left_out_do_not_hide_others() -> None:
    red = a_run({TEST: NO_LOOP, OTHER: "ValueError: x"})
    before = Evidence(base=OtherCommit(checked=True, report=a_run({TEST: NO_LOOP})))
    assert missing_part(red, before, here(**LEFT_OUT)) is None
    # CI had the package: the test that it names failed there for another reason.
    log = LogReading(failures=a_run({TEST: "AssertionError"}).failures)
    assert "`rsloop`" in (missing_part(red, before, here(**LEFT_OUT), log) or "")
    alone = a_run({TEST: NO_LOOP})
    assert "`rsloop`" in (missing_part(alone, before, here(**LEFT_OUT)) or "")


def test_what_ci_misses_too_was_not_left_out() -> None:
    assert missing("fixture 'clinet' not found", where=here(**LEFT_OUT)) is not None
    said = "fixture 'clinet' not found"
    assert missing(said, where=here(**LEFT_OUT), error=f"E  {said}") is None
    assert missing("ValueError: x", where=here(**LEFT_OUT)) is None


def test_an_unknown_option_may_be_of_what_was_left_out() -> None:
    red = nothing_ran("pytest: error: unrecognized arguments: --frob")
    assert lacks_something(red, (), here(**LEFT_OUT))
    assert not lacks_something(red, (), here())
