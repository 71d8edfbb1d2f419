"""Commands that documents show exist: every `metaagent …`, `make …` and setting in code, in every document."""

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli import COMMANDS, build_parser
from bot.settings import leaves
from tests.architecture.tracked import ROOT, text_of, tracked

DOCUMENTS = [p for p in tracked("*.md") if "tests/data" not in str(p)]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))
MAKE_VARIABLES = set(re.findall(r"^([A-Z_]+) [?:]?=", MAKEFILE, re.MULTILINE))
VARIABLES = {leaf.variable for leaf in leaves()} | {
    "METAAGENT_TEST_STRICT",
    "METAAGENT_TEST_MODEL",
    "METAAGENT_SHARED_DATA",
}


def snippets(text: str) -> Iterator[str]:
    """Lines of fenced blocks, and spans of code."""
    for block in re.findall(r"^ *```[a-z]*\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        yield from (line.strip().removeprefix("$ ") for line in block.splitlines())
    outside = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", outside))


def commands(program: str, text: str) -> Iterator[list[str]]:
    """The words of every command of one program, comments left out."""
    for snippet in snippets(text):
        for command in re.split(r"\s*(?:&&|\|\||;|\|)\s*", snippet):
            if command.split(" ")[0] == program and "[" not in command:
                yield shlex.split(command, comments=True)[1:]


def options_of(command: str) -> set[str]:
    """Every option a command takes."""
    parser = build_parser([command, "--unknown"])  # only then are hidden options added
    (group,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return set(group.choices[command]._option_string_actions)


def problems_of_metaagent(words: list[str]) -> str:
    command = next((word for word in words if not word.startswith("-")), None)
    if command is None or command.isupper():
        return (
            "" if set(words) <= {"--help", "--version", "COMMAND"} else f"no such option: {words}"
        )
    if command not in COMMANDS:
        return f"no such command: {command}"
    unknown = {word.partition("=")[0] for word in words if word.startswith("--")} - options_of(
        command
    )
    return f"{command} does not take {unknown}" if unknown else ""


def problems_of_make(words: list[str]) -> str:
    for word in words:
        name, given, _ = word.partition("=")
        if given and name not in MAKE_VARIABLES:
            return f"the Makefile reads no {name}"
        if not given and name not in TARGETS:
            return f"no such target: {name}"
    return ""


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_in_a_document_exists(path: Path) -> None:
    text = text_of(path)
    found = [problems_of_metaagent(words) for words in commands("metaagent", text)]
    found += [problems_of_make(words) for words in commands("make", text)]
    assert [problem for problem in found if problem] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_variable_in_a_document_exists(path: Path) -> None:
    named = set(re.findall(r"\bMETAAGENT_[A-Z_]+[A-Z]\b", text_of(path)))
    assert named - VARIABLES == set()


def test_the_readme_shows_commands_at_all() -> None:
    text = (ROOT / "README.md").read_text()
    assert list(commands("make", text))
    assert list(commands("metaagent", text))


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    text = "```\nmetaagent dance --now  # a comment\nmake cake\nmake test CAKES=1\nmetaagent fix . --no-such 1\n```\n"
    assert [bool(problems_of_metaagent(words)) for words in commands("metaagent", text)] == [
        True,
        True,
    ]
    assert [bool(problems_of_make(words)) for words in commands("make", text)] == [True, True]


def test_every_target_is_known_to_make_as_no_file() -> None:
    phony = set(re.findall(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)[0].split())
    assert phony == TARGETS
