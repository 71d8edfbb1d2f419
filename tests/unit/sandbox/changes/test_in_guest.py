"""Context around a line."""

from sandbox.changes.in_guest import focus
from sandbox.changes.syntax import parse, same_program


def test_the_focus_line_is_marked_and_numbered() -> None:
    context = focus("a\nb\nc\nd\n", "m.py", 2, around=1)
    assert context.success
    assert context.snippet == "   1 | a\n-> 2 | b\n   3 | c"
    assert (context.focus_content, context.context_before, context.context_after) == (
        "b",
        ("a",),
        ("c",),
    )
    assert context.total_lines == 4


def test_lines_end_where_tools_count_them() -> None:
    context = focus("a\x0c\r\nb\u2028\rc", "m.py", 3)
    assert (context.focus_content, context.total_lines) == ("c", 3)
    assert focus("", "m.py", 1).total_lines == 0


def test_a_line_that_is_not_there_is_no_success() -> None:
    for line in (0, -3, 9):
        assert not focus("a\n", "m.py", line).success


def test_layout_and_comments_do_not_make_another_program() -> None:
    assert same_program("x=1 # a\n", "x = 1\n")
    assert not same_program("x = 1\n", "x = 2\n")
    assert not same_program("x = (\n", "x = (\n")


def test_a_text_made_to_break_the_parser_is_not_parsed() -> None:
    assert parse("(" * 100_000) is None
    assert parse("-" * 100_000 + "1") is None
    assert parse("x" * 500_000) is None
    assert parse("\0") is None
