"""What a text asks of us, and what it does not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.command import Verb
from bot.intake.command_text import parse_command


@pytest.mark.parametrize("verb", list(Verb))
def test_every_verb_is_understood(verb: Verb) -> None:
    spoken = parse_command(f"/metaagent {verb.value} some thing --key=value")
    assert spoken is not None
    assert (spoken.verb, spoken.word, spoken.target) == (verb, verb.value, "some thing")
    assert spoken.options == {"key": "value"}


@pytest.mark.parametrize(
    "body",
    [
        "/metaagent fix",
        "/metaagent fix\r\n",
        "/metaagent  FIX   ",
        "/MetaAgent Fix",
        "\ufeff/metaagent fix",
        "\ufeff\r\n  \r\n\t\n/metaagent fix\r\nplease, somebody",
        "/metaagent fix\r> what somebody said",
        "/metaagent\u00a0fix",
        "/metaagent --key fix",
        "/metaagent fix\n```\n/metaagent stop\n```",
    ],
)
def test_a_command_starts_the_comment(body: str) -> None:
    spoken = parse_command(body)
    assert spoken is not None
    assert spoken.verb is Verb.FIX
    assert spoken.target == ""


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n\n",
        "hello",
        "hello\n/metaagent fix",
        "> /metaagent fix",
        "> quoted\n\n/metaagent fix",
        "```\n/metaagent fix\n```",
        "```\ncode\n```\n/metaagent fix",
        "~~~\n/metaagent fix",
        "    /metaagent fix",
        "\t/metaagent fix",
        "`/metaagent fix`",
        "- /metaagent fix",
        "please run /metaagent fix",
        "@metaagent fix",
        "/metaagents fix",
        "/metaagent-fix",
        "/metaagent: fix",
        "//metaagent fix",
        "<!-- -->\n/metaagent fix",
        "\u200b/metaagent fix",
        "/m\u0435taagent fix",
        "On Monday bob wrote:\n> hi\n/metaagent fix",
    ],
)
def test_quotes_code_prose_and_later_lines_give_no_command(body: str) -> None:
    assert parse_command(body) is None


def test_the_bare_call_asks_for_help() -> None:
    assert [
        spoken.verb
        for body in ("/metaagent", "/metaagent\r\nfix", "/metaagent --all")
        if (spoken := parse_command(body))
    ]
    spoken = parse_command("/metaagent")
    assert spoken is not None
    assert (spoken.verb, spoken.word) == (Verb.HELP, "")


@pytest.mark.parametrize("word", ["dance", "fixture", "fix!", "FIX.", "fíx", "--", "__import__"])
def test_an_unknown_word_is_kept_as_it_was_written(word: str) -> None:
    spoken = parse_command(f"/metaagent {word} now")
    assert spoken is not None
    assert (spoken.verb, spoken.word, spoken.target) == (None, word, "now")


@pytest.mark.parametrize(
    ("said", "target", "options"),
    [
        ("tests (3.11)", "tests (3.11)", {}),
        ("--check=lint", "", {"check": "lint"}),
        ('--command="pytest -q tests" now', "now", {"test": "pytest -q tests"}),
        ("--test='a \"b\"' x", "x", {"test": 'a "b"'}),
        ("a --rungs=0,1 b --draft", "a b", {"rungs": "0,1", "draft": "true"}),
        ("\u2014time-limit=60", "", {"time-limit": "60"}),
        ("--seconds=60 --test-command=make", "", {"time-limit": "60", "test": "make"}),
        ("--Key=Value", "", {"key": "Value"}),
        ("--key=", "", {"key": ""}),
        ("--a=1 --a=2", "", {"a": "2"}),
        ("a--b=c", "a--b=c", {}),
        ("don't --why", "don't", {"why": "true"}),
        ('--broken="no end here', "end here", {"broken": '"no'}),
    ],
)
def test_target_and_options_are_told_apart(said: str, target: str, options: dict[str, str]) -> None:
    spoken = parse_command(f"/metaagent fix {said}")
    assert spoken is not None
    assert (spoken.target, spoken.options) == (target, options)


def test_hidden_characters_and_secrets_are_not_kept() -> None:
    spoken = parse_command(
        "/metaagent answer a\u202eb\u200bc \x1b[31m ghp_0123456789abcdefghijABCDEFGHIJ0123456789"
    )
    assert spoken is not None
    assert not {"\u202e", "\u200b", "\x1b"} & set(spoken.target)
    assert "ghp_" not in spoken.target


@pytest.mark.parametrize(
    "body",
    [
        "/metaagent fix " + "--" * 30_000,
        "/metaagent fix " + "--a=" * 15_000,
        "/metaagent fix " + '--a="' * 12_000,
        "/metaagent " + " " * 60_000 + "fix",
        "\n" * 60_000 + "x",
        "/metaagent fix " + "x " * 30_000,
    ],
    ids=range(6),
)
def test_long_texts_are_bounded_and_cost_little(body: str) -> None:
    began = time.process_time()
    spoken = parse_command(body)
    assert time.process_time() - began < 0.5
    assert spoken is None or (
        len(spoken.word) <= 100 and len(spoken.target) <= 500 and len(spoken.options) <= 20
    )


@given(st.text(max_size=200))
def test_anything_can_be_said(text: str) -> None:
    spoken = parse_command(f"/metaagent {text}")
    assert spoken is None or (
        len(spoken.word) <= 100 and all(len(v) <= 300 for v in spoken.options.values())
    )
    parse_command(text)
