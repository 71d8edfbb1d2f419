"""From records to a verdict: only what every record agrees on is green."""

import base64
import json
import zlib
from typing import Any

import pytest

from sandbox.guest.record_channel import START, sign
from sandbox.judge import judge, run_tests
from sandbox.runners.base import GuestPlaces, RunRequest
from sandbox.runners.python_pytest import PythonPytest
from sandbox.runners.records import sign_node
from sandbox.runners.targeted import choose_steps
from sandbox.spec import RunLimits
from sandbox.types import CommandResult, RunVerdict, TestReport, TestStatus
from tests.fakes.fake_backend import FakeGuest
from tests.fakes.scripted_backend import ScriptedGuest

PLACES = GuestPlaces(
    python="/opt/env/bin/python", guest_dir="/g", checkout="/work/repo", cwd="/work/repo"
)
CANARIES = [["canary", 0, "ppp", 1], ["canary", 1, "pfp", 0]]
END = [["end", 0, 0], ["exit", 0]]
RED = [["end", 1, 0], ["exit", 1]]


def items(*names: str) -> list[object]:
    return ["items", base64.b64encode(zlib.compress(json.dumps(names).encode())).decode()]


HEAP_FULL = "<--- Last few GCs --->\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n"
RAN = [["ran", 0, 1], ["test", 0, "ppp", 1]]
GREEN = [
    items("t.py::a", "t.py::b"),
    *CANARIES,
    *RAN,
    ["ran", 1, 0],
    ["test", 1, "psp", 1],
    *CANARIES,
    *END,
]


def judged(
    records: list[list[object]], *, targets: tuple[str, ...] = (), **result: Any
) -> TestReport:
    runner = PythonPytest()
    request = RunRequest(command="pytest -q", targets=targets, wall_s=9)
    invocation = runner.prepare(request, PLACES)
    lines, digits = [], START
    for record in records:
        payload = json.dumps(record).encode()
        digits = sign(invocation.key, digits, payload)
        lines.append(f"{digits} ".encode() + payload + b"\n")
    done = CommandResult.model_validate(
        {"argv": ("p",), "exit_code": 0, "results": b"".join(lines), "duration_s": 0.05, **result}
    )
    return judge(request, runner, runner.read(request, invocation, done), done)


def test_a_session_in_which_everything_agrees_is_green() -> None:
    report = judged(GREEN, targets=("t.py::a",))
    assert (report.verdict, report.success, report.failed) == (RunVerdict.PASS, True, False)
    assert report.summary == "1 passed, 1 skipped in 0.05s"
    assert report.target == "pytest -q t.py::a"


def test_failures_are_counted_in_full_and_shown_in_part() -> None:
    names = [f"t.py::x{number}" for number in range(12)]
    detail = {
        "error": "E",
        "message": "no",
        "frames": [["m.py", 3, "f"]],
        "text": "tb",
        "output": "out",
    }
    records = [items(*names)]
    for number in range(12):
        records += [
            ["fail", number, "call", detail],
            ["ran", number, 0],
            ["test", number, "pfp", 5],
        ]
    report = judged([*records, *CANARIES, *RED], exit_code=1)
    assert (report.verdict, report.failure_count, len(report.failures)) == (RunVerdict.FAIL, 12, 10)
    first = report.failures[0]
    assert (first.file, first.line, first.error, first.error_message, first.test) == (
        "m.py",
        3,
        "E",
        "no",
        "x0",
    )
    assert (first.traceback, first.output, first.frames) == ("tb", "out", (("m.py", 3, "f"),))


