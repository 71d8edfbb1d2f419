"""Safe pieces of Markdown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.publish.markdown import SafeWriter, Section, bullets, fenced, fit, table
from sandbox.gate import prepare_needles

HOSTILE = st.text(
    alphabet=st.sampled_from("`~|<>@#\\\n\r\u200b\x1b[]()!*_&;: abcGH-1/"), max_size=120
)


@given(HOSTILE)
def test_a_code_span_is_one_line_that_its_content_cannot_close(text: str) -> None:
    span = SafeWriter().code(text)
    assert "\n" not in span
    if span != "-":
        ticks = re.match(r"`+", span)
        assert ticks is not None
        inside = span[len(ticks[0]) : -len(ticks[0])]
        assert ticks[0] not in re.findall(r"`+", inside)
        assert not re.search(r"(?<!\\)\|", inside), "a bare pipe would end a table's cell"


@given(HOSTILE)
def test_a_fence_is_longer_than_any_run_of_backticks_in_it(text: str) -> None:
    lines = fenced("Output", SafeWriter().block(text)).render().split("\n")
    opening = next(line for line in lines if line.startswith("```"))
    ticks = re.match(r"`+", opening)
    assert ticks is not None
    assert sum(line.strip() == ticks[0] for line in lines) == 1, "only the last line closes it"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("thanks @alice", "thanks @ alice"),
        ("fixes #12", "fixes # 12"),
        ("closes GH-7", "closes GH -7".replace("GH -7", "GH 7")),
        ("see https://x.example/a/b/issues/1", "see https: //x.example/a/b/issues/1"),
        ("wip [skip ci]", "wip (skip)"),
        ("[CI SKIP] now", "(skip) now"),
        ("two\nlines", "two lines"),
        ("a[0] == @", "a[0] == @"),
    ],
)
def test_a_title_mentions_nobody_and_switches_nothing(text: str, expected: str) -> None:
    assert SafeWriter().title(text) == expected


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["fence", "table", "bullets"]), st.text(max_size=400), st.booleans()
        ),
        max_size=8,
    ),
    st.integers(min_value=200, max_value=1500),
)
def test_sections_fit_the_limit_and_stay_closed(
    parts: list[tuple[str, str, bool]], limit: int
) -> None:
    pen = SafeWriter()
    sections = []
    for kind, text, folded in parts:
        if kind == "fence":
            sections.append(fenced("Part", pen.block(text), folded=folded))
        elif kind == "table":
            sections.append(table("Part", ("a", "b"), [(pen.code(text), "x")] * 5, folded=folded))
        else:
            sections.append(bullets("Part", [pen.code(text)] * 5, folded=folded))
    text = fit(sections, limit=limit, ending="<!-- end -->")
    assert len(text) <= limit
    assert text.endswith("<!-- end -->")
    assert text.count("<details>") == text.count("</details>")
    fences = re.findall(r"^(`{3,})(?:text)?$", text, re.MULTILINE)
    assert len(fences) % 2 == 0


def test_the_biggest_section_is_cut_first() -> None:
    small, big = (
        bullets("Small", ["kept"]),
        fenced("Big", "\n".join(f"line {n}" for n in range(500))),
    )
    text = fit([small, big], limit=1000, ending="end")
    assert "- kept" in text
    assert "line 0" in text
    assert "line 499" not in text
    assert "… cut: " in text


def test_a_list_is_cut_between_items_so_that_no_code_span_stays_open() -> None:
    text = fit([bullets("Names", [SafeWriter().code("<b>x" * 20)] * 50)], limit=600)
    items = [line for line in text.splitlines() if line.startswith("- ")]
    assert items
    assert all(item.count("`") % 2 == 0 for item in items)


def test_nothing_is_cut_when_everything_fits() -> None:
    assert fit([Section(lead="hello")], limit=100, ending="end") == "hello\n\nend"


def test_secrets_do_not_get_through() -> None:
    pen = SafeWriter(secrets=prepare_needles(["hunter2hunter2"]))
    for text in (
        pen.code("a hunter2hunter2 b"),
        pen.prose("hunter2hunter2"),
        pen.block("x\nhunter2hunter2"),
    ):
        assert "hunter2" not in text
