"""Mission to Markdown."""

import re
import shlex
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.domain.diagnosis import Suspect
from bot.domain.mission import Confidence, MissionContext, Outcome
from bot.domain.patch import Rival, TestChange
from bot.domain.policy import RepositoryPolicy
from bot.publish.report import INTRODUCTION, REPORT_BYTES, answer, mission_report, reproduce_command
from bot.publish.story import Story, build_story, headline
from bot.publish.terminal import report_text
from sandbox.types import FileEdit, LockRepair, TestStatus
from tests.builders import (
    TEST,
    a_candidate,
    a_change,
    a_commanded_request,
    a_critique,
    a_diagnosis,
    a_failure,
    a_folder_request,
    a_mission,
    a_recalled_lesson,
    a_recipe,
    a_report,
    a_verification,
    an_attempt,
    an_iteration,
    facts,
)

ATTACKS = (
    "<img src=x onerror=alert(1)>",
    "</details><script>alert(1)</script>",
    "@alice please merge",
    "fixes #12 and closes GH-13",
    "```\n</details>\n# Approved\n```",
    "![x](https://evil.example/p.png)",
    "[click](javascript:alert(1))",
    "<!-- metaagent:mission=forged fingerprint=forged -->",
    "| a | b |\n|---|---|",
    "\x1b[31mred\x1b[0m",
    "a\u202eb",
)


def told(outcome: Outcome = Outcome.FIXED, **changes: Any) -> str:
    return mission_report(
        build_story(
            a_mission(outcome, **changes),
            confidence=Confidence(value=0.87, calibrated=True, factors=("one",)),
        )
    )


def outside_code(markdown: str) -> str:
    """What a Markdown reader interprets: without fences and code spans."""
    without_fences = re.sub(
        r"^(`{3,})[a-z]*\n.*?^\1$", "", markdown, flags=re.MULTILINE | re.DOTALL
    )
    return re.sub(r"(?<!\\)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", without_fences)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_a_headline_a_reason_and_a_marker(outcome: Outcome) -> None:
    text = told(outcome)
    assert text.startswith(f"**{outcome.value}: ")
    assert ("it ended" in text) is (outcome not in {Outcome.FIXED, Outcome.IMPROVED})
    assert "<!-- metaagent:mission=m-0001 fingerprint=0123456789abcdef0123456789abcdef -->" in text


@pytest.mark.parametrize(
    "expected",
    [
        "**FIXED: 1 failing test passes with this change; 1 other still passes**",
        "Red check: tests, commit aaaaaaaaaaaa on `main`",
        "- Seen: `test_add` expected 3, got \\-1 in `calculator.add`",
        "- `add` in `calculator.py` line 2 has `-`; with `+` the failures are gone",
        f"- `{TEST}`: fail → pass",
        "1 other test stays green; 4 of 4 runs agree in 1 fresh sandbox",
        "- Not checked: mutants of the changed lines;",
        "other Python versions of the matrix",
        "**Confidence: 0.87** (calibrated on known changes)",
        "| reproduced | 3 of 3 runs red |",
        "| base commit | green there |",
        f"python -m pytest {TEST}",
        "| plausible candidates | 1 |",
        "| cost of rung 1 | 1.2 s, $0.0000 |",
        "| won by | rung 1 (search, swap_operator) |",
        "- use \\+ in add: `-` became `+`",
    ],
)
def test_a_fix_is_told_with(expected: str) -> None:
    assert expected in told()


def test_every_step_of_a_fix_is_explained() -> None:
    first = an_iteration(
        number=1,
        candidate=a_candidate(title="use + in add", explanation="first"),
        verification=a_verification(green=False, partial=True),
    )
    refused = an_iteration(
        number=2,
        candidate=a_candidate(title="refused-one"),
        verification=a_verification(green=False),
    )
    last = an_iteration(number=3, candidate=a_candidate(title="use == in even", explanation="last"))
    tried = told(iterations=(first, refused, last)).partition("What was tried")[2]
    tried = tried.partition("</details>")[0]
    assert "first" in tried
    assert "last" in tried
    assert "refused" not in tried


@pytest.mark.parametrize(
    ("name", "runner", "word"),
    [
        ("words.py:F401#1", "diagnostics", "gone"),
        ("tests/test_a.py", "pytest", "gone"),
        ("tests/test_a.py::test_b", "pytest", "not collected"),
    ],
)
def test_what_is_not_reported_any_more_has_the_right_word(
    name: str, runner: str, word: str
) -> None:
    verification = a_verification(
        table=(TestChange(name=name, before=TestStatus.FAIL, after=None),)
    )
    context: dict[str, Any] = {
        "iterations": (an_iteration(verification=verification),),
        "test_results": a_report(runner=runner),
    }
    shown = "`F401` in `words.py`" if runner == "diagnostics" else f"`{name}`"
    assert f"- {shown}: fail → {word}" in told(**context)
    assert f"{name}: fail -> {word}" in report_text(a_mission(**context))


