"""Candidates outside functions: suspicious statements only, best first, bounded."""

from itertools import islice

from sandbox.guest.search.candidates.generator import CandidatePatch, Suspicion
from sandbox.guest.search.candidates.outer import MAX_PER_STATEMENT, outer_candidates
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.candidates.templates.outer import load_outer_templates
from sandbox.guest.search.source.render import SourceFile
from sandbox.guest.search.source.scope import NO_LITERALS, SeenLiterals

TEMPLATES = {**load_templates(), **load_outer_templates()}
SHOP = """
import re

RATES = {'book': 7, 'other': 19}
WORD = re.compile(r'[a-z]+')
UNUSED = 3
ALL = (RATES, WORD)


class Shop:
    limit = 3

    def tax(self, kind, top=100):
        return min(RATES[kind], self.limit)


def words(text):
    return WORD.findall(text)
"""


def generate(
    text: str, scores: dict[int, float], literals: SeenLiterals = NO_LITERALS, most: int = 5000
) -> list[str]:
    source = SourceFile("shop.py", text.encode())
    found = outer_candidates(
        source, Suspicion({"shop.py": scores}), literals, templates=TEMPLATES, shifts={}
    )
    candidates = (c for c in found if isinstance(c, CandidatePatch))
    return [c.source.render(c.edits).decode() for c in islice(candidates, most)]


def test_only_suspect_statements_are_changed() -> None:
    results = generate(SHOP, {4: 1.0})
    assert SHOP.replace("'book': 7", "'book': 19") in results
    assert all(result.endswith(SHOP[SHOP.index("class Shop") :]) for result in results)


def test_the_more_suspect_statement_comes_first_and_the_order_never_changes() -> None:
    results = generate(SHOP, {4: 0.2, 5: 1.0}, most=40)
    assert results == generate(SHOP, {4: 0.2, 5: 1.0}, most=40)
    assert "RATES = {'book': 7, 'other': 19}" in results[0]


def test_entries_that_the_failing_tests_mention_come_first() -> None:
    table = "T = {" + ", ".join(f"'k{i}': {i}" for i in range(5, 30)) + "}\n"
    results = generate(table, {1: 1.0}, SeenLiterals((), ("k22",)), most=10)
    assert all("'k22': 22" not in result or "'k22'" not in table for result in results[:2])


def test_a_huge_table_takes_a_bounded_number_of_candidates() -> None:
    table = "T = [" + ", ".join(str(i) for i in range(3000)) + "]\n"
    assert len(generate(table, {1: 1.0}, most=100_000)) <= MAX_PER_STATEMENT


def test_dangerous_calls_and_annotations_stay_as_they_are() -> None:
    text = "import os\nos.remove('a' + 'b')\nx: dict = {'a': 1}\n"
    results = generate(text, {1: 1.0, 2: 1.0, 3: 1.0})
    assert results
    assert all("os.remove('a' + 'b')" in r or "os.remove" not in r for r in results)
    assert all("x: dict" in r or "x" not in r for r in results)


def test_numbers_and_texts_of_the_failing_tests_come_early() -> None:
    results = generate(
        "RATE = 50\nSIGN = '-'\n", {1: 1.0, 2: 1.0}, SeenLiterals((500,), ("_",)), most=8
    )
    assert "RATE = 500\nSIGN = '-'\n" in results
    assert "RATE = 50\nSIGN = '_'\n" in results


def test_decorators_and_base_classes_are_no_ordinary_expressions() -> None:
    results = generate(
        "class A(Base):\n    @property\n    def f(self):\n        return 1\n", {1: 1.0, 2: 1.0}
    )
    assert all("property + 1" not in r and "len(Base)" not in r for r in results)
