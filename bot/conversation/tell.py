"""The commands status, config, lessons and help."""

from collections.abc import Sequence

from bot.conversation.decide import question
from bot.conversation.policy_change import list_proposed_problems
from bot.conversation.result import CommandOutcome, done, pen
from bot.conversation.scene import Scene, fixes_here, missions_here
from bot.conversation.verbs import OPTIONS, verb_table
from bot.domain.counted import counted
from bot.domain.lesson import Lesson
from bot.domain.registry import FixState, LiveMission, OfferedFix
from bot.lessons.calibration import brier_score, reliability_curve
from bot.policy.effective import DEFAULT, effective
from bot.policy.policy_file import POLICY_PATH
from bot.ports import Services
from bot.publish.markdown import Section, bullets, fit, table
from bot.publish.overview import BOXES

ROOM = 30_000
"""Longest reply, in characters."""
SHOWN = 20
"""Most rows of a table."""

_OPEN_FIRST = (FixState.OPEN, FixState.MERGED)


async def status(scene: Scene, services: Services) -> CommandOutcome:
    """Show missions, fixes, the open question, the switch and the remaining attempts."""
    live, fixes = await missions_here(scene, services), await fixes_here(scene, services)
    shown = [fix for fix in fixes if fix.pull_request or fix.state in _OPEN_FIRST][:SHOWN]
    sections = [
        Section(lead=f"**Status of {scene.place}**"),
        Section(body="\n".join(await _switch_lines(scene, services))),
    ]
    rows = [row for mission in live[:SHOWN] if (row := await _mission_row(mission, services))]
    if rows:
        sections.append(table("Active missions", ("commit", "for", "since", "state"), rows))
    if shown:
        header = ("fix", "red check", "state")
        sections.append(table("Fixes", header, [_fix_row(fix, services) for fix in shown]))
    number = scene.pull.number if scene.pull else None
    proposal = (
        await services.registry.proposal(scene.repository.id, pull_request=number)
        if number
        else None
    )
    if proposal is not None:
        sections.append(Section(title="Pending decision", lead=question(proposal, services)))
    if not rows and not shown and proposal is None:
        sections.append(Section(lead="No mission is active, and nothing was proposed here yet."))
    return done(fit(sections, limit=ROOM))


async def config(scene: Scene, services: Services) -> CommandOutcome:
    """Show every policy key with its value and source, unreadable ones first."""
    safe, policy = pen(services), scene.policy
    rows = [
        (
            f"`{row.key}`",
            safe.code(row.value),
            row.origin if row.origin == DEFAULT else f"**{safe.prose(row.origin)}**",
        )
        for row in effective(policy)
    ]
    problems = [safe.prose(problem, cap=300) for problem in policy.problems[:SHOWN]]
    branch = safe.code(scene.repository.default_branch)
    proposed = await _proposed(scene, services)
    sections = [
        Section(
            lead=f"**Policy of this repository**, read from `{POLICY_PATH}` or its alternatives "
            f"on {branch} only"
        ),
        *([bullets("Not understood", problems)] if problems else []),
        *([proposed] if proposed is not None else []),
        table("", ("key", "value", "from"), rows),
    ]
    return done(fit(sections, limit=ROOM))


async def _proposed(scene: Scene, services: Services) -> Section | None:
    """Return a section about the policy file that this pull request changes, if it does."""
    if scene.pull is None:
        return None
    pull = scene.pull
    problems = await list_proposed_problems(scene.repository, pull.number, pull.head_sha, services)
    if problems is None:
        return None
    title = "The policy of this pull request"
    return bullets(title, problems[:SHOWN] or ["It is valid."])


async def lessons(scene: Scene, services: Services) -> CommandOutcome:
    """Show the lessons relevant to the given words, or the most recent ones."""
    # Lessons from forks are separate, and shown only in pull requests of forks.
    key = f"{scene.repository.id}:fork" if scene.from_fork else str(scene.repository.id)
    words = scene.command.target.split()
    if words:
        bears = await services.lessons.recall(
            repository_id=key, fingerprint="", error=None, words=words, limit=SHOWN
        )
        found: Sequence[Lesson] = [one.lesson for one in bears]
        what = f"Lessons relevant to {pen(services).code(scene.command.target)}"
    else:
        found = await services.lessons.newest(repository_id=key, limit=10)
        what = "Most recent lessons"
    forecasts = await services.lessons.forecasts(repository_id=key)
    merged = sum(forecast.merged for forecast in forecasts)
    sections = [Section(lead=f"**{what}**"), bullets("", [_lesson(one, services) for one in found])]
    if not found:
        sections = [Section(lead=f"**{what}**: none yet.")]
    error = brier_score(forecasts)
    if error is not None:
        decided = counted(len(forecasts), "decided fix", plural="decided fixes")
        lead = f"Merged: {merged} of {decided}. Brier score of the confidence: {error:.2f}."
        rows = [
            (
                f"{one.low:.1f} to {one.high:.1f}",
                str(one.count),
                f"{one.mean_forecast:.2f}",
                f"{one.merged_share:.2f}",
            )
            for one in reliability_curve(forecasts)
        ]
        sections += [Section(lead=lead), table("", ("confidence", "fixes", "mean", "merged"), rows)]
    return done(fit(sections, limit=ROOM))


