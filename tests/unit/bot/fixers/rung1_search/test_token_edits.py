"""Edits of one line as changes of tokens, made again on other lines."""

import pytest

from bot.fixers.rung1_search.token_edits import find_places, read_edits


def a_diff(old: str, new: str) -> str:
    return (
        f"diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1,3 +1,3 @@\n def f(x):\n"
        f"-{old}\n+{new}\n     # end\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("    return a < b", "    return a <= b", "    if n < limit:", ["    if n <= limit:"]),
        ("    x = (len(a))", "    x = (size(a))", "    return len(b)", ["    return size(b)"]),
        ("    return a < b", "    return a <= b", "    x = c<d", ["    x = c<=d"]),
        ("    return n == 1", "    return n == 0", "    x = n == 1", ["    x = n == 0"]),
        ("    i = len(a)", "    i = len(a) - 1", "    last = size(b)", ["    last = size(b) - 1"]),
        (
            "    return text.lower()",
            "    return text.strip().lower()",
            "    key = name.lower()",
            ["    key = name.strip().lower()"],
        ),
        ("    return round(x, 1)", "    return x", "    y = round(x, 1)", ["    y = x"]),
        (
            "    return a + b",
            "    return a - b",
            "    return a + b + c",
            ["    return a - b + c", "    return a + b - c"],
        ),
    ],
)
def test_an_edit_is_made_where_its_tokens_are(
    old: str, new: str, line: str, expected: list[str]
) -> None:
    (edit,) = read_edits(a_diff(old, new))
    made = [line[: p.start] + p.text + line[p.end :] for p in find_places(edit, line)]
    assert made == expected


def test_alike_surroundings_have_fewer_strangers() -> None:
    (edit,) = read_edits(a_diff("    return a < b", "    return a <= b"))
    (same,) = find_places(edit, "    if a < b:")
    (other,) = find_places(edit, "    if n < limit:")
    assert (same.strangers, other.strangers) == (0, 2)


@pytest.mark.parametrize(
    "diff",
    [
        "",
        "no diff",
        a_diff("    return a", "    return a\n+    return b"),
        a_diff("    return a", "    x = compute(all, of, these, words, at, once)"),
    ],
)
def test_a_large_edit_says_nothing_about_other_lines(diff: str) -> None:
    assert read_edits(diff) == ()


def test_a_line_that_no_person_writes_is_not_read() -> None:
    """Hostile repositories have lines on which reading open quotes would take hours."""
    (edit,) = read_edits(a_diff("    return a < b", "    return a <= b"))
    long = "    if a < b: " + '"\\' * 500_000
    assert list(find_places(edit, long)) == []
    assert read_edits(a_diff(long, long.replace("<", "<="))) == ()
