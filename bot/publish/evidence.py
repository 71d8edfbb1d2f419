"""Evidence of a mission as data: all measurements, for programs and critical readers."""

import hashlib
from typing import Any

from bot.domain.model import total
from bot.domain.patch import Candidate, Rung, Verification
from bot.publish.model_costs import models_as_data, rung_calls, usd_or_none
from bot.publish.story import Story
from sandbox.types import TestReport, TestStatus

EXCERPT_CHARS = 2000
"""Maximum length of an output excerpt, in characters."""
MUTANTS = "not measured"
"""Shown if mutation testing of the patched lines did not run."""


def evidence(story: Story) -> dict[str, Any]:
    """Return all measurements with all text sanitized; no judgement of a person."""
    context = story.context
    found: dict[str, Any] = {
        "mission_id": context.mission_id,
        "outcome": story.outcome.value,
        "reason": story.reason,
        "fingerprint": context.fingerprint,
        "target": context.target_path,
        "created_at": context.created_at,
        "seconds": round(context.seconds, 2),
        "cost_usd": usd_or_none(context.bill),
        "models": models_as_data(context),
        "durations": _durations(story),
        "environment": _environment(story),
        "commands": commands(story),
        "egress": _egress(story),
        "triage": _triage(story),
        "before": _run(context.test_results) if context.test_results else None,
        "attempts": [note for i in context.iterations if i.attempt for note in i.attempt.notes],
        "candidates_tried": context.candidates_tried,
        "cost_per_rung": cost_per_rung(story),
        "lessons": [one.lesson.id for one in context.lessons],
        "confidence": story.confidence.model_dump(mode="json"),
        "bundle": story.bundle.model_dump(exclude={"reason"}) if story.bundle.name else None,
    }
    if story.fix is not None:
        candidate, verification = story.fix
        found["fix"] = _fix(candidate, verification)
        found["verification"] = _verification(verification)
    clean = {key: gate(value, story) for key, value in found.items()}
    # Added last: sanitizing as single lines would join the lines of an excerpt.
    for where, text in excerpts(story).items():
        if isinstance(clean.get(where), dict):
            clean[where]["excerpt"] = text
    return clean


def excerpts(story: Story) -> dict[str, str]:
    """Return the ends of the outputs before and after the fix, sanitized and bounded."""
    found = {}
    if story.context.test_results is not None:
        found["before"] = story.context.test_results.raw_output
    if story.fix is not None and story.fix[1].runs:
        found["verification"] = story.fix[1].runs[-1].report.raw_output
    return {
        where: story.pen.block(text[-EXCERPT_CHARS:], cap=EXCERPT_CHARS)
        for where, text in found.items()
        if text
    }


def commands(story: Story) -> list[str]:
    """Return all commands in order: set-up, preparation and runs, each once."""
    context = story.context
    runs = [run.report.target for run in story.fix[1].runs] if story.fix else []
    red = [context.test_results.target] if context.test_results else []
    recipe = context.facts.recipe if context.facts else None
    before = [*recipe.setup, *recipe.prepare, recipe.command] if recipe else []
    return list(dict.fromkeys(filter(None, (*before, *red, *runs))))


def agreement(verification: Verification) -> str:
    """Describe the agreement of the fresh runs."""
    verdicts = {run.report.verdict for run in verification.runs}
    count = len(verification.runs)
    if count == 0:
        return "no run"
    if len(verdicts) == 1:
        return f"{count} of {count} runs agree" if count > 1 else "1 run"
    most = max(sum(r.report.verdict is v for r in verification.runs) for v in verdicts)
    return f"only {most} of {count} runs agree"


def cost_per_rung(story: Story) -> dict[str, dict[str, float | None]]:
    """Return seconds and money of each rung that proposed a fix or called a model.

    None means that the money is unknown.
    """
    seconds: dict[Rung, float] = {}
    for iteration in story.context.iterations:
        for candidate in iteration.attempt.candidates if iteration.attempt else ():
            # A candidate's seconds count from the start of its search, so the latest one covers
            # all.
            seconds[candidate.rung] = max(seconds.get(candidate.rung, 0.0), candidate.seconds)
    asked = rung_calls(story.context)
    if asked:
        took = round(sum(call.latency_s for call in asked if not call.remembered), 2)
        seconds.setdefault(Rung.MODEL, took)
    money = {Rung.MODEL: usd_or_none(total(asked))}
    return {
        str(int(rung)): {"seconds": round(took, 2), "usd": money.get(rung, 0.0)}
        for rung, took in sorted(seconds.items())
    }


