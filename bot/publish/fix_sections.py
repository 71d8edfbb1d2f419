"""Report sections of a fix, for its reviewer: cause, change, results, checks, confidence. Pure."""

import re
from itertools import groupby

from bot.domain.counted import counted
from bot.domain.mission import Confidence, Outcome
from bot.domain.patch import Candidate, Rival, Rung, TestChange, Verification
from bot.publish.changed_parts import ChangedPart, changed_parts
from bot.publish.evidence import agreement
from bot.publish.improvement import before_and_after_section, reason_section
from bot.publish.markdown import Section, bullets, fenced
from bot.publish.packages import packages_section
from bot.publish.story import Story, count_unharmed
from bot.publish.title import is_undone
from sandbox.types import RunVerdict

MOST_SHOWN = 3
"""Rows of a list that are shown unfolded."""
CHANGE = "Change"
"""Title of the section with the diff."""
DIFF_LINES = 14
"""Longest diff that is shown unfolded, in lines."""

_ADDRESS = re.compile(r"\bat 0x")
_WEIGHT = re.compile(r" \(([+-]\d\.\d+)\)$")
_CHANGED_BY_COMMIT = "changed by the commit"


def fix_sections(story: Story, *, offered: bool = False) -> list[Section | None]:
    """Return what a reviewer decides by, in reading order; empty without a fix."""
    if story.fix is None:
        return []
    if story.is_improvement:
        return [
            reason_section(story),
            *change_sections(story, offered=offered),
            before_and_after_section(story),
            _checks(story, *story.fix),
        ]
    return [
        _cause(story),
        *change_sections(story, offered=offered),
        _red_to_green(story),
        _checks(story, *story.fix),
        _confidence(story),
    ]


# --- cause and change ----------------------------------------------------------------------------


def _cause(story: Story) -> Section | None:
    """Describe the cause by the verified diff, not by suspicion."""
    parts = changed_parts(story.context, story.pen)
    diagnosis = story.context.diagnosis
    lines = [f"- Seen: {story.pen.words(diagnosis.title, cap=300)}"] if diagnosis else []
    lines += [f"- {_describe_part(story, part)}" for part in parts[:MOST_SHOWN]]
    if len(parts) > MOST_SHOWN:
        lines.append(f"- {counted(len(parts) - MOST_SHOWN, 'more place')}, in the change")
    if asked := _ask_intention(story, parts):
        lines.append(f"- {asked}")
    return Section(title="Cause", body="\n".join(lines)) if lines else None


def _describe_part(story: Story, part: ChangedPart) -> str:
    pen = story.pen
    place = f"{pen.code(part.path)} line {part.old_line or part.line}"
    where = f"{pen.code(part.symbol)} in {place}" if part.symbol else place
    if part.old and part.new:
        return f"{where} has {pen.code(part.old)}; with {pen.code(part.new)} the failures are gone"
    if part.new:
        return f"{where} lacks {pen.code(part.new)}"
    if part.old:
        return f"{where} must not have {pen.code(part.old)}"
    return f"{where} is wrong, as the change shows"


def _ask_intention(story: Story, parts: tuple[ChangedPart, ...]) -> str:
    """Name the commit that brought the wrong code, if that is known; GitHub links it."""
    diagnosis, sha = story.context.diagnosis, story.context.request.head_sha
    if sha is None or diagnosis is None or story.outcome is Outcome.NEEDS_HUMAN:
        return ""
    brought = {
        (suspect.file, suspect.line)
        for suspect in diagnosis.suspects
        if _CHANGED_BY_COMMIT in suspect.reason
    }
    known = is_undone(story.context) or any((p.path, p.old_line) in brought for p in parts)
    if not known:
        return ""
    where = "This branch" if story.context.request.pull_request else "The commit"
    return (
        f"{where} (head {sha[:12]}) brought this code. **Was that intended?** "
        "If so, the test must change instead."
    )


