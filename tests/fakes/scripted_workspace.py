"""Workspaces on files in memory, whose test runs are answered by a function of the files: a small world to repair."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from typing_extensions import override

from sandbox.errors import SandboxError
from sandbox.types import (
    USUAL,
    Checkout,
    FileChange,
    RunVerdict,
    Surroundings,
    TestOrder,
    TestReport,
    TestResult,
    TestStatus,
    WorkspaceFacts,
)
from tests.builders import facts
from tests.fakes.fake_workspace import FakeWorkspace

PASS = ""
SKIP = "skip"


@dataclass(frozen=True)
class Asked:
    """One run of the tests, as the world sees it."""

    files: dict[str, str]
    revision: str
    targets: tuple[str, ...]
    order: str
    number: int
    """Runs so far in all workspaces of this world, from 1."""
    seed: int = 0
    surroundings: Surroundings = USUAL
    maxfail: int | None = None


def a_run(
    outcomes: dict[str, str], *, targets: tuple[str, ...] = (), runner: str = "pytest"
) -> TestReport:
    """A report from `{name: ""}` for passed, `"skip"`, or `"Error: message"` for failed tests."""
    if targets:
        outcomes = {
            n: s
            for n, s in outcomes.items()
            if any(n == t or n.startswith(f"{t}::") for t in targets)
        }
    failures = tuple(
        _failure(name, said) for name, said in outcomes.items() if said not in {PASS, SKIP}
    )
    red = bool(failures)
    return TestReport(
        success=not red and bool(outcomes),
        failed=red,
        exit_code=1 if red else 0 if outcomes else 5,
        target="pytest -q",
        summary=f"{len(failures)} failed, {len(outcomes) - len(failures)} others",
        failure_count=len(failures),
        failures=failures[:10],
        raw_output="\n".join(f"FAILED {f.name} - {f.error_message}" for f in failures),
        verdict=RunVerdict.FAIL if red else RunVerdict.PASS if outcomes else RunVerdict.NO_VERDICT,
        runner=runner,
        outcomes={name: _status(said) for name, said in outcomes.items()},
        duration_s=0.1,
    )


def nothing_ran(
    output: str, *, exit_code: int = 4, verdict: RunVerdict = RunVerdict.NO_VERDICT
) -> TestReport:
    """A run that proves nothing."""
    return TestReport(
        success=False,
        failed=False,
        exit_code=exit_code,
        target="pytest -q",
        summary="no verdict",
        failure_count=0,
        raw_output=output,
        verdict=verdict,
        runner="pytest",
    )


def _status(said: str) -> TestStatus:
    return {PASS: TestStatus.PASS, SKIP: TestStatus.SKIP}.get(said, TestStatus.FAIL)


def _failure(name: str, said: str) -> TestResult:
    error, _, message = said.partition(": ")
    file, _, test = name.partition("::")
    return TestResult(
        name=name,
        status=TestStatus.FAIL,
        error_message=message,
        file=file,
        line=1,
        test=test or None,
        error=error,
        frames=((file, 1, test or "<module>"),),
    )


async def _never_waits(_: Asked) -> None:
    """Let a run go on at once."""


@dataclass
class World:
    """What every workspace of a test shares."""

    files: dict[str, str]
    run: Callable[[Asked], TestReport]
    base: dict[str, str] | None = None
    facts: WorkspaceFacts = field(default_factory=facts)
    trouble: Callable[[str], SandboxError | None] = lambda _: None
    """Asked before facts, runs and edits, with `head:run_tests`, ...: what to raise."""
    runs: list[Asked] = field(default_factory=list)
    meet: Callable[[Asked], Awaitable[None]] = _never_waits
    """Awaited after a run has begun: lets runs wait for each other."""
    confirm: Callable[[TestReport], TestReport] = lambda report: report
    """What known-answer copies make of a report."""
    confirmed: list[tuple[str, ...]] = field(default_factory=list)
    """The targets of each confirmed report."""
    opened: int = 0
    open_now: int = 0

    @asynccontextmanager
    async def open_workspace(self, checkout: Checkout) -> AsyncIterator["ScriptedWorkspace"]:
        """A fresh workspace on one of the two commits."""
        self.opened += 1
        self.open_now += 1
        try:
            yield ScriptedWorkspace(self, checkout.revision, checkout.surroundings)
        finally:
            self.open_now -= 1


class ScriptedWorkspace(FakeWorkspace):
    """One checkout of a world."""

    def __init__(self, world: World, revision: str, surroundings: Surroundings = USUAL) -> None:
        base_sha = world.facts.base_sha if world.base is not None else None
        files = world.files if revision == "head" else world.base or {}
        super().__init__(files, facts=world.facts.with_(base_sha=base_sha))
        self._world = world
        self._revision = revision
        self._surroundings = surroundings

    def _used(self, what: str) -> None:
        error = self._world.trouble(f"{self._revision}:{what}")
        if error is not None:
            raise error

    @override
    async def facts(self) -> WorkspaceFacts:
        self._used("facts")
        return await super().facts()

    @override
    async def run_tests(
        self,
        command: str | None = None,
        *,
        targets: tuple[str, ...] = (),
        order: TestOrder = "given",
        seed: int = 0,
        maxfail: int | None = None,
        confirm: bool = False,
    ) -> TestReport:
        self._used("run_tests")
        await asyncio.sleep(0)
        number = len(self._world.runs) + 1
        asked = Asked(
            self.texts(),
            self._revision,
            targets,
            order,
            number,
            seed,
            self._surroundings,
            maxfail,
        )
        self._world.runs.append(asked)
        await self._world.meet(asked)
        report = self._world.run(asked)
        if not confirm:
            return report
        self._world.confirmed.append(targets)
        return self._world.confirm(report) if report.success else report

    @override
    async def apply_changes(self, changes: Sequence[FileChange]) -> tuple[str, ...]:
        self._used("apply_changes")
        return await super().apply_changes(changes)
