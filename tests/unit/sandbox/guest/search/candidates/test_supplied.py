"""Supplied changes become candidates in order if they fit, with their enclosing function."""

from types import SimpleNamespace
from typing import Any

from sandbox.guest.search.candidates.generator import CandidatePatch, Suspicion
from sandbox.guest.search.candidates.supplied import supplied_candidates
from sandbox.guest.search.source.functions import list_units
from sandbox.guest.search.source.plain import PlainSource
from sandbox.guest.search.source.render import SourceFile

TEXT = "X = 1\n\n\ndef f(a):\n    b = a\n    return b - X\n\n\ndef g(a):\n    return f(a)\n"
OTHER = "def h(:\n    pass\n"


def edit(old: str, new: str, path: str = "m.py") -> dict[str, Any]:
    text = TEXT if path == "m.py" else OTHER
    start = text.index(old)
    return {"path": path, "start": start, "end": start + len(old), "text": new}


def offered(*changes: list[dict[str, Any]]) -> list[CandidatePatch]:
    source = SourceFile("m.py", TEXT.encode())
    code = SimpleNamespace(
        sources=[source],
        units=list_units(source, "/checkout/m.py"),
        suspicion=Suspicion({"m.py": {6: 0.8, 10: 0.3}}),
    )
    known = SimpleNamespace(
        code=code,
        files=SimpleNamespace(
            load=lambda path: PlainSource(path, OTHER.encode()) if path == "other.py" else None
        ),
        request=SimpleNamespace(
            given=[{"edits": edits, "description": "said", "cost": 0.7} for edits in changes]
        ),
    )
    return list(supplied_candidates(known))


def test_they_come_in_order_before_everything_else_and_cost_what_was_said() -> None:
    first, second = offered([edit("b - X", "b + X")], [edit("f(a)\n", "f(-a)\n")] )  # fmt: skip
    assert [one.unit.qualified_name if one.unit else None for one in (first, second)] == ["f", "g"]
    assert (first.template, first.cost, first.suspicion, first.line, first.description) == (
        "given",
        0.7,
        0.8,
        6,
        "said",
    )
    assert max(first.priority, second.priority) < -5
    assert first.files()["m.py"].decode() == TEXT.replace("b - X", "b + X")


def test_edits_of_several_functions_or_files_and_of_signatures_have_no_function() -> None:
    found = offered(
        [edit("b - X", "b + X"), edit("return f(a)", "return a")],
        [edit("b - X", "b + X"), edit("h(:", "h():", "other.py")],
        [edit("def f(a):", "def f(a, b=1):")],
    )
    assert [one.unit for one in found] == [None, None, None]
    assert found[1].files()["other.py"] == b"def h():\n    pass\n"
    assert found[0].suspicion == 0.8


def test_what_fits_no_file_or_changes_nothing_is_left_out() -> None:
    assert offered(
        [],
        [edit("b - X", "b - X")],
        [edit("b - X", "b + X"), edit("b - X", "b * X")],
        [{"path": "missing.py", "start": 0, "end": 0, "text": "x"}],
    ) == []  # fmt: skip


def test_new_lines_take_the_suspicion_of_the_line_they_stand_before() -> None:
    place = TEXT.index("    return b - X")
    (found,) = offered([{"path": "m.py", "start": place, "end": place, "text": "    b += 1\n"}])
    assert (found.line, found.suspicion) == (6, 0.8)
    assert found.unit is not None
