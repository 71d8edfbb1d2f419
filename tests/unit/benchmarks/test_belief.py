"""The corpus of right and wrong changes: what is written, how it is split, fitted and counted."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.belief.answers import Answer, answers_for
from benchmarks.belief.cases import Case, read_cases
from benchmarks.belief.figures import figures, interval, line_counts, reliability
from benchmarks.belief.fitting import BY_HAND, Verdict, chances, fit, judged
from benchmarks.belief.gather import measured_alone
from benchmarks.belief.missions import FOLDS, Mission, fold_of, held_out_groups, missions_of
from benchmarks.belief.rows import append_row, parse_rows
from benchmarks.sets.bug import Bug
from bot.fixers.rung1_search.rank import Behaviour
from bot.fixers.rung1_search.rank_features import Features
from bot.fixers.rung1_search.rank_model import UNMEASURED
from sandbox.types import Profile, SearchRequest, SpanEdit, Survivor, SurvivorComparison
from tests.fakes.searching_workspace import SearchingWorkspace

Row = dict[str, Any]

RIGHT = '''def longest(words, least=0):
    """Return the longest word."""
    best = ""
    for word in words:
        if len(word) < least:
            continue
        if len(word) > len(best):
            best = word
    return best + ""
'''
BROKEN = RIGHT.replace("> len(best)", "< len(best)")
CASES = (
    Case("longest", "(['a', 'bb'],)", "'bb'", failing=True),
    Case("longest", "([],)", "''", failing=False),
)
TESTS = """from words import longest

class TestIt:
    def test_two(self):
        assert longest(["a", "bb"]) == "bb"

def test_none():
    assert longest([]) == ""

def test_hidden():
    assert longest(["ccc", "a"]) == "ccc"
