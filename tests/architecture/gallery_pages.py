"""The gallery: the report of every outcome, as a person sees it on GitHub."""

import re

from bot.domain.mission import Outcome
from bot.publish.report import answer, mission_report
from bot.publish.title import fix_title
from tests.reports import PULL, a_told_story


def gallery_page() -> str:
    """The pull request first, then the summary of our check run for every outcome."""
    story = a_told_story(Outcome.FIXED)
    lines = [
        "# Reports",
        "",
        "Each mission ends with a report. These are made by the real code from example missions. The unfolded part of a report has at",
        "most 40 lines, the whole at most 12 kB. Measurements, digests and outputs are in the [evidence bundle](evidence.md).",
        "",
        "## The pull request",
        "",
        f"Title: {fix_title(story.context)}",
        "",
        _quoted(mission_report(story, offered=True)),
        "",
        "## The check run",
        "",
        "The summary of our check run has the outcome, the red check, the reason and one next step.",
        "[The outcomes](outcomes.md) explains each.",
    ]
    for outcome in Outcome:
        told = a_told_story(outcome)
        if outcome is Outcome.FIXED:
            told = told.with_(delivered=f"Pull request: {PULL}")
        lines += ["", f"### {outcome.value}", "", _quoted(answer(told))]
    return "\n".join(lines) + "\n"


def _quoted(report: str) -> str:
    """Return a report as a quotation, without our hidden marks."""
    shown = re.sub(r"\n*<!-- metaagent:(?:mission|patch).*?-->", "", report)
    return "\n".join(f"> {line}".rstrip() for line in shown.splitlines())
