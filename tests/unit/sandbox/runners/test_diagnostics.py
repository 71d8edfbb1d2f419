"""What linters, formatters and type checkers print."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox.runners import detect_runner
from sandbox.runners.base import GuestPlaces, Invocation, RunnerReading, RunRequest
from sandbox.types import CommandResult, TestStatus

RUFF_FULL = """F401 [*] `os` imported but unused
 --> pkg/m.py:1:8
  |
1 | import os
  |        ^^
  |
help: Remove unused import: `os`

invalid-syntax: Expected a parameter
 --> bad.py:3:7
  |

Found 2 errors.
"""
CASES = {
    "ruff check .": (RUFF_FULL, [("pkg/m.py", 1, "F401"), ("bad.py", 3, "invalid-syntax")]),
    "ruff check --output-format=concise pkg": (
        "pkg/m.py:1:8: F401 [*] `os` imported but unused\n\x1b[1mbad.py\x1b[0m:3:7: invalid-syntax: Expected x\n",
        [("pkg/m.py", 1, "F401"), ("bad.py", 3, "invalid-syntax")],
    ),
    "ruff format --check .": ("Would reformat: pkg/m.py\n1 file would be reformatted\n", [("pkg/m.py", None, "format")]),
    "uv run ruff format --check": (
        "unformatted: File would be reformatted\n --> pkg/m.py:3:1\n",
        [("pkg/m.py", 3, "format")],
    ),
    "python -m flake8": ("./pkg/m.py:1:1: F401 'os' imported but unused\n", [("pkg/m.py", 1, "F401")]),
    "black --check .": ("would reformat /work/repo/m.py\nOh no!\n", [("m.py", None, "format")]),
    "isort --check .": ("ERROR: /work/repo/m.py Imports are incorrectly sorted and/or formatted.\n", [("m.py", None, "imports")]),
    "mypy pkg": (
        'pkg/m.py:3: error: Incompatible return value type (got "str")  [return-value]\npkg/m.py:3: note: see\n',
        [("pkg/m.py", 3, "return-value")],
    ),
    "mypy --show-column-numbers pkg": ("pkg/m.py:3:5: error: Bad thing  [misc]\n", [("pkg/m.py", 3, "misc")]),
    "pyright": ('  /work/repo/m.py:3:5 - error: "x" is bad (reportGeneral)\n', [("m.py", 3, "reportGeneral")]),
    "pylint pkg": ("pkg/m.py:1:0: C0114: Missing module docstring (x)\n", [("pkg/m.py", 1, "C0114")]),
}  # fmt: skip


def read(command: str, stdout: str, exit_code: int = 1) -> RunnerReading:
    runner = detect_runner(command)
    assert runner.name == "diagnostics"
    result = CommandResult(argv=("sh",), exit_code=exit_code, stdout=stdout)
    return runner.read(RunRequest(command=command), Invocation(argv=("sh",)), result)


@pytest.mark.parametrize(("command", "case"), CASES.items())
def test_findings_get_file_line_and_rule(
    command: str, case: tuple[str, list[tuple[str, int | None, str]]]
) -> None:
    printed, expected = case
    results = read(command, printed).results
    assert [(result.file, result.line, result.error) for result in results] == expected
    assert all(result.status is TestStatus.FAIL and result.error_message for result in results)
    assert results[0].name.startswith(f"{expected[0][0]}:")


def test_the_same_finding_twice_on_a_line_is_told_apart() -> None:
    results = read("flake8", "m.py:1:1: E1 one\nm.py:1:5: E1 two\nm.py:1:9: E1 three\n").results
    assert [result.name for result in results] == ["m.py:1:E1", "m.py:1:E1#2", "m.py:1:E1#3"]


def test_nothing_found_is_a_pass_and_a_broken_tool_is_no_verdict() -> None:
    assert [result.status for result in read("ruff check .", "", 0).results] == [TestStatus.PASS]
    assert "unknown option" in read("ruff check .", "error: unknown option\n", 2).inconclusive
    assert "not found" in read("ruff check .", "", 127).inconclusive


def test_a_build_that_fails_without_a_place_is_a_failure_all_the_same() -> None:
    (result,) = read("cargo build", "error: no matching package named `x` found\n", 101).results
    assert (result.name, result.status, result.error_message) == (
        "cargo build",
        TestStatus.FAIL,
        "error: no matching package named `x` found",
    )


def test_hostile_output_is_read_in_time() -> None:
    read("mypy .", "a:1: error: " * 10_000 + "\n" * 10_000)
    read("ruff check .", "F401 x\n" * 20_000)


def test_a_hostile_command_is_prepared_in_time() -> None:
    places = GuestPlaces(python="python", guest_dir="/g", checkout="/c", cwd="/c")
    command = f"mypy '{'(' * 60_000}'"
    runner = detect_runner(command)
    started = time.process_time()
    runner.prepare(RunRequest(command=command), places)
    assert time.process_time() - started < 1.5, "quadratic work would take three seconds"


@pytest.mark.parametrize(
    ("command", "run"),
    [
        ("mypy", "mypy ASKED"),
        ("mypy src/mypy -p mypy", "mypy ASKED src/mypy -p mypy"),
        ("uv run mypy --strict .", "uv run mypy ASKED --strict ."),
        ("python -m mypy pkg", "python -m mypy ASKED pkg"),
        (".venv/bin/mypy pkg", ".venv/bin/mypy ASKED pkg"),
        ("ruff check src/mypy", "ruff check src/mypy"),
    ],
)
def test_mypy_is_asked_for_columns_and_codes(command: str, run: str) -> None:
    places = GuestPlaces(python="python", guest_dir="/g", checkout="/c", cwd="/c")
    invocation = detect_runner(command).prepare(RunRequest(command=command), places)
    asked = "--show-column-numbers --show-error-codes"
    assert invocation.argv[-1] == run.replace("ASKED", asked)


@pytest.mark.parametrize("command", ['test -z "$(gofmt -l .)"', "[ -z $(gofmt -l .) ]"])
def test_a_list_of_files_that_is_only_counted_is_printed(command: str) -> None:
    places = GuestPlaces(python="python", guest_dir="/g", checkout="/r", cwd="/r")
    started = detect_runner(command).prepare(RunRequest(command=command), places).argv[-1]
    assert started == 'found=$(gofmt -l .) && [ -z "$found" ] || { echo "$found"; exit 1; }'
    assert [(one.file, one.error) for one in read(command, "a/b.go\n").results] == [
        ("a/b.go", "format")
    ]


def test_the_sandbox_chooses_the_files_of_a_hook(tmp_path: Path) -> None:
    program = "import sys\nprint(*sys.argv[1:], sep='\\n')\nsys.exit(7)\n"
    (tmp_path / "hook_files.py").write_text(program)
    command = "A=b hook_files '--files=^(a|b)$' --types=python -- flake8 'x y'"
    runner = detect_runner(command)
    assert runner.name == "diagnostics"
    places = GuestPlaces(python=sys.executable, guest_dir=str(tmp_path), checkout="/", cwd="/")
    invocation = runner.prepare(RunRequest(command=command), places)
    done = subprocess.run(invocation.argv, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["--files=^(a|b)$", "--types=python", "--", "flake8", "x y"]
    assert done.returncode == 7


def test_a_hook_whose_files_cannot_be_chosen_is_inconclusive() -> None:
    command = "hook_files '--files=(' -- flake8"
    reading = read(command, "hook_files: missing ), unterminated subpattern at position 0", 2)
    assert "missing )" in reading.inconclusive
