"""`go test`: what is started, and what its records and its output say."""

import base64
import json
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from sandbox.guest.go_entry import Events, declared_tests, list_packages, write_controls
from sandbox.guest.record_channel import START, sign
from sandbox.judge import judge, run_tests
from sandbox.runners import detect_runner
from sandbox.runners.base import GuestPlaces, Invocation, RunRequest
from sandbox.runners.go import GoTest, split_go_test
from sandbox.spec import RunLimits
from sandbox.types import CommandResult, RunVerdict, TestReport, TestStatus
from tests.fakes.scripted_backend import ScriptedGuest

PLACES = GuestPlaces(
    python="/opt/env/bin/python",
    guest_dir="/opt/metaagent/guest",
    checkout="/work/repo",
    cwd="/work/repo/api",
)
DECLARED = ["m\t/work/repo\t", "m\t/work/repo\tTestA", "m\t/work/repo\tTestB"]


def prepared(command: str, **request: object) -> Invocation:
    return GoTest().prepare(RunRequest(command=command).with_(**request), PLACES)


def words(command: str, **request: object) -> str:
    return " ".join(json.loads(prepared(command, **request).stdin)["test"])


class Records:
    """A channel that keeps the records of the program inside."""

    def __init__(self) -> None:
        self.all: list[list[object]] = []

    def send(self, record: list[object], **_options: bool) -> None:
        self.all.append(record)


def event(action: str, package: str = "m", test: str = "", text: str | None = None) -> str:
    found = {"Action": action, "Package": package} | ({"Test": test} if test else {})
    return json.dumps(found if text is None else {**found, "Output": text})


def ended(test: str, action: str, *lines: str) -> list[str]:
    return [event("run", test=test), *(event("output", test=test, text=f"{line}\n") for line in lines),
            event(action, test=test)]  # fmt: skip


def signed(key: bytes, declared: list[str], records: Sequence[Sequence[object]]) -> bytes:
    """Return the data of a run: the declared tests, then these records."""
    packed = base64.b64encode(zlib.compress(json.dumps(declared).encode())).decode()
    lines, previous = [], START
    for record in (["tests", packed], *records):
        payload = json.dumps(record).encode()
        previous = sign(key, previous, payload)
        lines.append(previous.encode() + b" " + payload + b"\n")
    return b"".join(lines)


def ran(
    *events: str,
    status: int = 1,
    declared: list[str] = DECLARED,
    stderr: str = "",
    command: str = "go test ./...",
    targets: tuple[str, ...] = (),
    controlled: bool = False,
) -> TestReport:
    """Return the judged report of a run with these events; CONTROL is the control test."""
    request = RunRequest(command=command, targets=targets)
    invocation = GoTest().prepare(request, PLACES)
    channel = Records()
    reader = Events(channel)
    for line in events:
        reader.take(json.loads(line.replace("CONTROL", invocation.control)))
    before = [["controlled", invocation.control]] if controlled else []
    data = signed(invocation.key, declared, [*before, *channel.all, ["exit", status]])
    result = CommandResult(argv=(), exit_code=status, results=data, stderr=stderr)
    reading = GoTest().read(request, invocation, result)
    return judge(request, GoTest(), reading, result)


@pytest.mark.parametrize(
    "command",
    ["go test", "go test ./...", "CGO_ENABLED=0 go test -race -run 'A|B' ./a ./b -count 2",
     "go test -v ./... -args -update", "/usr/local/go/bin/go test -tags=x,y ."],
)  # fmt: skip
def test_a_command_that_only_runs_tests_is_recognised(command: str) -> None:
    assert detect_runner(command).name == "go test"


@pytest.mark.parametrize(
    "command",
    ["go test -c ./a", "go test -list . ./...", "go test -fuzz=F ./a", "go test -update ./...",
     "go test $(go list ./...)", "go vet ./...", "go test -exec x ./...", "go", "gotest test",
     "go test -v a_test.go b.go"],
)  # fmt: skip
def test_other_commands_are_left_to_other_readers(command: str) -> None:
    assert split_go_test(command) is None


