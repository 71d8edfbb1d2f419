"""metaagent fix: repair a red working tree on this machine; no GitHub, account or key needed."""

import asyncio
import hashlib
import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.domain.evidence import KeptEvidence
from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import total
from bot.domain.patch import Choice
from bot.domain.request import Answer, MissionRequest, Trigger
from bot.errors import UsageError
from bot.evidence.keep import EvidenceFile
from bot.fixers.chosen import ChosenFixer
from bot.lessons.calibration import confidence_by_rules
from bot.pipeline import handle_folder
from bot.publish.fix_records import proposed
from bot.publish.markdown import SafeWriter
from bot.publish.model_costs import usd_or_none
from bot.publish.progress import TerminalProgress, telling_searches
from bot.publish.terminal import report_text
from bot.queue.memory import MemoryCheckpoint
from bot.settings import Settings
from bot.terminal.arguments import (
    RUNGS,
    check_evidence,
    check_is_folder,
    check_rungs,
    check_seconds,
    check_test_command,
    command_line,
)
from bot.terminal.choices import KeptChoices, keep_choices, read_choice
from bot.terminal.misuse import detect_misuse
from bot.terminal.prepare import set_up_quiet_logging
from bot.wiring.mission_services import (
    BuildMissionServices,
    build_mission_services,
    open_mission_services,
)
from sandbox.apply import apply_diff, read_edits
from sandbox.errors import ChangeRejected
from sandbox.types import TrustTier

APPLIED = "The fix is applied to the folder."


@dataclass(frozen=True)
class FixOrder:
    """The options of one run."""

    path: str
    command: str | None = None
    since: str | None = None
    """The revision at which it was green."""
    apply: bool = False
    as_json: bool = False
    seed: int = 0
    time_limit_s: float | None = None
    rungs: str = "0,1,2"
    evidence: str | None = None
    """File for the evidence bundle."""
    choose: int | None = None
    """Number of a choice of the last question about this folder, counted from one."""


@dataclass(frozen=True)
class FixResult:
    """A text for people, and an object for programs."""

    outcome: str
    text: str
    json_object: dict[str, Any]
    misuse: UsageError | None = None
    """Error to show instead of the report if the command was not red, or could not run."""


def run_fix(
    order: FixOrder, settings: Settings, *, build: BuildMissionServices = build_mission_services
) -> FixResult:
    """Run one mission on a folder.

    Args:
        order: The options.
        settings: All settings.
        build: Builds the external dependencies from settings.

    Raises:
        UsageError: the folder is not there, or an option makes no sense.
        SandboxError: no sandbox can be had here.
    """
    folder = check_is_folder(order.path)
    check_seconds("--time-limit", order.time_limit_s)
    check_test_command(order.command)
    rungs = check_rungs(order.rungs)
    check_evidence(order.evidence)
    folder, settings = folder.resolve(), set_up_quiet_logging(settings)
    choice = None
    if order.choose is not None:
        kept_choices, choice = read_choice(settings.data_dir, folder, order.choose)
        # The choice may come from a rung that the options leave out.
        order, rungs = (
            replace(order, command=order.command or kept_choices.command),
            tuple(sorted(RUNGS)),
        )
    context, kept = asyncio.run(
        _mission(order, folder, settings, build, rungs=rungs, choice=choice)
    )
    result = _result(context, _apply(context, folder) if order.apply else None, order)
    if choice is None or result.json_object["applied"]:
        with suppress(OSError):  # if storing them fails, the report still shows the diffs
            keep_choices(
                settings.data_dir,
                folder,
                KeptChoices(command=order.command, choices=context.choices),
            )
    return _with_evidence(result, order.evidence, kept)


def _with_evidence(result: FixResult, path: str | None, kept: KeptEvidence) -> FixResult:
    """Return the result with the location of its evidence."""
    text = result.text
    if path is not None and kept.name:
        text += (
            f"\nEvidence: metaagent replay {shlex.quote(path)}\n  sha256 {kept.sha256}, "
            f"{kept.size} bytes\n"
        )
    elif path is not None:
        text += f"\nNo evidence bundle was written: {kept.reason or 'reason unknown'}.\n"
    fields = {"evidence": path if path and kept.name else "", "evidence_sha256": kept.sha256}
    return replace(result, text=text, json_object=result.json_object | fields)


