"""Which functions a survivor changes, and which of their lines are new."""

from types import SimpleNamespace

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.patched import patched_functions
from sandbox.guest.search.locate.code import CodeFile
from sandbox.guest.search.source.render import SourceFile

OLD = """RATE = 3


def one(a):
    return a - 1


def two(a):
    return a - 2


def three(a):
    return a - 3
"""
OTHER = "def four(a):\n    return a - 4\n"
RATE = """class Rate:
    @property
    def value(self):
        return self._v

    @value.setter
    def value(self, v):
        self._v = v
"""


def changed(**files: str) -> list[tuple[str, list[int]]]:
    """Names and new lines of the functions that a change of these files edits."""
    before = {"calc.py": OLD, "other.py": OTHER, "rate.py": RATE}
    known = {
        path: CodeFile(SourceFile(path, text.encode()), f"/repo/{path}")
        for path, text in before.items()
    }
    facts = SimpleNamespace(located=SimpleNamespace(files=known))
    edited = {path.replace("_py", ".py"): text.encode() for path, text in files.items()}
    found = patched_functions(facts, Alternative((), edited))
    return [(one.twin.qualified_name, sorted(one.lines)) for one in found]


def test_each_changed_function_has_its_new_lines_and_the_one_between_has_none() -> None:
    text = OLD.replace("    return a - 1", "    b = a\n    return b + 1").replace("- 3", "+ 3")
    assert changed(calc_py=text) == [("one", [5, 6]), ("three", [14])]


def test_functions_of_several_files_are_found_where_only_one_has_a_changed_function() -> None:
    table = OLD.replace("RATE = 3", "RATE = 4\nMORE = 5")
    assert changed(calc_py=table, other_py=OTHER.replace("- 4", "+ 4")) == [("four", [2])]


def test_one_place_that_no_code_can_be_swapped_into_is_left_out() -> None:
    assert changed(calc_py=OLD.replace("def two(a)", "def two(a, b=1)")) == []


def test_a_file_that_does_not_parse_or_is_not_known_has_no_functions() -> None:
    assert changed(calc_py="def one(:\n", other_py=OTHER.replace("- 4", "+ 4")) == [("four", [2])]
    assert changed(new_py="def five():\n    return 5\n", calc_py=OLD.replace("- 1", "+ 1")) == [
        ("one", [5])
    ]


def test_the_functions_of_a_property_are_told_apart_below_new_lines() -> None:
    added = "def late(a):\n    return a\n\n\n" * 3
    text = added + RATE.replace("self._v = v", "self._v = v + 1")
    found = changed(rate_py=text, other_py=OTHER.replace("- 4", "+ 4"))
    assert found == [("Rate.value", [20]), ("four", [2])]


def test_a_change_of_many_files_is_not_examined() -> None:
    others = {f"new_{number}_py": "A = 1\n" for number in range(8)}
    assert changed(calc_py=OLD.replace("- 1", "+ 1").replace("- 2", "+ 2"), **others) == []
