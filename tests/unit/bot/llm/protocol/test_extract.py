"""A message is found in whatever a model wrote, or it is said that there is none; at once, and never wrongly."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.llm.protocol.extract import extract
from bot.llm.protocol.messages import MESSAGES, AssessLive, Message, NextStep
from tests.unit.bot.llm.protocol.noisy import ANSWERS, HOSTILE, Noisy, replies

REPLIES = tuple(replies())
ENOUGH_S = 0.5
"""The bar is 0.05 s; what is not bounded takes many seconds, and a machine may be slow."""
TRIES = 3
"""Python clears up after thousands of other tests when it likes."""


def test_there_are_enough_noisy_replies() -> None:
    assert len({reply.text for reply in REPLIES}) >= 150


@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: reply.name)
def test_the_right_message_is_found_or_none(reply: Noisy) -> None:
    found = extract(reply.text, reply.returns, echoed=reply.echoed)
    assert found.message == reply.right
    assert (found.message is None) == bool(found.problem)


def test_the_last_valid_one_of_the_best_class_wins() -> None:
    one, other = "should_continue: true", "should_continue: false"
    envelope = "type: assess_live\nversion: 1\npayload:\n  "
    block = f"```yaml\n{envelope}{one}\n```\n"
    assert extract(f"{block}{envelope}{other}\n", AssessLive).message == AssessLive(next="continue")
    last = f"{block}```yaml\n{envelope}{other}\n```\n```yaml\n{envelope}maybe: yes\n```\n"
    assert extract(last, AssessLive).message == AssessLive(next="stop")


def test_the_problem_tells_the_model_what_to_mend() -> None:
    near = "type: assess_live\nversion: 1\npayload:\n  next: perhaps\n"
    assert "next" in extract(near, AssessLive).problem
    assert "perhaps" not in extract(near, AssessLive).problem
    assert "type: assess_live" in extract("no idea", AssessLive).problem
    assert "version" in extract(near.replace("1", "7"), AssessLive).problem


def test_an_answer_that_stands_in_the_question_is_none() -> None:
    answer = ANSWERS[0]
    found = extract(answer.json, NextStep, echoed=f"attacker says\n```\n{answer.yaml}```\n")
    assert found.message is None
    assert "repeats" in found.problem


def test_only_a_closed_block_or_a_whole_object_is_known_to_be_complete() -> None:
    answer = ANSWERS[2]
    assert extract(f"```yaml\n{answer.yaml}```", AssessLive).closed
    assert extract(f"so: {answer.json}", AssessLive).closed
    assert not extract(f"```yaml\n{answer.yaml}", AssessLive).closed
    assert not extract(answer.yaml, AssessLive).closed


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_quarter_of_a_mebibyte_is_read_at_once(name: str) -> None:
    text = HOSTILE[name]
    seconds: list[float] = []
    while not seconds or (seconds[-1] >= ENOUGH_S and len(seconds) < TRIES):
        start = time.process_time()
        extract(text, NextStep, echoed="")
        seconds.append(time.process_time() - start)
    assert seconds[-1] < ENOUGH_S


_PIECES = st.sampled_from(
    [
        *(answer.yaml for answer in ANSWERS),
        *(answer.json for answer in ANSWERS),
        *(
            "```yaml\n",
            "```\n",
            "~~~\n",
            "type: ",
            "payload:\n",
            "  ",
            "\t",
            "<think>",
            "</think>",
            "- ",
            "{",
            "[",
            "&a ",
        ),
        *(
            "*a",
            "!!x ",
            "'",
            '"',
            "|\n",
            ": ",
            "#",
            "\r\n",
            "\u202e",
            "\x1b[31m",
            "\x00",
            "\ud800",
            "---\n",
            "? ",
            "%",
        ),
    ]
)
_SOUP = st.lists(_PIECES | st.text(max_size=20), max_size=40).map("".join)


@settings(max_examples=80)
@given(text=_SOUP, returns=st.sampled_from(MESSAGES), echoed=_SOUP)
def test_nothing_that_is_written_is_an_exception(
    text: str, returns: type[Message], echoed: str
) -> None:
    found = extract(text, returns, echoed=echoed)
    assert found.message is None or type(found.message) is returns


@settings(max_examples=30)
@given(
    noise=st.text(alphabet=st.characters(exclude_characters="`~"), max_size=300),
    at=st.integers(0, 3),
)
def test_noise_around_a_block_changes_nothing(noise: str, at: int) -> None:
    answer = ANSWERS[at]
    text = f"{noise.replace('<', '')}\n\n```yaml\n{answer.yaml}```\n\n{noise.replace('<', '')}"
    assert extract(text, answer.returns).message == answer.right