@pytest.mark.parametrize(
    ("records", "result", "verdict"),
    [
        (GREEN, {"timed_out": True, "exit_code": None}, RunVerdict.TIMEOUT),
        (GREEN, {"flooded": True, "exit_code": None}, RunVerdict.OUTPUT_LIMIT),
        (GREEN, {"oom_kills": 1}, RunVerdict.OOM),
        (GREEN, {"exit_code": 134, "stderr": HEAP_FULL}, RunVerdict.OOM),
        (GREEN, {"exit_code": None, "signal": 6, "stderr": HEAP_FULL}, RunVerdict.OOM),
        (
            [items("t.py::a"), *CANARIES, ["ran", 0, 0], ["test", 0, "pfp", 1], *RED],
            {"exit_code": 1, "stderr": "E: a JavaScript heap out of memory"},
            RunVerdict.FAIL,
        ),
        (GREEN[:-1], {}, RunVerdict.NO_VERDICT),
        ([], {}, RunVerdict.NO_VERDICT),
        ([["broken", "pytest cannot be imported"]], {"exit_code": 1}, RunVerdict.NO_VERDICT),
        ([items(), ["end", 5, 0], ["exit", 5]], {"exit_code": 5}, RunVerdict.NO_VERDICT),
        ([["end", 4, 0], ["exit", 4]], {"exit_code": 4}, RunVerdict.NO_VERDICT),
        ([items("t.py::a"), *CANARIES, *END], {}, RunVerdict.NO_VERDICT),
        ([items("t.py::a"), *RAN, *END], {}, RunVerdict.NO_VERDICT),
        (
            [items("t.py::a"), *CANARIES, ["ran", 0, 0], ["test", 0, "pxp", 1], *END],
            {},
            RunVerdict.NO_VERDICT,
        ),
        ([items("t.py::a", "t.py::b"), *CANARIES, *RAN, *END], {}, RunVerdict.NO_VERDICT),
        (
            [items("t.py::a"), *CANARIES, ["ran", 0, 0], ["test", 0, "ppp", 1], *END],
            {},
            RunVerdict.TAMPERED,
        ),
        ([items("t.py::a"), *CANARIES, ["test", 0, "ppp", 1], *END], {}, RunVerdict.TAMPERED),
        ([*GREEN[:-2], ["canary", 1, "ppp", 1], *END], {}, RunVerdict.TAMPERED),
        ([*GREEN[:-2], ["canary", 0, "pfp", 0], *END], {}, RunVerdict.TAMPERED),
        ([*GREEN[:-2], ["patched", ["Function.runtest"]], *END], {}, RunVerdict.TAMPERED),
        ([*GREEN[:-2], ["traced", ["sys.settrace"]], *END], {}, RunVerdict.NO_VERDICT),
        ([*GREEN[:-2], *RED], {"exit_code": 0}, RunVerdict.TAMPERED),
        (
            [items("t.py::a"), *CANARIES, ["ran", 0, 0], ["test", 0, "pfp", 1], *END],
            {},
            RunVerdict.TAMPERED,
        ),
        (GREEN, {"exit_code": 3}, RunVerdict.FAIL),
        ([*GREEN[:-2], *RED], {"exit_code": 1}, RunVerdict.FAIL),
        ([items("t.py::a"), ["start", 0]], {"exit_code": None, "signal": 11}, RunVerdict.FAIL),
        ([items("t.py::a"), ["start", 0]], {"exit_code": 0}, RunVerdict.TAMPERED),
    ],
)
def test_anything_less_is_not_green(
    records: list[list[object]], result: dict[str, Any], verdict: RunVerdict
) -> None:
    report = judged(records, **result)
    assert report.verdict is verdict
    assert not report.success
    assert report.summary


def test_a_green_run_may_print_what_v8_says_of_a_full_heap() -> None:
    assert judged(GREEN, stderr=HEAP_FULL).success


def test_a_forged_line_is_tampering() -> None:
    runner = PythonPytest()
    request = RunRequest(command="pytest")
    invocation = runner.prepare(request, PLACES)
    done = CommandResult(argv=("p",), exit_code=0, results=b'["end",0,0]\n["exit",0]\n')
    assert (
        judge(request, runner, runner.read(request, invocation, done), done).verdict
        is RunVerdict.TAMPERED
    )


def test_targets_have_to_be_there_and_to_pass() -> None:
    assert judged(GREEN, targets=("t.py::zzz",)).verdict is RunVerdict.NO_VERDICT
    assert judged(GREEN, targets=("t.py::b",)).verdict is RunVerdict.NO_VERDICT
    assert judged(GREEN, targets=("t.py",)).success


def test_the_test_that_hangs_is_named_with_its_line() -> None:
    hang = [items("t.py::a"), ["start", 0], ["hang", 0, [["m.py", 9, "loop"]]]]
    report = judged(hang, timed_out=True, exit_code=None)
    (failure,) = report.failures
    assert (failure.name, failure.status, failure.error) == ("t.py::a", TestStatus.ERROR, "Timeout")
    assert (failure.file, failure.line) == ("m.py", 9)


def test_a_key_is_new_for_every_run_and_not_on_the_command_line() -> None:
    runner = PythonPytest()
    first, second = (runner.prepare(RunRequest(command="pytest"), PLACES) for _ in range(2))
    assert first.key != second.key
    assert first.key.hex() not in " ".join((*first.argv, *first.environment.values()))


