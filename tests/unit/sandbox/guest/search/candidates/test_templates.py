"""Each template proposes the edits of its CHANGES table and none for its UNTOUCHED table."""

import ast
import re
from functools import cache
from typing import Any

import pytest

from sandbox.guest.search.candidates.generator import CandidatePatch, Generator, Suspicion
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.source.functions import list_units
from sandbox.guest.search.source.render import SourceFile
from sandbox.guest.search.source.scope import CodeScope

TEMPLATES: dict[str, Any] = load_templates()
CHANGES = [
    (name, old, new) for name, template in TEMPLATES.items() for old, new in template.CHANGES
]
UNTOUCHED = [(name, old) for name, template in TEMPLATES.items() for old in template.UNTOUCHED]


@cache
def candidates(name: str, text: str) -> list[CandidatePatch]:
    source = SourceFile("module.py", text.encode())
    generator = Generator({name: TEMPLATES[name]}, {})
    found = generator.of_scope(CodeScope(source, source.tree), None, Suspicion({}))
    for unit in list_units(source, "/module.py"):
        found += generator.of_scope(CodeScope(source, unit.node), unit, Suspicion({}))
    return found


@cache
def results(name: str, text: str) -> frozenset[str]:
    return frozenset(c.source.render(c.edits).decode() for c in candidates(name, text))


@pytest.mark.parametrize(("name", "old", "new"), CHANGES)
def test_a_template_makes_the_change_its_table_shows(name: str, old: str, new: str) -> None:
    assert new in results(name, old)


@pytest.mark.parametrize(("name", "old"), UNTOUCHED)
def test_a_template_leaves_alone_what_its_table_shows(name: str, old: str) -> None:
    assert results(name, old) == frozenset()


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_has_a_sentence_a_cost_and_both_tables(name: str) -> None:
    template = TEMPLATES[name]
    assert template.__doc__
    assert template.CHANGES
    assert template.UNTOUCHED
    assert 0 < template.COST < 5


@pytest.mark.parametrize(("name", "old", "new"), CHANGES)
def test_untouched_lines_stay_byte_for_byte(name: str, old: str, new: str) -> None:
    odd = (
        "#  odd   spacing\t \r\nx  =  1   # kept\r\n\r\n"
        + old.replace("\n", "\r\n")
        + "\r\ny  = ( 2 )\r\n"
    )
    for result in results(name, odd):
        assert result.startswith("#  odd   spacing\t \r\n")
        assert result.endswith("\r\n")


WILD = '''
class Outer(Base):
    """Kept."""

    limit = 3

    @property
    def area(self) -> int:
        """Kept too."""
        return (self.width
                * self.height) - 1  # why not

    async def walk(self, items, *more, key=None, **rest):
        total = {k: v for k, v in items if v}
        for index, (name, value) in enumerate(items[1:-1]):
            if not name or value is None and index > 0: continue
            total[name] += f"{value!r} of {index}"
            try:
                self.seen.append(name)
            except KeyError as error:
                raise ValueError(sum(x for x in more)) from error
        while total: total.popitem()
        with self.lock:
            x, *y = 1, 2, 3
        return lambda a, b=1: a if b else (yield)


def spaced ( a,b ) :
    return ( a )+( b )if a<b else a [ 0 ]
'''


@pytest.mark.parametrize("name", TEMPLATES)
def test_nearly_all_candidates_of_odd_code_are_python(name: str) -> None:
    found = sample(results(name, WILD))
    assert sum(not parses(result) for result in found) <= 0.1 * len(found)


@pytest.mark.parametrize("name", TEMPLATES)
def test_docstrings_are_never_edited(name: str) -> None:
    for result in results(name, WILD):
        assert '"""Kept."""' in result
        assert '"""Kept too."""' in result


DESTRUCTIVE = re.compile(
    r"\b(unlink|rmtree|getattr|subprocess|kill|write|rename|rmdir|execv|open|write_text|os\.|sp\.|s\.copy|Path)\b"
    r"|\b(u|remove|erase)\("
)
DANGEROUS = """
import shutil as s
import subprocess as sp
from os import remove, unlink as u
from pathlib import Path

erase = os.remove
system = os


def clean(self, path, other, pid):
    os.unlink(path)
    shutil.rmtree(other)
    subprocess.run([path, other])
    os.kill(pid, 9)
    open(path, "w").write(other)
    target.write_text(path)
    os.rename(path, other)
    os.system(path)
    u(path)
    remove(other)
    erase(path)
    system.rename(path, other)
    s.copy(path, other)
    sp.call([path])
    Path(path).unlink()
    Path(other).parent.rename(path)
    here = Path(path)
    here.rmdir()
    open(path).close()
    os.execv(path, [other])
    getattr(os, "unlink")(path)
    later(os.unlink, path)
    list(map(u, [path, other]))
    self.place.rename(other)
    return path
"""


@pytest.mark.parametrize("name", TEMPLATES)
def test_arguments_of_dangerous_calls_are_never_varied(name: str) -> None:
    allowed = {
        ast.dump(node) for node in ast.walk(ast.parse(DANGEROUS)) if isinstance(node, ast.Expr)
    }
    for result in sample(results(name, DANGEROUS)):
        if not parses(result):
            continue
        for node in ast.walk(ast.parse(result)):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                text = ast.unparse(node)
                assert not DESTRUCTIVE.search(text) or ast.dump(node) in allowed


def sample(found: frozenset[str]) -> list[str]:
    return sorted(found)[:: max(1, len(found) // 100)]


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
