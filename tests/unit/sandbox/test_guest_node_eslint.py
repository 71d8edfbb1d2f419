"""What the guest takes from answers of an ESLint, of any form; needs Node.js."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import sandbox
from sandbox.proposals import MAX_LINE_BYTES
from sandbox.types import SpanEdit, apply_spans
from tests.missing import missing

PROGRAM = Path(sandbox.__file__).parent / "guest_node" / "eslint.cjs"
ESLINT = """const fs = require('fs')
const at = process.argv.indexOf('--format')
fs.writeFileSync('arguments.json', JSON.stringify(process.argv.slice(at + 2)))
console.log('printed by a configuration')
import(process.argv[at + 1]).then(({ default: format }) => {
  process.stdout.write(format(JSON.parse(fs.readFileSync('answer.json', 'utf8'))))
})
"""
SOURCE = "const ü = 1\nif (ü == 2) save()\n"
EQUAL = {"start": 20, "end": 22, "text": "==="}
"""In bytes; ESLint counts two characters less."""


@pytest.fixture
def node() -> str:
    """The program; without it nothing here can run."""
    return shutil.which("node") or missing("Node.js is missing")


def answered(
    node: str,
    folder: Path,
    answer: object,
    *,
    source: str = SOURCE,
    args: tuple[str, ...] = (".",),
    message: str = "",
) -> tuple[list[dict[str, Any]], str]:
    """Return the proposals for a finding in line 2, and what is printed about them."""
    package = folder / "node_modules" / "eslint"
    (package / "bin").mkdir(parents=True, exist_ok=True)
    (package / "package.json").write_text("{}")
    (package / "bin" / "eslint.js").write_text(ESLINT)
    (folder / "answer.json").write_text(json.dumps(answer))
    (folder / "a.js").write_bytes(source.encode())
    finding = {"path": "a.js", "line": 2, "column": 0, "code": "eqeqeq", "message": message}
    order = {"root": str(folder), "args": args, "most": 4, "findings": [finding]}
    done = subprocess.run(
        ["/bin/sh", "-c", '"$0" "$1" 3>&1 >printed', node, str(PROGRAM)],
        input=json.dumps(order).encode(),
        capture_output=True,
        check=False,
        cwd=folder,
        timeout=60,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def results(folder: Path, **message: object) -> list[dict[str, object]]:
    """Return an answer with one message."""
    found = {"ruleId": "eqeqeq", "line": 2, "column": 7, **message}
    return [{"filePath": str(folder / "a.js"), "messages": [found]}]


def suggestions(*edits: tuple[int, int, str], words: str = "") -> dict[str, object]:
    """Return suggestions, in characters of the text."""
    return {
        "suggestions": [
            {"desc": words, "fix": {"range": [start, end], "text": text}}
            for start, end, text in edits
        ]
    }


def test_a_suggestion_becomes_an_edit_in_bytes(node: str, tmp_path: Path) -> None:
    args = ("src", "-f", "json", "--fix", "--cache", "--cache-location=x", "--quiet")
    answer = results(tmp_path, **suggestions((18, 20, "===")))
    (offer,), _ = answered(node, tmp_path, answer, args=args)
    assert offer["edits"] == [{"path": "a.js", **EQUAL}]
    assert offer["template"] == "eslint_suggestion"
    assert "doubt" not in offer
    assert json.loads((tmp_path / "arguments.json").read_text()) == ["src", "--quiet"]


def test_positions_do_not_count_a_byte_order_mark(node: str, tmp_path: Path) -> None:
    answer = results(tmp_path, fix={"range": [18, 20], "text": "==="})
    (offer,), _ = answered(node, tmp_path, answer, source=f"\ufeff{SOURCE}")
    assert offer["edits"] == [{"path": "a.js", "start": 23, "end": 25, "text": "==="}]


@pytest.mark.parametrize(
    ("edits", "words", "doubts"),
    [
        (((18, 20, "==="), (18, 20, "!==")), "", ["alternatives", "alternatives"]),
        (((18, 20, "==="),), "This maintains the current functionality.", [None]),
        (((18, 20, "==="), (12, 12, "/* why */")), "", [None, "comment"]),
        (((12, 12, "// why\n"),), "", ["comment"]),
        (((24, 30, ""),), "", ["removal"]),
        (((0, 11, ""),), "", [None]),
    ],
)
def test_an_edit_that_needs_a_person_says_why(
    node: str,
    tmp_path: Path,
    edits: tuple[tuple[int, int, str], ...],
    words: str,
    doubts: list[str | None],
) -> None:
    found, _ = answered(node, tmp_path, results(tmp_path, **suggestions(*edits, words=words)))
    assert [offer.get("doubt") for offer in found] == doubts


@pytest.mark.parametrize(
    ("span", "left"), [((2, 13), SOURCE), ((2, 7), f"   a = 1  \n{SOURCE}"), ((0, 16), SOURCE)]
)
def test_no_blank_line_is_left(node: str, tmp_path: Path, span: tuple[int, int], left: str) -> None:
    source = f"  const a = 1  \n{SOURCE}"
    answer = results(tmp_path, **suggestions((*span, "")))
    (offer,), _ = answered(node, tmp_path, answer, source=source)
    assert apply_spans(source, [SpanEdit(**edit) for edit in offer["edits"]]) == left


@pytest.mark.parametrize(
    "text",
    [
        "/* eslint-disable */ ==",
        "// eslint-disable-next-line\n==",
        "== /* @ts-ignore */",
        "as any ==",
    ],
)
def test_no_edit_hides_a_finding(node: str, tmp_path: Path, text: str) -> None:
    answer = results(tmp_path, **suggestions((18, 20, text), (18, 20, "===")))
    found, _ = answered(node, tmp_path, answer)
    assert [offer["edits"][0]["text"] for offer in found] == ["==="]


@pytest.mark.parametrize("answer", [None, 7, {}, [None], [{}], [{"filePath": "a.js"}]])
def test_another_form_of_answer_is_ignored_with_a_reason(
    node: str, tmp_path: Path, answer: object
) -> None:
    assert answered(node, tmp_path, answer) == ([], "ESLint answered in another form\n")


@pytest.mark.parametrize(
    "message",
    [
        {"fix": None},
        {"fix": 7},
        {"fix": {"range": "ab", "text": "x"}},
        {"fix": {"range": [18], "text": "x"}},
        {"fix": {"range": [-1, 0], "text": ""}},
        {"fix": {"range": [20, 18], "text": "x"}},
        {"fix": {"range": [18, 1000], "text": "x"}},
        {"fix": {"range": [18, 20], "text": "=="}},
        {"fix": {"range": [18, 20], "text": 7}},
        {"fix": {"range": [18, 20], "text": "x" * MAX_LINE_BYTES}},
        {"suggestions": {"fix": {}}},
        {"suggestions": [None, "text", {"desc": 7}]},
        {"fix": {"range": [18, 20], "text": "x"}, "line": 1},
        {"fix": {"range": [18, 20], "text": "x"}, "ruleId": "other"},
    ],
)
def test_a_wrong_offer_is_ignored(node: str, tmp_path: Path, message: dict[str, Any]) -> None:
    assert answered(node, tmp_path, results(tmp_path, **message)) == ([], "")


@pytest.mark.parametrize(("text", "count"), [("Why.\n- Because.", 1), ("Why.", 0), ("What.\n", 0)])
def test_a_message_of_several_lines_is_known_by_its_first(
    node: str, tmp_path: Path, text: str, count: int
) -> None:
    edits = suggestions((18, 20, "==="))
    answer = results(tmp_path, ruleId="of another name", message=text, **edits)
    found, _ = answered(node, tmp_path, answer, message="Why.")
    assert len(found) == count


def test_a_link_is_not_read(node: str, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "secret.js").write_text(SOURCE)
    folder = tmp_path / "repo"
    answer = results(folder, fix={"range": [18, 20], "text": "==="})
    (folder / "a.js").symlink_to(tmp_path / "secret.js")
    assert answered(node, folder, answer) == ([], "")


def test_a_project_without_eslint_is_told(node: str, tmp_path: Path) -> None:
    order = {"root": str(tmp_path), "args": [], "most": 4, "findings": []}
    done = subprocess.run(
        [node, str(PROGRAM)],
        input=json.dumps(order).encode(),
        capture_output=True,
        check=False,
        cwd=tmp_path,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"the project has no ESLint\n")
