"""Functions that stand in an `if` or a `try` of their module are changed like any others."""

import ast
import types

from sandbox.guest.search.candidates.generator import Generator, Suspicion
from sandbox.guest.search.candidates.guided import EditableFiles
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.execution.shared.sites import Sites
from sandbox.guest.search.locate.code import CodeFile
from sandbox.guest.search.process.limits import TICK_NAME
from sandbox.guest.search.source.functions import (
    LiveFunctions,
    Unit,
    find_twin,
    list_units,
    signature,
    unit_around,
)
from sandbox.guest.search.source.render import SourceFile, TextEdit
from sandbox.guest.search.source.scope import NO_LITERALS

TEXT = """import sys

if sys.maxsize:
    def text(value):
        while value > 100:
            value -= 1
        return value + 1
elif sys.path:

    def text(value):
        return value + 2
else:
    def text(value):
        return value + 3


try:
    import no_such_module_anywhere
except ImportError:
    class Fallback:
        @staticmethod
        def __load(name):
            return lambda: name + "!"

        if sys:
            def dump(self, value):
                return super().__init__() or self.__load("é") and value * 2

    async def fetch(name):
        return name
else:
	def tabbed(name):
		return name
finally:
    with open(__file__):
        def last(x): return x
"""
NAMES = [
    ("text",), ("text",), ("text",), ("Fallback", "__load"), ("Fallback", "dump"), ("fetch",), ("tabbed",), ("last",),
]  # fmt: skip


def units(text: str = TEXT, filename: str = "/blocks.py") -> list[Unit]:
    return list_units(SourceFile("blocks.py", text.encode()), filename)


def inside(code: types.CodeType) -> list[types.CodeType]:
    found = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return found + [deeper for c in found for deeper in inside(c)]


def test_all_of_them_are_found_with_the_code_of_the_whole_module() -> None:
    found = units()
    assert [unit.names for unit in found] == NAMES
    whole = {
        (code.co_name, code.co_firstlineno): code
        for code in inside(compile(TEXT, "/blocks.py", "exec"))
    }
    for unit in found:
        code = whole[unit.names[-1], unit.first_line]
        alone = unit.originals[()]
        assert signature(alone) == signature(code)
        assert getattr(alone, "co_qualname", "") == getattr(code, "co_qualname", "")
        assert list(alone.co_positions()) == list(code.co_positions())


def test_of_several_with_one_name_the_twin_is_the_one_that_stood_there() -> None:
    third = units()[2]
    later = SourceFile("blocks.py", TEXT.replace("import sys", "import os\nimport sys").encode())
    twin = find_twin(later, third)
    assert twin is not None
    assert (twin.first_line, later.text(twin.node)[-9:]) == (third.first_line + 1, "value + 3")
    assert find_twin(SourceFile("blocks.py", b"x = 1\n"), third) is None


def test_what_was_imported_is_alive_and_gets_its_code() -> None:
    text = TEXT.replace("with open(__file__)", "with open('/dev/null')")
    names: dict[str, object] = {}
    types.FunctionType(compile(text, "/blocks_live.py", "exec"), names)()
    live = LiveFunctions()
    found = units(text, "/blocks_live.py")
    assert [live.has(unit) for unit in found] == [True, False, False, True, True, True, False, True]
    for unit, old in zip(found[:3], ("value + 1", "value + 2", "value + 3"), strict=True):
        at = text.index(old)
        code = unit.compile([TextEdit(at, at + len(old), "value + 9")])
        assert code is not None
        assert live.takes(unit, code) is (old == "value + 1")
        for function, new in live.swaps(unit, code):
            function.__code__ = new
    chosen = names["text"]
    assert isinstance(chosen, types.FunctionType)
    assert chosen(1) == 10


def test_lines_and_edits_belong_to_them() -> None:
    source = SourceFile("blocks.py", TEXT.encode())
    file = CodeFile(source, "/blocks.py")
    checkout = EditableFiles("/", lambda _: True)
    for unit in file.units:
        body = unit.node.body[-1]
        assert file.unit_at(body.lineno) is unit
        around = unit_around(source, [TextEdit(*source.span(body), "pass")], file.units)
        known = checkout.enclosing_unit(source, [TextEdit(*source.span(body), "pass")])
        if unit.names == ("last",):
            assert (around, known) == (None, None), "its body stands on the line of its head"
        else:
            assert around is unit
            assert known is not None
            assert known.first_line == unit.first_line


def test_candidates_are_made_in_them_and_compile() -> None:
    found = units()
    suspicion = Suspicion({"blocks.py": dict.fromkeys(range(1, 60), 1.0)})
    made = list(Generator(load_templates(), {}).best_first(found, suspicion, NO_LITERALS))
    by_unit = {unit.first_line: [c for c in made if c.unit is unit] for unit in found}
    assert all(by_unit.values())
    for candidates in by_unit.values():
        compiled = [
            c for c in candidates if c.unit is not None and c.unit.compile(c.edits) is not None
        ]
        assert 10 * len(compiled) > 9 * len(candidates)
        for candidate in compiled[:40]:
            ast.parse(candidate.source.render(candidate.edits))


def test_alternatives_and_guards_find_their_places() -> None:
    first, *_ = found = units()
    guarded = first.guarded(
        (), [(types.FunctionType(first.originals[()], {}), first.originals[()])]
    )
    assert TICK_NAME in guarded[0][1].co_names
    for unit, old in zip(
        found[:5], ("value + 1", "value + 2", "value + 3", 'name + "!"', "value * 2"), strict=True
    ):
        sites = Sites(unit)
        at = TEXT.index(old)
        site = sites.of(TextEdit(at, at + len(old), old))
        if unit.names == ("Fallback", "__load"):
            assert site is None, "nothing is chosen inside functions without a name"
            continue
        assert site is not None
        assert sites.compile(site, [site.node, site.node]) is not None


def test_groups_of_exceptions_are_looked_into() -> None:
    text = "try:\n    pass\nexcept* OSError:\n    def f():\n        return 1\n"
    assert [unit.names for unit in units(text)] == [("f",)]
