"""What ruff offers becomes edits in bytes; another answer changes nothing about our own edits."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.guest.search.findings import propose
from sandbox.guest.search.findings.model import SourceFinding
from sandbox.guest.search.findings.ruff_fixes import Ruff, find_ruff
from sandbox.guest.search.source.render import splice

NESTED = "# é\r\ndef f(a):\r\n    b = '😀'; c = a == None\r\n    return c, b\r\n"
PLACE = (1, 3, "E711", "to `None`")
SOURCE = "b = a == None\n"
OURS = {("comparisons", "b = a is None\n", "")}


def proposed(
    text: str, place: tuple[int, int, str, str], ruff: Ruff | None
) -> set[tuple[str, str, str]]:
    """Return template, new text and doubt of each proposal."""
    source = text.encode()
    found = propose(source, SourceFinding("a.py", *place), ruff)
    return {(one.template, splice(source, one.edits).decode(), one.doubt) for one in found}


@pytest.fixture
def real(tmp_path: Path) -> Ruff:
    """The ruff of this environment, without any configuration."""
    found = find_ruff(sys.executable, str(tmp_path))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "line", "code", "new", "doubt"),
    [
        (NESTED, 3, "F841", None, ""),
        ("def f():\n    x = g()\n", 2, "F841", "def f():\n    g()\n", ""),
        ("def f(x):\n    return dict(a=x)\n", 2, "C408", 'def f(x):\n    return {"a": x}\n', ""),
        ("\ufeffx = list([1])\n", 1, "C410", "\ufeffx = [1]\n", ""),
        ("x = 1\n# y = 2\n", 2, "ERA001", "x = 1\n", "comment"),
    ],
)
def test_a_fix_that_is_not_safe_is_offered(
    real: Ruff, text: str, line: int, code: str, new: str | None, doubt: str
) -> None:
    found = proposed(text, (line, 0, code, ""), real)
    assert [one[1:] for one in found if one[0] == "ruff_fix"] == ([(new, doubt)] if new else [])


def test_offsets_count_bytes_where_ruff_counts_characters(real: Ruff) -> None:
    text = NESTED.replace("c = a == None", "c = dict(a=a)")
    found = proposed(text, (3, 14, "C408", ""), real)
    assert ("ruff_fix", text.replace("dict(a=a)", "{'a': a}"), "") in found


def test_an_equal_edit_of_ours_stays_ours(real: Ruff) -> None:
    assert proposed(SOURCE, (1, 7, "E711", ""), real) >= OURS
    assert ("ruff_fix", "b = a is None\n", "") not in proposed(SOURCE, (1, 7, "E711", ""), real)


@pytest.mark.parametrize(
    ("text", "line", "code", "new"),
    [
        (
            "import sys\n\nif sys.version_info >= (3, 6):\n    x = 'é'\n",
            3,
            "UP036",
            "\nx = 'é'\n",
        ),
        ("x = 'é %s' % y\n", 1, "UP031", "x = f'é {y}'\n"),
    ],
)
def test_safe_fixes_of_what_a_fix_causes_come_along(
    real: Ruff, text: str, line: int, code: str, new: str
) -> None:
    assert ("ruff_fix", new, "") in proposed(text, (line, 0, code, ""), real)


def test_what_was_found_before_stays_as_it_is(real: Ruff) -> None:
    text = "import os\nimport sys\nif sys.version_info >= (3, 6):\n    x = 1\n"
    found = [
        new for name, new, _ in proposed(text, (3, 0, "UP036", ""), real) if name == "ruff_fix"
    ]
    assert found
    assert all(new.startswith("import os\n") for new in found)


def test_nothing_is_asked_about_codes_that_ruff_cannot_have(tmp_path: Path) -> None:
    ruff = answering(tmp_path, "touch asked")
    list(ruff.offer(b"x = 1\n", SourceFinding("a.py", 1, 1, "union-attr", "")))
    assert not (tmp_path / "asked").exists()


def answering(folder: Path, script: str) -> Ruff:
    """Return a program in place of ruff."""
    program = folder / "ruff"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return Ruff(str(program), str(folder))


def row(**changes: Any) -> dict[str, Any]:
    """Return a report of ruff with one fix."""
    places = {"location": {"row": 1, "column": 5}, "end_location": {"row": 1, "column": 14}}
    edit = {"content": "a is 7", **places}
    fix = {"applicability": "display", "edits": [edit]}
    return {"code": "E711", "location": {"row": 1, "column": 10}, "fix": fix} | changes


def answered(folder: Path, answer: object) -> set[tuple[str, str, str]]:
    (folder / "answer").write_text(json.dumps(answer))
    return proposed(SOURCE, (1, 10, "E711", ""), answering(folder, "cat >/dev/null; cat answer"))


EDIT = row()["fix"]["edits"][0]


@pytest.mark.parametrize("word", ["display", "displayonly"])
def test_a_fix_that_ruff_only_displays_needs_a_person(tmp_path: Path, word: str) -> None:
    fix = {"applicability": word, "edits": [EDIT]}
    assert ("ruff_fix", "b = a is 7\n", "unsure") in answered(tmp_path, [row(fix=fix)])


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {"rows": []},
        [None, 7, "x"],
        [row(code="E712")],
        [row(location=None)],
        [row(location={"row": 2, "column": 10})],
        [row(fix=None)],
        [row(fix={"applicability": "perhaps", "edits": [EDIT]})],
        [row(fix={"applicability": "safe", "edits": []})],
        [row(fix={"applicability": "safe", "edits": {"a": 1}})],
        [row(fix={"applicability": "safe", "edits": [EDIT, 7]})],
        [row(fix={"applicability": "safe", "edits": [EDIT | {"content": 7}]})],
        [row(fix={"applicability": "safe", "edits": [EDIT | {"content": "a is  # noqa"}]})],
        [row(fix={"applicability": "safe", "edits": [EDIT | {"end_location": {"row": 9}}]})],
        [row(fix={"applicability": "safe", "edits": [EDIT | {"location": {"row": 0}}]})],
        [
            row(
                fix={
                    "applicability": "safe",
                    "edits": [EDIT | {"end_location": {"row": 1, "column": 99}}],
                }
            )
        ],
        [row(fix={"applicability": ["safe"], "edits": [EDIT]})],
    ],
)
def test_another_form_of_answer_leaves_our_own_edits(tmp_path: Path, answer: object) -> None:
    found = answered(tmp_path, answer)
    assert found >= OURS
    assert not [one for one in found if one[0] == "ruff_fix"]


@pytest.mark.parametrize("script", ["exit 2", "cat >/dev/null; echo '[['", "echo no"])
def test_a_ruff_that_does_not_answer_leaves_our_own_edits(tmp_path: Path, script: str) -> None:
    assert proposed(SOURCE, (1, 10, "E711", ""), answering(tmp_path, script)) >= OURS


def test_an_environment_without_ruff_offers_nothing(tmp_path: Path) -> None:
    assert find_ruff(str(tmp_path / "python"), str(tmp_path)) is None
