"""Mission to Markdown: cause, red to green, diff, critique, confidence report and proof. Pure."""

import json
import shlex

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Candidate, TestChange
from bot.publish.before_acting import before_acting
from bot.publish.ci_section import ci_section
from bot.publish.evidence import agreement, commands, cost_per_rung, evidence, excerpts, held_out, mutants
from bot.publish.markdown import BODY_LIMIT, Section, bullets, fenced, fit, table
from bot.publish.picture import bar, boxes, timeline
from bot.publish.story import Story, headline, marker, patch_marker, winner
from bot.publish.title import steps_of_fix
from bot.publish.who_spoke import models_section, spend_in_words
from sandbox.types import TrustTier

ROWS_SHOWN = 30
"""Tests in the table that everybody sees; the evidence has more."""

_SURE = {True: "calibrated on earlier outcomes", False: "a rule of thumb, **not calibrated** yet"}


def mission_report(story: Story, *, limit: int = BODY_LIMIT, offered: bool = False) -> str:
    """The whole story as Markdown of at most `limit` characters, with the hidden marker at its end.

    Args:
        story: The finished mission.
        limit: Characters.
        offered: It is the text of a pull request, in which people can tick what they think of it.
    """
    # Diagrams and boxes are drawn in pull requests and comments, not in a check run.
    drawn = timeline(story) if offered else None
    asked = boxes() if offered and story.is_heard else None
    opening = [*_opening(story), ci_section(story), *_proof(story)]
    sections = [*opening, *_judgement(story, drawn), *_background(story), asked]
    ending = "\n\n".join(part for part in (_commands(story), marker(story.context), patch_marker(story)) if part)
    return fit([s for s in sections if s is not None], limit=limit, ending=ending)


def answer(story: Story, *, limit: int = BODY_LIMIT) -> str:
    """The short form: a reply, or our check's summary. The patch goes along when nothing was pushed."""
    sections = [*_opening(story), _choices(story), ci_section(story), _reproduce(story)]
    if story.fix is not None and not story.delivered:
        sections.append(_diff(story))
    return fit([s for s in sections if s is not None], limit=limit, ending=marker(story.context))


def reproduce_command(context: MissionContext) -> str:
    """The smallest command that shows the failure; empty when no command is known."""
    report = context.test_results
    if report is None:
        return context.test_command
    failing = sorted(report.failing)
    command = report.target or context.test_command
    if report.runner == "pytest" and 0 < len(failing) <= 3:  # noqa: PLR2004 - more would not fit a line
        command = f"python -m pytest {shlex.join(failing)}"
    folder = context.facts.recipe.working_directory if context.facts else "."
    return command if folder in {"", "."} else f"cd {shlex.quote(folder)} && {command}"


# --- what everybody reads --------------------------------------------------------------------------


def _opening(story: Story) -> list[Section | None]:
    context, pen = story.context, story.pen
    lines = [f"**{headline(story)}**"]
    lines += [pen.prose(text) for text in (story.reason, context.advice) if text]
    if story.delivered:
        lines.append(story.delivered)
    question = None
    if context.question:
        question = fenced("Question", pen.block(context.question, cap=8000))
    return [Section(lead="\n\n".join(lines)), question, _cause(story, context.diagnosis)]


def _choices(story: Story) -> Section | None:
    """What a person can have with a word: one of several changes, or the one that is only shown."""
    if not story.choices or story.context.request.pull_request is None:
        return None
    if story.outcome is Outcome.NEEDS_HUMAN:
        rows = [f"{number}. {story.pen.prose(title, cap=200)}" for number, title in enumerate(story.choices, start=1)]
        lead = (
            "\n".join(rows)
            + "\n\nComment `/metaagent answer 1` (or another number) and the change is verified again and offered"
        )
    elif story.context.request.tier is TrustTier.FORK:
        return None
    else:
        lead = "Comment `/metaagent apply` and the change below is verified again and offered"
    return Section(title="Your word", lead=f"{lead}; `/metaagent reject` refuses it.")


