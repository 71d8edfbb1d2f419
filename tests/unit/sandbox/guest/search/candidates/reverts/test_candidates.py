"""Reverts of words, lines, hunks, files and whole diffs: ordered, described, always valid Python."""

from typing import Any

from sandbox.guest.search.candidates.doubts import doubts_about
from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.candidates.reverts import RevertContext, revert_candidates, split_hunk
from sandbox.guest.search.source.functions import list_units
from sandbox.guest.search.source.plain import PlainSource
from sandbox.guest.search.source.render import SourceFile
from sandbox.guest.search.source.scope import NO_LITERALS

OLD = (
    "def total(prices, off):\n    return sum(prices) - off\n\n\ndef free(total):\n"
    "    if total >= 50:\n        return True\n    return False\n"
)
NEW = (
    "def total(prices, off):\n    return sum(prices) + off\n\n\ndef free(amount):\n"
    "    if amount > 40:\n        return True\n    return False\n"
)
HUNKS: list[dict[str, Any]] = [
    {"path": "shop.py", "line": 2, "lines": 1, "before": "    return sum(prices) - off\n"},
    {"path": "shop.py", "line": 5, "lines": 2, "before": "def free(total):\n    if total >= 50:\n"},
]


def undone(candidate: CandidatePatch) -> str:
    return candidate.files()["shop.py"].decode()


def offers(hunks: list[dict[str, Any]], **texts: str) -> list[CandidatePatch]:
    sources: dict[str, SourceFile] = {
        f"{name}.py": PlainSource(f"{name}.py", text.encode()) for name, text in texts.items()
    }
    return list(revert_candidates(hunks, sources))


def test_words_lines_hunks_and_the_file_are_offered_small_ones_first() -> None:
    found = offers(HUNKS, shop=NEW)
    assert [c.template for c in found] == [
        *["undo_part"] * 5, *["undo_line"] * 2, *["undo_hunk"] * 2, "undo_file",
    ]  # fmt: skip
    assert undone(found[0]) == NEW.replace("+ off", "- off")
    assert undone(found[-1]) == OLD


def test_a_part_of_a_changed_line_costs_less_than_the_whole_change() -> None:
    found = offers(HUNKS, shop=NEW)
    assert found[0].cost < found[-1].cost - 1.5
    assert found[0].summary == "undoes a part of the change of line 2"
    assert found[-1].summary == "undoes every change of shop.py"


def test_undoing_is_tried_sooner_than_its_cost_says() -> None:
    assert all(candidate.priority <= candidate.cost - 1.0 for candidate in offers(HUNKS, shop=NEW))


def test_undoing_what_the_failing_tests_ask_for_is_tried_late_and_ranked_low() -> None:
    source = PlainSource("shop.py", NEW.encode())
    found = list(revert_candidates(HUNKS, {"shop.py": source}, RevertContext(changed_tests=True)))
    assert all(candidate.priority > 3.5 for candidate in found)
    assert doubts_about(found[0], NO_LITERALS)[0] == "reverts what the failing tests require"


def test_undoing_a_whole_change_is_doubted_and_a_part_of_a_line_is_not() -> None:
    part, *_, whole = offers(HUNKS[:1], shop=NEW)
    assert doubts_about(part, NO_LITERALS) == []
    assert doubts_about(whole, NO_LITERALS) == ["reverts what the commit changed"]


def test_edits_inside_one_function_body_can_be_swapped() -> None:
    source = SourceFile("shop.py", NEW.encode())
    units = tuple(list_units(source, "/checkout/shop.py"))
    found = list(
        revert_candidates(
            HUNKS, {"shop.py": PlainSource("shop.py", NEW.encode())}, RevertContext(units)
        )
    )
    assert [
        c.unit.qualified_name if c.unit else None for c in found if c.template == "undo_hunk"
    ] == ["total", None]


def test_changes_of_several_files_are_undone_together() -> None:
    hunks = [HUNKS[0], {"path": "rates.py", "line": 1, "lines": 1, "before": "RATE = 7\n"}]
    everything = offers(hunks, shop=NEW, rates="RATE = 9\n")[-1]
    assert everything.template == "undo_all"
    assert everything.files()["rates.py"] == b"RATE = 7\n"
    assert everything.summary == "undoes the whole change, in 2 files"


def test_lines_that_went_come_back_and_lines_that_came_go() -> None:
    gone = {"path": "shop.py", "line": 2, "lines": 0, "before": "    off = abs(off)\n"}
    came = {
        "path": "shop.py",
        "line": 7,
        "lines": 1,
        "before": "        print(total)\n        return True\n",
    }
    texts = {undone(c) for c in offers([gone, came], shop=NEW)}
    assert NEW.replace("    return sum", "    off = abs(off)\n    return sum") in texts
    assert NEW.replace("        return True", "        print(total)\n        return True") in texts


def test_what_is_no_python_is_not_offered_and_what_does_not_fit_is_left_out() -> None:
    assert offers([{"path": "shop.py", "line": 2, "lines": 1, "before": "?\n"}], shop=NEW) == []
    assert offers([{"path": "shop.py", "line": 90, "lines": 3, "before": "x\n"}], shop=NEW) == []
    assert offers([{"path": "other.py", "line": 1, "lines": 1, "before": "x\n"}], shop=NEW) == []


def test_a_rewritten_block_is_taken_apart_by_alike_lines() -> None:
    source = PlainSource("m.py", b"a = first(x)\nlog(x)\nc = third(x)\n")
    hunk = {
        "path": "m.py",
        "line": 1,
        "lines": 3,
        "before": "a = first(y)\nb = second(y)\nc = third(y)\n",
    }
    kinds = [(part.kind, part.first, part.edit.text) for part in split_hunk(hunk, source)]
    assert ("line", 1, "a = first(y)\n") in kinds
    assert ("line", 2, "b = second(y)\n") in kinds
    assert ("part", 3, "y") in kinds


def test_a_last_line_without_an_end_is_undone_too() -> None:
    hunk = {"path": "shop.py", "line": 1, "lines": 1, "before": "x = 1\n"}
    assert undone(offers([hunk], shop="x = 2")[-1]) == "x = 1\n"
