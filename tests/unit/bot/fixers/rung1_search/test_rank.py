"""Ranking: what comes first, how likely it is right, and when nothing is clearly ahead."""

import pytest

from bot.fixers.rung1_search.rank import rank_survivors
from bot.fixers.rung1_search.rank_doubts import doubts, vetoes
from bot.fixers.rung1_search.rank_features import (
    Features,
    answer_kinds,
    changed_characters,
    compute_features,
    plain_kind,
)
from bot.fixers.rung1_search.rank_model import WEIGHTS, is_confident, probabilities
from sandbox.types import Difference, Profile, SpanEdit, Survivor, SurvivorComparison

OLD = "def f(a, b):\n    return a - b\n"
FILES = {"calculator.py": OLD}
CLEAN = Profile(inputs=200, passing_calls=10, neighbours=150)


def a_survivor(new: str = "a + b", **changes: object) -> Survivor:
    start = OLD.index("a - b")
    edit = SpanEdit(path="calculator.py", start=start, end=start + len("a - b"), text=new)
    given: dict[str, object] = {
        "template": "swap_operator",
        "path": "calculator.py",
        "line": 2,
        "cost": 1.2,
        "suspicion": 1.0,
        "edits": (edit,),
        "description": "`-` became `+`",
    }
    return Survivor.model_validate({**given, **changes})


def compared(
    *clusters: int, profiles: tuple[Profile, ...] = (), **changes: object
) -> SurvivorComparison:
    given: dict[str, object] = {
        "clusters": clusters,
        "profiles": profiles or (CLEAN,) * len(clusters),
        "inputs": 200,
    }
    return SurvivorComparison.model_validate({**given, **changes})


def test_a_doubtful_survivor_comes_last() -> None:
    doubtful = a_survivor("1", cost=0.5, warnings=("makes a condition constant",))
    ranked = rank_survivors([doubtful, a_survivor()], FILES, compared(0, 1))
    assert [r.survivor.warnings for r in ranked] == [(), ("makes a condition constant",)]


def test_the_behaviour_that_more_templates_reach_comes_first() -> None:
    lone = a_survivor("b - a", template="swap_operands", cost=1.1)
    agreed = [a_survivor(), a_survivor("b + a", template="borrow_expression", cost=1.4)]
    ranked = rank_survivors([lone, *agreed], FILES, compared(0, 1, 1))
    assert ranked[0].survivor.template == "swap_operator"
    assert ranked[0].agreeing == 2


def test_the_second_guess_behaves_differently_from_the_first() -> None:
    same = a_survivor("b + a", template="swap_operands", cost=1.5)
    other = a_survivor("b - a", template="swap_operands", cost=2.5)
    ranked = rank_survivors([a_survivor(), same, other], FILES, compared(0, 0, 1))
    assert [r.survivor.edits[0].text for r in ranked] == ["a + b", "b - a", "b + a"]


def test_unknown_behaviours_are_not_taken_for_equal() -> None:
    ranked = rank_survivors([a_survivor(), a_survivor("b + a")], FILES)
    assert ranked[0].behaviours == 2
    assert (
        rank_survivors([a_survivor(), a_survivor("b + a")], FILES, compared(0, 0))[0].behaviours
        == 1
    )


def test_behaviours_told_by_the_survivors_themselves_are_used_when_nothing_was_compared() -> None:
    ranked = rank_survivors(
        [a_survivor(behaviour="aa"), a_survivor("b + a", behaviour="aa")], FILES
    )
    assert ranked[0].behaviours == 1


def test_nothing_to_rank_is_nothing_ranked() -> None:
    assert rank_survivors([], FILES) == ()


@pytest.mark.parametrize(
    "worse",
    [
        {"changed_passing": 10},
        {"changed_neighbours": 120},
        {"new_errors": 100},
        {"changed_types": 100},
        {"examples": 3, "examples_failed": 3},
        {"held_out_failed": 1},
        {"side_effects": 1},
        {"surprise": 3.0},
    ],
)
def test_what_was_observed_beside_the_tests_decides_between_equals(
    worse: dict[str, object],
) -> None:
    profiles = (CLEAN.with_(**worse), CLEAN)
    ranked = rank_survivors(
        [a_survivor("a * b"), a_survivor("b + a")], FILES, compared(0, 1, profiles=profiles)
    )
    assert ranked[0].survivor.edits[0].text == "b + a"
    assert ranked[0].score > ranked[1].score