def _cause(story: Story, diagnosis: Diagnosis | None) -> Section | None:
    if diagnosis is None:
        return None
    places = [
        f"- {story.pen.code(f'{suspect.file}:{suspect.line}')} {story.pen.prose(suspect.reason, cap=200)}"
        for suspect in diagnosis.suspects[:5]
    ]
    # The cause begins with the first failure, which is the title.
    said = diagnosis.title.partition(" (and ")[0] in diagnosis.cause
    texts = (
        [story.pen.prose(diagnosis.cause)]
        if said
        else [story.pen.prose(diagnosis.title, cap=300), story.pen.prose(diagnosis.cause)]
    )
    return Section(title="Cause", lead="\n\n".join(texts), body="\n".join(places))


# --- the change and its proof ----------------------------------------------------------------------


def _proof(story: Story) -> list[Section | None]:
    if story.fix is None:
        return [_failures(story)]
    candidate, verification = story.fix
    shown = verification.table[:ROWS_SHOWN]
    rows = [(story.pen.code(c.name), *before_and_after(c, story)) for c in shown]
    more = len(verification.table) - len(shown)
    if more:
        rows.append((f"{more} more, in the evidence", "", ""))
    problems = [
        *(f"fails now: {story.pen.code(name)}" for name in verification.newly_failing[:10]),
        *(f"no longer collected: {story.pen.code(name)}" for name in verification.missing[:10]),
        *(f"skipped now: {story.pen.code(name)}" for name in verification.newly_skipped[:10]),
        *(f"refused: {story.pen.prose(text)}" for text in verification.refusals[:10]),
        *(f"doubt: {story.pen.prose(text)}" for text in (*verification.doubts, *candidate.warnings)[:10]),
    ]
    rivals = [
        f"{story.pen.code(f'{r.path}:{r.line}')} {story.pen.prose(r.description)}"
        + (f", differs on {story.pen.code(r.distinguishing_input)}" if r.distinguishing_input else "")
        + (f" ({story.pen.code(r.results[1])} instead of {story.pen.code(r.results[0])})" if any(r.results) else "")
        for r in candidate.rivals[:5]
    ]
    return [
        table("Red to green", ("test", "before", "after"), rows) if rows else None,
        _diff(story),
        bullets("Look at this", problems) if problems else None,
        bullets("Other fixes that pass the same tests", rivals) if rivals else None,
    ]


def _diff(story: Story) -> Section | None:
    if story.fix is None:
        return None
    lead = "\n\n".join(story.pen.prose(_explained(step), cap=1000) for step in steps_of_fix(story.context))
    return fenced("Change", story.pen.block(story.fix[1].diff), info="diff", lead=lead)


def _explained(candidate: Candidate) -> str:
    """What a change does, said once: most explanations begin with what the title says."""
    subject = candidate.title.rpartition(": ")[2]
    if subject in candidate.explanation:
        return candidate.explanation
    return ". ".join(part for part in (candidate.title.rstrip("."), candidate.explanation) if part)


def _failures(story: Story) -> Section | None:
    report = story.context.test_results or (story.context.triage.report if story.context.triage else None)
    if report is None or not report.failures:
        return None
    rows = [
        (
            story.pen.code(f.name),
            story.pen.code(f"{f.file}:{f.line}" if f.file else ""),
            story.pen.code(f.error_message or f.error or "", cap=160),
        )
        for f in report.failures
    ]
    more = report.failure_count - len(report.failures)
    if more > 0:
        rows.append((f"{more} more", "", ""))
    return table("Failing", ("test", "where", "error"), rows)


def before_and_after(change: TestChange, story: Story) -> tuple[str, str]:
    """How a test or a finding stood before and stands after, in a word each."""
    before = change.before.value if change.before else "new"
    if change.after is not None:
        return before, change.after.value
    # A finding, and a file that could not be collected, are gone when they are not reported; a test is missing.
    report = story.context.test_results
    is_test = report is not None and report.knows_tests and "::" in change.name
    return before, "not collected" if is_test else "gone"