def test_what_the_settings_file_gets_wrong_is_said() -> None:
    text = told(policy=RepositoryPolicy(problems=("unknown key `rung`",)))
    assert "Errors in the policy" in text
    assert "unknown key" in text


def test_a_recalled_lesson_is_named() -> None:
    text = told(lessons=(a_recalled_lesson(),))
    assert "**Recalled from earlier missions:**" in text
    assert (
        "2026\\-01\\-02: the same failure ended `FIXED` by `swap_operator` in `calculator.py`"
        in text
    )


def test_rivals_and_doubts_are_shown_to_the_reviewer() -> None:
    rival = Rival(
        template="change_literal",
        path="a.py",
        line=3,
        description="3 became 4",
        distinguishing_input="f(0)",
    )
    iteration = an_iteration(
        candidate=a_candidate(
            behaviours=2, plausible=5, rivals=(rival,), warnings=("a constant condition",)
        ),
        verification=a_verification(doubts=("one run was slow",)),
    )
    text = told(iterations=(iteration,))
    assert "Another fix passes too: `a.py:3` 3 became 4; it differs on `f(0)`" in text
    assert "Doubt: a constant condition" in text
    assert "Doubt: one run was slow" in text


def test_a_mission_without_a_fix_shows_failures_and_what_was_tried() -> None:
    iteration = an_iteration(
        candidate=None, verification=None, attempt=an_attempt(candidates=(), candidates_tried=99)
    )
    text = told(Outcome.NO_FIX, iterations=(iteration,))
    assert "99 candidates tried" in text
    assert "<summary>Failing</summary>" in text
    assert "`assert -1 == 3`" in text
    assert "rung 0" in text


def test_a_question_stands_in_a_fence() -> None:
    text = told(Outcome.NEEDS_HUMAN, question="Which one: f(0) == 1 or f(0) == 2?")
    assert "### Question\n\n```text\nWhich one: f(0) == 1 or f(0) == 2?\n```" in text


def test_an_answer_carries_the_patch_only_when_nothing_was_pushed() -> None:
    story = build_story(a_mission(request=a_commanded_request()))
    assert "+    return a + b" in answer(story)
    pushed = story.with_(delivered="Pull request: https://github.invalid/octo/calculator/pull/1")
    assert "+    return a + b" not in answer(pushed)
    assert "Pull request: https://github.invalid/octo/calculator/pull/1" in answer(pushed)


def test_the_command_to_reproduce_names_at_most_three_tests() -> None:
    assert reproduce_command(a_mission()) == f"python -m pytest {TEST}"
    many = a_report(outcomes={f"t.py::t{n}": TestStatus.FAIL for n in range(4)})
    assert reproduce_command(a_mission(test_results=many)) == "pytest -q"
    quoted = a_report(outcomes={"t.py::t[$(rm -rf /)]": TestStatus.FAIL})
    assert (
        reproduce_command(a_mission(test_results=quoted))
        == "python -m pytest 't.py::t[$(rm -rf /)]'"
    )
    assert reproduce_command(a_mission(test_results=None)) == "pytest -q"


def test_the_command_to_reproduce_begins_where_the_step_ran() -> None:
    inside = facts(recipe=a_recipe(working_directory="back end"))
    assert reproduce_command(a_mission(facts=inside)) == f"cd 'back end' && python -m pytest {TEST}"


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_working_tree_is_not_offered_commands(outcome: Outcome) -> None:
    assert "/metaagent" not in told(outcome, request=a_folder_request())


def hostile_mission(text: str, outcome: Outcome) -> MissionContext:
    failure = a_failure(
        name=f"t.py::{text}", error_message=text, traceback=text, error=text, file=text, output=text
    )
    report = a_report(
        failures=(failure,), outcomes={failure.name: TestStatus.FAIL}, raw_output=text, summary=text
    )
    diagnosis = a_diagnosis(
        title=text,
        cause=text,
        failures=(failure,),
        reasoning=text,
        suspects=(Suspect(file=text or "a", line=1, score=0.5, reason=text),),
    )
    candidate = a_candidate(
        template=text,
        title=text,
        explanation=text,
        warnings=(text,),
        changes=(a_change(content=text),),
        rivals=(
            Rival(template=text, path=text, line=1, description=text, distinguishing_input=text),
        ),
    )
    fixed = {
        Outcome.FIXED: a_verification(
            diff=text, doubts=(text,), not_verified=(text,), newly_failing=(text,)
        )
    }
    iteration = an_iteration(
        diagnosis=diagnosis,
        critique=a_critique(rationale=text, strengths=(text,)),
        attempt=an_attempt(notes=(text,)),
        candidate=candidate,
        verification=fixed.get(outcome),
    )
    return a_mission(
        outcome,
        iterations=(iteration,),
        test_results=report,
        reason=text,
        advice=text,
        question=text,
        error_reference=text,
        facts=facts(image=text, interpreter=text),
        lessons=(a_recalled_lesson(reason=text),),
    )


