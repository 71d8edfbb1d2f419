"""Report sections with the evidence of a mission, for critical readers. Pure."""

import json

from bot.domain.counted import counted
from bot.publish.evidence import (
    agreement,
    commands,
    cost_per_rung,
    evidence,
    excerpts,
    held_out,
    mutants,
)
from bot.publish.fix_sections import MOST_SHOWN, table_rows
from bot.publish.markdown import Section, bullets, fenced, table
from bot.publish.model_costs import forecast_in_words, models_section, spend_in_words
from bot.publish.story import Story, winner
from bot.publish.title import steps_of_fix


def background(story: Story) -> list[Section | None]:
    """Return the folded background of a report: attempts, all results, environment, models."""
    rows = table_rows(story)
    return [
        _settings_problems(story),
        bullets("All changed results", rows, folded=True) if len(rows) > MOST_SHOWN else None,
        _attempts(story),
        table("Evidence", ("what", "measured"), _facts(story), folded=True),
        models_section(story),
        _output(story) if story.fix is None else None,
    ]


def evidence_json(story: Story) -> Section:
    """Return the evidence as JSON, for places without an evidence bundle."""
    # ASCII only, so that invisible characters appear as escapes.
    data = json.dumps(evidence(story), indent=1, sort_keys=True)
    return fenced("Evidence as JSON", data, info="json", folded=True)


def _attempts(story: Story) -> Section | None:
    """Return how each step of the fix was found, and why other rungs proposed nothing."""
    pen = story.pen
    found = [
        f"{pen.words(step.title, cap=200)}: {pen.words(step.explanation, cap=1000)}"
        for step in steps_of_fix(story.context)
    ]
    tried = [
        pen.words(note, cap=500)
        for i in story.context.iterations
        if i.attempt
        for note in i.attempt.notes
    ]
    return bullets("What was tried", [*found, *tried], folded=True) if found or tried else None


def _settings_problems(story: Story) -> Section | None:
    """List errors in the repository's policy, by file and line."""
    problems = [story.pen.words(problem, cap=300) for problem in story.context.policy.problems[:20]]
    return (
        bullets("Errors in the policy", problems, folded=story.fix is not None)
        if problems
        else None
    )


def _facts(story: Story) -> list[tuple[str, str]]:
    context, pen = story.context, story.pen
    rows = [
        ("mission", pen.code(context.mission_id)),
        ("seconds", f"{context.seconds:.1f}"),
        ("cost of models", spend_in_words(context.bill)),
    ]
    if context.forecast is not None:
        rows.insert(-1, ("expected cost of models", forecast_in_words(context.forecast)))
    rows += _triage_facts(story)
    if context.facts is not None:
        facts = context.facts
        rows += [
            ("command", pen.code(facts.recipe.command)),
            ("read from", pen.code(facts.recipe.origin)),
            ("backend", pen.code(facts.backend)),
            ("image", pen.code(facts.image)),
            ("interpreter", pen.code(facts.interpreter)),
            (
                "hosts reached during set-up",
                pen.code(", ".join(facts.egress.hosts[:10]) or "nothing"),
            ),
        ]
        rows += [
            ("command run", pen.code(command))
            for command in commands(story)[:10]
            if command != facts.recipe.command
        ]
        rows += [
            (f"step {f.treatment}", f"{pen.code(f.step)} {pen.words(f.reason, cap=200)}")
            for f in facts.recipe.fidelity
        ]
    if story.bundle.name:
        until = f", kept until {story.bundle.until}" if story.bundle.until else ""
        rows.append(
            (
                "replay command",
                f"{pen.code(f'metaagent replay {story.bundle.name}')} where the bot runs",
            )
        )
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
            ("verdict", pen.words(verification.reason)),
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
            f"red there too: {counted(len(triage.base_failing), 'failing test')}"
            if triage.base_failing
            else "green there"
        )
    return [
        ("triage", f"{triage.kind.value.replace('_', ' ')}: {story.pen.words(triage.reason)}"),
        ("reproduced", f"{triage.red_runs} of {counted(triage.runs, 'run')} red"),
        ("base commit", base),
        *(("note", story.pen.words(note)) for note in triage.notes),
    ]


def _output(story: Story) -> Section | None:
    """Return the end of the red run's output."""
    text = excerpts(story).get("before")
    return fenced("Output", text, folded=True) if text else None