def test_a_lone_cheap_survivor_is_shown_without_asking() -> None:
    (only,) = rank_survivors([a_survivor()], FILES, compared(0))
    assert only.confident
    assert only.score > 0.6


def test_the_more_code_the_failing_tests_run_the_less_a_fix_is_believed() -> None:
    few, many = (
        rank_survivors([a_survivor(cost=1.8)], FILES, compared(0, failing_lines=lines))[0]
        for lines in (8, 2000)
    )
    assert few.score > many.score
    assert few.confident
    assert not many.confident


@pytest.mark.parametrize(
    "warning",
    [
        "catches an exception that was raised",
        "returns early without a result",
        "tests for an attribute",
    ],
)
def test_a_fix_that_only_keeps_out_of_the_way_of_an_error_is_a_question(warning: str) -> None:
    away = a_survivor(cost=1.8, warnings=(warning,))
    assert not rank_survivors([away], FILES, compared(0, failing_lines=60))[0].confident
    assert rank_survivors([a_survivor(cost=1.8)], FILES, compared(0, failing_lines=60))[0].confident


def test_several_ways_to_write_one_shift_of_a_number_are_little_agreement() -> None:
    shifts = [
        a_survivor("b - a", template=name)
        for name in ("change_literal", "off_by_one", "swap_operands")
    ]
    ways = [
        a_survivor("b - a", template=name)
        for name in ("change_literal", "change_name", "wrap_call")
    ]
    assert (
        rank_survivors(shifts, FILES, compared(0, 0, 0))[0].score
        == rank_survivors([shifts[0]], FILES, compared(0))[0].score
    )
    assert (
        rank_survivors(ways, FILES, compared(0, 0, 0))[0].score
        > rank_survivors(shifts, FILES, compared(0, 0, 0))[0].score
    )


def test_a_written_change_that_ran_on_no_input_is_a_question() -> None:
    known = compared(0, failing_lines=8, failing=16)
    answer = a_survivor(template="given", cost=0.1)
    assert rank_survivors([answer], FILES, known)[0].confident
    # Its program could not be observed, or no function could be called.
    for inputs in (200, 0):
        blind = known.with_(profiles=(Profile(),), inputs=inputs)
        assert not rank_survivors([answer], FILES, blind)[0].confident
    assert not rank_survivors([answer], FILES)[0].confident


def test_a_searched_change_that_did_not_run_where_others_could_is_a_question() -> None:
    cheap = a_survivor(cost=0.1)
    unseen = compared(0, profiles=(Profile(),), failing_lines=8)
    assert not rank_survivors([cheap], FILES, unseen)[0].confident
    assert rank_survivors([cheap], FILES, unseen.with_(inputs=0))[0].confident


def test_a_vetoed_survivor_is_never_shown_without_asking() -> None:
    vetoed = a_survivor(cost=0.1, warnings=("removes a raise",))
    (only,) = rank_survivors([vetoed], FILES, compared(0))
    assert not only.confident


def test_a_fix_of_what_the_tests_check_with_keeps_its_rank_and_is_a_question() -> None:
    leaning = a_survivor(cost=0.1, warnings=("changes what the tests check with",))
    (only,) = rank_survivors([leaning], FILES, compared(0))
    (plain,) = rank_survivors([a_survivor(cost=0.1)], FILES, compared(0))
    assert not only.confident
    assert plain.confident
    assert only.score == plain.score


def test_doubts_that_show_only_while_it_runs_count_too() -> None:
    doubted = CLEAN.with_(warnings=("its condition never holds in any test",))
    profiles = (doubted, CLEAN)
    ranked = rank_survivors(
        [a_survivor("a * b"), a_survivor("b + a")], FILES, compared(0, 1, profiles=profiles)
    )
    assert [r.survivor.warnings for r in ranked] == [(), doubted.warnings]


def test_two_behaviours_that_nothing_tells_apart_are_a_question() -> None:
    twins = [a_survivor(), a_survivor("b * a", template="swap_operands")]
    ranked = rank_survivors(twins, FILES, compared(0, 1))
    assert not any(r.confident for r in ranked)


