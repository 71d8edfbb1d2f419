"""metaagent fix: a red working tree on this machine, no GitHub, no account, no key."""

import asyncio
import hashlib
import os
import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
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
from bot.domain.evidence import KeptEvidence
from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import total
from bot.domain.patch import Choice
from bot.domain.request import Answer, MissionRequest, Trigger
from bot.errors import UsageError
from bot.evidence.keep import EvidenceFile
from bot.fixers.chosen import ChosenFixer
from bot.kept_choices import KeptChoices, chosen, keep_choices
from bot.lessons.calibration import confidence_by_rules
from bot.misuse import misuse_of
from bot.pipeline import handle_folder
from bot.progress import TerminalProgress, telling_searches
from bot.publish.markdown import Pen
from bot.publish.remembered import proposed
from bot.publish.terminal import report_text
from bot.publish.who_spoke import known_usd
from bot.queue.memory import MemoryCheckpoint
from bot.settings import Settings
from bot.wiring.line import build_line
from sandbox.apply import apply_diff, edits_of
from sandbox.errors import ChangeRejected
from sandbox.types import TrustTier

RUNGS = frozenset({0, 1, 2})
APPLIED = "The fix is applied to the folder."


@dataclass(frozen=True)
class FixOrder:
    """What the person at the terminal asked for."""

    path: str
    command: str | None = None
    since: str | None = None
    """The revision it was green at."""
    apply: bool = False
    as_json: bool = False
    seed: int = 0
    time_limit_s: float | None = None
    rungs: str = "0,1,2"
    evidence: str | None = None
    """File for the evidence bundle."""
    choose: int | None = None
    """The choice of the last question about this folder, counted from one."""


@dataclass(frozen=True)
class FixResult:
    """What they get: a text for people, an object for programs."""

    outcome: str
    text: str
    json_object: dict[str, Any]
    misuse: UsageError | None = None
    """Message that replaces the report when the command was not red, or could not run."""


def run_fix(order: FixOrder, settings: Settings, *, build: BuildLine = build_line) -> FixResult:
    """Run one mission on a folder.

    Args:
        order: What was asked for.
        settings: All settings.
        build: From settings to everything a mission needs.

    Raises:
        UsageError: the folder is not there, or an option makes no sense.
        SandboxError: no sandbox can be had here.
    """
    folder = a_folder(order.path)
    check_seconds("--time-limit", order.time_limit_s)
    check_test_command(order.command)
    rungs = _rungs(order.rungs)
    if order.evidence is not None and not _is_writable(Path(order.evidence)):
        raise UsageError(f"--evidence {order.evidence} cannot be written", "name a file in a folder that is there")
    folder, settings = folder.resolve(), quiet(settings)
    choice = None
    if order.choose is not None:
        kept_choices, choice = chosen(settings.data_dir, folder, order.choose)
        order, rungs = replace(order, command=order.command or kept_choices.command), tuple(sorted(RUNGS))
    context, kept = asyncio.run(_mission(order, folder, settings, build, rungs=rungs, choice=choice))
    result = _result(context, _apply(context, folder) if order.apply else None, order)
    if choice is None or result.json_object["applied"]:
        with suppress(OSError):  # without a place for them a person still sees the diffs
            keep_choices(settings.data_dir, folder, KeptChoices(command=order.command, choices=context.choices))
    return _with_evidence(result, order.evidence, kept)


def _is_writable(path: Path) -> bool:
    """Whether a file of this name can be made, as far as that can be said before."""
    return path.parent.is_dir() and not path.is_dir() and os.access(path.parent, os.W_OK | os.X_OK)


def _with_evidence(result: FixResult, path: str | None, kept: KeptEvidence) -> FixResult:
    """The result, and where its evidence is."""
    text = result.text
    if path is not None and kept.name:
        text += f"\nEvidence: metaagent replay {shlex.quote(path)}\n  sha256 {kept.sha256}, {kept.size} bytes\n"
    elif path is not None:
        text += f"\nNo evidence bundle was written: {kept.reason or 'nobody knows why'}.\n"
    fields = {"evidence": path if path and kept.name else "", "evidence_sha256": kept.sha256}
    return replace(result, text=text, json_object=result.json_object | fields)


def _apply(context: MissionContext, folder: Path) -> str:
    """Write a verified fix into the folder; says what became of it. What was found is never lost by that."""
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
    build: BuildLine,
    *,
    rungs: tuple[int, ...],
    choice: Choice | None,
) -> tuple[MissionContext, KeptEvidence]:
    file = EvidenceFile(Path(order.evidence), settings.evidence) if order.evidence else None
    async with open_line(settings, build, None if order.as_json else TerminalProgress()) as opened:
        line = replace(opened, keep_evidence=file.keep) if file is not None else opened
        if not order.as_json:
            line = replace(line, open_workspace=telling_searches(line.open_workspace))
        if choice is not None:
            line = replace(line, fixers=(_chosen_fixer(choice, folder),))
        name = hashlib.sha256(f"{folder}\n{line.clock.now().isoformat()}".encode()).hexdigest()[:12]
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
            answer=Answer(proposal_id=f"local:{name}", choice=order.choose) if choice is not None else None,
        )
        context = await handle_folder(request, line, MemoryCheckpoint())
        return context, file.kept if file else KeptEvidence()


def _chosen_fixer(choice: Choice, folder: Path) -> ChosenFixer:
    """Return the fixer that proposes the choice on the files as they are now.

    Raises:
        UsageError: a file changed since the question was asked.
    """
    try:
        edits = edits_of(folder, choice.diff)
    except ChangeRejected as error:
        message = f"the choice does not fit the folder any more: {error.message}"
        raise UsageError(message, "run metaagent fix without --choose again") from error
    return ChosenFixer(proposed(choice.with_(edits=edits)), None)


def _rungs(text: str) -> tuple[int, ...]:
    try:
        rungs = tuple(sorted({int(word) for word in text.split(",")}))
    except ValueError:
        rungs = ()
    if not rungs or not set(rungs) <= RUNGS:
        raise UsageError(f"--rungs {text!r} is not a list of 0, 1 and 2", "for example --rungs 0,1")
    return rungs


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
        "seconds": round(context.seconds, 3),
        "cost_usd": known_usd(total(context.calls)),
        "applied": application == APPLIED,
        "choices": [_choice_as_data(number, choice) for number, choice in enumerate(context.choices, start=1)],
        "report": report,
    }
    text = report
    if application is not None:
        text += f"\n{application}\n"
    elif outcome is Outcome.FIXED:
        text += "\nRun again with --apply to write it into the folder.\n"
    if context.choices:
        text += f"\nTo have one verified again and written into the folder:\n{_ways_to_choose(order, context)}"
    return FixResult(str(outcome), text, json_object, misuse_of(context))


def _choice_as_data(number: int, choice: Choice) -> dict[str, Any]:
    pen = Pen()
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
    return "".join(f"  {command} --apply --choose {number}\n" for number in range(1, len(context.choices) + 1))
