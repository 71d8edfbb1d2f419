"""Render a mission as Markdown for its reader; background is folded. Pure."""

import shlex

from bot.domain.mission import MissionContext, Outcome
from bot.publish.ci_section import ci_section
from bot.publish.evidence_sections import background
from bot.publish.fix_sections import CHANGE, change_sections, fix_sections
from bot.publish.improvement import decide_section
from bot.publish.judgements import judgements
from bot.publish.markdown import BODY_LIMIT, Section, fenced, fit, table
from bot.publish.next_steps import next_step
from bot.publish.overview import boxes, timeline
from bot.publish.recalled import recalled_section
from bot.publish.regression_test import pinned_section
from bot.publish.story import Story, headline, marker, patch_marker
from sandbox.types import LOCK_RUNNER, TrustTier

REPORT_BYTES = 12_000
"""Maximum size of a report; a longer one is not read. The evidence bundle has the rest."""

UNFOLDED_LINES = 40
"""Number of visible lines above which the diff is folded, too."""

TESTS_IN_COMMAND = 3
"""Maximum number of tests named in the command; more would make the line too long."""

INTRODUCTION = (
    "This is MetaAgent's first answer in this repository: it rebuilds red checks in a sandbox, and "
    "offers a fix only if the tests prove it. To stop it, comment `/metaagent off repository`, or "
    "write `enabled: false` into `.github/metaagent.yml`."
)
"""Two sentences for people who see an answer of ours for the first time."""

_SHORT_SHA = 12


def mission_report(story: Story, *, limit: int = REPORT_BYTES, offered: bool = False) -> str:
    """Return the full report as Markdown, ending with the hidden marker.

    Args:
        story: The finished mission.
        limit: Maximum number of bytes.
        offered: True for a pull request's text, which includes feedback boxes.
    """
    is_asked = offered and story.is_heard
    sections = [
        *_opening(story, offered=offered),
        _introduction(story),
        *fix_sections(story, offered=offered),
        recalled_section(story),
        pinned_section(story) if offered else None,
        _decide(story) if is_asked else None,
        ci_section(story),
        _failures(story) if story.fix is None else None,
        _suspects(story) if story.fix is None and not story.is_improvement else None,
        # GitHub renders diagrams and boxes in pull requests and comments, not in check runs.
        timeline(story) if offered and not story.is_improvement else None,
        *judgements(story),
        *background(story),
        _reproduce(story),
        boxes() if is_asked and not story.is_improvement else None,
    ]
    ending = "\n\n".join(part for part in (marker(story.context), patch_marker(story)) if part)
    return fit(_page([s for s in sections if s is not None]), limit=limit, ending=ending)


def _page(sections: list[Section]) -> list[Section]:
    """Return the sections with the diff folded, if the unfolded lines would be too many."""
    shown = "\n".join("" if one.folded else one.render() for one in sections)
    folds = sum(one.folded for one in sections)
    if folds + sum(bool(line.strip()) for line in shown.splitlines()) <= UNFOLDED_LINES:
        return sections
    return [one.with_(folded=True) if one.title == CHANGE else one for one in sections]


def answer(story: Story, *, limit: int = BODY_LIMIT) -> str:
    """Return the short form, for a comment or our check's summary.

    It includes the patch if nothing was delivered.
    """
    sections = [*_opening(story), _introduction(story), _choices(story)]
    if story.fix is not None and not story.delivered:
        sections += change_sections(story)
    sections += [ci_section(story), _reproduce(story)]
    return fit([s for s in sections if s is not None], limit=limit, ending=marker(story.context))


def reproduce_command(context: MissionContext) -> str:
    """Return the shortest command that reproduces the failure; empty if none is known."""
    report = context.test_results
    if report is None:
        return context.test_command
    failing = sorted(report.failing)
    command = report.target or context.test_command
    if report.runner == LOCK_RUNNER:
        command = report.ended_at
    if report.traits.target_command and 0 < len(failing) <= TESTS_IN_COMMAND:
        command = f"{report.traits.target_command} {shlex.join(failing)}"
    folder = context.facts.recipe.working_directory if context.facts else "."
    return command if folder in {"", "."} else f"cd {shlex.quote(folder)} && {command}"


