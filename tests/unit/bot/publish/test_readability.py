"""A person decides by a report within a minute: short, no constant as a judgement, no long names in prose."""

import re
from typing import Any

import pytest

from bot.domain.mission import Confidence, Outcome
from bot.domain.verdict import Recommendation
from bot.publish.report import REPORT_BYTES, UNFOLDED_LINES, answer, mission_report
from tests.builders import a_confidence, a_critique, a_diagnosis, a_meta, a_plan
from tests.reports import a_fix, a_told_mission, a_told_story

LONGEST_WORD = 20
SUMMARY_LINES = 4
"""The outcome, the red check, the reason and the next step."""
WITH_PATCH = {Outcome.FIXED, Outcome.PARTIAL, Outcome.NEEDS_HUMAN}


def unfolded(markdown: str) -> list[str]:
    """What is seen before anything is opened: no folded part, no comment, no empty line."""
    seen = re.sub(r"<details>.*?</details>", "<details>", markdown, flags=re.DOTALL)
    lines = re.sub(r"<!--.*?-->", "", seen).splitlines()
    return [line for line in lines if line.strip()]


def long_words(markdown: str) -> list[str]:
    text = re.sub(r"^(`{3,}).*?^\1$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(`+).+?\1|\]\([^)]*\)|<!--.*?-->|</?\w+>", " ", text)
    return [word for word in re.findall(r"[\w./:-]+", text) if len(word) > LONGEST_WORD]


@pytest.mark.parametrize("size", ["usual", "large"])
@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_report_is_short(outcome: Outcome, size: str) -> None:
    story = a_told_story(outcome, **(a_fix(outcome, large=True) if size == "large" else {}))
    for offered in {False, outcome in {Outcome.FIXED, Outcome.PARTIAL}}:
        text = mission_report(story, offered=offered)
        assert len(unfolded(text)) <= UNFOLDED_LINES, text
        assert len(text.encode()) <= REPORT_BYTES
        assert text.count("<details>") == text.count("</details>")


@pytest.mark.parametrize("offered", [False, True], ids=["check", "pull request"])
def test_a_short_diff_is_folded_where_much_else_is_shown(offered: Any) -> None:
    (crowded,) = a_fix(Outcome.FIXED, large=True)["iterations"]
    (plain,) = a_fix(Outcome.FIXED)["iterations"]
    verification = crowded.verification.with_(
        diff=plain.verification.diff, edits=plain.verification.edits
    )
    found = (crowded.with_(verification=verification),)
    text = mission_report(a_told_story(Outcome.FIXED, iterations=found), offered=offered)
    assert len(unfolded(text)) <= UNFOLDED_LINES
    assert "<summary>Change</summary>" in text


@pytest.mark.parametrize("outcome", list(Outcome))
def test_no_long_name_stands_in_prose(outcome: Outcome) -> None:
    story = a_told_story(outcome)
    assert long_words(mission_report(story, offered=True)) == []
    assert long_words(answer(story)) == []


@pytest.mark.parametrize("outcome", list(Outcome))
def test_what_rules_give_to_every_plan_is_not_shown(outcome: Outcome) -> None:
    """Other numbers of the rules change nothing that is shown, so none of them is."""
    (*_, plain) = a_told_mission(outcome).iterations or (None,)
    if plain is None:
        return
    other = plain.with_(
        critique=a_critique(overall=0.91, strengths=("other",), rationale="other"),
        meta=a_meta(reasoning_quality=0.33),
        confidence=a_confidence(overall=0.99),
        plan=a_plan(confidence=0.11),
        diagnosis=(plain.diagnosis or a_diagnosis()).with_(confidence=0.22),
    )
    shown = mission_report(a_told_story(outcome), offered=True)
    assert mission_report(a_told_story(outcome, iterations=(other,)), offered=True) == shown


def test_what_a_model_judged_is_shown() -> None:
    (iteration,) = a_told_mission(Outcome.FIXED).iterations
    critique = a_critique(by="model", overall=0.55, recommendation=Recommendation.REVISE)
    judged = mission_report(
        a_told_story(Outcome.FIXED, iterations=(iteration.with_(critique=critique),))
    )
    assert "revise, 0.55 (by model)" in judged


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - WITH_PATCH))
def test_any_other_outcome_is_three_lines_and_one_next_step(outcome: Outcome) -> None:
    lines = [line for line in unfolded(answer(a_told_story(outcome))) if line != "<details>"]
    assert len(lines) <= SUMMARY_LINES
    assert lines[0].startswith(f"**{outcome.value}: ")
    assert [line.startswith("**Next:** ") for line in lines].count(True) == 1


def test_the_first_line_has_no_jargon() -> None:
    first = mission_report(a_told_story(Outcome.FIXED)).splitlines()[0]
    assert first == "**FIXED: 2 failing tests pass with this change; 12 others still pass**"


def test_the_start_value_of_the_confidence_is_no_reason() -> None:
    story = a_told_story(Outcome.FIXED).with_(
        confidence=Confidence(
            value=0.8, factors=("rung 1 starts at 0.80", "a (+0.05)", "b (-0.20)", "c (+0.10)")
        )
    )
    (line,) = [one for one in mission_report(story).splitlines() if "Confidence: " in one]
    assert re.sub(r"\\", "", line).endswith(": b (-0.20); c (+0.10)")


def test_an_address_is_not_shown_as_an_input() -> None:
    (iteration,) = a_fix(Outcome.FIXED, large=True)["iterations"]
    rival = iteration.candidate.rivals[0].with_(distinguishing_input="f(<Slot object at 0x7f>)")
    candidate = iteration.candidate.with_(rivals=(rival,))
    verification = iteration.verification.with_(doubts=())
    changed = (iteration.with_(candidate=candidate, verification=verification),)
    text = mission_report(a_told_story(Outcome.FIXED, iterations=changed))
    assert "0x" not in text
    assert "behaves differently on objects without a readable form" in text


def test_code_in_a_sentence_stays_code() -> None:
    text = mission_report(a_told_story(Outcome.FIXED))
    assert "\\`" not in text


def test_the_cause_names_the_changed_line_and_asks_for_the_intention() -> None:
    cause = (
        mission_report(a_told_story(Outcome.FIXED)).partition("### Cause")[2].partition("###")[0]
    )
    assert "`add` in `broken_math.py` line 3 has `-`; with `+` the failures are gone" in cause
    assert "The commit (head aaaaaaaaaaaa) brought this code. **Was that intended?**" in cause