def change_sections(story: Story, *, offered: bool = False) -> list[Section | None]:
    """Return the diff: unfolded if it is short, else folded.

    Args:
        story: A story with a fix.
        offered: True for a pull request's text: its files show the complete change.
    """
    if story.fix is None:
        return []
    diff = story.pen.block(story.fix[1].diff)
    short, is_whole = shorten_diff(diff)
    lead = ""
    if story.fix[0].rung is Rung.MODEL:
        lead = f"In the model's words: {story.pen.words(story.fix[0].explanation, cap=300)}"
    is_shown_elsewhere = offered or story.delivered
    is_missed = not short or not (is_whole or is_shown_elsewhere)
    return [
        fenced(CHANGE, short, info="diff", lead=lead) if short else None,
        fenced("The complete patch", diff, info="diff", folded=True) if is_missed else None,
        packages_section(story),
    ]


def shorten_diff(diff: str) -> tuple[str, bool]:
    """Return a diff with less context, so that it fits, and whether it can still be applied.

    The text is empty if the changes alone do not fit.
    """
    whole = [line for line in diff.splitlines() if not _is_header(line)]
    if len(whole) <= DIFF_LINES:
        return "\n".join(whole), True
    lines = _near_changes(whole, context=1)
    return ("\n".join(lines), False) if len(lines) <= DIFF_LINES else ("", False)


def _is_header(line: str) -> bool:
    # Changed text begins with a sign, so it cannot pass for one of these.
    return line.startswith(("diff --git ", "index "))


def _near_changes(lines: list[str], *, context: int) -> list[str]:
    """Return all lines but unchanged ones that are far from each change."""
    near: set[int] = set()
    for number, line in enumerate(lines):
        reach = context if line.startswith(("+", "-")) else 0
        if not line.startswith(" "):
            near.update(range(number - reach, number + reach + 1))
    return [line for number, line in enumerate(lines) if number in near]


# --- results and checks --------------------------------------------------------------------------


def _red_to_green(story: Story) -> Section | None:
    if story.fix is None:
        return None
    verification = story.fix[1]
    rows = table_rows(story)
    lines = [f"- {row}" for row in rows[:MOST_SHOWN]]
    if len(rows) > MOST_SHOWN:
        lines.append(f"- {len(rows) - MOST_SHOWN} more, listed below")
    others = count_unharmed(story)
    stay = f"{counted(others, 'other test stays', plural='other tests stay')} green; "
    sandboxes = len({run.sandbox for run in verification.runs})
    fresh = counted(sandboxes, "fresh sandbox", plural="fresh sandboxes")
    lines.append(f"- {stay if others else ''}{agreement(verification)} in {fresh}")
    return Section(title="Red to green", body="\n".join(lines))


def table_rows(story: Story) -> list[str]:
    """Return each changed test or kind of finding in a line, with its status before and after."""
    table = story.fix[1].table if story.fix else ()
    rows = []
    for name, group in groupby(table, key=lambda change: _shown_name(story, change)):
        changes = list(group)
        for before, after in dict.fromkeys(before_and_after(one, story) for one in changes):
            same = sum(before_and_after(one, story) == (before, after) for one in changes)
            times = f" ({same} times)" if same > 1 else ""
            rows.append(f"{name}: {before} → {after}{times}")
    return rows


def _shown_name(story: Story, change: TestChange) -> str:
    """Return a test's name, or `F401` in `words.py` for the finding `words.py:F401#2#1`."""
    report = story.context.test_results
    path, _, rule = change.name.partition(":")
    if "::" in change.name or not rule or report is None or not report.traits.is_findings:
        return story.pen.code(change.name)
    rule = rule.rpartition(":")[2].partition("#")[0]
    return f"{story.pen.code(rule)} in {story.pen.code(path)}"


def before_and_after(change: TestChange, story: Story) -> tuple[str, str]:
    """Return a test's or finding's status before and after, in a word each."""
    before = change.before.value if change.before else "new"
    if change.after is not None:
        return before, change.after.value
    # A finding or uncollectable file that is no longer reported is gone; a test is not collected.
    report = story.context.test_results
    is_test = report is not None and report.knows_tests and "::" in change.name
    return before, "not collected" if is_test else "gone"


