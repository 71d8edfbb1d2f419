"""Docstrings, comments, log lines and documents are written in plain words.

Each rule keeps out one thing that stopped readers: sentences that have to be translated first, and
functions that cannot be read in one go.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(p for folder in ("bot", "sandbox") for p in (ROOT / folder).rglob("*.py"))
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
LOG_METHODS = frozenset({"debug", "info", "warning", "error", "exception"})
Texts = Callable[[Path], Iterator[tuple[int, str]]]
CODE = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every text that stands alone as a statement: docstrings, and those of attributes."""
    for node in nodes_of(path):
        text = node.value if isinstance(node, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield text.lineno, text.value.strip()


def comments(path: Path) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def log_lines(path: Path) -> Iterator[tuple[int, str]]:
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner, text = node.func.value, node.args[0]
            is_log = isinstance(owner, ast.Name) and owner.id.strip("_") in {"log", "logger"}
            if is_log and node.func.attr in LOG_METHODS and isinstance(text, ast.Constant):
                yield node.lineno, str(text.value)


def place(path: Path, line: int, text: str) -> str:
    return f"{path.relative_to(ROOT)}:{line}: {text[:80]}"


def test_no_docstring_opens_with_a_relative_clause() -> None:
    found = [place(p, n, t) for p in SOURCES for n, t in docstrings(p) if OPENING.match(t)]
    assert found == []


@pytest.mark.parametrize("texts", [docstrings, comments, log_lines], ids=lambda one: one.__name__)
def test_code_is_written_in_the_words_of_the_field(texts: Texts) -> None:
    found = [place(p, n, t) for p in SOURCES for n, t in texts(p) if WORDS.search(t)]
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
        place(path, node.lineno, node.name)
        for path in SOURCES
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and count_nodes(node) > MAX_FUNCTION_NODES
    ]
    assert large == []


def count_nodes(function: ast.AST) -> int:
    return sum(not isinstance(node, ast.expr_context) for node in ast.walk(function))


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