def test_a_persons_options_are_kept_and_nothing_is_taken_from_the_cache() -> None:
    line = words("go test -v -tags 'a b' -timeout=30s ./... -update x", wall_s=100.0)
    assert line == "go test -json -count=1 -v -tags=a b -timeout=30s ./... -update x"
    assert words("go test -json -count=3 .", wall_s=100.0).endswith("-timeout=60s -count=3 .")


def test_packages_are_listed_with_the_options_that_choose_their_files() -> None:
    config = json.loads(prepared("go test -v -race -tags=x -run A ./a").stdin)
    assert config["list"] == ["go", "list", "-race", "-tags=x", "./a"]


def test_requested_tests_replace_the_selection() -> None:
    line = words("go test -run X -skip Y ./...", targets=("m/a::TestA/sub_1", "m/b::TestB"))
    assert "-run=^(TestA|TestB)$" in line
    assert line.endswith("m/a m/b")
    assert "-skip" not in line
    assert "-run" not in words("go test ./...", targets=("m/a", "m/b::TestB"))


def test_the_order_is_shuffled_by_the_seed() -> None:
    assert "-shuffle" not in words("go test .")
    assert "-shuffle=7 " in words("go test -shuffle=on .", order="random", seed=7)
    assert "-shuffle=8 " in words("go test .", order="reversed", seed=7)
    assert "-failfast" in words("go test .", maxfail=1)
    assert "-failfast" not in words("go test -failfast .", maxfail=0)


def test_tests_and_sub_tests_have_names_and_places() -> None:
    report = ran(
        event("run", test="TestA"),
        *ended("TestA/one", "fail", "=== RUN   TestA/one", "    a_test.go:7: got 1", "--- FAIL: x"),
        *ended("TestA/two", "skip"),
        event("output", test="TestA", text="--- FAIL: TestA (0.00s)\n"),
        event("fail", test="TestA"),
        *ended("TestB", "pass"),
        event("fail"),
    )
    assert report.verdict is RunVerdict.FAIL
    assert report.outcomes == {
        "m::TestA/one": TestStatus.FAIL, "m::TestA/two": TestStatus.SKIP,
        "m::TestA": TestStatus.FAIL, "m::TestB": TestStatus.PASS}  # fmt: skip
    one, whole = report.failures
    assert (one.file, one.line, one.error_message, one.test) == ("a_test.go", 7, "got 1", "TestA")
    assert (whole.file, whole.line, whole.error_message) == ("a_test.go", 7, "one failed: got 1")


@pytest.mark.parametrize(
    "printed",
    [
        "--- FAIL: x",
        "\n".join(["." * 200 + "(" * 310 + ")" * 1000 + "x"] * 6),
        "\n".join(["." * 200 + "(*" * 300 + ")" * 1000 + "x"] * 6),
    ],
)
def test_what_many_tests_print_is_read_in_bounded_time(printed: str) -> None:
    """A run has room for so many failures, or for fewer with such lines."""
    number = 20000 if len(printed) < 100 else 20
    tests = [line for n in range(number) for line in ended(f"TestA/{n}", "fail", printed)]
    started = time.process_time()
    report = ran(*tests, *ended("TestA", "fail"), event("fail"), declared=[])
    assert time.process_time() - started < 8
    assert report.failure_count == number + 1


def test_text_below_a_place_is_its_message() -> None:
    lines = (
        "    a_test.go:7: ",
        "        \tError Trace:\ta_test.go:7",
        "        \tError:      \tNot equal",
    )
    report = ran(*ended("TestA", "fail", *lines), event("fail"))
    assert report.failures[0].error_message == "Error Trace: a_test.go:7; Error: Not equal"


