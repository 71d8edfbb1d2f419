"""What a reader sees at a glance: the mission as a timeline, how sure as a bar, and boxes to tick. Pure."""

import re
from collections.abc import Iterator

from bot.domain.counted import counted
from bot.domain.mission import Iteration, Outcome
from bot.publish.markdown import Section
from bot.publish.story import RUNG_NAMES, Story

BAR = 10
"""Blocks of a full bar."""

BOXES = {
    "right": "The cause and the change are right",
    "cause": "The cause is right, the change is not",
    "wrong": "Neither is right",
    "test": "The test is wrong, not the code",
}
_TICK = re.compile(r"^- \[(?P<mark>[ xX])\] .*<!-- metaagent:box=(?P<box>\w+) -->", re.MULTILINE)


def bar(value: float) -> str:
    """`████████░░` for 0.8, as a code span."""
    full = round(value * BAR)
    return f"`{'█' * full}{'░' * (BAR - full)}`"


# --- the way it went --------------------------------------------------------------------------------


def timeline(story: Story) -> Section | None:
    """The stages of the mission as a mermaid diagram, in our own words and numbers only; None without any stage."""
    stages = [*_triage(story), *_iterations(story)]
    if len(stages) < 2:  # noqa: PLR2004 - one stage makes no way
        return None
    rows = [f"    {name} : {' : '.join(facts)}" for name, facts in stages]
    head = f"```mermaid\ntimeline\n    title {_title(story)}\n"
    # As `before` it is never cut: half a diagram is none.
    return Section(title="How it went", before=head + "\n".join(rows) + "\n```")


def _title(story: Story) -> str:
    words = "From red to green" if story.outcome is Outcome.FIXED else f"From red to {story.outcome.value}"
    return f"{words} in {story.context.seconds:.0f} s"


def _triage(story: Story) -> Iterator[tuple[str, list[str]]]:
    triage = story.context.triage
    if triage is None:
        return
    yield "Reproduce", [f"red in {triage.red_runs} of {triage.runs} runs"]
    if triage.base_checked:
        broken = len(triage.base_failing)
        yield "Base commit", [f"{broken} red there too" if broken else "green there"]


def _iterations(story: Story) -> Iterator[tuple[str, list[str]]]:
    iterations = story.context.iterations
    for iteration in iterations:
        number = f" {iteration.number}" if len(iterations) > 1 else ""
        yield from ((f"{name}{number}", facts) for name, facts in _stages(iteration))


def _stages(iteration: Iteration) -> Iterator[tuple[str, list[str]]]:
    if iteration.diagnosis is not None:
        suspects = len(iteration.diagnosis.suspects)
        yield "Analyze", [f"{suspects} suspect {'place' if suspects == 1 else 'places'}"]
    if iteration.plan is not None:
        said = [counted(len(iteration.plan.steps), "step")]
        said += [f"critic {iteration.critique.overall:.2f}"] if iteration.critique else []
        yield "Plan", said
    if iteration.attempt is not None:
        yield "Fix", [f"{iteration.attempt.candidates_tried} candidates", f"{iteration.attempt.seconds:.1f} s"]
    if iteration.candidate is not None and iteration.verification is not None:
        proof = iteration.verification
        green = sum(run.report.success for run in proof.runs)
        by = f"rung {int(iteration.candidate.rung)}, {RUNG_NAMES[iteration.candidate.rung]}"
        yield "Verify", [f"{green} of {len(proof.runs)} runs green", f"{proof.seconds:.1f} s", by]


# --- what people think of it ------------------------------------------------------------------------


def boxes() -> Section:
    """Boxes that a reviewer may tick; they are read when the pull request ends."""
    rows = "\n".join(f"- [ ] {words} <!-- metaagent:box={name} -->" for name, words in BOXES.items())
    asked = (
        "Tick what holds; it is read when this pull request is merged or closed. "
        "A change that a person closed or reverted is not offered again unasked."
    )
    return Section(title="Was this right?", lead=f"{rows}\n\n{asked}")


def ticks(body: str) -> tuple[str, ...]:
    """The boxes ticked in a pull request's text."""
    # Ours stand last: a line of a diff or a log above that looks like one says nothing.
    last = {found["box"]: found["mark"] for found in _TICK.finditer(body)}
    return tuple(box for box, mark in last.items() if mark != " " and box in BOXES)


def with_ticks(body: str, earlier: str) -> str:
    """A new text with the ticks of the one that stands there."""
    kept = ticks(earlier)
    return _TICK.sub(lambda f: f[0].replace("- [ ]", "- [x]", 1) if f["box"] in kept else f[0], body)