"""
WRONG = {"hard-coded", "overfitted", "wrong place"}


def written() -> list[Answer]:
    return answers_for(BROKEN, RIGHT, CASES, seed="seed")


def longest_by(answer: Answer, words: Sequence[str]) -> object:
    space: dict[str, object] = {}
    exec(answer.text, space)  # noqa: S102 - a program of this file, changed by ours
    return space["longest"](words)  # type: ignore[operator]


def test_every_kind_of_answer_is_written() -> None:
    kinds = {answer.kind for answer in written()}
    right = {"right", "in other words", "larger", "harmless extra"}
    assert kinds >= {*right, *WRONG, "half right", "weakened guard", "slip"}
    assert len({answer.text for answer in written()}) == len(written())


@pytest.mark.parametrize("kind", ["right", "in other words", "larger", "harmless extra"])
def test_right_answers_behave_as_the_reference(kind: str) -> None:
    for answer in written():
        if answer.kind == kind:
            assert longest_by(answer, ["a", "bb", "ccc", "d"]) == "ccc", answer.how


def test_wrong_answers_pass_the_test_shown_and_no_other() -> None:
    found = [answer for answer in written() if answer.kind in WRONG]
    assert {longest_by(answer, ["a", "bb"]) for answer in found} == {"bb"}
    assert "ccc" not in [longest_by(answer, ["a", "ccc", "bb"]) for answer in found]


def test_cases_are_read_from_the_tests_that_may_be_seen(tmp_path: Path) -> None:
    def plant(folder: Path, hidden: object) -> None:
        (folder / "test_words.py").write_text(TESTS)

    tests = ("TestIt::test_two", "test_none", "test_hidden")
    names = [f"test_words.py::{name}" for name in tests]
    bug = Bug(
        "longest", {"words.py": RIGHT}, names, frozenset([names[0], names[2]]), plant, targets=()
    )
    bug.plant(tmp_path, ())
    assert tuple(read_cases(bug, tmp_path, {names[2]})) == CASES


def test_a_bug_is_always_in_the_same_fold() -> None:
    folds = [fold_of(f"set/bug-{number}") for number in range(200)]
    assert folds == [fold_of(f"set/bug-{number}") for number in range(200)]
    assert all(20 < folds.count(fold) < 60 for fold in range(FOLDS))


def test_a_third_of_the_groups_of_each_set_is_held_out() -> None:
    rows = [
        {"set": name, "group": f"{name}/{number}"}
        for name, count in (("many", 30), ("few", 6))
        for number in range(count)
        for _ in range(2)
    ]
    held_out = held_out_groups(rows)
    assert sorted(one.partition("/")[0] for one in held_out) == ["few"] * 2 + ["many"] * 10
    assert held_out == held_out_groups(rows[::-1])


def a_row(kinds: Sequence[str], clusters: Sequence[int], profiles: Sequence[Profile]) -> Row:
    """One bug with written answers that pass the tests shown."""
    keys = [f"key-{number}" for number in range(len(kinds))]
    survivors = [
        Survivor(
            template="given",
            path="words.py",
            line=1,
            cost=1.0,
            suspicion=1.0,
            edits=(SpanEdit(path="words.py", start=0, end=0, text=f"# {key}\n"),),
            description=key,
        )
        for key in keys
    ]
    compared = SurvivorComparison(clusters=tuple(clusters), profiles=tuple(profiles), inputs=9)
    given = {
        "survivors": [one.model_dump(mode="json") for one in survivors],
        "keys": keys,
        "compared": compared.model_dump(mode="json"),
        "originals": {"words.py": BROKEN},
    }
    return {
        "set": "set",
        "bug": "longest",
        "group": "set/longest",
        "search": {"survivors": [], "keys": [], "compared": None, "originals": {}},
        "given": given,
        "kinds": {key: [kind, ""] for key, kind in zip(keys, kinds, strict=True)},
        "labels": {key: {"passes": n != 2, "alike": n != 2} for n, key in enumerate(keys)},
    }


def test_mutants_that_were_not_counted_stay_unknown() -> None:
    counted, unknown = Profile(inputs=9, mutants=10, mutants_killed=10), Profile(inputs=9)
    row = a_row(["right", "larger"], [0, 0], [counted, unknown])
    missions = [one for one in missions_of([row]) if one.source == "model"]
    assert [one.none["immune"] for one in missions] == [0.0, UNMEASURED]


def test_answers_of_one_program_are_no_agreement() -> None:
    row = a_row(["right", "larger", "slip"], [0, 0, 1], [Profile(inputs=9)] * 3)
    pairs = [one for one in missions_of([row]) if one.source == "hybrid"]
    assert [one.right for one in pairs] == [(True, False), (True, False)]
    assert all(b.features.agreement == 0.0 for one in pairs for b in one.behaviours)


def test_rows_with_changes_measured_alone_use_these_measurements() -> None:
    few, many = Profile(inputs=9, mutants=10, mutants_killed=10), Profile(inputs=9)
    row = a_row(["right", "larger", "slip"], [0, 1, 2], [few, few, many])
    row["alone"] = {
        "key-0": Profile(inputs=5, mutants=10, mutants_killed=6).model_dump(mode="json"),
        "key-2": Profile(inputs=5, mutants=10, mutants_killed=1).model_dump(mode="json"),
    }
    missions = [one for one in missions_of([row]) if one.source == "model"]
    assert [one.none["immune"] for one in missions] == [0.4, UNMEASURED, 0.9]


def test_an_example_that_only_another_change_satisfies_speaks_against_one_measured_alone() -> None:
    good, bad = (Profile(inputs=9, examples=2, examples_failed=n) for n in (0, 1))
    row = a_row(["right", "hard-coded"], [0, 1], [good, bad])
    alone = Profile(inputs=9, examples=1, examples_unmet=1).model_dump(mode="json")
    row["alone"] = {"key-0": alone, "key-1": alone}
    row["labels"]["key-1"] = {"passes": False, "alike": False}
    (pair,) = (one for one in missions_of([row]) if one.source == "hybrid")
    failed = {
        right: behaviour.features.examples_failed
        for right, behaviour in zip(pair.right, pair.behaviours, strict=True)
    }
    assert failed == {True: 0.0, False: 0.5}


def test_written_changes_with_lines_that_no_test_runs_are_counted_by_label() -> None:
    profiles = [
        Profile(inputs=9, new_lines=4, unrun=1, run_once=2),
        Profile(inputs=9, new_lines=4),
        Profile(inputs=9),
    ]
    row = a_row(["right", "larger", "slip"], [0, 0, 1], profiles)
    counts = line_counts([row])
    assert counts["right"] == {"changes": 2, "counted": 2, "unrun": 1, "run_once": 1}
    assert counts["wrong"] == {"changes": 1, "counted": 0, "unrun": 0, "run_once": 0}


@pytest.mark.anyio
async def test_each_change_is_compared_without_the_others() -> None:
    wants = {"test_words.py::test_two": ("words.py", "> len(best)")}
    workspace: Any = SearchingWorkspace({"words.py": BROKEN}, wants)
    request = SearchRequest(command="pytest -q", failing=tuple(wants))
    changes = {
        "one": {"words.py": RIGHT},
        "two": {"words.py": f"{RIGHT}\nLEAST = 0\n"},
        "fails": {"words.py": f"{BROKEN}\nLEAST = 0\n"},
    }
    found = await measured_alone(workspace, request, {"words.py": BROKEN}, changes)
    assert [len(one.given) for one in workspace.searches] == [1, 1, 1]
    assert set(found) == {"one", "two"}
    assert Profile.model_validate(found["one"]).inputs == 9


def test_a_row_that_was_cut_short_is_left_out_and_the_next_has_its_own_line(
    tmp_path: Path,
) -> None:
    rows = tmp_path / "build" / "rows.jsonl"
    assert parse_rows(rows) == []
    append_row(rows, {"bug": 1})
    with rows.open("a") as file:
        file.write('{"bug": 2, "gi')
    append_row(rows, {"bug": 3})
    append_row(rows, {"bug": 4})
    assert parse_rows(rows) == [{"bug": 1}, {"bug": 3}, {"bug": 4}]


def a_mission(narrow: float, *, right: bool, number: int = 0) -> Mission:
    behaviour = Behaviour((0,), 0, Features(written=1.0, narrow=narrow), 0.5)
    return Mission(
        bug=f"set/{number}",
        fold=number % FOLDS,
        source="model",
        kind="right" if right else "hard-coded",
        behaviours=(behaviour,),
        right=(right,),
        none={"start": 1.0},
    )


def test_weights_learn_what_separates_right_from_wrong() -> None:
    chance = random.Random(1)  # noqa: S311 - no secret
    known = [
        a_mission(chance.random() * 0.3, right=True, number=number)
        if number % 2
        else a_mission(0.7 + chance.random() * 0.3, right=False, number=number)
        for number in range(40)
    ]
    weights = fit(known, pull=0.001)
    right, wrong = a_mission(0.0, right=True), a_mission(1.0, right=False)
    assert chances(right, weights)[0] > 0.8
    assert chances(wrong, weights)[0] < 0.2
    assert weights.written["narrow"] < BY_HAND.written["narrow"]
    assert weights.written["agreement"] == BY_HAND.written["agreement"]
    assert not judged(wrong, weights).offered


def test_without_missions_the_weights_stay_where_they_began() -> None:
    assert fit([]) == BY_HAND


def test_figures_count_what_is_offered() -> None:
    verdicts = [
        Verdict(0.9, right=True, offered=True),
        Verdict(0.8, right=False, offered=True),
        Verdict(0.2, right=True, offered=False),
    ]
    missions = [a_mission(0.0, right=one.right, number=n) for n, one in enumerate(verdicts)]
    found = figures(missions, verdicts)
    assert (found["precision"], found["recall"], found["right"]) == (0.5, 0.5, 2)
    low, high = found["recall_by_bug"]
    assert (low, high) == (0.0, 1.0), "two bugs say little"
    assert found["brier"] == pytest.approx((0.01 + 0.64 + 0.64) / 3, abs=1e-4)
    assert [one["count"] for one in reliability(verdicts)] == [1, 1, 1]


def test_an_interval_holds_the_share_and_narrows() -> None:
    few, many = interval(9, 10), interval(900, 1000)
    assert few is not None
    assert many is not None
    assert few[0] < many[0] < 0.9 < many[1] < few[1]
    assert interval(0, 0) is None