def _apply(context: MissionContext, folder: Path) -> str:
    """Write a verified fix into the folder and describe the result; a failure keeps the report."""
    if context.choices:
        return "Nothing is applied: the question has to be answered first."
    if context.outcome is not Outcome.FIXED or context.fix is None:
        return "Nothing is applied: there is no verified fix."
    try:
        apply_diff(folder, context.fix[1].diff)
    except ChangeRejected as error:
        return f"The fix is NOT applied: {error.message}. Apply the diff by hand."
    return APPLIED


async def _mission(
    order: FixOrder,
    folder: Path,
    settings: Settings,
    build: BuildMissionServices,
    *,
    rungs: tuple[int, ...],
    choice: Choice | None,
) -> tuple[MissionContext, KeptEvidence]:
    file = EvidenceFile(Path(order.evidence), settings.evidence) if order.evidence else None
    async with open_mission_services(
        settings, build, None if order.as_json else TerminalProgress()
    ) as opened:
        services = replace(opened, keep_evidence=file.keep) if file is not None else opened
        if not order.as_json:
            services = replace(services, open_workspace=telling_searches(services.open_workspace))
        if choice is not None:
            services = replace(services, fixers=(_chosen_fixer(choice, folder),))
        name = hashlib.sha256(f"{folder}\n{services.clock.now().isoformat()}".encode()).hexdigest()[
            :12
        ]
        request = MissionRequest(
            mission_id=f"local:{name}",
            trigger=Trigger.COMMAND_LINE,
            folder=str(folder),
            command=order.command,
            since=order.since,
            tier=TrustTier.LOCAL,
            seed=order.seed,
            time_limit_s=order.time_limit_s,
            rungs=rungs,
            answer=Answer(proposal_id=f"local:{name}", choice=order.choose)
            if choice is not None
            else None,
        )
        context = await handle_folder(
            request, services, MemoryCheckpoint(), is_misuse=lambda done: bool(detect_misuse(done))
        )
        return context, file.kept if file else KeptEvidence()


def _chosen_fixer(choice: Choice, folder: Path) -> ChosenFixer:
    """Return the fixer that proposes the choice on the files as they are now.

    Raises:
        UsageError: a file changed since the question was asked.
    """
    try:
        edits = read_edits(folder, choice.diff)
    except ChangeRejected as error:
        message = f"the choice does not fit the folder any more: {error.message}"
        raise UsageError(message, "run metaagent fix without --choose again") from error
    return ChosenFixer(proposed(choice.with_(edits=edits)), None)


def _result(context: MissionContext, application: str | None, order: FixOrder) -> FixResult:
    outcome = context.outcome or Outcome.ERROR
    confidence = confidence_by_rules(context)
    report = report_text(context, confidence=confidence)
    candidate, verification = context.fix or (None, None)
    json_object = {
        "outcome": str(outcome),
        "mission_id": context.mission_id,
        "reason": context.reason,
        "advice": context.advice,
        "diff": verification.diff if verification else "",
        "rung": int(candidate.rung) if candidate else None,
        "template": candidate.template if candidate else None,
        "confidence": confidence.value,
        "candidates_tried": context.candidates_tried,
        "plausible": candidate.plausible if candidate else 0,
        "recalled_from": candidate.recalled_from if candidate else "",
        "seconds": round(context.seconds, 3),
        "cost_usd": usd_or_none(total(context.calls)),
        "applied": application == APPLIED,
        "choices": [
            _choice_as_data(number, choice)
            for number, choice in enumerate(context.choices, start=1)
        ],
        "report": report,
    }
    text = report
    if application is not None:
        text += f"\n{application}\n"
    elif outcome is Outcome.FIXED:
        text += "\nRun again with --apply to write it into the folder.\n"
    if context.choices:
        text += (
            "\nTo have one verified again and written into the "
            f"folder:\n{_ways_to_choose(order, context)}"
        )
    return FixResult(str(outcome), text, json_object, detect_misuse(context))


def _choice_as_data(number: int, choice: Choice) -> dict[str, Any]:
    pen = SafeWriter()
    return {
        "number": number,
        "title": pen.line(choice.title),
        "diff": choice.diff,
        "verified": choice.verified,
        "differs_on": pen.line(choice.differs_on),
        "results": [pen.line(result) for result in choice.results],
    }


def _ways_to_choose(order: FixOrder, context: MissionContext) -> str:
    """Return the commands that take each choice."""
    command = command_line("fix", order.path, test=order.command)
    return "".join(
        f"  {command} --apply --choose {number}\n" for number in range(1, len(context.choices) + 1)
    )