def _checks(story: Story, candidate: Candidate, verification: Verification) -> Section | None:
    """Return what executions say for and against the change, and what was not checked."""
    pen = story.pen
    against = [
        *(f"Fails now: {pen.code(name)}" for name in verification.newly_failing),
        *(f"No longer collected: {pen.code(name)}" for name in verification.missing),
        *(f"Skipped now: {pen.code(name)}" for name in verification.newly_skipped),
        *(f"Refused: {pen.words(text)}" for text in verification.refusals),
        *(f"Doubt: {pen.words(t)}" for t in (*verification.doubts, *candidate.warnings)),
    ]
    rivals = [_describe_rival(story, rival) for rival in candidate.rivals]
    items = [*_measured(candidate, verification), *_limited([*against, *rivals])]
    unchecked = [pen.words(text, cap=200) for text in verification.not_verified]
    more = len(unchecked) - MOST_SHOWN
    unchecked[MOST_SHOWN:] = [f"{more} more"] if more > 0 else []
    items.append(f"Not checked: {'; '.join([*_unmeasured(candidate), *unchecked])}")
    return bullets("What was checked", items)


def _limited(items: list[str]) -> list[str]:
    more = len(items) - MOST_SHOWN
    rest = [f"{counted(more, 'more note')}, in the evidence"] if more > 0 else []
    return [*items[:MOST_SHOWN], *rest]


def _measured(candidate: Candidate, verification: Verification) -> list[str]:
    items = []
    if verification.control is not None and verification.control.verdict is RunVerdict.FAIL:
        items.append("Without the change, the failing tests fail again in the same sandbox")
    if candidate.mutants is not None:
        killed, tried = candidate.mutants.killed, candidate.mutants.tried
        others = counted(tried, "other mistake")
        items.append(f"The tests notice {killed} of {others} in the changed lines")
    if candidate.inputs:
        text = f"Compared on {counted(candidate.inputs, 'input')}"
        if candidate.plausible > 1 and not candidate.rivals:
            text += f": all {candidate.plausible} candidates that pass the tests behave alike"
        items.append(text)
    if candidate.held_out:
        hidden = counted(candidate.held_out, "passing test")
        items.append(f"Hidden from the search, and green: {hidden} near the failure")
    return items


def _unmeasured(candidate: Candidate) -> list[str]:
    """Name the checks of a change that did not run."""
    missing = ["mutants of the changed lines"] if candidate.mutants is None else []
    if not candidate.inputs:
        missing.append("behaviour on inputs beyond the tests")
    return [*missing, "callers of the changed code"]


def _describe_rival(story: Story, rival: Rival) -> str:
    pen = story.pen
    text = f"Another fix passes too: {pen.code(f'{rival.path}:{rival.line}')}"
    text += f" {pen.words(rival.description, cap=200)}"
    shown = (rival.distinguishing_input, *rival.results)
    if any(_ADDRESS.search(value) for value in shown):
        return f"{text}; it behaves differently on objects without a readable form"
    if rival.distinguishing_input:
        text += f"; it differs on {pen.code(rival.distinguishing_input)}"
    if any(rival.results):
        text += f" ({pen.code(rival.results[1])} instead of {pen.code(rival.results[0])})"
    return text


# --- confidence ----------------------------------------------------------------------------------


def _confidence(story: Story) -> Section | None:
    """Return one number with its two strongest reasons."""
    value = story.confidence.value
    if value is None:
        if story.outcome is not Outcome.FIXED:
            return None
        return Section(lead="**Confidence: unknown** (too little evidence)")
    reasons = [story.pen.words(reason, cap=200) for reason in strongest(story.confidence.factors)]
    why = "; ".join(reasons) or "no check speaks for or against it beyond the test runs"
    return Section(lead=f"**Confidence: {value:.2f}** ({basis(story.confidence)}): {why}")


def basis(confidence: Confidence) -> str:
    """Return what a confidence is based on, in words."""
    known = "calibrated on known changes"
    known = known if confidence.calibrated else "its behaviour was not compared"
    if not confidence.outcomes:
        return known
    return f"{known}, and on {counted(confidence.outcomes, 'outcome')} here"


def strongest(factors: tuple[str, ...]) -> list[str]:
    """Return the two factors that moved the confidence most; its start value is no reason."""
    weighed = [(float(found[1]), text) for text in factors if (found := _WEIGHT.search(text))]
    weighed.sort(key=lambda pair: -abs(pair[0]))
    return [text for _, text in weighed[:2]]
