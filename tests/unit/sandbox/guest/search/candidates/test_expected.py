"""Candidates use what failing tests expect: exceptions with messages, entries, alternatives."""

import ast
from types import SimpleNamespace

import pytest

from sandbox.guest.search.candidates.generator import Generator, Suspicion
from sandbox.guest.search.candidates.patterns import apply_change, mutations
from sandbox.guest.search.candidates.templates import guard_raise
from sandbox.guest.search.candidates.templates.outer import table_entries
from sandbox.guest.search.session.baseline import collect_literals, expected_messages
from sandbox.guest.search.source.functions import list_units
from sandbox.guest.search.source.outer_scope import OuterScope
from sandbox.guest.search.source.render import SourceFile
from sandbox.guest.search.source.scope import CodeScope, SeenLiterals


def a_failing_test() -> list[str]:
    with pytest.raises(ValueError, match=r"line\sbreaks\.$"):
        int("first LINE\nsecond")
    with pytest.raises(KeyError, match="no such key"):
        ["create materialized view v as select 1 from somewhere"].remove("")
    return []


def refused(text: str, seen: SeenLiterals) -> set[str]:
    source = SourceFile("module.py", text.encode())
    generator = Generator({"guard_raise": guard_raise}, {})
    found = [
        candidate
        for unit in list_units(source, "/module.py")
        for candidate in generator.of_scope(CodeScope(source, unit.node, seen), unit, Suspicion({}))
    ]
    return {source.render(candidate.edits).decode() for candidate in found}


def added(text: str, seen: SeenLiterals) -> set[str]:
    source = SourceFile("module.py", text.encode())
    scope = OuterScope(source, seen)
    proposals = [
        p
        for node in ast.walk(source.tree)
        for p in table_entries.propose(node, scope)
        if p is not None
    ]
    return {source.render(proposal.edits).decode() for proposal in proposals}


def test_words_and_messages_of_failing_tests_are_seen() -> None:
    seen = collect_literals([SimpleNamespace(function=a_failing_test)], [0])
    assert seen.exceptions == ["ValueError", "KeyError"]
    assert seen.messages == ["no such key"]
    assert {"LINE", "second", "materialized", "view"} <= set(seen.words)
    assert not any("materialized" in text for text in seen.strings), "long strings give words only"


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("line breaks", ["line breaks"]),
        (r"^not \(yet\)\.$", ["not (yet)."]),
        (r"at line \d+", []),
        ("a.*b", ["a.*b"]),
        ("(", []),
    ],
)
def test_a_message_is_one_that_its_pattern_takes(pattern: str, texts: list[str]) -> None:
    tree = ast.parse(f"with pytest.raises(ValueError, match={pattern!r}):\n    pass\n")
    assert expected_messages(tree) == texts


def test_a_refusal_says_what_the_test_wants_to_read() -> None:
    seen = SeenLiterals(
        strings=("first\nsecond",), exceptions=("ValueError",), messages=("line breaks",)
    )
    made = refused("def f(comment: str):\n    return comment.strip()\n", seen)
    wanted = (
        "def f(comment: str):\n    if '\\n' in comment:\n        raise ValueError('line breaks')\n"
    )
    assert any(text.startswith(wanted) for text in made)


def test_a_truth_value_may_be_refused_where_a_refusal_is_expected() -> None:
    text = "def f(value):\n    return float(value)\n"
    wanted = (
        "def f(value):\n    if isinstance(value, bool):\n        raise ValueError\n"
        "    return float(value)\n"
    )
    assert wanted in refused(text, SeenLiterals(exceptions=("ValueError",)))
    assert wanted not in refused(text, SeenLiterals())


def test_a_word_of_the_tests_becomes_an_entry_like_the_others() -> None:
    table = "T = {\n    'MAP': a,\n    'MATCH': b,\n    'MIN': b,\n}\n"
    made = added(table, SeenLiterals(words=("create", "Materialized", "view")))
    assert (
        "T = {\n    'MAP': a,\n    'MATCH': b,\n    'MIN': b,\n    'MATERIALIZED': b,\n}\n" in made
    )
    assert "T = ['get', 'put', 'patch']\n" in added(
        "T = ['get', 'put']\n", SeenLiterals(words=("patch",))
    )
    assert added("T = {'two words': 1}\n", SeenLiterals(words=("patch",))) == added(
        "T = {'two words': 1}\n", SeenLiterals()
    )


def test_a_word_of_the_tests_becomes_one_more_alternative() -> None:
    pattern = r"END(\s+IF|\s+LOOP|\s+WHILE)?\b"
    new = {
        apply_change(pattern, change) for change in mutations(pattern, (), ("case", "END", "val"))
    }
    assert r"END(\s+IF|\s+LOOP|\s+WHILE|\s+CASE)?\b" in new
    assert not any("|\\s+END" in text for text in new), "it takes that in already"
