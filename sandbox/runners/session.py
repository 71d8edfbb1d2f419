"""Evaluate the records of a test session: outcomes, canaries, expected names, exit statuses."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.runners.base import RunnerReading, RunRequest
from sandbox.runners.records import Record, unpack_names
from sandbox.types import CommandResult, TestResult, TestStatus

_ERROR_LINE = re.compile(r"(?i)\berror: (.+)")
MOST_SKIPPED = 50
_STATUS = {
    "p": TestStatus.PASS,
    "X": TestStatus.PASS,
    "f": TestStatus.FAIL,
    "s": TestStatus.SKIP,
    "x": TestStatus.SKIP,
}


class SessionReader:
    """Collector of one session's records.

    Args:
        result: The result of the process.
        request: The request.
        tool: Name of the test tool, for messages.
        usage_error: The tool's exit status for a wrong command line.
    """

    def __init__(
        self, result: CommandResult, request: RunRequest, *, tool: str, usage_error: int
    ) -> None:
        self._tool = tool
        self._usage_error = usage_error
        self._result = result
        self._request = request
        self._names: tuple[str, ...] = ()
        self._details: dict[str, Record] = {}
        self._results: list[TestResult] = []
        self._seen: set[str] = set()
        self._running: str | None = None
        self._hang: list[Any] = []
        self._returned: dict[str, bool] = {}
        self._unseen: list[str] = []
        self._traced: list[str] = []
        self._canaries: list[tuple[int, str, Any]] = []
        self._patched: list[str] = []
        self._uncontrolled: list[str] = []
        self._broken = ""
        self._end: int | None = None
        self._exit: int | None = None
        self._deselected = 0
        self._skipped: dict[str, str] = {}

    def read(self, records: list[Record]) -> RunnerReading:
        """Return the session as one value."""
        for record in records:
            self._take(record)
        # The session was cut off within a test.
        if self._end is None and self._running is not None:
            self._results.append(self._unfinished(self._running))
        return RunnerReading(
            results=tuple(self._results),
            collected=self._names,
            deselected=self._deselected,
            skipped_files=self._skipped,
            session_status=self._exit,
            ended=self._exit is not None and self._end is not None,
            tampering=tuple(self._find_contradictions()),
            inconclusive=self._find_gap(),
        )

    def _take(self, record: Record) -> None:
        match record:
            case ["items", str(packed)]:
                self._names = unpack_names(packed)
            case ["start", int() | str() as index]:
                self._running = self._name(index)
            case ["fail", int() | str() as index, str(), dict() as detail]:
                self._details.setdefault(self._name(index), [detail])
            case ["ran", int() as index, 0 | 1 as returned]:
                self._returned[self._name(index)] = bool(returned)
            case ["test", int() | str() as index, str(phases), int(milliseconds)]:
                self._take_test(self._name(index), phases, milliseconds)
            case ["collect", str(name), dict() as detail]:
                self._results.append(_result(name, TestStatus.ERROR, detail, 0))
            case ["skipped", str(name), str(reason)] if len(self._skipped) < MOST_SKIPPED:
                self._skipped[name[:300]] = reason.removeprefix("Skipped: ")[:200]
            case ["canary", int(number), str(phases), returned, *_]:
                self._canaries.append((number, phases, returned))
            case _:
                self._take_session(record)

    def _take_session(self, record: Record) -> None:
        match record:
            case ["hang", int() | str() as index, list(frames)]:
                self._running, self._hang = self._name(index), frames
            case ["patched", list(names)]:
                self._patched += [str(name) for name in names]
            case ["uncontrolled", list(files)]:
                self._uncontrolled += [str(file) for file in files]
            case ["traced", list(names)]:
                self._traced += [str(name) for name in names]
            case ["broken", str(why)]:
                self._broken = why
            case ["internal", str(text)]:
                self._broken = (
                    f"{self._tool} or one of its plugins broke: "
                    + (text.strip().splitlines() or [""])[-1][:300]
                )
            case ["end", int(status), int(deselected)]:
                self._end, self._deselected = status, deselected
            case ["exit", int(status)]:
                self._exit = status
            case _:
                pass

    def _take_test(self, name: str, phases: str, milliseconds: int) -> None:
        setup, call, teardown = ((*phases, "-", "-", "-"))[:3]
        self._running = None
        self._seen.add(name)
        if setup == "f" or teardown == "f":
            status = TestStatus.FAIL if call == "f" else TestStatus.ERROR
        else:
            status = _STATUS.get(setup if setup != "p" else call, TestStatus.ERROR)
        detail = (self._details.get(name) or [{}])[0]
        if status is TestStatus.PASS and not self._returned.get(name):
            self._unseen.append(name)
        # Without a finished teardown, a pass is incomplete.
        if status is TestStatus.PASS and teardown != "p":
            status = TestStatus.ERROR
        self._results.append(_result(name, status, detail, milliseconds))

    def _name(self, index: int | str) -> str:
        if isinstance(index, str):
            return index
        return self._names[index] if 0 <= index < len(self._names) else f"#{index}"

    def _unfinished(self, name: str) -> TestResult:
        """Return the result of the test that ran when the session was cut off."""
        frames = _frames(self._hang)
        if self._result.timed_out:
            error, message = "Timeout", f"did not end within {self._request.wall_s:g} s"
        elif self._result.signal is not None:
            error, message = "Crash", f"the interpreter was killed by signal {self._result.signal}"
        else:
            error, message = (
                "Crash",
                (
                    f"the interpreter left with status {self._result.exit_code} in the middle of "
                    f"the "
                    f"test"
                ),
            )
        where = frames[-1] if frames else (name.split("::", maxsplit=1)[0], None, "")
        return TestResult(
            name=name,
            status=TestStatus.ERROR,
            error=error,
            error_message=message,
            frames=frames,
            file=where[0],
            line=where[1],
            test=_test_function(name),
            hung=error == "Timeout",
        )

    def _find_contradictions(self) -> Iterator[str]:
        if self._unseen:
            yield (
                f"reported as passed although the test itself did not return: "
                f"{self._unseen[0][:200]}"
            )
        for number, phases, returned in self._canaries:
            # Canary 0 must pass, and canary 1 must fail in its call.
            if number == 0 and phases == "ppp" and returned == 1:
                continue
            if number == 1 and phases == "pfp" and returned == 0:
                continue
            if "-" not in phases[:2]:
                yield f"a test that must {'fail' if number else 'pass'} did not"
        if self._patched:
            yield f"the test machinery was replaced: {', '.join(self._patched)[:200]}"
        if self._exit is not None and self._result.exit_code == 0 and self._exit != 0:
            yield f"the process exited with status 0, the session with {self._exit}"

    def _find_gap(self) -> str:
        if self._broken:
            return self._broken
        status = self._exit if self._exit is not None else self._end
        if status == self._usage_error:
            return f"{self._tool} did not accept the command{_first_error(self._result.stderr)}"
        if self._end is None or self._exit is None:
            return (
                ""
                if self._running is not None and self._result.exit_code != 0
                else "the session did not end"
            )
        if not self._results:
            return "no test was collected" if not self._names else "no test ran"
        kinds = {number for number, phases, _ in self._canaries if "-" not in phases}
        if kinds != {0, 1} and not any(
            result.status is TestStatus.ERROR for result in self._results
        ):
            return "the control tests did not run"
        if self._uncontrolled:
            return f"the control tests did not run in {self._uncontrolled[0][:200]}"
        if self._traced:
            return f"code of the repository traced the tests: {self._traced[0][:200]}"
        return ""


def _result(
    name: str, status: TestStatus, detail: Mapping[str, Any], milliseconds: int
) -> TestResult:
    if status in {TestStatus.PASS, TestStatus.SKIP}:
        return TestResult(
            name=name, status=status, duration_ms=milliseconds, test=_test_function(name)
        )
    frames = _frames(detail.get("frames"))
    where = frames[-1] if frames else (name.split("::", maxsplit=1)[0], None, "")
    return TestResult(
        name=name,
        status=status,
        output=_string(detail.get("output")),
        error_message=_string(detail.get("message")) or None,
        duration_ms=milliseconds,
        file=where[0],
        line=where[1],
        test=_test_function(name),
        error=_string(detail.get("error"))[:200] or None,
        traceback=_string(detail.get("text")) or None,
        frames=frames,
        hung=detail.get("hung") is True,
    )


def _first_error(text: str) -> str:
    """Return pytest's message about a wrong command line."""
    found = [line for line in _ERROR_LINE.findall(text) if not line.startswith("usage:")]
    return f": {found[0][:300].strip()}" if found else ""


def _test_function(name: str) -> str | None:
    """Return the function's name: `test_x` for `tests/a.py::T::test_x[1]`."""
    if "::" not in name:
        return None
    return name.split("[", maxsplit=1)[0].rsplit("::", maxsplit=1)[-1]


def _frames(raw: object) -> tuple[tuple[str, int, str], ...]:
    found = []
    for frame in raw if isinstance(raw, list) else []:
        match frame:
            case [str(file), int(line), str(function)]:
                found.append((file, line, function))
            case _:
                continue
    return tuple(found)


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
