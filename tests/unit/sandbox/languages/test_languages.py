"""What a path says about its language, and what a runner's name says about its reports."""

import pytest

from sandbox.changes import PathClass, protected_class
from sandbox.languages import (
    LANGUAGES,
    PYTHON,
    Language,
    find_language,
    is_checked_source,
    is_read_source,
    is_source,
    is_test_file,
)
from sandbox.runners import RUNNERS
from sandbox.types import LOCK_RUNNER, RUNNER_TRAITS
from tests.builders import a_report


@pytest.mark.parametrize(
    ("path", "read", "source", "checked", "test"),
    [
        ("src/a.py", True, True, True, False),
        ("src/a.pyi", False, False, True, False),
        ("tests/test_a.py", True, True, True, True),
        ("tests/Test_A.py", True, True, True, True),
        ("tests/data.json", False, False, False, False),
        ("src/a.go", True, False, False, False),
        ("src/a.rs", True, False, False, False),
        ("src/a.ts", True, False, True, False),
        ("src/a.tsx", True, False, True, False),
        ("src/a.js", True, False, True, False),
        ("src/a.vue", False, False, False, False),
    ],
)
def test_a_path_names_its_language(
    path: str,
    read: bool,  # noqa: FBT001
    source: bool,  # noqa: FBT001
    checked: bool,  # noqa: FBT001
    test: bool,  # noqa: FBT001
) -> None:
    assert (is_read_source(path), is_source(path)) == (read, source)
    assert (is_checked_source(path), is_test_file(path)) == (checked, test)
    assert (find_language(path) is PYTHON) is source


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_no_fix_edits_tests_or_locks_of_a_known_language(language: Language) -> None:
    for pattern in language.test_files:
        assert protected_class(pattern.replace("*", "x")) is PathClass.TESTS
    for pattern in language.lock_files:
        assert protected_class(pattern.replace("*", "x")) is PathClass.LOCKFILE


def test_traits_are_of_runners_that_exist() -> None:
    # A refused lock file ends a job before its runner starts.
    assert set(RUNNER_TRAITS) - {LOCK_RUNNER} <= {runner.name for runner in RUNNERS}


@pytest.mark.parametrize(
    ("runner", "takes_targets", "is_findings", "searched"),
    [
        ("pytest", True, False, True),
        ("unittest", True, False, True),
        ("diagnostics", False, True, True),
        ("junit", False, False, False),
        ("a runner of a later version", False, False, False),
    ],
)
def test_a_report_knows_the_traits_of_its_runner(
    runner: str,
    takes_targets: bool,  # noqa: FBT001
    is_findings: bool,  # noqa: FBT001
    searched: bool,  # noqa: FBT001
) -> None:
    traits = a_report(runner=runner).traits
    found = (traits.takes_targets, traits.is_findings, bool(traits.searched_by))
    assert found == (takes_targets, is_findings, searched)
