"""The permanent record of a finished mission, and the detail that its page shows. Pure."""

from typing import Any

from bot.domain.mission import Iteration
from bot.domain.mission_record import Detail, MissionRecord
from bot.domain.patch import Candidate, FixAttempt
from bot.domain.publication import Publication
from bot.domain.request import MissionRequest
from bot.publish.evidence import evidence, gate
from bot.publish.model_costs import usd_or_none
from bot.publish.story import Story
from bot.publish.title import fix_title

DIFF_CHARS = 100_000
"""Longest diff in a detail, in characters."""
CALLS, ITERATIONS, CHOICES = 200, 20, 10
"""Most model calls, iterations and choices in a detail."""


def describe_request(request: MissionRequest, now: str) -> MissionRecord:
    """Return the record of a mission of which only the request is known."""
    repository = request.repository
    return MissionRecord(
        mission_id=request.mission_id,
        repository=repository.id if repository else None,
        place=request.place,
        trigger=request.trigger.value,
        requested_by=request.requested_by,
        check=request.check.name if request.check else "",
        branch=request.head_branch,
        head_sha=request.head_sha,
        for_pull_request=request.pull_request,
        queued_at=now,
    )


def summarize(story: Story, publication: Publication) -> MissionRecord:
    """Return the record of a finished mission, unsanitized."""
    context = story.context
    record = describe_request(context.request, context.created_at)
    candidate = context.fix[0] if context.fix else None
    diagnosis = context.diagnosis
    title = fix_title(context, pen=story.pen) if candidate else diagnosis.title if diagnosis else ""
    return record.with_(
        outcome=publication.outcome or story.outcome,
        reason=publication.skipped or story.reason,
        title=title,
        kind=_kind(story),
        fingerprint=context.fingerprint,
        began_at=context.created_at,
        seconds=round(context.seconds, 3),
        cost_usd=usd_or_none(context.bill),
        rung=int(candidate.rung) if candidate else None,
        template=(candidate.template or candidate.fixer) if candidate else "",
        confidence=story.confidence.value,
        way=publication.way or "",
        pull_request=publication.pull_request,
    )


def build_detail(story: Story, publication: Publication) -> Detail:
    """Return everything that the page of a mission shows; every text is sanitized."""
    context = story.context
    more: dict[str, Any] = {
        "advice": context.advice,
        "question": context.question or "",
        "choices": [one.title for one in context.choices[:CHOICES]],
        "cause": context.diagnosis.cause if context.diagnosis else "",
        "suspects": [
            {"file": one.file, "line": one.line, "score": one.score, "reason": one.reason}
            for one in (context.diagnosis.suspects[:5] if context.diagnosis else ())
        ],
        "iterations": [_iteration(one) for one in context.iterations[:ITERATIONS]],
        "calls": [
            {
                "stage": call.stage,
                "model": call.model,
                "seconds": round(call.latency_s, 2),
                "usd": call.cost_usd,
                "input_tokens": call.usage.input_tokens,
                "output_tokens": call.usage.output_tokens,
            }
            for call in context.calls[:CALLS]
        ],
        "recalled": [one.lesson.sentence for one in context.lessons[:5]],
        "url": publication.pull_request_url or "",
        "commit": publication.commit,
        "branch": publication.branch,
        "policy": context.policy.model_dump(mode="json", exclude={"problems"}),
    }
    found: Detail = evidence(story) | gate(more, story)
    # Complete, for a retry; it is not shown.
    found["request"] = context.request.model_dump(mode="json")
    if story.fix is not None:
        found["diff"] = story.pen.block(story.fix[1].diff, cap=DIFF_CHARS)
    return found


def _kind(story: Story) -> str:
    """Return the class of the first failure: its exception, or the rule of a linter."""
    context = story.context
    failures = context.diagnosis.failures if context.diagnosis else ()
    if not failures and context.test_results is not None:
        failures = context.test_results.failures
    return next((one.error for one in failures if one.error), "")


def _iteration(iteration: Iteration) -> dict[str, Any]:
    """Return the judgements of one iteration, and its candidates by rung."""
    attempt, critique = iteration.attempt, iteration.critique
    confidence, verification = iteration.confidence, iteration.verification
    return {
        "number": iteration.number,
        "plan": [step.description for step in iteration.plan.steps] if iteration.plan else [],
        "critique": critique.model_dump(mode="json") if critique else None,
        "confidence": confidence.model_dump(mode="json") if confidence else None,
        "tried": attempt.candidates_tried if attempt else 0,
        "plausible": len(attempt.candidates) if attempt else 0,
        "funnel": _funnel(attempt) if attempt else [],
        "notes": list(attempt.notes) if attempt else [],
        "verdict": verification.reason if verification else "",
        "green": verification.green if verification else False,
        "review": verification.review.model_dump(mode="json")
        if verification and verification.review
        else None,
    }


def _funnel(attempt: FixAttempt) -> list[dict[str, float | None]]:
    """Return the candidates of each rung that ran: tried, passing and proposed; and its seconds.

    For a rung that proposed none, tried and seconds are unknown; the notes have its reason.
    """
    return [_by_rung(rung, attempt.candidates) for rung in attempt.rungs]


def _by_rung(rung: int, candidates: tuple[Candidate, ...]) -> dict[str, float | None]:
    proposed = [one for one in candidates if int(one.rung) == rung]
    return {
        "rung": rung,
        "tried": max((one.candidates_tried for one in proposed), default=None),
        "passing": max((one.plausible for one in proposed), default=0),
        "proposed": len(proposed),
        "seconds": max((round(one.seconds, 2) for one in proposed), default=None),
    }