PANIC = (
    "panic: runtime error: index out of range [3] with length 1 [recovered]",
    "goroutine 7 [running]:",
    "testing.tRunner.func1.2({0x1, 0x2})",
    "\t/opt/env/go/runtime/go/src/testing/testing.go:1632 +0x1",
    "m/boom.(*List).Get(...)",
    "\t/work/repo/boom/boom.go:4",
    "m/boom.TestGet.func1(0xc0)",
    "\t/work/repo/boom/boom_test.go:6 +0x1d",
    "created by testing.(*T).Run in goroutine 1",
    "\t/opt/env/go/runtime/go/src/testing/testing.go:1690 +0x1",
)


def test_a_panic_is_named_with_its_frames_although_its_test_has_no_end() -> None:
    report = ran(
        *ended("TestB", "fail", "    a_test.go:9: no"),
        event("run", test="TestC"),
        event("run", test="TestA"),
        *(event("output", test="TestA", text=f"{line}\n") for line in PANIC),
        event("fail"),
    )
    assert set(report.failing) == {"m::TestA", "m::TestB"}
    panic = next(one for one in report.failures if one.name == "m::TestA")
    assert panic.error == "panic"
    assert panic.error_message == "runtime error: index out of range [3] with length 1"
    assert panic.frames == (("boom/boom_test.go", 6, "TestGet"), ("boom/boom.go", 4, "Get"))
    assert (panic.file, panic.line, panic.hung) == ("boom/boom.go", 4, False)


def test_a_test_that_does_not_end_is_named() -> None:
    text = "panic: test timed out after 2s\n\trunning tests:\n\t\tTestA (2s)\n"
    report = ran(
        event("run", test="TestA"), event("output", test="TestA", text=text), event("fail")
    )
    assert (report.failures[0].error, report.failures[0].hung) == ("Timeout", True)
    # Older releases print it for the package.
    report = ran(event("run", test="TestA"), event("output", text=text), event("fail"))
    assert (report.failures[0].name, report.failures[0].hung) == ("m::TestA", True)


@pytest.mark.parametrize("header", ["# m [m.test]", "# m_test [m.test]", "# [m]", "# m"])
def test_a_build_error_has_its_place(header: str) -> None:
    report = ran(
        event("output", text="FAIL\tm [build failed]\n"),
        event("fail"),
        stderr=f"# other\nb.go:1:1: no\n{header}\n./a.go:3:23: undefined: x\n",
    )
    (failure,) = report.failures
    assert (failure.name, failure.status, failure.error) == ("m", TestStatus.ERROR, "build")
    assert (failure.file, failure.line, failure.column) == ("api/a.go", 3, 23)
    assert failure.error_message == "undefined: x"


def test_a_package_without_an_error_of_its_own_names_the_imported_one() -> None:
    report = ran(
        event("output", text="FAIL\tm [build failed]\n"),
        event("fail"),
        stderr="# m/other\nother/b.go:2:1: undefined: y\n",
    )
    assert report.failures[0].file == "api/other/b.go"


def test_many_packages_that_import_a_broken_one_are_read_in_bounded_time() -> None:
    packages = [f"m/{n}" for n in range(1000)]
    broken = "".join(f"# x/{n}\n./a.go:3:{n}: undefined: x{'y' * 99}\n" for n in range(1500))
    events = [
        line
        for one in packages
        for line in (event("output", one, text="[build failed]"), event("fail", one))
    ]
    started = time.process_time()
    report = ran(*events, declared=[], stderr=broken)
    assert time.process_time() - started < 5
    assert {(one.file, one.column) for one in report.failures} == {("api/a.go", 0)}


def test_a_package_that_ends_its_process_is_an_error() -> None:
    report = ran(
        event("output", text="exit status 3\n"),
        event("output", text="FAIL\tm\t0.1s\n"),
        event("fail"),
    )
    (failure,) = report.failures
    assert (failure.name, failure.error_message) == ("m", "exit status 3")


