"""A step's summary, notes and outputs: within the runner's limits, and nothing foreign is a command."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.action.step_summary import (
    SUMMARY_BYTES,
    commands_stopped,
    output_lines,
    step_summary,
    write_annotations,
    write_mask,
    write_notice,
)
from bot.publish.story import Story, build_story
from tests.builders import a_mission, a_verification, an_iteration

FOREIGN = "x\n::add-path::/tmp\r\n##[group]\n%0A::error::y, :z"


def story(diff: str = "") -> Story:
    context = a_mission()
    if diff:
        context = context.with_(iterations=(an_iteration(verification=a_verification(diff=diff)),))
    return build_story(context)


def outputs(text: str) -> dict[str, str]:
    """As the runner reads `GITHUB_OUTPUT`."""
    found: dict[str, str] = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        name, word = line.split("<<", 1)
        value = []
        for inner in lines:
            if inner == word:
                break
            value.append(inner)
        found[name] = "\n".join(value)
    return found


def test_the_summary_tells_the_mission_and_what_was_not_done() -> None:
    text = step_summary(story(), ("Nothing was written: dry run.",))
    assert text.startswith("## MetaAgent\n")
    for wanted in ("FIXED", "- Nothing was written: dry run.", "```diff", "Red to green"):
        assert wanted in text


def test_the_summary_of_a_monstrous_patch_stays_within_the_runner_s_limit() -> None:
    monster = "diff --git a/x b/x\n" + "+😀" * 400_000
    text = step_summary(story(monster), ("note " * 100_000,))
    assert len(text.encode()) <= SUMMARY_BYTES
    assert text.count("```") % 2 == 0
    assert text.count("<details>") == text.count("</details>")


def test_every_suspect_line_has_a_note_in_the_folder_of_the_project() -> None:
    out = io.StringIO()
    write_annotations(story(), out, folder="api/")
    lines = out.getvalue().splitlines()
    assert lines
    assert all(
        re.fullmatch(r"::notice file=api/[^,:]+,line=\d+,title=[^:,]+::.+", line) for line in lines
    )


@given(st.text())
def test_a_note_is_one_command_whatever_it_says(text: str) -> None:
    out = io.StringIO()
    write_notice(text, out, level="warning")
    said = out.getvalue()
    assert said.startswith("::warning title=MetaAgent::")
    assert said.count("\n") == 1
    assert "\r" not in said


@given(
    st.dictionaries(
        st.from_regex(r"[a-z-]{1,8}", fullmatch=True),
        st.text(st.characters(exclude_characters="\r")),
    )
)
def test_outputs_come_out_as_they_went_in(values: dict[str, str]) -> None:
    assert outputs(output_lines(values)) == values


def test_no_value_can_guess_where_it_ends() -> None:
    first, second = (re.findall(r"<<(\S+)", output_lines({"a": "b"})) for _ in range(2))
    assert first != second


def test_between_stop_and_resume_everything_is_text_also_when_it_breaks() -> None:
    out = io.StringIO()

    def breaks() -> None:
        with commands_stopped(out, "MetaAgent: 1"):
            out.write(FOREIGN)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        breaks()
    lines = out.getvalue().split("\n")
    word = lines[1].removeprefix("::stop-commands::")
    assert lines[0] == "::group::MetaAgent: 1"
    assert re.fullmatch(r"[0-9a-f]{32}", word)
    assert lines[-3:] == [f"::{word}::", "::endgroup::", ""]


def test_a_secret_of_several_lines_is_masked_line_by_line() -> None:
    out = io.StringIO()
    write_mask("one\n\n two%\n", out)
    assert out.getvalue() == "::add-mask::one\n::add-mask:: two%25\n"
