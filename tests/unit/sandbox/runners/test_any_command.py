"""Any other command, and command lines of several."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.runners import detect_runner
from sandbox.runners.base import GuestPlaces, Invocation, RunnerReading, RunRequest
from sandbox.runners.steps import split_steps
from sandbox.types import CommandResult, TestStatus

PLACES = GuestPlaces(
    python="/opt/env/bin/python", guest_dir="/g", checkout="/work/repo", cwd="/work/repo"
)
TRACEBACK = """Traceback (most recent call last):
  File "/usr/lib/python3.11/runpy.py", line 3, in run
  File "/work/repo/pkg/m.py", line 7, in f
    return 1 / 0
ZeroDivisionError: division by zero
"""


def read(command: str, result: CommandResult) -> RunnerReading:
    return detect_runner(command).read(
        RunRequest(command=command), Invocation(argv=("sh",)), result
    )


def test_the_exit_status_decides() -> None:
    passed = read("make check", CommandResult(argv=("sh",), exit_code=0))
    failed = read("make check", CommandResult(argv=("sh",), exit_code=3))
    assert [(r.name, r.status) for r in passed.results] == [("make check", TestStatus.PASS)]
    assert [(r.name, r.status, r.error_message) for r in failed.results] == [
        ("make check", TestStatus.FAIL, "exit status 3")
    ]


def test_a_traceback_tells_where() -> None:
    (result,) = read(
        "make check", CommandResult(argv=("sh",), exit_code=1, stderr=TRACEBACK)
    ).results
    assert (result.file, result.line, result.error) == ("pkg/m.py", 7, "ZeroDivisionError")
    assert result.frames == (("pkg/m.py", 7, "f"),)


def test_a_compilers_place_tells_where() -> None:
    (result,) = read(
        "make", CommandResult(argv=("sh",), exit_code=2, stderr="src/a.c:12:5: error: no x\n")
    ).results
    assert (result.file, result.line, result.error_message) == ("src/a.c", 12, "no x")


def test_what_cargo_says_of_its_lock_file_is_no_syntax_error_of_a_file() -> None:
    said = (
        "error: failed to parse lock file at: /work/repo/Cargo.lock\n\nCaused by:\n"
        "  lock file version `4` was found, but this version of Cargo does not understand this "
        "lock file, perhaps Cargo needs to be updated?\n"
    )
    (result,) = read("cargo test", CommandResult(argv=("sh",), exit_code=101, stderr=said)).results
    assert result.name == "cargo test"
    assert "lock file version `4`" in result.output


def test_tests_named_in_the_output_are_results() -> None:
    out = "FAILED tests/a.py::test_x - AssertionError: no\nERROR tests/b.py - ImportError: y\n"
    reading = read("tox -e py", CommandResult(argv=("sh",), exit_code=1, stdout=out))
    assert reading.outcomes == {
        "tests/a.py::test_x": TestStatus.FAIL,
        "tests/b.py": TestStatus.ERROR,
    }


def test_a_step_that_is_too_long_for_linux_is_named() -> None:
    stderr = "/bin/sh: Argument list too long\n"
    reading = read("x" * 140_000, CommandResult(argv=("sh",), exit_code=126, stderr=stderr))
    assert "longer than the 131,071 bytes" in reading.inconclusive
    assert not reading.results


@pytest.mark.parametrize("status", [126, 127])
def test_a_command_that_cannot_start_is_no_verdict(status: int) -> None:
    reading = read("nope", CommandResult(argv=("sh",), exit_code=status))
    assert str(status) in reading.inconclusive
    assert reading.results == ()


def test_the_shell_stops_at_the_first_error() -> None:
    invocation = detect_runner("a | b").prepare(
        RunRequest(command="a | b", environment={"X": "1"}), PLACES
    )
    assert invocation.argv[-1] == "a | b"
    assert "bash -e -c" in invocation.argv[-2]
    assert invocation.environment["X"] == "1"


PROGRAM = """#!/bin/sh
echo started "$@" in ${INIT_CWD-} with ${A-}
case $PATH in "$INIT_CWD/node_modules/.bin:"*) exit 7 ;; esac
"""


def start(command: str, folder: Path) -> tuple[int, str]:
    """Start a command in a folder whose npx only says that it was called."""
    places = GuestPlaces(python="p", guest_dir="/g", checkout=str(folder), cwd=str(folder))
    invocation = detect_runner(command).prepare(RunRequest(command=command), places)
    done = subprocess.run(
        invocation.argv,
        cwd=folder,
        env={"PATH": f"{folder}/path:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.strip()


def a_package(folder: Path, manifest: str = "{}") -> Path:
    """Write a package with an installed program `tool`, and an npx of our own."""
    for path, text in {
        "node_modules/.bin/tool": PROGRAM,
        "path/npx": '#!/bin/sh\necho npx "$@" with ${A-}\n',
        "package.json": manifest,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
        (folder / path).chmod(0o755)
    return folder


@pytest.mark.parametrize("command", ["npx tool 'a  b' --c", "A=1 npx tool 'a  b' --c"])
def test_npx_starts_no_npm_for_an_installed_program(tmp_path: Path, command: str) -> None:
    a = "1" if command.startswith("A") else ""
    assert start(command, a_package(tmp_path)) == (
        7,
        f"started a  b --c in {tmp_path} with {a}".strip(),
    )


@pytest.mark.parametrize(
    "command",
    ["npx other a", "npx -y tool a", "npx tool@2 a", "npx ./tool a", "npx", "set -u; npx"],
)
def test_other_calls_of_npx_are_left_to_npx(tmp_path: Path, command: str) -> None:
    words = command.removeprefix("set -u; ")
    assert start(command, a_package(tmp_path)) == (0, f"{words} with")


def test_npx_prefers_programs_of_the_project_itself(tmp_path: Path) -> None:
    folder = a_package(tmp_path, '{"bin": {"tool": "tool.js"}}')
    assert start("npx tool", folder) == (0, "npx tool with")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pytest", [("pytest", ".")]),
        ("cd sub && pytest -q", [("pytest -q", "sub")]),
        ("ruff check .\npytest", [("ruff check .", "."), ("pytest", ".")]),
        ("set -e; cd a; cd ../b\npytest", [("pytest", "b")]),
        ("# comment\npytest 'a && b'", [("pytest 'a && b'", ".")]),
        ("pytest \\\n  -q", [("pytest    -q", ".")]),
        ("set -euxo pipefail\npytest -q 2>&1 | tee out/log.txt", [("pytest -q", ".")]),
        ("pytest -q |& tee -a log || exit 1", [("pytest -q", ".")]),
        ("python -m unittest -v || exit $?", [("python -m unittest -v", ".")]),
        ("time ruff check . > ruff.txt 2>&1\npytest", [("ruff check .", "."), ("pytest", ".")]),
        ('echo "::group::tests"\npytest\necho "$x" >> $GITHUB_STEP_SUMMARY', [("pytest", ".")]),
        ("nice -n 10 mypy pkg || false", [("mypy pkg", ".")]),
        ('cd a\ntest -z "$(gofmt -l .)"', [('test -z "$(gofmt -l .)"', "a")]),
    ],
)
def test_plain_commands_are_taken_apart(line: str, expected: list[tuple[str, str]]) -> None:
    steps = split_steps(line)
    assert steps is not None
    assert [(step.command, step.folder) for step in steps] == expected


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a | b",
        "cd .. && pytest",
        "cd /tmp && pytest",
        "source x && pytest",
        "pytest || true",
        "cd 'x",
        "if a; then b; fi",
        "set +e\npytest",
        "pytest | tee log\ngrep -q passed log",
        "python gen.py > data.json || exit 1",
        "echo $(rm x)\npytest",
        "pytest | grep x",
        "pytest || exit 0",
    ],
)
def test_what_needs_a_shell_stays_whole(line: str) -> None:
    assert split_steps(line) is None


def test_exports_reach_the_commands_behind_them() -> None:
    steps = split_steps("export A=1 B=2\npytest")
    assert steps is not None
    assert steps[0].environment == {"A": "1", "B": "2"}


@given(st.text(alphabet="pytest|&>;'\"\\\n $()tee 2xit", max_size=120))
def test_nothing_breaks_the_splitter(line: str) -> None:
    for step in split_steps(line) or ():
        assert step.command.strip()
        assert not step.folder.startswith(("/", ".."))