# --- how sure we are --------------------------------------------------------------------------------


def _judgement(story: Story, drawn: Section | None) -> list[Section | None]:
    return [_confidence(story), drawn, _critique(story), _review(story), models_section(story), _reproduce(story)]


def _confidence(story: Story) -> Section | None:
    after, pen = story.confidence, story.pen
    items = []
    if after.value is not None:
        items.append(f"{bar(after.value)} **after verification: {after.value:.2f}** ({_SURE[after.calibrated]})")
    elif story.fix is not None:
        items.append("after verification: no number (there is too little to go by)")
    items += [f"counts: {pen.prose(factor, cap=200)}" for factor in after.factors]
    iteration = story.context.current
    items += before_acting(iteration, lambda text: pen.prose(text, cap=300)) if iteration is not None else []
    return bullets("Confidence", items) if items else None


def _critique(story: Story) -> Section | None:
    iteration = story.context.current
    if iteration is None or iteration.critique is None:
        return None
    critique, pen = iteration.critique, story.pen
    items = [
        f"{critique.recommendation.value}, {critique.overall:.2f} (by {critique.by}): {pen.prose(critique.rationale)}",
        *(f"{issue.severity.value}: {pen.prose(issue.description)}" for issue in critique.issues),
        *(f"strength: {pen.prose(text)}" for text in critique.strengths),
        *(f"suggestion: {pen.prose(text)}" for text in critique.suggestions),
    ]
    meta = iteration.meta
    if meta is not None and meta.by == "model":
        items.append(
            f"our reasoning, questioned: {meta.reasoning_quality:.2f}, sure of it {meta.confidence_in_reasoning:.2f}"
        )
    items += [f"concern: {pen.prose(text)}" for text in meta.concerns] if meta is not None else []
    return bullets("Critique of the plan", items, folded=True)


def _review(story: Story) -> Section | None:
    """What a model thinks of the change; refusing is all that it can do."""
    review = story.fix[1].review if story.fix else None
    if review is None:
        return None
    score = "no score" if review.score is None else f"{review.score:.2f}"
    lead = f"{score} (by {review.by}): {story.pen.prose(review.justification, cap=1000)}"
    return bullets("Critique of the change", [lead, *(story.pen.prose(text) for text in review.issues)], folded=True)


def _reproduce(story: Story) -> Section | None:
    command = reproduce_command(story.context)
    if not command:
        return None
    sha = story.context.request.head_sha
    return fenced("Reproduce", story.pen.block(command, cap=4000), info="sh", lead=f"At `{sha}`:" if sha else "")


# --- the evidence -----------------------------------------------------------------------------------


def _background(story: Story) -> list[Section | None]:
    context, pen = story.context, story.pen
    tried = [note for i in context.iterations if i.attempt for note in i.attempt.notes]
    lessons = [f"{pen.prose(r.lesson.sentence)} ({pen.prose(r.reason, cap=80)})" for r in context.lessons]
    unverified = story.fix[1].not_verified if story.fix else ()
    data = json.dumps(evidence(story), indent=1, sort_keys=True)
    return [
        _settings_problems(story),
        bullets("What was tried", [pen.prose(note) for note in tried], folded=story.fix is not None) if tried else None,
        bullets("Recalled from earlier missions", lessons, folded=True) if lessons else None,
        bullets("Not verified", [pen.prose(text) for text in unverified]) if unverified else None,
        table("Evidence", ("what", "measured"), _facts(story), folded=True),
        _runs(story),
        *_excerpts(story),
        # ASCII only, so that a character nobody sees is visible as an escape.
        fenced("Evidence as JSON", data, info="json", folded=True),
    ]


def _settings_problems(story: Story) -> Section | None:
    """What the repository's own policy gets wrong, by file and line: somebody should know."""
    problems = [story.pen.prose(problem, cap=300) for problem in story.context.policy.problems[:20]]
    return bullets("Not understood in the policy", problems) if problems else None


