"""status, config, lessons, help: say how things stand."""

from collections.abc import Sequence

from bot.conversation.decide import question
from bot.conversation.desk import Desk, Done, done
from bot.conversation.scene import Scene, fixes_here, missions_here
from bot.conversation.verbs import OPTIONS, table_of_verbs
from bot.domain.lesson import Lesson
from bot.domain.registry import FixState, LiveMission, OfferedFix
from bot.lessons.calibration import brier_score, reliability_curve
from bot.policy.effective import DEFAULT, effective
from bot.policy.policy_file import POLICY_PATH
from bot.publish.markdown import Section, bullets, fit, table
from bot.publish.picture import BOXES

ROOM = 30_000
"""Characters of an answer."""
SHOWN = 20

_OPEN_FIRST = (FixState.OPEN, FixState.MERGED)


async def status(scene: Scene, desk: Desk) -> Done:
    """What runs, what was offered, what is asked, whether we are off, and how many attempts are left."""
    live, fixes = await missions_here(scene, desk), await fixes_here(scene, desk)
    shown = [fix for fix in fixes if fix.pull_request or fix.state in _OPEN_FIRST][:SHOWN]
    sections = [Section(lead=f"**Status of {scene.place}**"), Section(body="\n".join(await _standing(scene, desk)))]
    rows = [row for mission in live[:SHOWN] if (row := await _mission_row(mission, desk))]
    if rows:
        sections.append(table("At work", ("commit", "for", "since", "state"), rows))
    if shown:
        header = ("fix", "of the red check", "state")
        sections.append(table("Fixes", header, [_fix_row(fix, desk) for fix in shown]))
    number = scene.pull.number if scene.pull else None
    proposal = await desk.registry.proposal(scene.repository.id, pull_request=number) if number else None
    if proposal is not None:
        sections.append(Section(title="Waits for a decision", lead=question(proposal, desk)))
    if not rows and not shown and proposal is None:
        sections.append(Section(lead="Nothing is under way and nothing was proposed here yet."))
    return done(fit(sections, limit=ROOM))


async def config(scene: Scene, desk: Desk) -> Done:
    """Every key of the policy, its value, and where that comes from; what could not be read first."""
    pen, policy = desk.pen, scene.policy
    rows = [
        (f"`{row.key}`", pen.code(row.value), row.origin if row.origin == DEFAULT else f"**{pen.prose(row.origin)}**")
        for row in effective(policy)
    ]
    problems = [pen.prose(problem, cap=300) for problem in policy.problems[:SHOWN]]
    branch = pen.code(scene.repository.default_branch)
    sections = [
        Section(lead=f"**Policy of this repository**, read from `{POLICY_PATH}` and its kin on {branch} only"),
        *([bullets("Not understood", problems)] if problems else []),
        table("", ("key", "value", "from"), rows),
    ]
    return done(fit(sections, limit=ROOM))


async def lessons(scene: Scene, desk: Desk) -> Done:
    """What was learned here: what bears on the words given, else what was learned last."""
    # What a fork brought is kept apart, and shown to forks' pull requests only.
    key = f"{scene.repository.id}:fork" if scene.from_fork else str(scene.repository.id)
    words = scene.command.target.split()
    if words:
        bears = await desk.lessons.recall(repository_id=key, fingerprint="", error=None, words=words, limit=SHOWN)
        found: Sequence[Lesson] = [one.lesson for one in bears]
        what = f"Lessons that bear on {desk.pen.code(scene.command.target)}"
    else:
        found = await desk.lessons.newest(repository_id=key, limit=10)
        what = "What was learned last"
    forecasts = await desk.lessons.forecasts(repository_id=key)
    merged = sum(forecast.merged for forecast in forecasts)
    sections = [Section(lead=f"**{what}**"), bullets("", [_lesson(one, desk) for one in found])]
    if not found:
        sections = [Section(lead=f"**{what}**: nothing yet.")]
    error = brier_score(forecasts)
    if error is not None:
        lead = f"Of {len(forecasts)} decided fixes {merged} were merged. Brier score of the confidence: {error:.2f}."
        rows = [
            (f"{one.low:.1f} to {one.high:.1f}", str(one.count), f"{one.mean_forecast:.2f}", f"{one.merged_share:.2f}")
            for one in reliability_curve(forecasts)
        ]
        sections += [Section(lead=lead), table("", ("confidence", "fixes", "mean", "merged"), rows)]
    return done(fit(sections, limit=ROOM))