# --- summary --------------------------------------------------------------------------


def _opening(story: Story, *, offered: bool = False) -> list[Section | None]:
    """Return three lines: outcome, reason and next step; then the question, if there is one."""
    lines = [f"**{headline(story)}**", _where(story)]
    is_told_below = story.outcome in {Outcome.FIXED, Outcome.IMPROVED}
    if story.reason and (not is_told_below or story.note):
        lines.append(story.pen.words(story.reason))
    if story.is_cautious and story.fix is not None:
        lines.append("A model or a rule called for caution: this is never pushed unasked.")
    # A pull request says below how to decide on it.
    lines += [story.delivered] if offered else [story.delivered, next_step(story)]
    question = None
    if story.context.question:
        question = fenced("Question", story.pen.block(story.context.question, cap=8000))
    return [Section(lead="\n\n".join(line for line in lines if line)), question]


def _introduction(story: Story) -> Section | None:
    return Section(lead=INTRODUCTION) if story.is_first else None


def _where(story: Story) -> str:
    """Link the red check and its commit."""
    request, pen = story.context.request, story.pen
    if request.check is None or request.head_sha is None:
        return ""
    branch = f" on {pen.code(request.head_branch)}" if request.head_branch else ""
    check = pen.link(request.check.name, request.check.details_url)
    return f"Red check: {check}, commit {request.head_sha[:_SHORT_SHA]}{branch}"


def _decide(story: Story) -> Section:
    """Describe how to refuse, undo or replace a fix."""
    if story.is_improvement:
        return decide_section()
    return Section(
        lead="**Your decision:** merge to take it; close it or comment `/metaagent reject REASON` "
        "to refuse it for good; after a merge, `/metaagent undo` takes it back; "
        "`/metaagent retry` in the failing pull request searches for another."
    )


def _choices(story: Story) -> Section | None:
    """Describe the commands that take one of the shown changes."""
    if not story.choices or story.context.request.pull_request is None:
        return None
    if story.outcome is Outcome.NEEDS_HUMAN:
        rows = [
            f"{number}. {story.pen.words(title, cap=200)}"
            for number, title in enumerate(story.choices, start=1)
        ]
        lead = (
            "\n".join(rows)
            + "\n\nComment `/metaagent answer 1` (or another number) to verify the change again "
            "and open it"
        )
    elif story.context.request.tier is TrustTier.FORK:
        return None
    else:
        lead = "Comment `/metaagent apply` to verify the change below again and open it"
    return Section(title="Your decision", lead=f"{lead}; comment `/metaagent reject` to reject it.")


# --- without a fix -------------------------------------------------------------------------------


def _failures(story: Story) -> Section | None:
    report = story.context.test_results or (
        story.context.triage.report if story.context.triage else None
    )
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
    return table("Failing", ("test", "where", "error"), rows, folded=True)


def _suspects(story: Story) -> Section | None:
    """List suspect places: without a verified change, the cause is not known."""
    diagnosis, pen = story.context.diagnosis, story.pen
    if diagnosis is None:
        return None
    places = [
        f"- {pen.code(f'{suspect.file}:{suspect.line}')} {pen.words(suspect.reason, cap=200)}"
        for suspect in diagnosis.suspects[:5]
    ]
    lead = pen.words(diagnosis.cause)
    return Section(title="Where to look", lead=lead, body="\n".join(places), folded=True)


def _reproduce(story: Story) -> Section | None:
    command = reproduce_command(story.context)
    if not command:
        return None
    sha = story.context.request.head_sha
    return fenced(
        "Reproduce",
        story.pen.block(command, cap=4000),
        info="sh",
        lead=f"At `{sha}`:" if sha else "",
        folded=True,
    )
