"""Files and functions stay readable; an exception needs a decision record."""

from pathlib import Path

from tests.architecture.sources import SOURCES, read
from tests.architecture.tracked import ROOT

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def test_a_file_has_one_subject() -> None:
    assert (
        names([path for path in SOURCES if len(path.read_text().splitlines()) > MAX_FILE_LINES])
        == []
    )


def test_functions_are_short() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {function.name}"
        for path in SOURCES
        for function in read(path).functions
        if function.lines > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_every_module_says_what_it_is() -> None:
    assert names([path for path in SOURCES if not read(path).docstring]) == []


def test_no_folder_is_named_for_what_is_left_over() -> None:
    bad = {"utils", "util", "helpers", "common", "misc", "core", "manager"}
    assert not [p for p in SOURCES if bad & set(p.relative_to(ROOT).with_suffix("").parts)]