@pytest.mark.parametrize(
    "record",
    [
        ["test"],
        ["test", "x", 1, 2, 3],
        ["items", 5],
        ["fail", 0, "call", []],
        ["hang", 1, 2],
        ["?"],
    ],
)
def test_malformed_records_are_left_out(record: list[object]) -> None:
    assert judged([record, *GREEN]).success


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("command", "targets", "expected"),
    [
        ("npx tsc && npx mocha dist", ("dist/a.js",), ["tsc", "mocha"]),
        ("npx eslint . && npm run build && npx mocha", ("a.js",), ["npm", "mocha"]),
        ("npx eslint . && npx mocha && npx rollup -c", ("a.js",), ["mocha"]),
        ("npx tsc --noEmit && npx mocha", (), ["tsc", "mocha"]),
        ("npx tsc && cp -r a dist && npx mocha", ("a.js",), ["tsc", "cp", "mocha"]),
    ],
)
async def test_builds_before_single_tests_run_again(
    command: str, targets: tuple[str, ...], expected: list[str]
) -> None:
    guest = ScriptedGuest(lambda argv: CommandResult(argv=argv, exit_code=0))
    limits = RunLimits(wall_s=9.0)
    await run_tests(guest, command, limits=limits, targets=targets, confirm=False)
    lines = [" ".join(argv) for argv in guest.commands]
    tools = {
        "npx tsc": "tsc",
        "npm run": "npm",
        "node/entry.cjs": "mocha",
        "npx eslint": "eslint",
        "cp -r": "cp",
    }
    assert [name for line in lines for start, name in tools.items() if start in line] == expected


@pytest.mark.anyio
@pytest.mark.parametrize("targets", [(), ("a.test.js::a",)])
@pytest.mark.parametrize(
    ("place", "written", "verdict"),
    [
        ("a.test.js", "a.test.js", RunVerdict.TAMPERED),
        ("a.test.js", "tests/data.js", RunVerdict.PASS),
        ("dist/a.test.js", "dist/a.test.js", RunVerdict.PASS),
    ],
)
async def test_a_test_that_is_rewritten_while_it_runs_does_not_pass(
    place: str, written: str, verdict: RunVerdict, targets: tuple[str, ...]
) -> None:
    guest = FakeGuest({place: ("100644", b"old")})

    def run(argv: tuple[str, ...], stdin: bytes) -> CommandResult:
        guest.files[written] = ("100644", b"new")
        key, lines, digits = bytes.fromhex(json.loads(stdin)["key"]), [], START
        for record in [items(f"{place}::a"), *CANARIES, *RAN, *END]:
            payload = json.dumps(record).encode()
            digits = sign_node(key, digits, payload)
            lines.append(f"{digits} ".encode() + payload + b"\n")
        return CommandResult(argv=argv, exit_code=0, results=b"".join(lines))

    guest.programs["node"] = run
    own = [target.replace("a.test.js", place) for target in targets]
    report = await run_tests(guest, "npx mocha", limits=RunLimits(wall_s=9.0), targets=own)
    assert report.verdict is verdict, report.summary


def test_a_step_gets_the_targets_below_its_folder() -> None:
    packages = [f"packages/p{number}" for number in range(20)]
    command = f"cd {packages[0]} && npx mocha"
    for one in packages[1:]:
        command += f" && cd ../{one.rpartition('/')[2]} && npx mocha"
    assert len(choose_steps(command, (), ".")) == 20
    targets = ("packages/p1/a.js::x", "packages/p19/b.js::y")
    chosen = [(step.folder, own) for step, own in choose_steps(command, targets, ".")]
    assert chosen == [("packages/p1", targets[:1]), ("packages/p19", targets[1:])]


def test_a_command_line_with_several_modules_of_go_runs_as_a_whole() -> None:
    command = "cd a && go test ./... && cd ../b && go vet ./... && go test ./..."
    chosen = [(step.folder, own) for step, own in choose_steps(command, ("m/b::TestB",), ".")]
    assert chosen == [("a", ()), ("b", ()), ("b", ())]
    command = "cd b && go vet ./... && go test ./..."
    chosen = [(step.folder, own) for step, own in choose_steps(command, ("m/b::TestB",), ".")]
    assert chosen == [("b", ("m/b::TestB",))]


def test_a_pattern_without_quotes_leaves_the_commands_apart() -> None:
    chosen = choose_steps("eslint . && mocha test/**/*.spec.js", (), ".")
    assert [step.command for step, _ in chosen] == ["eslint .", "mocha test/**/*.spec.js"]
