"""Derive a verdict from raw records that test output cannot forge."""

import posixpath
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial

from sandbox import known_answers
from sandbox.backends.base import Guest
from sandbox.errors import ChangeRejected
from sandbox.runners import detect_runner, detect_traits
from sandbox.runners.base import GuestPlaces, RunnerReading, RunRequest, TestRunner
from sandbox.runners.junit import MAX_BYTES, MAX_FILES, MAX_TOTAL_BYTES, is_report
from sandbox.runners.steps import CommandStep
from sandbox.runners.targeted import choose_steps
from sandbox.spec import RunLimits
from sandbox.types import (
    FAILURES_IN_FULL,
    CommandResult,
    Frozen,
    RunVerdict,
    TestOrder,
    TestReport,
    TestStatus,
    stands_for,
)

RAW_OUTPUT_CHARACTERS = 64 * 1024
_NO_LIMIT = 0
FAILED = 1
"""Exit status of pytest and unittest after a failed test."""
_BAD = frozenset({TestStatus.FAIL, TestStatus.ERROR})


async def run_tests(  # noqa: PLR0913 - every argument is a knob of its own, by name, with a default
    guest: Guest,
    command: str,
    *,
    limits: RunLimits,
    targets: Iterable[str] = (),
    order: TestOrder = "given",
    seed: int = 0,
    maxfail: int | None = None,
    working_directory: str = ".",
    environment: Mapping[str, str] | None = None,
    confirm: bool = True,
) -> TestReport:
    """Run a test, lint or build command in a sandbox and judge the result.

    Args:
        guest: The sandbox.
        command: The command as a person would type it in the working directory. Plain commands
            joined by `&&` run one by one, up to the first that is not green.
        limits: Resource limits of each command.
        targets: Test names, relative to the checkout, that replace the command's own selection.
        order: `reversed` runs the tests in reverse order, `random` shuffles them by the seed.
        seed: The seed for the order and for Python's hashing.
        maxfail: Stop after this many failures; 0 overrides the command's own limit with none.
        working_directory: Relative to the checkout.
        environment: Additional environment variables.
        confirm: Confirm passing tests with known-answer copies: all tests that were requested by
            name, in the same session if possible, or else a sample.

    Returns:
        The report. Its `verdict` is PASS only if every record agrees that every test ran and
        passed.

    Raises:
        SandboxDied: The sandbox went away.
    """
    reports: list[TestReport] = []
    wanted = tuple(targets)
    chosen = choose_steps(command, wanted, working_directory)
    for step, asked in chosen:
        request = _request(step, limits, environment).with_(
            targets=asked, order=order, seed=seed, maxfail=maxfail
        )
        folder = posixpath.normpath(f"{working_directory}/{step.folder}")
        run = partial(_run_step, guest, limits=limits, folder=folder)
        report = await _run_tested(guest, request, run, confirm=confirm)
        reports.append(report)
        if not report.success:
            break
    merged = _merge_reports(command, reports)
    if any(asked for _, asked in chosen) or not merged.success:
        return merged
    gap = _find_missing(wanted, merged.outcomes)
    return _refuse(merged, RunVerdict.NO_VERDICT, gap) if gap else merged


def _request(
    step: CommandStep, limits: RunLimits, environment: Mapping[str, str] | None
) -> RunRequest:
    return RunRequest(
        command=step.command,
        environment={**(environment or {}), **step.environment},
        wall_s=limits.wall_s,
        test_cpu_s=limits.test_cpu_s,
    )


async def _run_tested(
    guest: Guest, request: RunRequest, run: "_Run", *, confirm: bool
) -> TestReport:
    """Run a command, and confirm the tests that passed."""
    takes = detect_traits(request.command).takes_targets
    before = await known_answers.read_test_texts(guest, request.targets) if takes else {}
    if confirm and request.targets and (found := await _run_with_copies(guest, request, run)):
        return found
    report = (await run(request)).report
    if file := await known_answers.find_rewritten(guest, before, report.passing):
        return _refuse(report, RunVerdict.TAMPERED, f"tampered: a run rewrote {file[:200]}")
    if confirm and report.success and report.knows_tests:
        return await _check_copies(report, guest, request, run)
    return report


class _Ran(Frozen):
    """One run of a command."""

    reading: RunnerReading
    result: CommandResult
    report: TestReport


_Run = Callable[[RunRequest], Awaitable[_Ran]]


async def _run_step(guest: Guest, request: RunRequest, *, limits: RunLimits, folder: str) -> _Ran:
    cwd = guest.workdir if folder == "." else f"{guest.workdir}/{folder}"
    places = GuestPlaces(
        python=guest.python, guest_dir=guest.guest_dir, checkout=guest.workdir, cwd=cwd
    )
    runner = detect_runner(request.command)
    invocation = runner.prepare(request, places)
    before = await written_reports(guest, invocation.reports)
    result = await guest.run(
        invocation.argv, limits=limits, cwd=cwd, env=invocation.environment, stdin=invocation.stdin
    )
    if invocation.reports:
        after = await written_reports(guest, invocation.reports)
        # A report file from before this run is no evidence about it.
        fresh = {path: data for path, data in after.items() if before.get(path) != data}
        invocation = invocation.with_(found=fresh)
    reading = runner.read(request, invocation, result)
    return _Ran(reading=reading, result=result, report=judge(request, runner, reading, result))


