"""Reading the signed records of a JavaScript test runner."""

import base64
import json
import zlib
from typing import Any

import pytest

from sandbox.backends.guest_tree import GuestTree
from sandbox.guest.record_channel import START
from sandbox.judge import judge
from sandbox.runners.base import GuestPlaces, RunRequest
from sandbox.runners.javascript import JAVASCRIPT_RUNNERS
from sandbox.runners.records import sign_node
from sandbox.types import CommandResult, RunVerdict, TestReport

VITEST = JAVASCRIPT_RUNNERS[0]
REQUEST = RunRequest(command="npx vitest run")
PLACES = GuestPlaces(
    python="/opt/env/bin/python",
    guest_dir="/opt/metaagent/guest",
    checkout="/work/repo",
    cwd="/work/repo",
)
CANARIES = (["canary", 0, "ppp", 1], ["canary", 1, "pfp", 0])
NAME = "src/a.test.ts::price > has a rebate"
PASSED = (["ran", 0, 1], ["test", 0, "ppp", 3])


def items(*names: str) -> list[Any]:
    packed = base64.b64encode(zlib.compress(json.dumps(names).encode())).decode()
    return ["items", packed]


def judged(*records: list[Any], exit_code: int = 0, changed: bool = False) -> TestReport:
    """Judge records that are signed as our programs do."""
    invocation = VITEST.prepare(REQUEST, PLACES)
    previous, lines = START, []
    for record in records:
        payload = json.dumps(record).encode()
        previous = sign_node(invocation.key, previous, payload)
        lines.append(previous.encode() + b" " + payload + b"\n")
    data = b"".join(lines)
    data = data.replace(b'"pfp"', b'"ppp"', 1) if changed else data
    result = CommandResult(argv=invocation.argv, exit_code=exit_code, results=data)
    return judge(REQUEST, VITEST, VITEST.read(REQUEST, invocation, result), result)


def test_a_run_whose_records_agree_passes() -> None:
    report = judged(items(NAME), *PASSED, *CANARIES, ["end", 0, 0], ["exit", 0])
    assert report.verdict is RunVerdict.PASS, report.summary
    assert (report.runner, report.knows_tests) == ("vitest", True)


def test_a_failure_has_its_place_and_message() -> None:
    frames = [["src/price.ts", 3, "price"]]
    detail = {"error": "AssertionError", "message": "expected 100 to be 90", "frames": frames}
    failed = (["fail", 0, "call", detail], ["ran", 0, 0], ["test", 0, "pfp", 3])
    report = judged(items(NAME), *failed, *CANARIES, ["end", 1, 0], ["exit", 1], exit_code=1)
    assert report.verdict is RunVerdict.FAIL
    failure = report.failures[0]
    assert (failure.name, failure.file, failure.line) == (NAME, "src/price.ts", 3)
    assert failure.error_message == "expected 100 to be 90"


@pytest.mark.parametrize(
    ("records", "exit_code", "verdict"),
    [
        ((*PASSED, *CANARIES), 0, RunVerdict.NO_VERDICT),
        ((*PASSED, ["end", 0, 0], ["exit", 0]), 0, RunVerdict.NO_VERDICT),
        ((PASSED[1], *CANARIES, ["end", 0, 0], ["exit", 0]), 0, RunVerdict.TAMPERED),
        ((*PASSED, *CANARIES, ["end", 1, 0], ["exit", 1]), 0, RunVerdict.TAMPERED),
        ((*PASSED, *CANARIES, ["end", 0, 0], ["exit", 0]), 1, RunVerdict.FAIL),
        ((*CANARIES, ["end", 0, 0], ["exit", 0]), 0, RunVerdict.NO_VERDICT),
        (
            (*PASSED, CANARIES[0], ["canary", 1, "ppp", 1], ["end", 0, 0], ["exit", 0]),
            0,
            RunVerdict.TAMPERED,
        ),
        (
            (*PASSED, *CANARIES, ["uncontrolled", ["src/a.test.ts"]], ["end", 0, 0], ["exit", 0]),
            0,
            RunVerdict.NO_VERDICT,
        ),
        (
            (*PASSED, *CANARIES, ["patched", ["assert.equal"]], ["end", 0, 0], ["exit", 0]),
            0,
            RunVerdict.TAMPERED,
        ),
    ],
    ids=[
        "no end", "no controls", "did not return", "status 0", "status 1", "not run",
        "control passed", "no controls in a file", "replaced",
    ],
)  # fmt: skip
def test_records_that_contradict_each_other_prove_nothing(
    records: tuple[list[Any], ...], exit_code: int, verdict: RunVerdict
) -> None:
    assert judged(items(NAME), *records, exit_code=exit_code).verdict is verdict


def test_a_changed_record_is_tampering() -> None:
    records = (items(NAME), *PASSED, *CANARIES, ["end", 0, 0], ["exit", 0])
    assert judged(*records, changed=True).verdict is RunVerdict.TAMPERED


def test_the_program_is_among_those_of_the_sandbox() -> None:
    program = VITEST.prepare(REQUEST, PLACES).argv[-1]
    assert program.removeprefix(f"{PLACES.guest_dir}/") in GuestTree.installed().files
