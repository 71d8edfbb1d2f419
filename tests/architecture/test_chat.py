"""Commands in comments that documents and our own sentences show: every one is understood."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.conversation.verbs import OPTIONS, VERBS
from bot.domain.command import Verb
from bot.intake.command_text import parse_command
from tests.architecture.tracked import ROOT, text_of, tracked

SPOKEN = [
    p for p in (*tracked("*.md"), *(ROOT / "bot").rglob("*.py")) if "/metaagent " in text_of(p)
]
PLACEHOLDERS = frozenset({"VERB", "COMMAND", "…"})


def said_in(text: str) -> Iterator[str]:
    """Every command in a code span, or on a line of its own in a fence."""
    yield from re.findall(r"`(/metaagent [^`\n{]+)`", text)
    yield from re.findall(r"^(/metaagent .+)$", text, re.MULTILINE)


def problem_of(said: str) -> str:
    spoken = parse_command(re.sub(r"\[[^\]]*\]", "", said))
    if spoken is None or (spoken.verb is None and spoken.word not in PLACEHOLDERS):
        return f"not understood: {said}"
    takes = VERBS[spoken.verb].options if spoken.verb else tuple(OPTIONS)
    return "" if set(spoken.options) <= set(takes) else f"takes no such option: {said}"


@pytest.mark.parametrize("path", SPOKEN, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_that_is_shown_is_understood(path: Path) -> None:
    assert [problem for said in said_in(text_of(path)) if (problem := problem_of(said))] == []


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    text = "`/metaagent dance`, `/metaagent fix --colour=red` and\n/metaagent sing\n"
    assert [bool(problem_of(said)) for said in said_in(text)] == [True, True, True]


def test_the_guide_shows_every_verb() -> None:
    guide = (ROOT / "docs/howto/commands.md").read_text()
    assert [
        verb for verb in Verb if f"/metaagent {verb.value}" not in guide and verb is not Verb.HELP
    ] == []
