"""Anchors above an edit are read in bounded time."""

import time

import pytest

from bot.fixers.rung2_model.edits.labels import parse_anchor


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("@@ Box.get @@", "Box.get"),
        ("  @@Box.get", "Box.get"),
        ("@@     def get(self):", "def get(self):"),
        ("@@ @@", ""),
        ("@@", None),
        ("@@ a@b", None),
        ("text @@ a", None),
    ],
)
def test_an_anchor_names_a_place(line: str, name: str | None) -> None:
    assert parse_anchor(line) == name


def test_lines_that_are_nearly_anchors_are_read_in_time() -> None:
    line = "@@" + " " * 390 + "@x"
    started = time.process_time()
    assert [parse_anchor(line) for _ in range(50)] == [None] * 50
    assert time.process_time() - started < 2, "cubic work would take ten seconds"
