"""Regular expressions are tokenized without loss, and every mutation compiles."""

import re

import pytest

from sandbox.guest.search.candidates.patterns import distinct, tokenize_pattern
from sandbox.guest.search.source.texts import close_names, split_words, string_parts

PATTERNS = [
    r"^(?P<year>\d{4})-(\d\d?)[-/ ](?:Jan|Feb)\s*$",
    r"[^]a\]-]+?x{2,}|\bfoo\b(?=bar)(?<!no)",
    r"\\([a-zA-Z_]\w*)\.(?i:x)#y",
    "",
    r"a|ab|abc",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_tokens_lie_side_by_side_and_make_up_the_pattern(pattern: str) -> None:
    assert "".join(token.text for token in tokenize_pattern(pattern)) == pattern


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_change_compiles_and_differs(pattern: str) -> None:
    results = [new for _, new in distinct(pattern, ("a+b",))]
    assert len(set(results)) == len(results)
    assert pattern not in results
    for new in results:
        re.compile(new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"\d+", r"\d*"),
        (r"\d*", r"\d+"),
        (r".*", r".*?"),
        (r"[a-z]+", r"[a-zA-Z]+"),
        (r"\w+", r"[\w-]+"),
        (r"a.b", r"a\.b"),
        (r"^a", r"a"),
        (r"a$", r"a\Z"),
        (r"(a)", r"(?:a)"),
        (r"(a)b", r"(a)?b"),
        (r"a|ab", r"ab|a"),
        (r"x{2}", r"x{3}"),
        (r"[ab]", r"[^ab]"),
        (r"abc", r"abc$"),
        (r"d+", r"\d+"),
    ],
)
def test_usual_mistakes_are_within_reach(old: str, new: str) -> None:
    assert new in [result for _, result in distinct(old, ())]


def test_letters_of_the_failing_tests_are_taken_into_classes() -> None:
    assert distinct(r"[a-z]+", ("x~y",))[0][1] == r"[a-z~]+" or r"[a-z~]+" in [
        n for _, n in distinct("[a-z]+", ("~",))
    ]


def test_parts_of_a_literal_are_found_with_their_quotes() -> None:
    literal = 'r"a\\d"\n    \'ü\' "b"'.encode()
    parts = string_parts(literal)
    assert [(p.prefix, p.quote, p.body) for p in parts] == [
        ("r", '"', "a\\d"),
        ("", "'", "ü"),
        ("", '"', "b"),
    ]
    assert [literal[p.start : p.end] for p in parts] == [b'r"a\\d"', "'ü'".encode(), b'"b"']


@pytest.mark.parametrize(
    ("name", "others", "best"),
    [
        ("cuont", ["count", "amount"], "count"),
        ("line_terminator", ["sep", "lineterminator"], "lineterminator"),
        ("getCode", ["get_code", "decode"], "get_code"),
        ("total_price", ["price_total", "total"], "price_total"),
        ("parse_obj", ["model_validate", "parse_object"], "parse_object"),
    ],
)
def test_the_nearest_name_comes_first(name: str, others: list[str], best: str) -> None:
    assert close_names(name, others)[0] == best


def test_names_fall_into_words() -> None:
    assert split_words("getHTTPCode_2x") == ["get", "http", "code", "2x"]
