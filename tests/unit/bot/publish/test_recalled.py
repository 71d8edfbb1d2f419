"""Recalled lessons in words."""

import pytest

from bot.domain.lesson import RememberedFix
from bot.publish.recalled import recalled_lessons, recalled_section
from bot.publish.story import build_story
from tests.builders import a_candidate, a_lesson, a_mission, a_recalled_lesson, a_verification

FIX = RememberedFix(diff="+x", title="x", score=0.9, candidates=208, seconds=12.34)


@pytest.mark.parametrize(
    ("recalled_from", "green", "said"),
    [
        ("m-0001", True, "its fix was tried first and saved a search of 208 candidates, 12.3 s"),
        ("m-0001", False, "its fix was tried first and did not hold"),
        ("", True, "same fingerprint"),
    ],
)
def test_the_use_of_a_recalled_fix_is_named(recalled_from: str, *, green: bool, said: str) -> None:
    mission = a_mission(lessons=(a_recalled_lesson(lesson=a_lesson(fix=FIX)),))
    (iteration,) = mission.iterations
    tried = iteration.with_(
        candidate=a_candidate(recalled_from=recalled_from), verification=a_verification(green=green)
    )
    ((sentence, reason),) = recalled_lessons(build_story(mission.with_(iterations=(tried,))))
    assert sentence == a_lesson().sentence
    assert reason.endswith(said)


def test_an_edit_that_was_moved_is_named_with_the_search_it_took() -> None:
    recalled = a_recalled_lesson(lesson=a_lesson(fix=FIX), reason="same edit")
    mission = a_mission(lessons=(recalled,))
    (iteration,) = mission.iterations
    tried = iteration.with_(
        candidate=a_candidate(recalled_from="m-0001"), verification=a_verification()
    )
    story = build_story(mission.with_(iterations=(tried,)))
    section = recalled_section(story)
    assert section is not None
    assert "the same mistake at another place ended" in section.lead
    assert "its edit was tried here first, the search took 208 candidates, 12.3 s then" in (
        section.lead
    )