def test_a_rival_that_breaks_an_example_leaves_the_other_clearly_ahead() -> None:
    profiles = (CLEAN.with_(examples=2, examples_failed=2), CLEAN.with_(examples=2))
    first, second = rank_survivors(
        [a_survivor(), a_survivor("b * a", template="swap_operands")],
        FILES,
        compared(0, 1, profiles=profiles),
    )
    assert first.survivor.template == "swap_operands"
    assert (first.confident, second.confident) == (True, False)


def test_the_input_that_tells_two_apart_is_told_from_each_side() -> None:
    difference = Difference(first=0, second=2, input="f(0, 1)", results=("1", "0"))
    survivors = [a_survivor(), a_survivor("b + a", cost=1.0), a_survivor("a * b", cost=2.8)]
    ranked = rank_survivors(survivors, FILES, compared(0, 0, 1, differences=(difference,)))
    assert ranked[0].survivor.edits[0].text == "b + a"
    assert (ranked[0].differences[0].input, ranked[0].differences[0].results) == (
        "f(0, 1)",
        ("1", "0"),
    )
    assert ranked[1].differences[0].results == ("0", "1")
    unknown = rank_survivors(survivors, FILES, compared(0, 0, 1))
    assert (unknown[0].differences[0].input, unknown[0].differences[0].results) == ("", ("", ""))


def test_candidates_that_die_on_held_out_tests_make_every_survivor_less_likely() -> None:
    strong = compared(0, held_out=5, passed_screen=10, passed_held_out=10)
    weak = compared(0, held_out=5, passed_screen=10, passed_held_out=1)
    (sure,), (unsure,) = (rank_survivors([a_survivor()], FILES, told) for told in (strong, weak))
    assert sure.score > unsure.score


def test_tests_that_notice_no_mutant_of_the_patched_lines_make_it_less_likely() -> None:
    strong, weak = (
        compared(0, profiles=(CLEAN.with_(mutants=10, mutants_killed=n),)) for n in (10, 0)
    )
    (sure,), (unsure,) = (rank_survivors([a_survivor()], FILES, told) for told in (strong, weak))
    assert sure.score > unsure.score


def test_chances_never_add_up_to_more_than_one_and_extreme_numbers_are_borne() -> None:
    chances = probabilities([Features(cost=1e6), Features(agreement=1e6), Features()], None)
    assert all(0.0 <= chance <= 1.0 for chance in chances)
    assert sum(chances) <= 1.0 + 1e-9


def test_every_feature_has_a_weight_and_the_signs_are_as_explained() -> None:
    assert set(WEIGHTS) == set(Features().named())
    good = {name for name, weight in WEIGHTS.items() if weight > 0}
    assert good == {"agreement", "donor", "examples_kept", "undoes", "accepted"}


def test_likely_is_not_enough_without_a_lead() -> None:
    assert is_confident([0.7, 0.1])
    assert not is_confident([0.4, 0.01])
    assert not is_confident([0.62, 0.37])


def test_warnings_are_vetoes_or_doubts_by_how_they_begin() -> None:
    told = (
        "removes a raise",
        "uses a literal of the failing test in a comparison: 7",
        "deletes code",
    )
    assert (vetoes(told), doubts(told)) == (2, 1)


def test_shares_of_nothing_are_nothing() -> None:
    features = compute_features([a_survivor()], Profile(changed_passing=3), FILES)
    assert (features.changed_passing, features.examples_kept) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("new", "size"), [("a + b", 1), ("a - b", 0), ("abs(a - b)", 9), ("b - a", 5)]
)
def test_the_size_of_a_change_is_counted_in_characters(new: str, size: int) -> None:
    assert changed_characters(OLD, OLD.replace("a - b", new)) == size


@pytest.mark.parametrize(("start", "end"), [(0, 100), (1, 2), (90, 80), (3, 3)])
def test_spans_that_do_not_fit_the_file_are_ranked_like_others(start: int, end: int) -> None:
    odd = a_survivor(edits=(SpanEdit(path="calculator.py", start=start, end=end, text="x"),))
    assert len(rank_survivors([odd, a_survivor()], {"calculator.py": "\u00e9\u00e9"})) == 2