def test_a_package_without_tests_passes_by_its_build() -> None:
    report = ran(event("skip"), status=0, declared=["m\t/work/repo\t"])
    assert report.outcomes == {"m": TestStatus.PASS}
    assert report.success


def test_a_passed_run_needs_every_declared_test() -> None:
    events = (*ended("TestA", "pass"), event("pass"))
    assert not ran(*events, status=0).success
    assert ran(*ended("TestB", "pass"), *events, status=0).success
    # The command selects tests by itself.
    assert ran(*events, status=0, command="go test -run A ./...").success


def test_requested_tests_must_have_run() -> None:
    events = (*ended("TestA", "pass"), event("pass"))
    assert ran(*events, status=0, targets=("m::TestA",)).success
    assert not ran(*events, status=0, targets=("m::TestB",)).success


@pytest.mark.anyio
async def test_requested_tests_must_have_run_in_a_line_with_several_modules() -> None:
    records: list[list[object]] = [
        ["test", "m::TestA", "p", 1],
        ["test", "m::TestB", "p", 1],
        ["package", "m", "p", ""],
        ["exit", 0],
    ]

    def script(argv: tuple[str, ...]) -> CommandResult:
        key = bytes.fromhex(json.loads(guest.inputs[-1])["key"])
        return CommandResult(argv=argv, exit_code=0, results=signed(key, DECLARED, records))

    guest = ScriptedGuest(script)
    command, limits = "cd a && go test ./... && cd ../b && go test ./...", RunLimits(wall_s=9.0)
    present, gone = [
        await run_tests(guest, command, limits=limits, targets=(target,), confirm=False)
        for target in ("m::TestA", "m::TestC")
    ]
    assert (present.verdict, gone.verdict) == (RunVerdict.PASS, RunVerdict.NO_VERDICT)
    assert gone.summary == "the requested test was not found: m::TestC"


def test_results_and_exit_status_must_agree() -> None:
    passed = (*ended("TestA", "pass"), *ended("TestB", "pass"))
    assert ran(*passed, event("pass"), status=1).verdict is RunVerdict.FAIL
    failed = (*ended("TestA", "fail"), *ended("TestB", "pass"))
    assert ran(*failed, event("fail"), status=0).verdict is RunVerdict.TAMPERED


def test_an_error_of_go_itself_gives_no_verdict() -> None:
    why = "go: go.mod requires go >= 1.99 (running go 1.24.11; GOTOOLCHAIN=local)"
    report = ran(stderr=f"{why}\n", declared=[])
    assert (report.verdict, why in report.summary) == (RunVerdict.NO_VERDICT, True)


def test_records_of_others_are_tampering() -> None:
    request = RunRequest(command="go test ./...")
    invocation = GoTest().prepare(request, PLACES)
    forged = b'000000000000 ["exit",0]\n'
    result = CommandResult(argv=(), exit_code=0, results=forged)
    assert GoTest().read(request, invocation, result).tampering


def test_declared_tests_are_read_from_the_source() -> None:
    source = """package m
func TestA(t *testing.T) {}
func Test(t *testing.T) {}
func TestÄ(t *testing.T) {}
func Test_b(tb *testing.T) {}
func Testing(t *testing.T) {}
func TestMain(m *testing.M) {}
func TestHelper(t *testing.T, x int) {}
func (s *Suite) TestMethod(t *testing.T) {}
// func TestC(t *testing.T) {}
/*
func TestD(t *testing.T) {}
*/
var text = `
func TestE(t *testing.T) {}
`
var quote = '"'
func TestF(t *testing.T) { x := "`" }
"""
    assert declared_tests(source) == ["TestA", "Test", "TestÄ", "Test_b", "TestF"]


def test_hostile_sources_are_read_in_bounded_time() -> None:
    started = time.process_time()
    for piece in ("\\'", '\\"', "/*"):
        assert declared_tests(piece * 500_000) == []
    assert time.process_time() - started < 5