async def _run_with_copies(guest: Guest, request: RunRequest, run: _Run) -> TestReport | None:
    """Run the requested tests and known-answer copies of them in one session.

    Returns:
        The report of the tests if they passed and every copy gave its answer, or a report of
        tampering; otherwise None.
    """
    ran: _Ran | None = None

    async def together(names: tuple[str, ...]) -> TestReport:
        nonlocal ran
        ran = await run(request.with_(targets=names, maxfail=_NO_LIMIT))
        return ran.report

    answers = await known_answers.observe_together(
        guest, together, request.targets, copies_first=request.order == "reversed"
    )
    if ran is None:
        return None
    reading, result, copies = ran.reading, ran.result, answers.copies
    if answers.finding == "tampered":
        own = {name: how for name, how in ran.report.outcomes.items() if name not in copies}
        return ran.report.with_(failed=False, failure_count=0, failures=(), outcomes=own)
    if answers.finding != "confirmed" or ran.report.verdict is not RunVerdict.FAIL:
        return None
    if {result.exit_code, reading.session_status} != {FAILED}:
        return None
    # The status and the output tell of the copies that had to fail.
    alone = reading.with_(
        results=tuple(test for test in reading.results if test.name not in copies),
        collected=tuple(name for name in reading.collected if name not in copies),
        session_status=0,
    )
    silent = result.with_(exit_code=0, stdout="", stderr="")
    report = judge(request, detect_runner(request.command), alone, silent)
    return report.with_(unconfirmed=answers.not_copied) if report.success else None


async def _check_copies(
    report: TestReport, guest: Guest, request: RunRequest, run: _Run
) -> TestReport:
    """Return the report of a passing run, unless known-answer copies of its tests contradict it."""

    async def run_names(names: tuple[str, ...]) -> TestReport:
        again = request.with_(targets=names, order="given", maxfail=_NO_LIMIT)
        return (await run(again)).report

    answers = await known_answers.observe(guest, run_names, report, targeted=bool(request.targets))
    match answers.finding:
        case "forged":
            why = f"tampered: a copy of {answers.test[:200]} that must fail passed"
            return _refuse(report, RunVerdict.TAMPERED, why)
        case "tampered":
            return _refuse(report, RunVerdict.TAMPERED, answers.test)
        case "unsteady" if answers.rerun is not None:
            return answers.rerun.with_(target=report.target)
        case "unconfirmed":
            why = f"a copy of {answers.test[:200]} that must pass did not"
            return _refuse(report, RunVerdict.NO_VERDICT, f"{why}; {report.summary}")
        case _:
            foreign = [name for name in request.targets if not known_answers.can_copy(name)]
            found = dict.fromkeys((*answers.not_copied, *foreign))
            return report.with_(unconfirmed=tuple(found) if request.targets else ())


def _refuse(report: TestReport, verdict: RunVerdict, why: str) -> TestReport:
    return report.with_(success=False, verdict=verdict, summary=why)


async def written_reports(guest: Guest, reports: tuple[str, ...]) -> dict[str, bytes]:
    """Return the report files within bounds. Links and files that are too large are left out."""
    paths = [path for path in reports if "*" not in path]
    if len(paths) < len(reports):
        paths += [path for path in await guest.list_files() if is_report(path, reports)]
    found: dict[str, bytes] = {}
    for path in paths[:MAX_FILES]:
        try:
            data = await guest.read(path, max_bytes=MAX_BYTES)
        except ChangeRejected:
            continue
        if data is not None:
            found[path] = data
        if sum(map(len, found.values())) > MAX_TOTAL_BYTES:
            break
    return found


def judge(
    request: RunRequest, runner: TestRunner, reading: RunnerReading, result: CommandResult
) -> TestReport:
    """Build one report from the runner's reading and the command's result."""
    verdict, why = _verdict(request, reading, result)
    bad = [test for test in reading.results if test.status in _BAD]
    return TestReport(
        success=verdict is RunVerdict.PASS,
        failed=bool(bad),
        exit_code=result.exit_code,
        target=" ".join((request.command, *request.targets[:FAILURES_IN_FULL])),
        summary=_summary(verdict, why, reading, result),
        failure_count=len(bad),
        failures=tuple(bad[:FAILURES_IN_FULL]),
        raw_output=_bounded_output(result),
        verdict=verdict,
        runner=runner.name,
        outcomes=reading.outcomes,
        skipped_files=reading.skipped_files,
        duration_s=result.duration_s,
    )


