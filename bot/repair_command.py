"""metaagent repair: the search for a fix on a folder, by itself; shows what it found and writes nothing."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.command import (
    BuildLine,
    a_folder,
    check_seconds,
    check_test_command,
    command_line,
    open_line,
    quiet,
)
from bot.domain.diagnosis import FailureKind
from bot.domain.patch import Rung
from bot.errors import UsageError
from bot.fixers.rung1_search.attempt import Attempt, attempt
from bot.fixers.rung1_search.findings import is_about_findings
from bot.fixers.rung1_search.plain_run import keep_what_holds
from bot.fixers.rung1_search.request import chosen, holding_out, request_for
from bot.mission.analyze import analyze_failures
from bot.misuse import misuse_in
from bot.pipeline import Line, folder_checkout
from bot.ports import Workspace
from bot.progress import SearchProgress
from bot.publish.candidates import Searched, searched_json, searched_text
from bot.settings import Settings
from bot.wiring.line import build_line
from sandbox.types import Checkout, RunVerdict, SearchRequest, TestReport

SHOWN = 5
MOST_SHOWN = 50


@dataclass(frozen=True)
class RepairOrder:
    """What the person at the terminal asked for."""

    path: str
    command: str | None = None
    since: str | None = None
    """The revision it was green at."""
    seconds: float | None = None
    candidates: int | None = None
    """The most candidates to try."""
    show: int = SHOWN
    seed: int = 0
    half: bool = False
    """Keep a random half of the passing tests back from the search; they judge what it finds."""
    as_json: bool = False


@dataclass(frozen=True)
class RepairResult:
    """What they get: a text for people, an object for programs."""

    found: bool
    text: str
    json_object: dict[str, Any]
    misuse: UsageError | None = None
    """Message that replaces the report when the command was not red, or could not run."""


def run_repair(order: RepairOrder, settings: Settings, *, build: BuildLine = build_line) -> RepairResult:
    """Search for a fix of a red folder.

    Args:
        order: What was asked for.
        settings: All settings.
        build: From settings to everything a mission needs; its sandboxes and its memory are used.

    Raises:
        UsageError: the folder is not there, an option makes no sense, or nothing may be searched here.
        SandboxError: no sandbox can be had here.
    """
    folder = a_folder(order.path).resolve()
    check_test_command(order.command)
    check_seconds("--time-limit (or --seconds)", order.seconds)
    if order.candidates is not None and order.candidates < 1:
        raise UsageError("--candidates must be at least 1")
    if not 1 <= order.show <= MOST_SHOWN:
        raise UsageError(f"--show must be between 1 and {MOST_SHOWN}")
    searched = asyncio.run(_searched(order, folder, quiet(settings), build))
    again = command_line(
        "fix",
        order.path,
        test=order.command,
        since=order.since,
        seed=order.seed or None,
        time_limit=order.seconds,
    )
    return RepairResult(
        found=searched.outcome == "FOUND",
        text=searched_text(searched, again=f"{again} --apply"),
        json_object=searched_json(searched),
        misuse=misuse_in(searched.report) if searched.outcome == "NOT SEARCHED" else None,
    )


async def _searched(order: RepairOrder, folder: Path, settings: Settings, build: BuildLine) -> Searched:
    async with open_line(settings, build) as line:
        if not any(fixer.rung is Rung.SEARCH for fixer in line.fixers):
            raise UsageError(
                "the search runs edited programs, and this backend does not keep them from the host",
                "use the Docker backend, or declare the host disposable (sandbox.disposable_host)",
            )
        _, checkout = await folder_checkout(str(folder), order.command, since=order.since)
        async with line.open_workspace(checkout) as workspace:
            report = await workspace.run_tests()
            if reason := _why_not(report):
                return Searched(outcome="NOT SEARCHED", reason=reason, report=report, show=order.show)
            record = await _record(line, checkout, report)
            request = _bounded(order, await _request(workspace, report, record, order.seed), line)
            told = None if order.as_json else SearchProgress()
            found = await attempt(workspace, request, told=told.tell if told else lambda _: None)
            await keep_what_holds(workspace, found)
    return _outcome(found, report, order.show)


def _why_not(report: TestReport) -> str:
    """Return why there is nothing to search; empty when there is."""
    if report.verdict is RunVerdict.PASS:
        return f"nothing is red: {report.summary}"
    if not report.knows_tests:
        advice = "; findings of linters and type checkers are for metaagent fix" if is_about_findings(report) else ""
        return f"only tests that pytest or unittest runs can be searched for: {report.summary}{advice}"
    return "" if report.failing else f"no test failed, and yet the run was not green: {report.summary}"


async def _record(line: Line, checkout: Checkout, report: TestReport) -> dict[str, tuple[int, int]]:
    """Which templates worked here before."""
    error = next((failure.error for failure in report.failures if failure.error), None)
    return await line.lessons.template_record(repository_id=checkout.source.repository_id, error=error)


async def _request(
    workspace: Workspace, report: TestReport, record: Mapping[str, tuple[int, int]], seed: int
) -> SearchRequest:
    facts = await workspace.facts()
    diagnosis = await analyze_failures(report, workspace, kind=FailureKind.BUG, red_diff=facts.red_diff)
    return request_for(facts, report, diagnosis, record=record, seed=seed)


def _bounded(order: RepairOrder, request: SearchRequest, line: Line) -> SearchRequest:
    held_out = chosen(request.passing, len(request.passing) // 2, order.seed) if order.half else ()
    return holding_out(request, held_out).with_(
        time_limit_s=order.seconds or line.limits.search_s,
        max_candidates=order.candidates or line.limits.max_candidates,
        max_survivors=max(request.max_survivors, order.show),
    )


def _outcome(found: Attempt, report: TestReport, show: int) -> Searched:
    if not found.shown:
        return Searched(outcome="NONE", reason=found.why_none, report=report, show=show, attempt=found)
    sure = found.shown[0].ranked.confident
    behaviours = found.shown[0].ranked.behaviours
    reason = f"{len(found.survivors)} of {found.tried} candidates make every known test pass"
    reason += f", in {behaviours} different behaviours" if behaviours > 1 else ""
    reason += "" if sure else "; none is clearly ahead, so none would be published"
    return Searched(outcome="FOUND", reason=reason, report=report, show=show, attempt=found)
