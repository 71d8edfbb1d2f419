"""Fakes are honest: the contract suite of a port runs on its fake, and no test replaces names behind the code's back."""

import ast
import re
from pathlib import Path

import pytest

from tests.architecture.tracked import ROOT, text_of, tracked

FAKES = sorted((ROOT / "tests" / "fakes").glob("*.py"))
SUITES = {path.name: path.read_text() for path in (ROOT / "tests" / "contract").glob("*.py")}
# Fakes of something that has no suite: they only script answers, or stand on a fake that has one.
WITHOUT_SUITE = {
    "file_kinds": "the library is only in sandboxes; test_hooks_in_sandbox runs it",
    "model_events": "the streams of model_server",
    "model_responses": "answers of model_server in one wire format",
    "process_guest": "runs real processes; integration tests compare it",
    "scripted_backend": "answers are written down in advance, call by call",
    "scripted_workspace": "a FakeWorkspace with scripted test runs",
}
TESTS = [
    p for p in tracked("tests/**.py", "tests/*.py", "benchmarks/*.py") if "tests/data" not in str(p)
]
REPLACING = re.compile(
    r"\bmonkeypatch\.(?:setattr|delattr|setitem|delitem)\b|\bunittest\.mock\b|\bpytest_mock\b|\bmocker\b"
)


@pytest.mark.parametrize("path", FAKES, ids=lambda p: p.stem)
def test_a_fake_of_a_port_keeps_the_ports_contract(path: Path) -> None:
    users = [
        name for name, text in SUITES.items() if f"from tests.fakes.{path.stem} import" in text
    ]
    if path.stem in WITHOUT_SUITE:
        assert not users, f"{path.stem} has a suite now: take it off the list"
    else:
        assert users, f"no suite in tests/contract runs on {path.name}"


def test_the_list_of_exceptions_holds_no_ghosts() -> None:
    assert set(WITHOUT_SUITE) <= {path.stem for path in FAKES}


def test_every_fake_is_used() -> None:
    texts = [text_of(path) for path in TESTS]
    unused = [
        f.stem for f in FAKES if not any(f"tests.fakes.{f.stem} import" in text for text in texts)
    ]
    assert unused == []


def test_no_test_replaces_a_name() -> None:
    found = [
        path
        for path in TESTS
        if path.name != Path(__file__).name and REPLACING.search(text_of(path))
    ]
    assert found == []


def test_names_of_tests_are_sentences() -> None:
    short = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in TESTS
        if path.name.startswith("test_")
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and node.name.count("_") < 3
    ]
    assert short == [], "say what holds, in a sentence"
