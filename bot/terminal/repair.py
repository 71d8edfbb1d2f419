"""metaagent repair: search for fixes of a folder, and show them without writing."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.domain.counted import counted
from bot.domain.diagnosis import FailureKind
from bot.domain.patch import Rung
from bot.errors import UsageError
from bot.fixers.rung1_search.attempt import SearchResult, run_search
from bot.fixers.rung1_search.finding_reports import is_about_findings
from bot.fixers.rung1_search.plain_run import drop_refuted
from bot.fixers.rung1_search.request import build_request, hide_tests, sample_tests
from bot.intake.folder import folder_checkout
from bot.mission.failures.look_at import question_tests
from bot.mission.judging.analyze import analyze_failures
from bot.pipeline import MissionServices
from bot.ports import Workspace
from bot.publish.candidates import SearchReport, searched_json, searched_text
from bot.publish.progress import SearchProgress
from bot.settings import Settings
from bot.terminal.arguments import (
    check_is_folder,
    check_seconds,
    check_test_command,
    command_line,
)
from bot.terminal.misuse import detect_misuse_in_run
from bot.terminal.prepare import set_up_quiet_logging
from bot.wiring.mission_services import (
    BuildMissionServices,
    build_mission_services,
    open_mission_services,
)
from sandbox.types import Checkout, RunVerdict, SearchRequest, TestReport

SHOWN = 5
MOST_SHOWN = 50


@dataclass(frozen=True)
class RepairOrder:
    """The options of one run."""

    path: str
    command: str | None = None
    since: str | None = None
    """The revision at which it was green."""
    time_limit_s: float | None = None
    candidates: int | None = None
    """Maximum number of candidates to try."""
    show: int = SHOWN
    seed: int = 0
    half: bool = False
    """Hide a random half of the passing tests from the search; they judge its results."""
    as_json: bool = False


@dataclass(frozen=True)
class RepairResult:
    """A text for people, and an object for programs."""

    found: bool
    text: str
    json_object: dict[str, Any]
    misuse: UsageError | None = None
    """Error to show instead of the report if the command was not red, or could not run."""


def run_repair(
    order: RepairOrder, settings: Settings, *, build: BuildMissionServices = build_mission_services
) -> RepairResult:
    """Search for a fix of a red folder.

    Args:
        order: The options.
        settings: All settings.
        build: Builds the external dependencies from settings; sandboxes and lessons are used.

    Raises:
        UsageError: the folder is missing, an option is invalid, or the search is not allowed here.
        SandboxError: no sandbox can be had here.
    """
    folder = check_is_folder(order.path).resolve()
    check_test_command(order.command)
    check_seconds("--time-limit", order.time_limit_s)
    if order.candidates is not None and order.candidates < 1:
        raise UsageError("--candidates must be at least 1")
    if not 1 <= order.show <= MOST_SHOWN:
        raise UsageError(f"--show must be between 1 and {MOST_SHOWN}")
    searched = asyncio.run(_search(order, folder, set_up_quiet_logging(settings), build))
    again = command_line(
        "fix",
        order.path,
        test=order.command,
        since=order.since,
        seed=order.seed or None,
        time_limit=order.time_limit_s,
    )
    return RepairResult(
        found=searched.outcome == "FOUND",
        text=searched_text(searched, again=f"{again} --apply"),
        json_object=searched_json(searched),
        misuse=detect_misuse_in_run(searched.report)
        if searched.outcome == "NOT SEARCHED"
        else None,
    )


async def _search(
    order: RepairOrder, folder: Path, settings: Settings, build: BuildMissionServices
) -> SearchReport:
    async with open_mission_services(settings, build) as services:
        if not any(fixer.rung is Rung.SEARCH for fixer in services.fixers):
            raise UsageError(
                "the search runs edited programs, and this backend does not keep them from "
                "the host",
                "use the Docker backend, or declare the host disposable (sandbox.disposable_host)",
            )
        _, checkout = await folder_checkout(str(folder), order.command, since=order.since)
        async with services.open_workspace(checkout) as workspace:
            report = await workspace.run_tests()
            if reason := _why_not(report):
                return SearchReport(
                    outcome="NOT SEARCHED", reason=reason, report=report, show=order.show
                )
            record = await _record(services, checkout, report)
            request = _bound(order, await _request(workspace, report, record, order.seed), services)
            told = None if order.as_json else SearchProgress()
            found = await run_search(
                workspace, request, on_event=told.tell if told else lambda _: None
            )
            await drop_refuted(workspace, found)
            advice = question_tests(report, (await workspace.facts()).red_diff)
    return _outcome(found, report, order.show, advice)


def _why_not(report: TestReport) -> str:
    """Return the reason why there is nothing to search; empty if there is something."""
    if report.verdict is RunVerdict.PASS:
        return f"nothing is red: {report.summary}"
    if not report.knows_tests:
        advice = (
            "; findings of linters and type checkers are for metaagent fix"
            if is_about_findings(report)
            else ""
        )
        return (
            f"only tests that pytest or unittest runs can be searched for: {report.summary}{advice}"
        )
    return (
        "" if report.failing else f"no test failed, and yet the run was not green: {report.summary}"
    )


async def _record(
    services: MissionServices, checkout: Checkout, report: TestReport
) -> dict[str, tuple[float, float]]:
    """Return the record of templates that worked here before."""
    error = next((failure.error for failure in report.failures if failure.error), None)
    return await services.lessons.template_record(
        repository_id=checkout.source.repository_id, error=error
    )


async def _request(
    workspace: Workspace, report: TestReport, record: Mapping[str, tuple[float, float]], seed: int
) -> SearchRequest:
    facts = await workspace.facts()
    diagnosis = await analyze_failures(
        report, workspace, kind=FailureKind.BUG, red_diff=facts.red_diff
    )
    return build_request(facts, report, diagnosis, record=record, seed=seed)


def _bound(order: RepairOrder, request: SearchRequest, services: MissionServices) -> SearchRequest:
    held_out = (
        sample_tests(request.passing, len(request.passing) // 2, order.seed) if order.half else ()
    )
    return hide_tests(request, held_out).with_(
        time_limit_s=order.time_limit_s or services.limits.time_limit,
        max_candidates=order.candidates or services.limits.max_candidates,
        # The search must keep as many fixes as are shown.
        max_survivors=max(request.max_survivors, order.show),
    )


def _outcome(found: SearchResult, report: TestReport, show: int, advice: str) -> SearchReport:
    if not found.shown:
        return SearchReport(
            outcome="NONE",
            reason=found.why_none,
            report=report,
            show=show,
            attempt=found,
            advice=advice,
        )
    sure = found.shown[0].ranked.confident
    behaviours = found.shown[0].ranked.behaviours
    passing = len(found.survivors)
    reason = f"{passing} of {counted(found.tried, 'candidate')} "
    reason += f"{'makes' if passing == 1 else 'make'} every known test pass"
    reason += f", in {behaviours} different behaviours" if behaviours > 1 else ""
    reason += "" if sure else "; none is clearly ahead, so none would be published"
    return SearchReport(outcome="FOUND", reason=reason, report=report, show=show, attempt=found)
