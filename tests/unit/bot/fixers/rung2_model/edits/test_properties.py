"""What holds for every answer: nothing else moves, nothing raises, and the same edit in another dress comes to the same."""

import difflib
import textwrap

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.fixers.rung2_model.edits import EditRules, Reason, SentFile, read_edits
from tests.unit.bot.fixers.rung2_model.edits.cases import MATHS, SOURCE, block, fence

PATH = "notes.txt"
RULES = EditRules(layout=True)
LINE = st.text("ab \t-+=", max_size=6)
LINES = st.lists(LINE, min_size=1, max_size=12)
SPAN = st.tuples(st.integers(0, 11), st.integers(1, 4))
PIECES = st.sampled_from(
    [
        "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "```python\n", "```\n", f"{MATHS}\n", "@@ Box.get\n",
        "*** Begin Patch\n", f"*** Update File: {MATHS}\n", "*** End Patch\n", f"--- a/{MATHS}\n+++ b/{MATHS}\n",
        "@@ -1,2 +1,2 @@\n", "-    return a - b\n", "+    return a + b\n", "    return a - b\n", "    return a + b\n",
        "def add(a, b):\n", "class Box:\n", "    def get(self):\n", "        return 1\n", "import math\n", "prose\n", "\n",
        "\ufeff", "\x1b[1m", "\r\n", "\t", "\u2028", "\ud800", "# ...\n", "../x.py\n", "*** Delete File: a\n",
    ]
)  # fmt: skip


def answer(search: list[str], replace: list[str]) -> str:
    return f"{PATH}\n" + block(
        "".join(f"{x}\n" for x in search), "".join(f"{x}\n" for x in replace), mark=9
    )


@given(
    lines=LINES,
    span=SPAN,
    new=st.lists(LINE, max_size=4),
    end=st.sampled_from(["\n", "\r\n"]),
    closed=st.booleans(),
)
def test_an_exact_block_changes_its_lines_and_nothing_else(
    lines: list[str], span: tuple[int, int], new: list[str], *, end: str, closed: bool
) -> None:
    start, stop = span[0], min(span[0] + span[1], len(lines))
    text = end.join(lines) + (end if closed or not lines[-1] else "")
    searched = lines[start:stop]
    assume(any(line.strip() for line in searched))
    read = read_edits(answer(searched, new), [SentFile(path=PATH, text=text)], RULES)
    if not read.changes:
        assert read.rejections
        return
    expected = [*lines[:start], *new, *lines[stop:]]
    ways = [
        [*lines[:at], *new, *lines[at + len(searched) :]]
        for at in range(len(lines))
        if [x.rstrip() for x in lines[at : at + len(searched)]] == [x.rstrip() for x in searched]
    ]
    got = (read.changes[0].content or "").replace("\r\n", "\n")
    wanted = ["\n".join(way) for way in (expected, *ways)]
    assert got.rstrip("\n") in {each.rstrip("\n") for each in wanted}
    assert (read.changes[0].content or "").count("\r\n") in {
        0,
        (read.changes[0].content or "").count("\n"),
    }


@given(text=st.lists(PIECES, max_size=25).map("".join), truncated=st.booleans())
@settings(max_examples=300)
def test_no_answer_raises_or_leaves_the_files_that_were_sent(text: str, *, truncated: bool) -> None:
    read = read_edits(text, [SentFile(path=MATHS, text=SOURCE)], truncated=truncated)
    assert bool(read.changes) != bool(read.rejections)
    assert {change.path for change in read.changes} <= {MATHS}
    assert all((change.content or "").startswith('"""Sums."""\n') for change in read.changes)


@given(st.text(max_size=400))
def test_no_text_at_all_raises(text: str) -> None:
    read = read_edits(text, [SentFile(path=MATHS, text=SOURCE)])
    assert bool(read.changes) != bool(read.rejections)


@given(st.integers(0, 12), st.sampled_from([" ", "\t"]))
def test_a_block_further_out_comes_to_the_same_as_an_exact_one(columns: int, kind: str) -> None:
    body = f"if a:\n{kind * 4}b = 1\n{kind * 4}c = 2\n"
    inside = textwrap.indent(body, kind * columns)
    sent = [SentFile(path=PATH, text=f"top\n{inside}end\n")]
    exact = read_edits(
        answer(inside.splitlines(), inside.replace("b = 1", "b = 3").splitlines()), sent
    )
    outside = read_edits(
        answer(body.splitlines(), body.replace("b = 1", "b = 3").splitlines()), sent
    )
    assert exact.changes == outside.changes != ()


@given(old=st.lists(LINE, min_size=1, max_size=30), new=st.lists(LINE, min_size=1, max_size=30))
def test_a_diff_of_two_texts_gives_the_second_or_is_refused(old: list[str], new: list[str]) -> None:
    before, after = "".join(f"{x}\n" for x in old), "".join(f"{x}\n" for x in new)
    diff = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        f"a/{PATH}",
        f"b/{PATH}",
        n=3,
    )
    read = read_edits(
        "```diff\n" + "".join(diff) + "```\n", [SentFile(path=PATH, text=before)], RULES
    )
    if read.changes:
        assert [line.rstrip() for line in (read.changes[0].content or "").splitlines()] == [
            x.rstrip() for x in new
        ]


@given(
    st.sampled_from(
        ["return a + b", "if a:\n        return b\n    return a", 'x = """\none\n"""\n    return x']
    )
)
def test_a_function_put_in_twice_changes_nothing_the_second_time(body: str) -> None:
    text = fence(f"def add(a, b):\n    {body}\n")
    once = read_edits(text, [SentFile(path=MATHS, text=SOURCE)])
    content = once.changes[0].content or ""
    head, tail = SOURCE.split("    return a - b\n")
    assert content.startswith(head)
    assert content.endswith(tail)
    again = read_edits(text, [SentFile(path=MATHS, text=content)])
    assert [each.reason for each in again.rejections] == [Reason.NO_CHANGE]