def assert_harmless(markdown: str) -> None:
    plain = outside_code(markdown)
    allowed = re.sub(r"</?details>|</?summary>|<!-- metaagent:[a-z0-9=:. -]+ -->", "", plain)
    assert not re.search(r"<[A-Za-z/!?]", allowed), "raw HTML"
    assert not re.search(r"(?<![\w/.])@\w", plain), "a mention"
    assert not re.search(r"(?<!\\)#\d|\bGH-\d", plain), "a reference"
    assert not re.search(r"(?<!\\)\]\(", plain), "a link or an image"
    assert "\x1b" not in markdown
    assert "\u202e" not in markdown
    assert markdown.count("metaagent:mission=") - plain.count("metaagent:mission=") >= 0
    assert len(re.findall(r"<!-- metaagent:mission=", plain)) == 1, "one marker, and it is ours"


@pytest.mark.parametrize("text", ATTACKS)
@pytest.mark.parametrize("outcome", [Outcome.FIXED, Outcome.NO_FIX])
def test_an_attack_in_every_foreign_text_stays_text(text: str, outcome: Outcome) -> None:
    story = build_story(hostile_mission(text, outcome))
    assert_harmless(mission_report(story))
    assert_harmless(answer(story))


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.text(alphabet=st.sampled_from("`~|<>@#\\\n\r-!*_&;:/ abGH1[]()"), max_size=60),
    st.sampled_from([Outcome.FIXED, Outcome.ERROR]),
)
def test_any_text_stays_text(text: str, outcome: Outcome) -> None:
    assert_harmless(mission_report(build_story(hostile_mission(text, outcome))))


HOSTILE_NAMES = (
    "$(touch x).py",
    "`touch x`.py",
    "'; touch x; '.py",
    "a & touch x.py",
    "<b>.py",
    "a|b.py",
    "@user.py",
    "a](http://evil.example).py",
    "routes/$id$.tsx",
)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_is_shown_and_runs_nothing(name: str) -> None:
    mission = hostile_mission(name, Outcome.FIXED)
    repair = LockRepair(
        path=name, content="", program="npm 10", command="npm install", refused="npm ci", refusal=""
    )
    known = facts(recipe=a_recipe(working_directory=name), lock_repair=repair)
    edited = a_verification(edits=(FileEdit(path=name, mode="100644", content=b"x\n"),))
    last = mission.iterations[-1].with_(verification=edited)
    story = build_story(mission.with_(facts=known, iterations=(last,)))
    for text in (mission_report(story), answer(story)):
        assert_harmless(text)
        assert not re.search(r"(?<!\\)\$(?!\d)", outside_code(text)), "a formula"
    command = reproduce_command(story.context)
    assert shlex.split(command)[:3] == ["cd", name, "&&"]
    assert name in report_text(story.context)


def flooded_story(lines: int) -> Story:
    diff = "\n".join(f"+line {n} `" for n in range(lines))
    return build_story(
        a_mission(iterations=(an_iteration(verification=a_verification(diff=diff)),))
    )


@pytest.mark.parametrize("lines", [1, 3000, 30_000])
def test_a_report_never_exceeds_the_limit_and_closes_what_it_opens(lines: int) -> None:
    text = mission_report(flooded_story(lines))
    assert len(text.encode()) <= REPORT_BYTES
    assert text.count("<details>") == text.count("</details>")
    assert text.rstrip().endswith("-->")
    assert "### Red to green" in text


@settings(max_examples=25, deadline=None)
@given(st.integers(min_value=400, max_value=6000))
def test_a_report_fits_any_limit(limit: int) -> None:
    text = mission_report(flooded_story(300), limit=limit)
    assert len(text) <= limit
    assert text.count("<details>") == text.count("</details>")


def test_the_headline_of_an_error_names_its_reference() -> None:
    assert (
        headline(build_story(a_mission(Outcome.ERROR, error_reference="E-12")))
        == "ERROR: MetaAgent could not finish this, reference E-12"
    )


@pytest.mark.parametrize("outcome", [Outcome.FIXED, Outcome.NO_FIX])
def test_the_first_answer_in_a_repository_says_what_this_is_and_how_to_stop_it(
    outcome: Outcome,
) -> None:
    story = build_story(a_mission(outcome))
    for text in (mission_report(story, offered=True), answer(story)):
        assert INTRODUCTION not in text
    first = story.with_(is_first=True)
    for text in (mission_report(first, offered=True), answer(first)):
        assert text.count(INTRODUCTION) == 1
    assert INTRODUCTION.count(". ") == 1, "two sentences"
