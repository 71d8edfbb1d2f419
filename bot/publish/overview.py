"""Overview for the reader: timeline and feedback boxes. Pure."""

import re
from collections.abc import Iterator

from bot.domain.counted import counted
from bot.domain.mission import Iteration, Outcome
from bot.publish.markdown import Section
from bot.publish.story import RUNG_NAMES, Story

BOXES = {
    "right": "The cause and the change are right",
    "cause": "The cause is right, the change is not",
    "wrong": "Neither is right",
    "test": "The test is wrong, not the code",
}
_TICK = re.compile(r"^- \[(?P<mark>[ xX])\] .*<!-- metaagent:box=(?P<box>\w+) -->", re.MULTILINE)


# --- timeline ------------------------------------------------------------------------------------


def timeline(story: Story) -> Section | None:
    """Return the mission's stages as a mermaid diagram; None with fewer than two stages.

    Only our own words and numbers appear in it.
    """
    stages = [*_triage(story), *_iterations(story)]
    if len(stages) < 2:  # noqa: PLR2004 - one stage is no timeline
        return None
    rows = [f"    {name} : {' : '.join(facts)}" for name, facts in stages]
    head = f"```mermaid\ntimeline\n    title {_title(story)}\n"
    # `before` is never cut: half a diagram does not render.
    return Section(title="How it went", before=head + "\n".join(rows) + "\n```", folded=True)


def _title(story: Story) -> str:
    words = (
        "From red to green"
        if story.outcome is Outcome.FIXED
        else f"From red to {story.outcome.value}"
    )
    return f"{words} in {story.context.seconds:.0f} s"


def _triage(story: Story) -> Iterator[tuple[str, list[str]]]:
    triage = story.context.triage
    if triage is None:
        return
    yield "Reproduce", [f"red in {triage.red_runs} of {counted(triage.runs, 'run')}"]
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
        facts = [counted(len(iteration.plan.steps), "step")]
        critique = iteration.critique
        if critique is not None and critique.by == "model":
            facts.append(f"critic {critique.overall:.2f}")
        yield "Plan", facts
    if iteration.attempt is not None:
        yield (
            "Fix",
            [
                counted(iteration.attempt.candidates_tried, "candidate"),
                f"{iteration.attempt.seconds:.1f} s",
            ],
        )
    if iteration.candidate is not None and iteration.verification is not None:
        proof = iteration.verification
        green = sum(run.report.success for run in proof.runs)
        by = f"rung {int(iteration.candidate.rung)}, {RUNG_NAMES[iteration.candidate.rung]}"
        yield (
            "Verify",
            [f"{green} of {counted(len(proof.runs), 'run')} green", f"{proof.seconds:.1f} s", by],
        )


# --- feedback ------------------------------------------------------------------------------------


def boxes() -> Section:
    """Return boxes for reviewers to tick; they are read when the pull request ends."""
    rows = "\n".join(
        f"- [ ] {words} <!-- metaagent:box={name} -->" for name, words in BOXES.items()
    )
    asked = (
        "Tick what applies; MetaAgent reads it when this pull request is merged or closed. "
        "It does not offer a closed or reverted change again unless asked."
    )
    return Section(title="Was this right?", lead=f"{rows}\n\n{asked}", folded=True)


def ticks(body: str) -> tuple[str, ...]:
    """Return the boxes ticked in a pull request's text."""
    # Our boxes come last, so a diff or log line that imitates one has no effect.
    last = {found["box"]: found["mark"] for found in _TICK.finditer(body)}
    return tuple(box for box, mark in last.items() if mark != " " and box in BOXES)


def with_ticks(body: str, earlier: str) -> str:
    """Copy the ticks of the earlier text to the new one."""
    kept = ticks(earlier)
    return _TICK.sub(
        lambda f: f[0].replace("- [ ]", "- [x]", 1) if f["box"] in kept else f[0], body
    )
