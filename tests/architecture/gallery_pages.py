"""The gallery: the report of every outcome, as a person sees it on GitHub."""

import re

from bot.domain.forecast import Forecast
from bot.domain.mission import Outcome
from bot.publish.report import answer, mission_report
from bot.publish.story import build_story
from bot.publish.title import fix_title
from tests.builders import a_model_call
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
        *_cost_of_models(),
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


def _cost_of_models() -> list[str]:
    """Return the lines of the evidence that a mission has if it may ask a model."""
    forecast = Forecast(
        missions=42, calls=2, input_tokens=9_400, output_tokens=870, cost_usd=0.0313
    )
    calls = (a_model_call(cost_usd=0.0185),)
    context = a_told_story(Outcome.FIXED).context.with_(forecast=forecast, calls=calls)
    report = mission_report(build_story(context))
    rows = [line for line in report.splitlines() if "cost of models |" in line]
    return [
        "## The cost of models",
        "",
        "If a model may be asked, the evidence has the [expected cost](models.md#expected-cost) and the real one:",
        "",
        _quoted("\n".join(["| what | measured |", "| --- | --- |", *rows])),
        "",
    ]


def _quoted(report: str) -> str:
    """Return a report as a quotation, without our hidden marks."""
    shown = re.sub(r"\n*<!-- metaagent:(?:mission|patch).*?-->", "", report)
    return "\n".join(f"> {line}".rstrip() for line in shown.splitlines())