def test_long_texts_are_compared_in_no_time() -> None:
    assert changed_characters("xy" * 500_000, "yx" * 400_000) >= 200_000


def test_what_people_wrote_before_is_not_unusual_however_rare_its_words_are() -> None:
    """A commit that turned the check red, undone in the place where it did, is clearly ahead of a guess at that place."""
    undone = a_survivor(template="undo_part", cost=1.0)
    guessed = [a_survivor("a", template="change_name"), a_survivor("b", template="wrap_call")]
    rare = CLEAN.with_(surprise=2.4, mutants=40, mutants_killed=38)
    seen = compared(0, 1, 1, profiles=(rare, CLEAN, CLEAN), failing_lines=20)
    (first, *_) = rank_survivors([undone, *guessed], FILES, seen)
    assert (first.survivor, first.confident) == (undone, True)
    (other, *_) = rank_survivors(
        [a_survivor(template="swap_operator", cost=1.0), *guessed], FILES, seen
    )
    assert other.survivor in guessed  # the same words, which nobody wrote before


def test_an_edit_that_people_accepted_elsewhere_is_more_likely() -> None:
    survivors = [a_survivor(), a_survivor("b - a", template="swap_operands")]
    plain = rank_survivors(survivors, FILES, compared(0, 1))
    known = rank_survivors(survivors, FILES, compared(0, 1), accepted={1})
    assert plain[0].survivor.edits[0].text == "a + b"
    assert known[0].survivor.edits[0].text == "b - a"
    assert known[0].confident


@pytest.mark.parametrize(
    "worse",
    [
        {"near_failing": 100, "changed_near_failing": 2},
        {"passing_there": 0},
        {"examples_unmet": 2},
        {"changed_passing": 3},
        {"new_lines": 4, "unrun": 2},
        {"new_lines": 4, "run_once": 4},
        {"mutants": 20, "mutants_killed": 12},
    ],
)
def test_the_same_evidence_speaks_against_a_written_change(worse: dict[str, object]) -> None:
    answer = a_survivor(template=answer_kinds(0, 1))
    (good,) = rank_survivors([answer], FILES, compared(0))
    profiles = (CLEAN.with_(**worse),)
    (bad,) = rank_survivors([answer], FILES, compared(0, profiles=profiles))
    assert bad.score < good.score


def test_results_written_into_the_code_make_a_change_a_question() -> None:
    hard_coded = "{(1, 2): 3}.get((a, b), a - b)"
    borrowed = ("takes a value from the failing test: 3",)
    answer = a_survivor(hard_coded, template=answer_kinds(0, 1), warnings=borrowed)
    profile = CLEAN.with_(near_failing=100, changed_near_failing=2)
    (found,) = rank_survivors([answer], FILES, compared(0, profiles=(profile,), failing=2))
    assert not found.confident
    (honest,) = rank_survivors(
        [a_survivor(template=answer_kinds(0, 1))], FILES, compared(0, failing=2)
    )
    assert honest.confident


def test_answers_that_agree_count_and_their_cost_does_not() -> None:
    answer = a_survivor(template=answer_kinds(0, 1), cost=2.4)
    (alone,) = rank_survivors([answer], FILES, compared(0))
    (cheap,) = rank_survivors([answer.with_(cost=0.1)], FILES, compared(0))
    (twice,) = rank_survivors([answer.with_(template=answer_kinds(0, 2))], FILES, compared(0))
    other = a_survivor("b + a", template=answer_kinds(1, 1), cost=2.4)
    both = rank_survivors([answer, other], FILES, compared(0, 0))
    assert alone.score == cheap.score < twice.score
    assert both[0].score == pytest.approx(twice.score, abs=0.05)


def test_the_search_and_an_answer_that_agree_are_likelier_than_each_alone() -> None:
    answer, found = a_survivor(template=answer_kinds(0, 1)), a_survivor("b + a")
    alone = [rank_survivors([one], FILES, compared(0))[0].score for one in (answer, found)]
    both = rank_survivors([answer, found], FILES, compared(0, 0))
    assert both[0].score > max(alone)


def test_kinds_of_answers_are_shown_without_their_numbers() -> None:
    assert plain_kind(answer_kinds(3, 2)) == "given"
    assert plain_kind("swap_operator") == "swap_operator"
