"""Docstrings, comments, log lines and documents are written in plain words.

Each rule keeps out one thing that stopped readers: sentences that have to be translated first, and
functions that cannot be read in one go.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import SOURCES, read
from tests.architecture.tracked import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MAX_FUNCTION_NODES = 420
"""Syntax nodes of one function: short lines can still hold too much."""
MAX_SUBJECT = 60

# A summary that opens like this has no verb: "What a run showed" instead of "Return …".
OPENING = re.compile(r"(What|Whether|Who|Whoever|Whatever|How|Where|So long|That)\b")
# Translated idioms, for which the field has a word: report, again, repair, reserve, enqueue.
WORDS = re.compile(
    r"\b(nobody|somebody|whoever|told(?! apart)|tells|anew|reckon\w*|mend(s|ed|ing)?|needless\w*"
    r"|set aside|put in line|taken up again|gone on with)\b",
    re.IGNORECASE,
)
CODE = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)


def place(path: Path, line: int, text: str) -> str:
    return f"{path.relative_to(ROOT)}:{line}: {text[:80]}"


def test_no_docstring_opens_with_a_relative_clause() -> None:
    found = [place(p, n, t) for p in SOURCES for n, t in read(p).docstrings if OPENING.match(t)]
    assert found == []


def test_code_is_written_in_the_words_of_the_field() -> None:
    texts = {p: (read(p).docstrings, read(p).comments, read(p).log_lines) for p in SOURCES}
    found = [
        place(path, number, text)
        for path, kinds in texts.items()
        for kind in kinds
        for number, text in kind
        if WORDS.search(text)
    ]
    assert found == []


def test_documents_are_written_in_the_words_of_the_field() -> None:
    found = [
        place(path, number, line)
        for path in DOCUMENTS
        for number, line in enumerate(CODE.sub(_blank, path.read_text()).splitlines(), 1)
        if WORDS.search(line)
    ]
    assert found == []


def _blank(match: re.Match[str]) -> str:
    """Return only the line ends, so that numbers of lines stay right."""
    return "\n" * match.group().count("\n")


def test_a_function_can_be_read_in_one_go() -> None:
    large = [
        place(path, function.line, function.name)
        for path in SOURCES
        for function in read(path).functions
        if function.nodes > MAX_FUNCTION_NODES
    ]
    assert large == []


@pytest.mark.parametrize(
    ("subject", "status"),
    [
        ("Count retries once", 0),
        ("x" * MAX_SUBJECT, 0),
        ("ü" * MAX_SUBJECT, 0),
        ("x" * (MAX_SUBJECT + 1), 1),
        (f"Revert {'x' * MAX_SUBJECT}", 0),
    ],
)
def test_the_hook_refuses_a_long_subject(tmp_path: Path, subject: str, status: int) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    message.write_text(f"# a comment of git\n{subject}\n\n{'The reason may be long. ' * 9}\n")
    hook = ROOT / "scripts" / "hooks" / "commit-msg"
    done = subprocess.run([hook, message], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr


def test_every_word_is_spelled_as_the_dictionary_has_it() -> None:
    line = next(
        line
        for line in (ROOT / "scripts" / "check").read_text().splitlines()
        if "codespell" in line
    )
    command = line.replace('"$bin/codespell"', str(Path(sys.executable).with_name("codespell")))
    done = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stdout