def _verdict(
    request: RunRequest, reading: RunnerReading, result: CommandResult
) -> tuple[RunVerdict, str]:
    """Return the verdict, and the reason if it is neither PASS nor a plain FAIL."""
    # A kill explains every other irregularity, so that it comes first.
    killed = _check_killed(result)
    if killed is not None:
        return killed
    if reading.tampering:
        return RunVerdict.TAMPERED, reading.tampering[0]
    if any(test.status in _BAD for test in reading.results):
        if result.exit_code == 0:
            contradiction = "the command exited with status 0 although tests failed"
            # A script may ignore an exit status without intent. A runner with its own records may
            # not.
            return (RunVerdict.FAIL if reading.weak else RunVerdict.TAMPERED), contradiction
        return RunVerdict.FAIL, ""
    doubt = reading.inconclusive or _find_gap(request, reading)
    if doubt:
        return RunVerdict.NO_VERDICT, doubt
    # Both the process and the session must have ended with status 0.
    statuses = (
        {result.exit_code}
        if reading.session_status is None
        else {result.exit_code, reading.session_status}
    )
    if statuses != {0}:
        return RunVerdict.FAIL, _describe_exit(result)
    return RunVerdict.PASS, ""


def _check_killed(result: CommandResult) -> tuple[RunVerdict, str] | None:
    if result.timed_out:
        return RunVerdict.TIMEOUT, f"timed out after {result.duration_s:.1f} s"
    if result.flooded:
        return RunVerdict.OUTPUT_LIMIT, "killed because it printed too much"
    if result.out_of_memory:
        return RunVerdict.OOM, "out of memory"
    return None


def _find_gap(request: RunRequest, reading: RunnerReading) -> str:
    """Return what is missing for a PASS."""
    if reading.weak:
        return ""
    if not reading.ended:
        return "the session did not end"
    outcomes = reading.outcomes
    silent = [name for name in reading.collected if name not in outcomes]
    if silent:
        return f"{len(silent)} of {len(reading.collected)} collected tests did not run"
    if missing := _find_missing(request.targets, outcomes):
        return missing
    return "" if TestStatus.PASS in outcomes.values() else "no test passed"


def _find_missing(targets: tuple[str, ...], outcomes: Mapping[str, TestStatus]) -> str:
    """Return which requested test did not pass; empty if all did."""
    for target in targets:
        found = [status for name, status in outcomes.items() if stands_for(target, name)]
        if not found:
            return f"the requested test was not found: {target[:200]}"
        if TestStatus.PASS not in found:
            return f"the requested test did not finish: {target[:200]}"
    return ""


def _describe_exit(result: CommandResult) -> str:
    if result.exit_code is not None:
        return f"exit status {result.exit_code}"
    return f"killed by signal {result.signal}"


def _summary(verdict: RunVerdict, why: str, reading: RunnerReading, result: CommandResult) -> str:
    """Return one line in pytest's format."""
    counts = _counts(reading)
    line = f"{counts} in {result.duration_s:.2f}s" if counts else ""
    match verdict:
        case RunVerdict.PASS:
            return line or f"passed in {result.duration_s:.2f}s"
        case RunVerdict.FAIL:
            return f"{line}; {why}" if why and line else line or why
        case RunVerdict.TAMPERED:
            return f"tampered: {why}"
        case _:
            explained = verdict is not RunVerdict.NO_VERDICT or "exit status" in why
            ending = "" if explained else f" ({_describe_exit(result)})"
            return f"{why}{ending}; {counts}" if counts else f"{why}{ending}"


def _counts(reading: RunnerReading) -> str:
    """Return counts like `2 failed, 2 passed, 1 skipped`."""
    if reading.weak:
        bad = sum(test.status in _BAD for test in reading.results)
        return f"{bad} failed" if bad else ""
    words = {
        TestStatus.FAIL: "failed",
        TestStatus.PASS: "passed",
        TestStatus.SKIP: "skipped",
        TestStatus.ERROR: "error",
    }
    parts = []
    for status, word in words.items():
        number = sum(test.status is status for test in reading.results)
        if number:
            parts.append(
                f"{number} {word}{'s' if status is TestStatus.ERROR and number > 1 else ''}"
            )
    if reading.deselected:
        parts.append(f"{reading.deselected} deselected")
    return ", ".join(parts)


def _bounded_output(result: CommandResult) -> str:
    text = result.stdout + ("\n" if result.stdout and result.stderr else "") + result.stderr
    if len(text) <= RAW_OUTPUT_CHARACTERS:
        return text
    half = RAW_OUTPUT_CHARACTERS // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters cut ...]\n{text[-half:]}"


def _merge_reports(command: str, reports: list[TestReport]) -> TestReport:
    """Merge the reports of a command line's commands: the last one's, with all outcomes."""
    last = reports[-1]
    if len(reports) == 1:
        return last.with_(target=last.target if last.target.startswith(command) else command)
    outcomes: dict[str, TestStatus] = {}
    skipped: dict[str, str] = {}
    for report in reports:
        outcomes.update(report.outcomes)
        skipped.update(report.skipped_files)
    return last.with_(
        target=command,
        steps=len(reports),
        ended_at=last.target,
        outcomes=outcomes,
        skipped_files=skipped,
        duration_s=sum(report.duration_s for report in reports),
        raw_output="\n".join(report.raw_output for report in reports)[-RAW_OUTPUT_CHARACTERS:],
    )


__all__ = ["judge", "run_tests"]
