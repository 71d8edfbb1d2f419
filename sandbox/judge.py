"""From raw records to a verdict that test output cannot forge."""

import posixpath
from collections.abc import Iterable, Mapping

from sandbox.backends.base import Guest
from sandbox.errors import ChangeRejected
from sandbox.known_answers import observe
from sandbox.runners import detect_runner
from sandbox.runners.base import GuestPlaces, Reading, RunRequest, TestRunner
from sandbox.runners.junit import MAX_BYTES, MAX_FILES, MAX_TOTAL_BYTES, is_report
from sandbox.runners.steps import Step, split_steps
from sandbox.spec import RunLimits
from sandbox.types import FAILURES_IN_FULL, CommandResult, RunVerdict, TestOrder, TestReport, TestStatus, stands_for

RAW_OUTPUT_CHARACTERS = 64 * 1024
_NO_LIMIT = 0
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
    """Run a test, lint or build command in a sandbox and judge it.

    Args:
        guest: The sandbox.
        command: The command as a person would type it in the working directory. Plain commands joined by `&&` are
            run and read one by one, up to the first that is not green.
        limits: What each command may use.
        targets: Test names, relative to the checkout, that replace the command's own selection.
        order: `reversed` runs the tests the other way round, `random` shuffles them by the seed.
        seed: For the order, and for Python's hashing.
        maxfail: Stop after so many failures; 0 for never, whatever the command says.
        working_directory: Relative to the checkout.
        environment: Added to the sandbox's own few names.
        confirm: Believe tests that passed only after known-answer copies of them gave the right answers:
            of all that were asked for by name, or of a sample.

    Returns:
        The report; its `verdict` is PASS only when every record agrees that every test ran and passed.

    Raises:
        SandboxDied: the sandbox went away.
    """
    steps = _steps(command, bool(targets := tuple(targets)))
    reports: list[TestReport] = []
    for step in steps:
        request = RunRequest(
            command=step.command,
            targets=targets,
            order=order,
            seed=seed,
            maxfail=maxfail,
            environment={**(environment or {}), **step.environment},
            wall_s=limits.wall_s,
            test_cpu_s=limits.test_cpu_s,
        )
        folder = posixpath.normpath(f"{working_directory}/{step.folder}")
        report = await _run_step(guest, request, limits, folder)
        if confirm and report.success and report.knows_tests:
            report = await _confirmed(report, guest, request, limits=limits, folder=folder)
        reports.append(report)
        if not report.success:
            break
    return _joined(command, reports)


def _steps(command: str, targeted: bool) -> tuple[Step, ...]:  # noqa: FBT001 - one question, asked once
    """The commands to run. Asked for single tests, only the commands that know tests."""
    steps = split_steps(command)
    if steps is None or all(detect_runner(step.command).name == "command" for step in steps):
        return (Step(command=command),)
    testing = tuple(step for step in steps if detect_runner(step.command).name in {"pytest", "unittest"})
    return testing if targeted and testing else steps


async def _run_step(guest: Guest, request: RunRequest, limits: RunLimits, folder: str) -> TestReport:
    cwd = guest.workdir if folder == "." else f"{guest.workdir}/{folder}"
    places = GuestPlaces(python=guest.python, guest_dir=guest.guest_dir, checkout=guest.workdir, cwd=cwd)
    runner = detect_runner(request.command)
    invocation = runner.prepare(request, places)
    before = await written_reports(guest, invocation.reports)
    result = await guest.run(
        invocation.argv, limits=limits, cwd=cwd, env=invocation.environment, stdin=invocation.stdin
    )
    if invocation.reports:
        after = await written_reports(guest, invocation.reports)
        # A report that stood there before says nothing about this run.
        fresh = {path: data for path, data in after.items() if before.get(path) != data}
        invocation = invocation.with_(found=fresh)
    return judge(request, runner, runner.read(request, invocation, result), result)


async def _confirmed(
    report: TestReport, guest: Guest, request: RunRequest, *, limits: RunLimits, folder: str
) -> TestReport:
    """Return the report of a run that passed, or one that does not pass if copies of its tests lied."""

    async def run(names: tuple[str, ...]) -> TestReport:
        again = request.with_(targets=names, order="given", maxfail=_NO_LIMIT)
        return await _run_step(guest, again, limits, folder)

    answers = await observe(guest, run, report, targeted=bool(request.targets))
    match answers.finding:
        case "forged":
            why = f"a copy of {answers.test[:200]} that must fail passed"
            return report.with_(success=False, verdict=RunVerdict.TAMPERED, summary=f"tampered: {why}")
        case "tampered":
            return report.with_(success=False, verdict=RunVerdict.TAMPERED, summary=answers.test)
        case "unsteady" if answers.rerun is not None:
            return answers.rerun.with_(target=report.target)
        case "unconfirmed":
            why = f"a copy of {answers.test[:200]} that must pass did not"
            summary = f"{why}; {report.summary}"
            return report.with_(success=False, verdict=RunVerdict.NO_VERDICT, summary=summary)
        case _:
            return report.with_(unconfirmed=answers.not_copied if request.targets else ())


