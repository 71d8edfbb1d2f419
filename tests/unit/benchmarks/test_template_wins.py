"""Wins of templates and sources: counted from rows of searches, kept for every template of the code."""

import json
from typing import Any

from benchmarks.template_wins import COSTLY, KEPT, REASONS, count_wins, table
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.candidates.templates.guided import load_guided_templates
from sandbox.guest.search.candidates.templates.outer import load_outer_templates
from sandbox.types import SearchRequest
from tests.architecture.generated import SOURCE_NAMES


def spent(template: str, tried: int, seconds: float, origin: str = "functions") -> dict[str, Any]:
    return {"origin": origin, "template": template, "tried": tried, "seconds": seconds}


def row(
    spending: list[dict[str, Any]],
    shown: list[tuple[str, bool]] = [],  # noqa: B006  # never changed
    also: list[str] = [],  # noqa: B006
) -> dict[str, Any]:
    return {
        "set": "sample",
        "tests": "half",
        "seed": 0,
        "limit_s": 30.0,
        "correct_first": bool(shown) and shown[0][1],
        "spending": spending,
        "found_by": [["functions", name] for name, _ in shown] + [["functions", n] for n in also],
        "shown": [{"origin": "functions", "template": name} for name, _ in shown],
        "rights": [is_right for _, is_right in shown],
    }


ROWS = [
    row([spent("a", 10, 1.0), spent("b", 5, 3.0)], [("a", True), ("b", True)]),
    row([spent("a", 1, 0.5), spent("c", 9, 5.0)], [("b", False), ("a", True)], also=["d"]),
    row([spent("c", 1, 0.5, "outer")], [("a+b", True)]),
    row([]),
]


def test_wins_are_counted_by_bug() -> None:
    figures = count_wins(ROWS)
    assert figures["templates"]["a"] == {
        "tried": 11,
        "seconds": 1.5,
        "plausible": 3,
        "first": 2,
        "fixed": 2,
        "unique": 2,
    }
    assert figures["templates"]["b"]["unique"] == 1, "the last bug needs both edits"
    assert figures["templates"]["b"]["first"] == 2
    assert figures["templates"]["d"]["plausible"] == 1
    assert figures["sources"]["outer"]["tried"] == 1
    (about,) = figures["sets"]
    assert (about["bugs"], about["fixed"]) == (4, 2)


def test_only_what_never_wins_and_takes_time_is_costly() -> None:
    assert count_wins(ROWS)["costly"] == ["c"]
    cheap = spent("e", 1, COSTLY * 9)
    assert count_wins([*ROWS, row([cheap])])["costly"] == ["c"]


def test_a_table_has_a_row_for_each_name() -> None:
    lines = table(count_wins(ROWS)["templates"], ["a", "never"], 10.0).splitlines()[2:]
    assert lines == [
        "| `a` | 11 | 136.4 | 15.0 % | 3 | 2 | 2 | 2 |",
        "| `never` | 0 | - | - | 0 | 0 | 0 | 0 |",
    ]


def test_the_kept_figures_name_templates_and_sources_of_the_code_only() -> None:
    figures = json.loads(KEPT.read_text())
    known = {*load_templates(), *load_outer_templates(), *load_guided_templates()}
    removed_or_renamed = {
        name
        for name in figures["templates"]
        if name not in known and not name.startswith("undo_") and name != "given"
    }
    assert removed_or_renamed == set(), "run the benchmark again"
    assert figures["sources"].keys() <= SOURCE_NAMES.keys()
    assert set(SearchRequest(command="pytest", failing=()).sources) <= SOURCE_NAMES.keys()
    assert figures["costly"] == sorted(REASONS), "remove it, or give a reason"
    assert sum(one["bugs"] for one in figures["sets"]) > 100
