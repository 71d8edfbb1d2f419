"""Files that do not parse: each kind repairs what its table says, and every proposal compiles."""

import ast
import sys
from functools import cache
from typing import Any

import pytest

from sandbox.guest.search.candidates.broken import propose
from sandbox.guest.search.candidates.broken.child import propose_in_child
from sandbox.guest.search.candidates.broken.kinds import load_kinds
from sandbox.guest.search.candidates.broken.model import Broken, TextProposal
from sandbox.guest.search.candidates.broken.repairing import SyntaxRepairer
from sandbox.guest.search.source.render import splice

KINDS: dict[str, Any] = load_kinds()
CHANGES = [(name, old, new) for name, kind in KINDS.items() for old, new in kind.CHANGES]
UNTOUCHED = [(name, old) for name, kind in KINDS.items() for old in kind.UNTOUCHED]


@cache
def proposals(text: str) -> tuple[TextProposal, ...]:
    return tuple(propose(text.encode(), Broken("x.py")))


@cache
def proposed(text: str) -> tuple[str, ...]:
    source = text.encode()
    return tuple(splice(source, proposal.edits).decode() for proposal in proposals(text))


def parses(text: str) -> bool:
    try:
        compile(text, "x.py", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def meaning(text: str) -> str:
    return ast.dump(ast.parse(text))


@pytest.mark.parametrize(("name", "old", "new"), CHANGES)
def test_what_the_table_of_a_kind_shows_is_among_the_proposals(
    name: str, old: str, new: str
) -> None:
    if parses(old):
        assert proposed(old) == (), "newer interpreters know this syntax"
    else:
        assert meaning(new) in [meaning(text) for text in proposed(old)]


@pytest.mark.parametrize(("name", "old"), UNTOUCHED)
def test_a_kind_does_not_mend_what_is_not_its_mistake(name: str, old: str) -> None:
    assert SyntaxRepairer({name: KINDS[name]}).repair(old) == []


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_has_a_sentence_a_cost_and_both_tables(name: str) -> None:
    kind = KINDS[name]
    assert kind.__doc__
    assert kind.CHANGES
    assert kind.UNTOUCHED
    assert 0 < kind.COST < 5


@pytest.mark.parametrize("old", dict.fromkeys(old for _, old, _ in CHANGES))
def test_every_proposal_compiles_and_they_come_cheapest_first(old: str) -> None:
    for proposal in proposals(old):
        compile(splice(old.encode(), proposal.edits), "x.py", "exec", dont_inherit=True)
        assert proposal.description
        assert proposal.template
    assert [p.cost for p in proposals(old)] == sorted(p.cost for p in proposals(old))


LONG = (
    '"""Shown."""\n\nimport os\n\n\nclass Shelf:\n    """Holds things."""\n\n    def __init__(self, size):\n'
    "        self.size = size\n        self.things = []\n\n    def put(self, thing):\n        if len(self.things) < self.size:\n"
    "            self.things.append(thing)\n        else:\n            raise ValueError('full')\n\n\ndef make(sizes):\n"
    "    return [Shelf(size) for size in sizes if size > 0]\n"
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def put(self, thing):", "def put(self, thing:"),
        ("if len(self.things) < self.size:", "if len(self.things < self.size:"),
        ("if len(self.things) < self.size:", "if len(self.things) < self.size"),
        ("raise ValueError('full')", "raise ValueError('full)"),
        ("        else:\n", "       else:\n"),
        ("    def put(self", "   def put(self"),
        ("return [Shelf(size) for", "return Shelf(size) for"),
        ("return [", "retrun ["),
        ('"""Holds things."""', '"""Holds things.'),
        ("self.things = []", "self.things []"),
        ("for size in sizes", "for size sizes"),
        ("        self.things = []\n", "<<<<<<< a\n        self.things = []\n=======\n        self.things = 0\n>>>>>>> b\n"),
    ],
)  # fmt: skip
def test_one_mistake_in_a_longer_file_is_mended_among_the_first_five(old: str, new: str) -> None:
    assert old in LONG
    texts = proposed(LONG.replace(old, new, 1))
    assert meaning(LONG) in [meaning(text) for text in texts[:5]]


def test_two_mistakes_are_mended_together() -> None:
    broken = LONG.replace("self.things = []", "self.things = [").replace(
        "if size > 0]", "if size > 0"
    )
    texts = proposed(broken)
    assert meaning(LONG) in [meaning(text) for text in texts[:5]]


@pytest.mark.parametrize(
    "cut", ["def make(sizes", "return [Shelf(size) for", "raise ValueError('fu", "        else"]
)
def test_a_file_that_ends_in_the_middle_is_left_to_a_revert(cut: str) -> None:
    whole = LONG + LONG
    assert proposed(whole[: whole.rindex(cut) + len(cut)]) == ()


def test_what_parses_already_gets_no_proposal() -> None:
    assert proposed(LONG) == ()


def test_line_ends_marks_and_all_other_lines_stay_byte_for_byte() -> None:
    odd = b"\xef\xbb\xbf#  odd   spacing\t \r\nx  =  1   # kept \xc3\xa4\r\n\r\ndef f(a\r\n    return a\r\ny  = ( 2 )\r\n"
    found = [splice(odd, p.edits) for p in propose(odd, Broken("x.py", 4, 6))]
    assert odd.replace(b"def f(a\r\n", b"def f(a):\r\n") in found
    for text in found:
        assert text.startswith(b"\xef\xbb\xbf#  odd   spacing\t \r\nx  =  1   # kept \xc3\xa4\r\n")


@pytest.mark.parametrize(
    "source",
    [
        b"\xff\xfe\x00x",
        b"x = (\r  1\r",
        b"\0",
        b"(" * 5000,
        b"[" * 100 + b"]" * 99,
        b"x = " + b"-" * 100_000 + b"(",
        b"f" * 500_000 + b"(",
        b"'''" * 2001,
        b"def f(\n" * 3000,
        b"<<<<<<< a\n=======\n" * 2000,
        ("x = " + "\u201c" * 5000 + "\n").encode(),
    ],
)
def test_hostile_text_ends_in_time_and_without_an_error(source: bytes) -> None:
    for proposal in propose(source, Broken("x.py"), 300_000):
        compile(splice(source, proposal.edits), "x.py", "exec", dont_inherit=True)


def test_the_same_text_gets_the_same_proposals_in_the_same_order() -> None:
    source = LONG.replace("[Shelf(size)", "Shelf(size)").encode()
    assert list(proposals(source.decode())) == list(propose(source, Broken("x.py", 99, 3, "other")))


def test_the_work_done_is_bounded_by_the_characters_parsed() -> None:
    source = LONG.replace("[Shelf(size)", "Shelf(size)").encode()
    assert list(propose(source, Broken("x.py"), 2 * len(source))) == []


def test_a_child_gives_the_same_answer() -> None:
    source = b"def f(a:\n    return a\n"
    assert propose_in_child(source, Broken("x.py")) == list(propose(source, Broken("x.py")))


def test_a_child_that_takes_too_long_gives_no_answer() -> None:
    source = LONG.replace("[Shelf(size)", "Shelf(size)").encode()
    assert propose_in_child(source, Broken("x.py"), 0.0) == []


OLD_ONLY = KINDS["newer_python"].OLD_ONLY


@pytest.mark.parametrize(("since", "old", "new"), OLD_ONLY)
def test_newer_syntax_is_left_alone_where_it_is_syntax(
    since: tuple[int, int], old: str, new: str | None
) -> None:
    if sys.version_info >= since:
        assert proposed(old) == ()
    elif new is not None:
        assert meaning(new) in [meaning(text) for text in proposed(old)]
