"""Candidates: best first, deterministic, compiled alone, spliced into unchanged bytes."""

import ast
import types

import pytest

from sandbox.guest.search.candidates.doubts import doubts_about
from sandbox.guest.search.candidates.generator import CandidatePatch, Generator, Suspicion
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.source.functions import Unit, list_units, signature
from sandbox.guest.search.source.render import (
    ATOM,
    SUM,
    SourceFile,
    TextEdit,
    parenthesize,
    splice,
    text_precedence,
)
from sandbox.guest.search.source.scope import NO_LITERALS, SeenLiterals

TEXT = """import math


class Shape:
    def area(self, width, height):
        if width < height:
            return width * height
        return super().area(width, height)

    @staticmethod
    def __secret(n):
        return [x for x in range(n)]


def outer(n):
    def inner(m):
        return m - n

    return inner
"""


def units(text: str = TEXT) -> list[Unit]:
    return list_units(SourceFile("shapes.py", text.encode()), "/work/repo/shapes.py")


def ordered(text: str = TEXT, scores: dict[int, float] | None = None) -> list[CandidatePatch]:
    suspicion = Suspicion({"shapes.py": scores or dict.fromkeys(range(1, 30), 1.0)})
    return list(Generator(load_templates(), {}).best_first(units(text), suspicion, NO_LITERALS))


def test_the_order_is_by_priority_and_always_the_same() -> None:
    first, second = ordered(), ordered()
    assert [c.priority for c in first] == sorted(c.priority for c in first)
    assert [(c.template, c.edits) for c in first] == [(c.template, c.edits) for c in second]


def test_a_suspect_function_comes_before_the_others() -> None:
    found = ordered(scores={17: 1.0})
    assert {c.line for c in found[:5]} <= {16, 17}


def test_the_host_moves_a_template() -> None:
    suspicion = Suspicion({"shapes.py": dict.fromkeys(range(1, 30), 1.0)})
    generator = Generator(load_templates(), {"swap_operator": -1.1})
    assert next(generator.best_first(units(), suspicion, NO_LITERALS)).template == "swap_operator"


def test_a_function_compiled_alone_has_the_code_of_the_whole_module() -> None:
    module = compile(TEXT, "/work/repo/shapes.py", "exec")
    whole = {code.co_name: code for code in inside(module)}
    for unit in units():
        alone = unit.originals[()]
        assert signature(alone) == signature(whole[unit.names[-1]])
        assert alone.co_firstlineno == whole[unit.names[-1]].co_firstlineno


def inside(code: types.CodeType) -> list[types.CodeType]:
    found = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return found + [deeper for c in found for deeper in inside(c)]


def test_an_edit_outside_the_function_is_not_compiled() -> None:
    assert units()[0].compile([TextEdit(0, 6, "from x import y")]) is None


def test_what_is_no_python_is_not_compiled() -> None:
    unit = units()[0]
    start, end = unit.source.span(unit.node)
    assert unit.compile([TextEdit(start, end, "def area(:")]) is None


def test_equal_code_has_one_signature() -> None:
    one, other = units("def f(a):\n    return (a)\n"), units("def f(a):\n    return a\n")
    assert signature(one[0].originals[()]) == signature(other[0].originals[()])


def test_ones_and_trues_are_not_equal_code() -> None:
    one, other = units("def f():\n    return 1\n"), units("def f():\n    return True\n")
    assert signature(one[0].originals[()]) != signature(other[0].originals[()])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("lambda a: a", "lambda *a: a"),
        ("lambda a: a", "lambda **a: a"),
        ("lambda *a: a", "lambda **a: a"),
        ("lambda a, b: a", "lambda a, *, b: a"),
        ("lambda a, b: a", "lambda a, /, b: a"),
    ],
)
def test_other_parameters_are_not_equal_code(one: str, other: str) -> None:
    first, second = units(f"def f():\n    return {one}\n"), units(f"def f():\n    return {other}\n")
    assert signature(first[0].originals[()]) != signature(second[0].originals[()])


@pytest.mark.parametrize(
    ("text", "level", "expected"),
    [
        ("a + b", ATOM, "(a + b)"),
        ("(a + b)", ATOM, "(a + b)"),
        ("(a) + (b)", ATOM, "((a) + (b))"),
        ("f(a)", ATOM, "f(a)"),
        ("a * b", SUM, "a * b"),
        ("a,\nb", SUM, "(a,\nb)"),
    ],
)
def test_parentheses_stand_where_they_are_needed(text: str, level: int, expected: str) -> None:
    assert parenthesize(text, level) == expected


def test_text_that_does_not_stand_alone_binds_nothing() -> None:
    assert text_precedence("a\n+ b") == -1


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        splice(b"abcdef", (TextEdit(0, 3, "x"), TextEdit(2, 4, "y")))


@pytest.mark.parametrize("data", [b"x = 1\rx = 2\n", b"\xff\xfe", b"x = 1\n\x0cy = 2\n"])
def test_a_file_whose_lines_cannot_be_counted_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"line ends|decode"):
        SourceFile("odd.py", data)


def test_columns_count_bytes() -> None:
    source = SourceFile("m.py", "x = 'ü€'; y = 3\n".encode())
    (three,) = (n for n in ast.walk(source.tree) if isinstance(n, ast.Constant) and n.value == 3)
    assert source.render((source.replacement(three, "4"),)).decode() == "x = 'ü€'; y = 4\n"


def a_candidate(old: str, start: int, end: int, new: str) -> CandidatePatch:
    unit = units(old)[0]
    return CandidatePatch("x", 1.0, 1.0, 1, unit.source, unit, (TextEdit(start, end, new),))


def test_a_candidate_says_what_it_does() -> None:
    old = "def f(a, b):\n    return a - b\n"
    at = old.index("- b")
    assert a_candidate(old, at, at + 1, "+").description == "`-` became `+`"
    assert a_candidate(old, at, at, "x\n").description == "`x` added"


GUARDED = "def f(a):\n    if a < 1:\n        raise ValueError\n    assert a\n    return a\n"


@pytest.mark.parametrize(
    ("old", "new", "doubt"),
    [
        ("a < 1", "1 < 1", "makes a condition constant"),
        ("raise ValueError", "pass", "removes a raise"),
        ("    assert a\n", "", "removes an assert"),
        ("return a", "return 4711", "replaces a computed value by a constant"),
    ],
)
def test_doubtful_candidates_are_reported(old: str, new: str, doubt: str) -> None:
    at = GUARDED.index(old)
    candidate = a_candidate(GUARDED, at, at + len(old), new)
    assert doubt in doubts_about(candidate, SeenLiterals(numbers=(4711,)))


def test_functions_of_one_name_in_other_files_lend_what_they_do() -> None:
    one = b"from m import clean\n\n\ndef load(name):\n    return name\n"
    other = b"from m import clean\n\n\ndef load(name):\n    name = clean(name)\n    return name\n"
    both = [
        *list_units(SourceFile("one.py", one), "/one.py"),
        *list_units(SourceFile("other.py", other), "/other.py"),
    ]
    suspicion = Suspicion({"one.py": {4: 1.0, 5: 1.0}})
    generator = Generator({"borrow_from_file": load_templates()["borrow_from_file"]}, {})
    made = generator.best_first(both, suspicion, NO_LITERALS)
    assert other in [c.source.render(c.edits) for c in made if c.source.path == "one.py"]
