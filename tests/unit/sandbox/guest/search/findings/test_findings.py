"""Findings: each kind makes the edit its table shows, none silences a tool, and every proposal parses."""

import ast
from functools import cache
from typing import Any

import pytest

from sandbox.guest.search.findings import SILENCED, propose
from sandbox.guest.search.findings.kinds import load_kinds
from sandbox.guest.search.findings.model import SourceFinding
from sandbox.guest.search.source.render import splice

KINDS: dict[str, Any] = load_kinds()
CHANGES = [(name, *row) for name, kind in KINDS.items() for row in kind.CHANGES]
UNTOUCHED = [(name, *row) for name, kind in KINDS.items() for row in kind.UNTOUCHED]
Said = tuple[int, int, str, str]


@cache
def proposed(text: str, said: Said) -> tuple[tuple[str, str], ...]:
    source = text.encode()
    found = propose(source, SourceFinding("x.py", *said))
    return tuple((p.template, splice(source, p.edits).decode()) for p in found)


@pytest.mark.parametrize(("name", "old", "said", "new"), CHANGES)
def test_a_kind_makes_the_edit_its_table_shows(name: str, old: str, said: Said, new: str) -> None:
    assert (name, new) in proposed(old, said)


@pytest.mark.parametrize(("name", "old", "said"), UNTOUCHED)
def test_a_kind_leaves_alone_what_its_table_shows(name: str, old: str, said: Said) -> None:
    assert name not in [template for template, _ in proposed(old, said)]


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_has_a_sentence_codes_and_both_tables(name: str) -> None:
    kind = KINDS[name]
    assert kind.__doc__
    assert kind.CODES
    assert kind.CHANGES
    assert kind.UNTOUCHED


@pytest.mark.parametrize(("old", "said"), [(old, said) for _, old, said, _ in CHANGES])
def test_every_proposal_parses_and_none_hides_the_finding(old: str, said: Said) -> None:
    for _, new in proposed(old, said):
        ast.parse(new)
        assert new != old
        assert len(SILENCED.findall(new)) <= len(SILENCED.findall(old))


@pytest.mark.parametrize(("old", "said"), [(old, said) for _, old, said, _ in CHANGES])
def test_lines_far_away_stay_byte_for_byte_with_their_line_ends(old: str, said: Said) -> None:
    odd = "#  odd   spacing\t \r\n" + old.replace("\n", "\r\n") + "\r\nz  =  ( 2 )\r\n"
    if said[2] in {"W292", "W391", "C0304"}:
        return
    for _, new in proposed(odd, (said[0] + 1, *said[1:])):
        assert "#  odd   spacing\t \r\n" in new
        assert new.endswith("\r\nz  =  ( 2 )\r\n")
        assert "\n" not in new.replace("\r\n", "")


def test_a_file_that_does_not_parse_is_mended() -> None:
    found = proposed("def f(a:\n    return a\n", (1, 8, "E999", "SyntaxError: invalid syntax"))
    assert "def f(a):\n    return a\n" in [new for _, new in found]


@pytest.mark.parametrize(
    "source",
    [b"\xff\xfe", b"x = 1\r\r\n", b"(" * 3000, b"x = 1\n" * 100_000, b"", b"\0", b"'''" * 7],
)
@pytest.mark.parametrize(
    "code", ["F821", "union-attr", "E999", "W391", "arg-type", "E302", "nonsense"]
)
def test_hostile_files_and_places_are_survived(source: bytes, code: str) -> None:
    for line in (0, 1, 10**7):
        list(
            propose(
                source,
                SourceFinding(
                    "x.py", line, 10**6, code, 'Item "None" of "Optional[x]" ' + "`" * 50
                ),
            )
        )
