"""Files and functions stay readable; an exception needs a decision record."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(p for folder in ("bot", "sandbox") for p in (ROOT / folder).rglob("*.py"))
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_has_one_subject(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_FILE_LINES


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_functions_are_short(path: Path) -> None:
    functions = (
        n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    long = {f.name for f in functions if (f.end_lineno or 0) - f.lineno >= MAX_FUNCTION_LINES}
    assert not long


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_no_folder_is_named_for_what_is_left_over() -> None:
    bad = {"utils", "util", "helpers", "common", "misc", "core", "manager"}
    assert not [p for p in SOURCES if bad & set(p.relative_to(ROOT).with_suffix("").parts)]