def _facts(story: Story) -> list[tuple[str, str]]:
    context, pen = story.context, story.pen
    rows = [
        ("mission", pen.code(context.mission_id)),
        ("seconds", f"{context.seconds:.1f}"),
        ("cost of models", spend_in_words(context.bill)),
    ]
    rows += _triage_facts(story)
    if context.facts is not None:
        facts = context.facts
        rows += [
            ("command", pen.code(facts.recipe.command)),
            ("read from", pen.code(facts.recipe.origin)),
            ("backend", pen.code(facts.backend)),
            ("image", pen.code(f"{facts.image} {facts.image_digest}")),
            ("environment key", pen.code(facts.environment_key)),
            ("interpreter", pen.code(facts.interpreter)),
            ("lock hash", pen.code(facts.lock_hash)),
            ("reached while setting up", pen.code(", ".join(facts.egress.hosts[:10]) or "nothing")),
            ("head commit", pen.code(facts.head_sha or context.request.head_sha or "")),
            ("base commit", pen.code(facts.base_sha or "")),
        ]
        rows += [
            ("command run", pen.code(command)) for command in commands(story)[:10] if command != facts.recipe.command
        ]
        rows += [
            (f"step {f.treatment}", f"{pen.code(f.step)} {pen.prose(f.reason, cap=200)}") for f in facts.recipe.fidelity
        ]
    if story.bundle.name:
        until = f", kept until {story.bundle.until}" if story.bundle.until else ""
        rows.append(("to run it again", f"{pen.code(f'metaagent replay {story.bundle.name}')} where the bot runs"))
        rows.append(("bundle", f"{pen.code(f'sha256 {story.bundle.sha256}')}{until}"))
    rows.append(("candidates tried", str(context.candidates_tried)))
    rows += [
        (f"cost of rung {rung}", f"{cost['seconds']:.1f} s, {_usd(cost['usd'])}")
        for rung, cost in cost_per_rung(story).items()
    ]
    if story.fix is not None:
        candidate, verification = story.fix
        rows += [
            ("won by", winner(story)),
            ("plausible candidates", str(candidate.plausible)),
            ("different behaviours among them", str(candidate.behaviours)),
            ("mutants of the patched lines killed", mutants(candidate)),
            ("tests held out from the search", held_out(candidate)),
            ("fresh runs", agreement(verification)),
            ("verdict", pen.prose(verification.reason)),
        ]
    return rows


def _usd(money: float | None) -> str:
    return "money unknown" if money is None else f"${money:.4f}"


def _triage_facts(story: Story) -> list[tuple[str, str]]:
    triage = story.context.triage
    if triage is None:
        return []
    base = "not checked"
    if triage.base_checked:
        base = (
            f"{len(triage.base_failing)} of the failing tests fail there too" if triage.base_failing else "green there"
        )
    return [
        ("triage", f"{triage.kind.value.replace('_', ' ')}: {story.pen.prose(triage.reason)}"),
        ("reproduced", f"{triage.red_runs} of {triage.runs} runs red"),
        ("base commit", base),
        *(("note", story.pen.prose(note)) for note in triage.notes),
    ]


def _runs(story: Story) -> Section | None:
    if story.fix is None:
        return None
    rows = [
        (run.label, run.report.verdict.value, story.pen.code(run.report.summary), f"{run.report.duration_s:.2f} s")
        for run in story.fix[1].runs
    ]
    return (
        table("Runs in the fresh sandbox", ("run", "verdict", "summary", "took"), rows, folded=True) if rows else None
    )


def _excerpts(story: Story) -> list[Section]:
    """The end of the output before, and after."""
    titles = {"before": "Output before", "verification": "Output after"}
    return [fenced(titles[where], text, folded=True) for where, text in excerpts(story).items()]


def _commands(story: Story) -> str:
    if story.context.request.repository is None or not story.is_heard:
        return ""
    return "Comment `/metaagent fix` in a pull request to have its red check looked at (again)."