async def written_reports(guest: Guest, reports: tuple[str, ...]) -> dict[str, bytes]:
    """The report files that are there, within bounds; links and files that are too large are left out."""
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


def judge(request: RunRequest, runner: TestRunner, reading: Reading, result: CommandResult) -> TestReport:
    """One report from what a runner read and how the command ended."""
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
        raw_output=_bounded(result),
        verdict=verdict,
        runner=runner.name,
        outcomes=reading.outcomes,
        duration_s=result.duration_s,
    )


def _verdict(request: RunRequest, reading: Reading, result: CommandResult) -> tuple[RunVerdict, str]:
    """The verdict, and why when it is neither PASS nor a plain FAIL."""
    killed = _killed(result)
    if killed is not None:
        return killed
    if reading.tampering:
        return RunVerdict.TAMPERED, reading.tampering[0]
    if any(test.status in _BAD for test in reading.results):
        if result.exit_code == 0:
            contradiction = "the command left with status 0 although tests failed"
            # A script may swallow a status honestly; who keeps records of its own may not.
            return (RunVerdict.FAIL if reading.weak else RunVerdict.TAMPERED), contradiction
        return RunVerdict.FAIL, ""
    doubt = reading.inconclusive or _incomplete(request, reading)
    if doubt:
        return RunVerdict.NO_VERDICT, doubt
    statuses = {result.exit_code} if reading.session_status is None else {result.exit_code, reading.session_status}
    if statuses != {0}:
        return RunVerdict.FAIL, _ending(result)
    return RunVerdict.PASS, ""


def _killed(result: CommandResult) -> tuple[RunVerdict, str] | None:
    if result.timed_out:
        return RunVerdict.TIMEOUT, f"timed out after {result.duration_s:.1f} s"
    if result.flooded:
        return RunVerdict.OUTPUT_LIMIT, "killed because it printed too much"
    if result.oom_kills:
        return RunVerdict.OOM, "out of memory"
    return None


def _incomplete(request: RunRequest, reading: Reading) -> str:
    """What is missing for a PASS."""
    if reading.weak:
        return ""
    if not reading.ended:
        return "the session did not end"
    outcomes = reading.outcomes
    silent = [name for name in reading.collected if name not in outcomes]
    if silent:
        return f"{len(silent)} of {len(reading.collected)} collected tests did not run"
    for target in request.targets:
        found = [status for name, status in outcomes.items() if stands_for(target, name)]
        if not found:
            return f"the test asked for is not there: {target[:200]}"
        if TestStatus.PASS not in found:
            return f"the test asked for did not run to its end: {target[:200]}"
    if TestStatus.PASS not in outcomes.values():
        return "no test passed"
    return ""


def _ending(result: CommandResult) -> str:
    if result.exit_code is not None:
        return f"exit status {result.exit_code}"
    return f"killed by signal {result.signal}"


def _summary(verdict: RunVerdict, why: str, reading: Reading, result: CommandResult) -> str:
    """One line like pytest's own."""
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
            told = verdict is not RunVerdict.NO_VERDICT or "exit status" in why
            ending = "" if told else f" ({_ending(result)})"
            return f"{why}{ending}; {counts}" if counts else f"{why}{ending}"


def _counts(reading: Reading) -> str:
    """`2 failed, 2 passed, 1 skipped`."""
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
            parts.append(f"{number} {word}{'s' if status is TestStatus.ERROR and number > 1 else ''}")
    if reading.deselected:
        parts.append(f"{reading.deselected} deselected")
    return ", ".join(parts)


def _bounded(result: CommandResult) -> str:
    text = result.stdout + ("\n" if result.stdout and result.stderr else "") + result.stderr
    if len(text) <= RAW_OUTPUT_CHARACTERS:
        return text
    half = RAW_OUTPUT_CHARACTERS // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters cut ...]\n{text[-half:]}"


def _joined(command: str, reports: list[TestReport]) -> TestReport:
    """One report for a command line of several commands: the last one's, with everything that ran."""
    last = reports[-1]
    if len(reports) == 1:
        return last.with_(target=last.target if last.target.startswith(command) else command)
    outcomes: dict[str, TestStatus] = {}
    for report in reports:
        outcomes.update(report.outcomes)
    return last.with_(
        target=command,
        steps=len(reports),
        ended_at=last.target,
        outcomes=outcomes,
        duration_s=sum(report.duration_s for report in reports),
        raw_output="\n".join(report.raw_output for report in reports)[-RAW_OUTPUT_CHARACTERS:],
    )


__all__ = ["judge", "run_tests"]