def test_a_repository_of_many_packages_is_listed(tmp_path: Path) -> None:
    found = [
        {"ImportPath": f"m/{n}", "Dir": "/}\n{\n", "TestGoFiles": ["a"] * 9} for n in range(9000)
    ]
    (tmp_path / "listed").write_text("".join(f"{json.dumps(one, indent=1)}\n" for one in found))
    program = tmp_path / "go"
    program.write_text(f"#!/bin/sh\ncat '{tmp_path}/listed'\n")
    program.chmod(0o755)
    started = time.process_time()
    assert list_packages([str(program), "list", "./..."]) == found
    assert time.process_time() - started < 2


@pytest.mark.parametrize("line", ["1e308", "-1", "NaN", '"x"', "[]"])
def test_a_time_that_a_test_invents_is_not_kept(line: str) -> None:
    found = Records()
    Events(found).take({**json.loads(event("pass", test="TestA")), "Elapsed": json.loads(line)})
    assert found.all == [["test", "m::TestA", "p", 0]]


def test_what_looks_like_an_event_is_none() -> None:
    found = Records()
    for action in ('["pass"]', "{}", "null", "1"):
        assert Events(found).take({"Action": json.loads(action), "Package": "m"}) == ""
    assert found.all == []


def test_a_control_test_joins_the_selection_of_the_command() -> None:
    assert "-run=A/b|^Test" in words("go test -run A/b ./...")
    assert "-run" not in words("go test ./...")
    assert json.loads(prepared("go test -overlay=x.json ./...").stdin)["control"] == ""
    names = {prepared("go test").control for _ in range(20)}
    assert len(names) > 1


def test_a_package_passes_only_with_its_control_test() -> None:
    passed = (*ended("TestA", "pass"), *ended("TestB", "pass"))
    report = ran(*passed, event("pass"), status=0, controlled=True)
    assert (report.verdict, report.success) == (RunVerdict.NO_VERDICT, False)
    assert "the control test did not run in m" in report.summary
    report = ran(*passed, *ended("CONTROL", "pass"), event("pass"), status=0, controlled=True)
    assert report.success
    assert set(report.outcomes) == {"m::TestA", "m::TestB"}


def test_a_package_without_results_needs_its_control_test_too() -> None:
    passed = (event("pass", "a"), *ended("TestA", "pass"), *ended("CONTROL", "pass"), event("pass"))
    declared = [*DECLARED, "a\t/work/repo/a\tTestA"]
    command = "go test -run A ./..."
    report = ran(*passed, status=0, controlled=True, declared=declared, command=command)
    assert "the control test did not run in a" in report.summary


def test_a_package_that_was_not_listed_gives_no_verdict() -> None:
    report = ran(event("pass"), status=0, declared=["a\t/work/repo/a\t"])
    assert report.verdict is RunVerdict.NO_VERDICT
    assert "`go list` did not name m" in report.summary


def test_control_tests_are_written_beside_the_checkout(tmp_path: Path) -> None:
    with_tests = {"Name": "main", "Dir": str(tmp_path), "TestGoFiles": ["a_test.go"]}
    overlay = Path(write_controls([with_tests, {"Name": "b", "Dir": "/b"}], "TestKeepsOrder12"))
    ((place, source),) = json.loads(overlay.read_text())["Replace"].items()
    assert place == str(tmp_path / "zzzz_control_test.go")
    assert "package main_test" in Path(source).read_text()
    assert "func TestKeepsOrder12(t *testing.T)" in Path(source).read_text()
    assert list(tmp_path.iterdir()) == []


def test_a_package_without_an_end_gives_no_verdict() -> None:
    report = ran(*ended("TestA", "pass"), *ended("TestB", "pass"), status=0)
    assert (report.success, "the tests of m did not end" in report.summary) == (False, True)
