"""Render a story as plain, sanitized text for a terminal. Pure."""

from bot.domain.counted import counted
from bot.domain.mission import Confidence, MissionContext, Outcome
from bot.domain.patch import Choice
from bot.publish.before_acting import before_acting
from bot.publish.evidence import agreement, held_out
from bot.publish.fix_sections import basis, before_and_after
from bot.publish.markdown import SafeWriter
from bot.publish.model_costs import (
    forecast_in_words,
    speakers,
    spend_by,
    spend_in_words,
)
from bot.publish.next_steps import step_after
from bot.publish.packages import PACKAGES, changed_packages
from bot.publish.recalled import recalled_lessons
from bot.publish.report import reproduce_command
from bot.publish.story import Story, build_story, headline, winner
from bot.publish.title import steps_of_fix

ROWS_SHOWN = 30
"""Maximum number of tests in the report."""
_MEASURED = frozenset(
    {
        Outcome.NOT_REPRODUCED,
        Outcome.FLAKY,
        Outcome.BASE_RED,
        Outcome.INFRA,
        Outcome.ENV_UNBUILDABLE,
    }
)
"""Outcomes that triage measures; its notes explain them."""


def report_text(
    context: MissionContext, *, confidence: Confidence | None = None, secrets: tuple[str, ...] = ()
) -> str:
    """Render a mission as plain, sanitized text for a terminal."""
    story = build_story(context, confidence=confidence, secrets=secrets)
    pen = story.pen
    lines = [headline(story), f"  {pen.line(story.reason, cap=1000)}"]
    lines += _notes_and_next_step(story)
    if context.question:
        lines += [
            "",
            "Question",
            *(f"  {line}" for line in pen.block(context.question, cap=4000).splitlines()),
        ]
    if context.diagnosis is not None:
        lines += ["", "Cause", f"  {pen.line(context.diagnosis.cause, cap=2000)}"]
    lines += _text_of_fix(story)
    if context.lessons:
        lines += [
            "",
            "Recalled",
            *(
                f"  {pen.line(sentence)} ({pen.line(reason)})"
                for sentence, reason in recalled_lessons(story)
            ),
        ]
    notes = (note for i in context.iterations if i.attempt for note in i.attempt.notes)
    tried = [note for note in dict.fromkeys(notes) if note not in story.reason]
    if tried and story.outcome is not Outcome.FIXED:
        lines += ["", "Tried", *(f"  {pen.line(note)}" for note in tried)]
    lines += _text_of_models(story)
    if command := reproduce_command(context):
        lines += ["", "Reproduce", f"  {pen.line(command, cap=1000)}"]
    return "\n".join(lines) + "\n"


def _notes_and_next_step(story: Story) -> list[str]:
    """Return what triage noted and what a person can do; a fix or question says it elsewhere."""
    context, pen = story.context, story.pen
    if story.outcome in {Outcome.FIXED, Outcome.NEEDS_HUMAN}:
        return [f"  {pen.line(context.advice, cap=1000)}"] if context.advice else []
    notes = context.triage.notes if context.triage and story.outcome in _MEASURED else ()
    advice = pen.line(context.advice, cap=1000)
    return [*(f"  {pen.line(note)}" for note in notes), f"  next: {advice or step_after(story)}"]


def _text_of_models(story: Story) -> list[str]:
    calls = story.context.calls
    if not calls:
        return []
    lines = ["", "Models"]
    if story.context.forecast is not None:
        lines.append(f"  expected: {forecast_in_words(story.context.forecast)}")
    for model, spend in spend_by(calls, "model").items():
        tokens = f"{spend.usage.input_tokens} tokens in, {spend.usage.output_tokens} out"
        spent = f"{counted(spend.calls, 'call')}, {tokens}, cost {spend_in_words(spend)}"
        lines.append(f"  {story.pen.line(model, cap=200)}: {spent}")
    by = [f"{stage} by {who}" for stage, who in speakers(story.context).items()]
    return [*lines, f"  decided: {', '.join(by)}"] if by else lines


def _text_of_fix(story: Story) -> list[str]:
    if story.fix is None:
        return []
    candidate, verification = story.fix
    pen = story.pen
    lines = ["", "Red to green"]
    lines += [
        f"  {pen.line(c.name)}: {' -> '.join(before_and_after(c, story))}"
        for c in verification.table[:ROWS_SHOWN]
    ]
    lines += _text_of_choices(story) or _text_of_change(story)
    if packages := changed_packages(story.context):
        lines += ["", PACKAGES, *(f"  {pen.line(line)}" for line in packages)]
    doubts = (*verification.doubts, *candidate.warnings)
    if doubts:
        lines += ["", "Look at this", *(f"  {pen.line(doubt)}" for doubt in doubts)]
    which = "1: " if len(story.context.choices) > 1 else ""
    lines += ["", "Verified", f"  {which}{agreement(verification)} in a fresh sandbox"]
    if story.confidence.value is not None:
        lines.append(f"  confidence {story.confidence.value:.2f} ({basis(story.confidence)})")
    if candidate.held_out:
        lines.append(f"  tests held out from the search: {held_out(candidate)}")
    iteration = story.context.current
    if iteration is not None and story.is_cautious:
        lines += [f"  {words}" for words in before_acting(iteration, pen.line)[:1]]
    lines += [f"  not verified: {pen.line(text)}" for text in verification.not_verified]
    return lines


def _text_of_change(story: Story) -> list[str]:
    """Return the change with its diff."""
    if story.fix is None:
        return []
    candidate, verification = story.fix
    tried = story.context.candidates_tried
    steps = [story.pen.line(step.title) for step in steps_of_fix(story.context)[:-1]]
    steps.append(f"{story.pen.line(candidate.title)} ({winner(story)}, {tried} tried)")
    return [
        "",
        "Change",
        *(f"  {step}" for step in steps),
        "",
        *story.pen.block(verification.diff).splitlines(),
    ]


def _text_of_choices(story: Story) -> list[str]:
    """Return the numbered choices with their diffs; empty without a question."""
    if story.outcome is not Outcome.NEEDS_HUMAN or not story.context.choices:
        return []
    lines = ["", "Choices"]
    for number, choice in enumerate(story.context.choices, start=1):
        lines += [
            f"  {number}. {story.pen.line(choice.title)}",
            *_difference(choice, number, story.pen),
        ]
        lines += ["", *story.pen.block(choice.diff).splitlines(), ""]
    return lines[:-1]


def _difference(choice: Choice, number: int, pen: SafeWriter) -> list[str]:
    """Return the input on which a choice and the first one differ."""
    if not choice.differs_on:
        return []
    results = (
        f": 1 gives {pen.line(choice.results[0])}, {number} gives {pen.line(choice.results[1])}"
    )
    return [
        f"     differs from 1 on {pen.line(choice.differs_on)}"
        + (results if any(choice.results) else "")
    ]
