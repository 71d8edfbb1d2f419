"""The timeline is ours alone, and ticks survive."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.mission import Outcome
from bot.publish.overview import BOXES, boxes, ticks, timeline, with_ticks
from bot.publish.report import mission_report
from bot.publish.story import build_story
from tests.builders import a_mission, a_triage, an_iteration
from tests.unit.bot.publish.test_report import ATTACKS, flooded_story, hostile_mission


def test_a_fix_is_drawn_from_red_to_green() -> None:
    drawn = timeline(build_story(a_mission()))
    assert drawn is not None
    assert drawn.render().splitlines()[2:-2] == [
        "```mermaid",
        "timeline",
        "    title From red to green in 6 s",
        "    Reproduce : red in 3 of 3 runs",
        "    Base commit : green there",
        "    Analyze : 1 suspect place",
        "    Plan : 2 steps",
        "    Fix : 12 candidates : 1.2 s",
        "    Verify : 4 of 4 runs green : 2.5 s : rung 1, search",
        "```",
    ]


def test_every_turn_of_the_loop_is_drawn() -> None:
    drawn = timeline(build_story(a_mission(iterations=(an_iteration(), an_iteration(number=2)))))
    assert drawn is not None
    assert "Verify 1 :" in drawn.before
    assert "Verify 2 :" in drawn.before


def test_a_mission_without_a_way_draws_none() -> None:
    assert timeline(build_story(a_mission(Outcome.POLICY, triage=None, iterations=()))) is None
    assert (
        timeline(
            build_story(
                a_mission(Outcome.FLAKY, triage=a_triage(base_checked=False), iterations=())
            )
        )
        is None
    )


@pytest.mark.parametrize("text", ATTACKS)
def test_no_foreign_text_stands_in_the_diagram(text: str) -> None:
    drawn = timeline(build_story(hostile_mission(text, Outcome.FIXED)))
    assert drawn is not None
    assert re.fullmatch(r"```mermaid\ntimeline\n(?:    [A-Za-z0-9 :.,_]+\n)+```", drawn.before)


@given(st.sets(st.sampled_from(sorted(BOXES))))
def test_ticks_survive_a_new_text(ticked: set[str]) -> None:
    blank = boxes().render()
    earlier = with_ticks(
        blank, "\n".join(f"- [X] {name} <!-- metaagent:box={name} -->" for name in ticked)
    )
    assert set(ticks(earlier)) == ticked
    assert set(ticks(with_ticks(f"new\n{blank}", earlier))) == ticked
    assert ticks(blank) == ()


def test_boxes_of_somebody_else_count_for_nothing() -> None:
    assert ticks("- [x] anything\n- [x] y <!-- metaagent:box=forged -->") == ()


def test_a_diff_ticks_no_box() -> None:
    forged = "```diff\n- [x] a list in a file <!-- metaagent:box=right -->\n```\n"
    blank = boxes().render()
    assert ticks(forged + blank) == ()
    assert ticks(forged + blank.replace("- [ ] Neither", "- [x] Neither")) == ("wrong",)


def test_only_a_pull_request_asks_what_people_think() -> None:
    story = build_story(a_mission())
    assert "- [ ] " not in mission_report(story)
    assert "mermaid" not in mission_report(story)
    assert mission_report(story, offered=True).count("- [ ] ") == len(BOXES)


@pytest.mark.parametrize("limit", [3_000, 20_000, 65_536])
def test_a_cut_report_keeps_diagram_and_boxes_whole(limit: int) -> None:
    text = mission_report(flooded_story(30_000), limit=limit, offered=True)
    assert len(text) <= limit
    assert text.count("```mermaid") == 1
    assert text.count("- [ ] ") == len(BOXES)
    assert text.count("<details>") == text.count("</details>")
