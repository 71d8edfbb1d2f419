"""Statements are moved to other indentations; the texts of strings stay what they are."""

import ast
from typing import Any

import pytest

from sandbox.guest.search.candidates.generator import Generator, Suspicion
from sandbox.guest.search.candidates.lookups import Lookups
from sandbox.guest.search.candidates.spots import FailureContext, find_spots
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.candidates.templates.guided import load_guided_templates
from sandbox.guest.search.session.failures import FailureRecord
from sandbox.guest.search.source.functions import list_units
from sandbox.guest.search.source.render import SourceFile
from sandbox.guest.search.source.scope import NO_LITERALS, CodeScope
from sandbox.guest.search.source.string_lines import lines_in_strings

PLAIN = '''def query(a, b):
    if a:
        sql = """
            select *
              from t
        """
        run(sql)
    else:
        run(b)
    return b


def report(a, name):
    for x in a:
        text = f"""one
            {name}
        two"""
        name = text
    else:
        name = 'a \\
            b'
    if name:
        send(
            """x
            y""", a)
    if a:
        send(name)
    return name
'''
MOVING = (
    "add_condition", "add_return", "borrow_from_file", "borrow_statement", "branch_kind", "exception_handling", "guard_none",
    "loop_control", "move_statement", "none_check",
)  # fmt: skip
"""Templates that put statements elsewhere; others change texts on purpose."""


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("a = 1\nb = 2\n", []),
        ('a = """x"""\nb = 2', []),
        ('a = """x\ny\n"""\nb = 2', [1, 2]),
        ('a = f"""x\n{y}\n"""\nb = 2', [1, 2]),
        ("a = 'x \\\n  y'", [1]),
        ("a = ('x'\n     'y')", []),
        ("a = 1 + \\\n  2", []),
        ("if a:\n    \"\"\"x\"\"\"\n    b = ('''\n''',\n    2)", [3]),
        ("# it's '''\na = 1", []),
    ],
)
def test_lines_that_begin_inside_strings_are_told(code: str, lines: list[int]) -> None:
    assert sorted(lines_in_strings(code) or ()) == lines


@pytest.mark.parametrize("code", ['a = """x\ny', "if a:\n        '''b'''\n    c"])
def test_where_they_cannot_be_told_there_is_no_answer(code: str) -> None:
    assert lines_in_strings(code) is None


def long_texts(text: str) -> set[Any]:
    """Every string of a file that has more than one line, and the whole of every f-string."""
    nodes = list(ast.walk(ast.parse(text)))
    plain = {n.value for n in nodes if isinstance(n, ast.Constant) and "\n" in str(n.value)}
    return plain | {n.value for n in nodes if isinstance(n, ast.Constant) and "  b" in str(n.value)}


def parsed(text: str) -> str | None:
    try:
        ast.parse(text)
    except SyntaxError:
        return None
    return text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_no_template_moves_what_stands_in_a_string(newline: str) -> None:
    text = PLAIN.replace("\n", newline)
    source = SourceFile("texts.py", text.encode())
    suspicion = Suspicion({"texts.py": dict.fromkeys(range(1, 40), 1.0)})
    templates = {name: template for name, template in load_templates().items() if name in MOVING}
    made = list(
        Generator(templates, {}).best_first(list_units(source, "/texts.py"), suspicion, NO_LITERALS)
    )
    assert {"move_statement", "branch_kind"} <= {c.template for c in made}
    before = long_texts(text)
    for candidate in made:
        new = parsed(candidate.source.render(candidate.edits).decode())
        assert new is None or long_texts(new) <= before, candidate.description


def test_a_statement_with_such_a_string_stays_where_it_is() -> None:
    source = SourceFile("texts.py", PLAIN.encode())
    query, report = (unit.node for unit in list_units(source, "/texts.py"))
    assert isinstance(query.body[0], ast.If)
    assert CodeScope(source, query).dedented(query.body[0]) is None
    assert CodeScope(source, query).dedented(query.body[0].body[1]) == "run(sql)"
    assert [CodeScope(source, report).dedented(s) is None for s in report.body] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_text_put_elsewhere_keeps_its_strings(newline: str) -> None:
    text = "def f(a):\n    if a:\n        b = 1\n        return b\n".replace("\n", newline)
    source = SourceFile("f.py", text.encode())
    (unit,) = list_units(source, "/f.py")
    scope = CodeScope(source, unit.node)
    first = unit.node.body[0]
    assert isinstance(first, ast.If)
    code = 'if a:\n    b = ("""x\n  y""",\n    a)'
    for proposal in (
        scope.restate(1.0, first.body[0], code),
        scope.before(1.0, first.body[0], code),
        scope.after(1.0, first.body[1], code),
    ):
        assert proposal is not None
        new = source.render(proposal.edits).decode()
        assert long_texts(new) == {"x\n  y"}
        assert f"{newline}            a)" in new
        assert "\r" not in new.replace("\r\n", "")
    assert scope.restate(1.0, first, 'x = """\ny') is None


def test_guided_templates_move_no_strings() -> None:
    text = 'def f(a):\n    b = a.get("""\n        x\n    """)\n    return b\n'
    source = SourceFile("module.py", text.encode())
    for kind, message in (
        ("AttributeError", "'NoneType' object has no attribute 'get'"),
        ("KeyError", "'x'"),
        ("ValueError", "bad"),
        ("IndexError", "list index out of range"),
        ("StopIteration", ""),
    ):
        failure = FailureRecord(kind, message, (("module.py", 2, "f"),), {"bases": []})
        view = FailureContext(
            failure,
            find_spots(failure, lambda _: source),
            lambda _: source,
            Lookups("/nowhere", seconds=1.0),
        )
        for name, template in load_guided_templates().items():
            for change in template.propose(view):
                new = parsed(change.source.render(change.edits).decode())
                assert new is None or long_texts(new) <= long_texts(text), name
