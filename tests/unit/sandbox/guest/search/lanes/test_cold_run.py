"""The cold lane's runs: bounded processes, and records read as outcomes."""

import base64
import json
import os
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from sandbox.guest.search.lanes.cold_run import CommandLimits, parse_outcomes, reached, run
from tests.patience import HANG_S

BOUNDS = CommandLimits(10.0, 4 << 30, 0)


def records(*lines: list[Any]) -> bytes:
    return b"".join(b"0" * 12 + b" " + json.dumps(line).encode() + b"\n" for line in lines)


def items(*names: str) -> list[Any]:
    return ["items", base64.b64encode(zlib.compress(json.dumps(names).encode())).decode()]


def test_records_become_outcomes() -> None:
    found = parse_outcomes(
        records(
            items("t.py::a", "t.py::b", "t.py::c", "t.py::d", "t.py::e"),
            ["ran", 0, 1],
            ["test", 0, "ppp", 3],
            ["ran", 1, 0],
            ["test", 1, "pfp", 3],
            ["test", 2, "s--", 3],
            ["ran", 3, 0],
            ["test", 3, "ppp", 3],
            ["test", 4, "ppp", 3],
            ["collect", "broken.py", {}],
        )
    )
    assert found.pop("broken.py") == "fail"
    assert found == dict(
        zip(
            [f"t.py::{name}" for name in "abcde"],
            ["pass", "fail", "skip", "fail", "fail"],
            strict=True,
        )
    )


def test_what_is_no_record_says_nothing() -> None:
    hostile = b'noise\n000000000000 ["test", 7, "ppp", 1]\n000000000000 {"items": 1}\n\xff\n[]\n'
    assert parse_outcomes(hostile) == {}


def test_a_file_is_reached_when_its_tests_pass() -> None:
    outcomes = {
        "t.py::a": "pass",
        "t.py::b": "skip",
        "u.py::a": "pass",
        "u.py::b": "fail",
        "v.py": "fail",
    }
    assert reached(outcomes, ["t.py", "u.py", "v.py", "w.py", "t.py::a"]) == ["t.py", "t.py::a"]


def test_a_program_prints_and_ends(tmp_path: Path) -> None:
    ran = run(
        ["/bin/sh", "-c", "pwd; cat; echo no >&2; exit 3"], str(tmp_path), BOUNDS, stdin=b"hello\n"
    )
    assert ran.status == 3
    assert ran.output == f"{tmp_path}\nhello\nno\n".encode()


def test_the_number_of_open_files_does_not_matter(tmp_path: Path) -> None:
    """The pipe to the program gets every number from its own up to 60, one after the other."""
    opened: list[int] = []
    try:
        while not opened or opened[-1] < 60:
            ran = run(["/bin/sh", "-c", "cat; exit 3"], str(tmp_path), BOUNDS, stdin=b"hello\n")
            assert (ran.status, ran.output) == (3, b"hello\n"), opened[-1:]
            opened.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        for descriptor in opened:
            os.close(descriptor)


def test_only_the_records_are_kept_when_asked_for(tmp_path: Path) -> None:
    code = "import os; os.write(3, b'record'); print('noise')"
    assert run([sys.executable, "-c", code], str(tmp_path), BOUNDS, takes=3).output == b"record"


@pytest.mark.slow
def test_a_program_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    before = time.monotonic()
    ran = run(
        ["/bin/sh", "-c", "sleep 600 & echo $!; wait"], str(tmp_path), BOUNDS._replace(wall_s=0.5)
    )
    assert ran.status is None
    assert time.monotonic() - before < HANG_S
    child = int(ran.output)
    for _ in range(5_000):
        if not Path(f"/proc/{child}").exists():
            break
        time.sleep(0.02)
    assert (
        not Path(f"/proc/{child}").exists()
        or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]
    )
