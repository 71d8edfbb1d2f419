"""Files and functions stay readable; an exception needs a decision record."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(p for folder in ("bot", "sandbox") for p in (ROOT / folder).rglob("*.py"))
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


@cache
def read(path: Path) -> tuple[str | None, list[str]]:
    """What a module says it is, and its functions that are too long."""
    tree = ast.parse(path.read_text())
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = [f.name for f in functions if (f.end_lineno or 0) - f.lineno >= MAX_FUNCTION_LINES]
    return ast.get_docstring(tree), long


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def test_a_file_has_one_subject() -> None:
    assert (
        names([path for path in SOURCES if len(path.read_text().splitlines()) > MAX_FILE_LINES])
        == []
    )


def test_functions_are_short() -> None:
    assert [f"{path.relative_to(ROOT)}: {name}" for path in SOURCES for name in read(path)[1]] == []


def test_every_module_says_what_it_is() -> None:
    assert names([path for path in SOURCES if not read(path)[0]]) == []


def test_no_folder_is_named_for_what_is_left_over() -> None:
    bad = {"utils", "util", "helpers", "common", "misc", "core", "manager"}
    assert not [p for p in SOURCES if bad & set(p.relative_to(ROOT).with_suffix("").parts)]
