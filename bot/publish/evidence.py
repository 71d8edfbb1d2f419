"""The evidence of a mission as data: what `metaagent replay` and a doubting reader need."""

import hashlib
from typing import Any

from bot.domain.patch import Candidate, Verification
from bot.publish.story import Story
from sandbox.types import TestReport, TestStatus


def evidence(story: Story) -> dict[str, Any]:
    """Everything measured, every text gated; nothing a person only thinks."""
    context = story.context
    found: dict[str, Any] = {
        "mission_id": context.mission_id,
        "outcome": story.outcome.value,
        "reason": story.reason,
        "fingerprint": context.fingerprint,
        "target": context.target_path,
        "created_at": context.created_at,
        "seconds": round(context.seconds, 2),
        "cost_usd": context.cost_usd,
        "environment": _environment(story),
        "triage": _triage(story),
        "before": _run(context.test_results) if context.test_results else None,
        "attempts": [note for i in context.iterations if i.attempt for note in i.attempt.notes],
        "candidates_tried": context.candidates_tried,
        "cost_per_rung": cost_per_rung(story),
        "lessons": [one.lesson.id for one in context.lessons],
        "confidence": story.confidence.model_dump(mode="json"),
    }
    if story.fix is not None:
        candidate, verification = story.fix
        found["fix"] = _fix(candidate, verification)
        found["verification"] = _verification(verification)
    return {key: _gated(value, story) for key, value in found.items()}


def agreement(verification: Verification) -> str:
    """Whether the fresh runs say the same."""
    verdicts = {run.report.verdict for run in verification.runs}
    count = len(verification.runs)
    if count == 0:
        return "no run"
    if len(verdicts) == 1:
        return f"{count} of {count} runs agree"
    most = max(sum(r.report.verdict is v for r in verification.runs) for v in verdicts)
    return f"only {most} of {count} runs agree"


def cost_per_rung(story: Story) -> dict[str, dict[str, float]]:
    """Per rung that proposed something: seconds and money."""
    spent: dict[str, dict[str, float]] = {}
    for iteration in story.context.iterations:
        for candidate in iteration.attempt.candidates if iteration.attempt else ():
            rung = spent.setdefault(str(int(candidate.rung)), {"seconds": 0.0, "usd": 0.0})
            # A candidate's seconds count from the start of its search: the latest one has them all.
            rung["seconds"] = round(max(rung["seconds"], candidate.seconds), 2)
            rung["usd"] = round(rung["usd"] + candidate.cost_usd, 6)
    return spent


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
        "head_sha": facts.head_sha or story.context.request.head_sha,
        "base_sha": facts.base_sha,
        "command": facts.recipe.command,
        "command_origin": facts.recipe.origin,
        "working_directory": facts.recipe.working_directory,
        "fidelity": [one.model_dump() for one in facts.recipe.fidelity],
    }


def _triage(story: Story) -> dict[str, Any] | None:
    triage = story.context.triage
    if triage is None:
        return None
    return triage.model_dump(mode="json", exclude={"report"})


def _run(report: TestReport) -> dict[str, Any]:
    counts = {status.value: sum(s is status for s in report.outcomes.values()) for status in TestStatus}
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
        "plausible": candidate.plausible,
        "behaviours": candidate.behaviours,
        "rivals": [rival.model_dump() for rival in candidate.rivals[:5]],
        "warnings": list(candidate.warnings),
        "patch_sha256": hashlib.sha256(verification.diff.encode()).hexdigest(),
    }


def _verification(verification: Verification) -> dict[str, Any]:
    return {
        "green": verification.green,
        "partial": verification.partial,
        "reason": verification.reason,
        "agreement": agreement(verification),
        "runs": [{"label": run.label, **_run(run.report)} for run in verification.runs],
        "table": [change.model_dump(mode="json") for change in verification.table[:200]],
        "newly_failing": list(verification.newly_failing[:50]),
        "missing": list(verification.missing[:50]),
        "newly_skipped": list(verification.newly_skipped[:50]),
        "refusals": list(verification.refusals),
        "doubts": list(verification.doubts),
        "not_verified": list(verification.not_verified),
        "seconds": round(verification.seconds, 2),
    }


def _gated(value: Any, story: Story) -> Any:
    """The same structure with every text gated."""
    if isinstance(value, str):
        return story.pen.line(value, cap=500)
    if isinstance(value, dict):
        return {story.pen.line(str(key), cap=500): _gated(item, story) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_gated(item, story) for item in value]
    return value