async def help_(_: Scene, __: Desk) -> Done:
    """The commands."""
    return done(how_to())


def how_to() -> str:
    """The commands, the options, and the rules, as Markdown."""
    sections = [
        Section(lead="A command starts a comment. People with write access are heard, everybody else is not."),
        table("", ("command", "what it does"), table_of_verbs()),
        bullets("Options", [f"`--{key}=…`: {says}" for key, says in OPTIONS.items()], folded=True),
        Section(lead="The labels `metaagent:fix` and `metaagent:off` and the buttons of our check do the same."),
    ]
    return fit(sections, limit=ROOM)


async def _standing(scene: Scene, desk: Desk) -> list[str]:
    """On or off, and how often a branch may still be tried unasked."""
    pen, policy = desk.pen, scene.policy
    number = scene.pull.number if scene.pull else None
    switch = await desk.registry.off(scene.repository.id, number)
    if switch is not None:
        where = "this repository" if switch.pull_request is None else f"#{switch.pull_request}"
        again = "`/metaagent on repository`" if switch.pull_request is None else "`/metaagent on`"
        return [f"- **off** for {where}: {pen.code(switch.by)} turned it off ({pen.line(switch.at, cap=40)}); {again}"]
    if not policy.enabled:
        return ["- **off** by the policy (`enabled: false`); see `/metaagent config`"]
    unasked = policy.automatic and policy.triggers.checks
    lines = [f"- **on**, {'red checks are answered unasked' if unasked else 'on request only'}"]
    if policy.mode == "staged":
        lines.append("- staged: everything but writes; our check says what would have been done")
    if unasked and scene.head_branch is not None:
        tried = await desk.registry.attempts(scene.repository.id, branch=scene.head_branch)
        lines.append(f"- {tried} of {policy.limits.attempts} attempts unasked on {pen.code(scene.head_branch)}")
    if policy.problems:
        lines.append(f"- {len(policy.problems)} lines of the policy were not understood; see `/metaagent config`")
    return lines


async def _mission_row(mission: LiveMission, desk: Desk) -> tuple[str, ...] | None:
    """None for one that neither waits nor runs any more."""
    pen = desk.pen
    state = await desk.queue.status(mission.mission_id)
    if state not in {"waiting", "running"}:
        return None
    asked = pen.code(mission.requested_by) if mission.requested_by else "a red check"
    where = f"#{mission.pull_request}, {asked}" if mission.pull_request else asked
    commit = f"`{mission.head_sha[:8]}`" if mission.head_sha else "-"
    return commit, where, pen.code(mission.since), state


def _fix_row(fix: OfferedFix, desk: Desk) -> tuple[str, ...]:
    pen = desk.pen
    name = f"#{fix.pull_request}" if fix.pull_request else fix.commit
    checks = ", ".join(pen.code(check) for check in fix.checks[:5]) or "-"
    state = fix.state.value + (f", taken over by {pen.code(fix.taken_over)}" if fix.taken_over else "")
    return name, checks, f"{state}: {pen.prose(fix.note, cap=200)}" if fix.note else state


def _lesson(lesson: Lesson, desk: Desk) -> str:
    fate = f"#{lesson.pull_request} {lesson.fate}" if lesson.pull_request else lesson.outcome
    words = [BOXES[box] for box in lesson.boxes if box in BOXES] + ([lesson.said] if lesson.said else [])
    said = f"; people said: {desk.pen.prose('; '.join(words), cap=500)}" if words else ""
    return f"{desk.pen.prose(lesson.sentence, cap=500)} ({fate}, {lesson.created_at[:10]}){said}"