def _environment(story: Story) -> dict[str, Any] | None:
    facts = story.context.facts
    if facts is None:
        return None
    return {
        "backend": facts.backend,
        "image": facts.image,
        "image_digest": facts.image_digest,
        "environment_key": facts.environment_key,
        "interpreter": facts.interpreter,
        "lock_hash": facts.lock_hash or None,
        "warm": facts.warm,
        "head_sha": facts.head_sha or story.context.request.head_sha,
        "base_sha": facts.base_sha,
        "command": facts.recipe.command,
        "command_origin": facts.recipe.origin,
        "working_directory": facts.recipe.working_directory,
        "workflow": facts.recipe.workflow,
        "job": facts.recipe.job,
        "step": facts.recipe.step,
        "matrix": dict(facts.recipe.matrix),
        "fidelity": [one.model_dump() for one in facts.recipe.fidelity],
        "obstacles": list(facts.recipe.obstacles),
    }


def _durations(story: Story) -> dict[str, float]:
    """Return the seconds spent on each activity."""
    context, facts = story.context, story.context.facts
    spent = {
        "mission": context.seconds,
        "set_up": facts.setup_s if facts else 0.0,
        "open": facts.open_s if facts else 0.0,
        "red_run": context.test_results.duration_s if context.test_results else 0.0,
        "search": sum(i.attempt.seconds for i in context.iterations if i.attempt),
        "verification": sum(i.verification.seconds for i in context.iterations if i.verification),
    }
    return {name: round(seconds, 3) for name, seconds in spent.items()}


def _egress(story: Story) -> dict[str, Any] | None:
    """Return the network access of the environment's set-up; test runs have no network."""
    facts = story.context.facts
    if facts is None:
        return None
    egress = facts.egress
    return {
        "hosts": list(egress.hosts),
        "refused": list(egress.refused),
        "received_bytes": egress.received_bytes,
    }


def _triage(story: Story) -> dict[str, Any] | None:
    triage = story.context.triage
    if triage is None:
        return None
    return triage.model_dump(mode="json", exclude={"report"})


def _run(report: TestReport) -> dict[str, Any]:
    counts = {
        status.value: sum(s is status for s in report.outcomes.values()) for status in TestStatus
    }
    return {
        "command": report.target,
        "verdict": report.verdict.value,
        "exit_code": report.exit_code,
        "summary": report.summary,
        "counts": counts,
        "failing": sorted(report.failing)[:50],
        "seconds": round(report.duration_s, 3),
    }


def _fix(candidate: Candidate, verification: Verification) -> dict[str, Any]:
    return {
        "rung": int(candidate.rung),
        "fixer": candidate.fixer,
        "template": candidate.template,
        "title": candidate.title,
        "candidates_tried": candidate.candidates_tried,
        "plausible": candidate.plausible,
        "behaviours": candidate.behaviours,
        "rivals": [rival.model_dump() for rival in candidate.rivals[:5]],
        "confident": candidate.confident,
        "score": candidate.score,
        "inputs": candidate.inputs,
        "mutants": candidate.mutants.model_dump() if candidate.mutants else None,
        "mutants_note": mutants(candidate),
        "held_out": candidate.held_out,
        "warnings": list(candidate.warnings),
        "recalled_from": candidate.recalled_from,
        "patch_sha256": hashlib.sha256(verification.diff.encode()).hexdigest(),
    }


def held_out(candidate: Candidate) -> str:
    """Return the number of tests hidden from the search, in words."""
    if not candidate.held_out:
        return "none"
    return f"{candidate.held_out} passing near the failure; the verification ran them"


def mutants(candidate: Candidate) -> str:
    """Return the share of detected mutants in the patched lines, in words."""
    measured = candidate.mutants
    return f"{measured.killed} of {measured.tried}" if measured else MUTANTS


def _verification(verification: Verification) -> dict[str, Any]:
    return {
        "green": verification.green,
        "partial": verification.partial,
        "reason": verification.reason,
        "agreement": agreement(verification),
        "control": None if verification.control is None else _run(verification.control),
        "runs": [
            {**run.model_dump(mode="json", exclude={"report"}), **_run(run.report)}
            for run in verification.runs
        ],
        "table": [change.model_dump(mode="json") for change in verification.table[:200]],
        "newly_failing": list(verification.newly_failing[:50]),
        "missing": list(verification.missing[:50]),
        "newly_skipped": list(verification.newly_skipped[:50]),
        "refusals": list(verification.refusals),
        "doubts": list(verification.doubts),
        "not_verified": list(verification.not_verified),
        "seconds": round(verification.seconds, 2),
    }


def gate(value: Any, story: Story) -> Any:
    """Return the same structure with all text sanitized."""
    if isinstance(value, str):
        return story.pen.line(value, cap=500)
    if isinstance(value, dict):
        return {story.pen.line(str(key), cap=500): gate(item, story) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [gate(item, story) for item in value]
    return value
