"""Boxes of the dashboard: what is written is read again, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.boxes import Box, read_box, ticked_rows
from bot.domain.command import Verb

TEXT = st.text(max_size=60)


@given(branch=TEXT, target=TEXT, mission=TEXT)
def test_a_box_is_read_as_it_was_written(branch: str, target: str, mission: str) -> None:
    box = Box(
        verb=Verb.RETRY,
        target=target,
        options={"mission": mission},
        head_sha="a" * 40,
        head_branch=branch,
    )
    row = box.row("try again")
    assert read_box(row) == box
    assert "--" not in row.removeprefix("- [ ] <!-- ").partition(" -->")[0]
    assert ticked_rows(f"before\r\n{row.replace('[ ]', '[x]', 1)}\r\nafter") == (row,)


@pytest.mark.parametrize(
    "row",
    [
        "",
        "- [ ] turn off",
        "- [ ] <!-- metaagent:do=off --> text",
        "- [ ] <!-- metaagent:do=%7B%22verb%22%3A%22dance%22%7D --> text",
        "text - [x] <!-- metaagent:do=%7B%22verb%22%3A%22off%22%7D --> text",
        "  - [x] <!-- metaagent:do=%7B%22verb%22%3A%22off%22%7D --> text",
    ],
)
def test_another_line_is_no_box(row: str) -> None:
    assert read_box(row) is None