async def help_(_: Scene, __: Services) -> CommandOutcome:
    """Show the commands."""
    return done(how_to())


def how_to() -> str:
    """Return the commands, options and rules as Markdown."""
    sections = [
        Section(
            lead="A comment that begins with a command is executed if its author has write access."
        ),
        table("", ("command", "what it does"), verb_table()),
        bullets("Options", [f"`--{key}=…`: {says}" for key, says in OPTIONS.items()], folded=True),
        Section(lead="The labels `metaagent:fix` and `metaagent:off` and the buttons do the same."),
    ]
    return fit(sections, limit=ROOM)


async def _switch_lines(scene: Scene, services: Services) -> list[str]:
    """Return the lines about the switch and the remaining automatic attempts."""
    safe, policy = pen(services), scene.policy
    number = scene.pull.number if scene.pull else None
    switch = await services.registry.off(scene.repository.id, number)
    if switch is not None:
        where = "this repository" if switch.pull_request is None else f"#{switch.pull_request}"
        again = "`/metaagent on repository`" if switch.pull_request is None else "`/metaagent on`"
        at = safe.line(switch.at, cap=40)
        return [f"- **off** for {where}: {safe.code(switch.by)} turned it off ({at}); {again}"]
    if not policy.enabled:
        return ["- **off** by the policy (`enabled: false`); see `/metaagent config`"]
    unasked = policy.automatic and policy.triggers.checks
    how = "red checks start missions automatically" if unasked else "on request only"
    lines = [f"- **on**, {how}"]
    if policy.mode == "staged":
        lines.append("- staged: nothing is written; our check shows what would have been done")
    if unasked and scene.head_branch is not None:
        tried = await services.registry.attempts(scene.repository.id, branch=scene.head_branch)
        lines.append(
            f"- {tried} of {policy.limits.attempts} automatic attempts on "
            f"{safe.code(scene.head_branch)}"
        )
    if policy.problems:
        lines.append(
            f"- not understood: {counted(len(policy.problems), 'line')} of the policy; "
            "see `/metaagent config`"
        )
    return lines


async def _mission_row(mission: LiveMission, services: Services) -> tuple[str, ...] | None:
    """Return the table row of a mission; None if it is no longer active."""
    safe = pen(services)
    state = await services.queue.status(mission.mission_id)
    if state not in {"waiting", "running"}:
        return None
    asked = safe.code(mission.requested_by) if mission.requested_by else "a red check"
    where = f"#{mission.pull_request}, {asked}" if mission.pull_request else asked
    commit = f"`{mission.head_sha[:8]}`" if mission.head_sha else "-"
    return commit, where, safe.code(mission.since), state


def _fix_row(fix: OfferedFix, services: Services) -> tuple[str, ...]:
    safe = pen(services)
    name = f"#{fix.pull_request}" if fix.pull_request else fix.commit
    checks = ", ".join(safe.code(check) for check in fix.checks[:5]) or "-"
    state = fix.state.value + (
        f", taken over by {safe.code(fix.taken_over)}" if fix.taken_over else ""
    )
    return name, checks, f"{state}: {safe.prose(fix.note, cap=200)}" if fix.note else state


def _lesson(lesson: Lesson, services: Services) -> str:
    fate = f"#{lesson.pull_request} {lesson.fate}" if lesson.pull_request else lesson.outcome
    words = [BOXES[box] for box in lesson.boxes if box in BOXES] + (
        [lesson.said] if lesson.said else []
    )
    said = f"; reason given: {pen(services).prose('; '.join(words), cap=500)}" if words else ""
    return (
        f"{pen(services).prose(lesson.sentence, cap=500)} ({fate}, {lesson.created_at[:10]}){said}"
    )
