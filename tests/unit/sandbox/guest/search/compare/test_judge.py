"""Clusters, profiles and the smallest input on which two survivors part, from results made by hand."""

from sandbox.guest.search.compare.calls import ENDLESS, CallResult
from sandbox.guest.search.compare.judge import (
    ObservedProgram,
    assign_clusters,
    differing_inputs,
    find_unstable,
    measure_profile,
    result_kinds,
)
from sandbox.guest.search.compare.record import Input
from sandbox.guest.search.compare.shrink import (
    describe_difference,
    minimize_differences,
    render_call,
)


def clamp(value: object, low: int = 0, high: int = 10) -> object:
    return min(max(value, low), high) if isinstance(value, int) else value


def helper(value: int) -> int:
    return value


def an_input(value: object, **changes: object) -> Input:
    given: dict[str, object] = {"entry": True, "edited": True, "failing": False}
    return Input(clamp, (value,), {}, **{**given, **changes})  # type: ignore[arg-type]


def gave(*values: object) -> list[CallResult]:
    return [CallResult(repr(value), type(value).__name__, repr(value)) for value in values]


RAISED = CallResult("raises KeyError", "raises KeyError", "raises KeyError")


NEAR = [an_input(n, recorded=False) for n in range(5)]
SAME = tuple(range(5))


def test_what_the_tests_call_themselves_shows_no_agreement() -> None:
    inputs = [an_input(n) for n in range(9)]
    observed = [ObservedProgram(gave(*range(9)))] * 2
    assert assign_clusters(inputs, observed, ["f", "f"]) == [0, 1]


def test_equal_results_on_every_likely_input_are_one_behaviour() -> None:
    inputs = [*NEAR, an_input(2), an_input(3, far=True)]
    observed = [
        ObservedProgram(gave(*SAME, 2, 3)),
        ObservedProgram(gave(*SAME, 5, 3)),
        ObservedProgram(gave(*SAME, 2, 99)),
    ]
    assert assign_clusters(inputs, observed, ["f", "f", "f"]) == [0, 1, 0]


def test_survivors_that_edit_different_functions_have_to_agree_only_where_tests_call() -> None:
    inputs = [*NEAR, Input(helper, (1,), {}, entry=False, edited=True, failing=False)]
    observed = [ObservedProgram(gave(*SAME, 2)), ObservedProgram(gave(*SAME, 3))]
    assert assign_clusters(inputs, observed, ["f", "g"]) == [0, 0]
    assert assign_clusters(inputs, observed, ["f", "f"]) == [0, 1]
    inside = inputs[-1:]
    assert assign_clusters(
        inside, [ObservedProgram(gave(2)), ObservedProgram(gave(2))], ["f", "g"]
    ) == [0, 1]


def test_who_could_not_be_observed_is_alone() -> None:
    assert assign_clusters(
        [an_input(1)], [None, ObservedProgram(gave(1)), None], ["f", "f", "f"]
    ) == [0, 1, 2]
    assert assign_clusters([], [ObservedProgram([]), ObservedProgram([])], ["f", "f"]) == [0, 1]


def test_a_profile_counts_what_changed_away_from_the_failing_tests() -> None:
    inputs = [
        an_input(1),
        an_input(2),
        an_input(3, recorded=False),
        an_input(4, recorded=False, failing=True),
        an_input(5, far=True),
    ]
    before = ObservedProgram(gave(1, 2, 3, 4, 5))
    after = ObservedProgram([*gave(1, "2", 9), RAISED, *gave(7)], side_effects=2)
    profile = measure_profile(inputs, before, after, result_kinds(inputs, before))
    assert (profile["changed_passing"], profile["passing_calls"]) == (1, 2)
    assert (profile["changed_neighbours"], profile["neighbours"]) == (1, 1)
    assert (profile["changed_near_failing"], profile["near_failing"]) == (1, 1)
    assert (profile["new_errors"], profile["changed_types"]) == (1, 1)
    assert (profile["inputs"], profile["side_effects"]) == (5, 2)


def test_inputs_on_which_one_program_wavers_are_found() -> None:
    assert find_unstable(gave(1, 2, 3), gave(1, 9, 3)) == [1]


def test_likely_inputs_that_tests_could_make_come_first_among_partings() -> None:
    inputs = [an_input(1, far=True), an_input(2, entry=False), an_input(3), an_input(4)]
    assert differing_inputs(
        inputs, ObservedProgram(gave(0, 0, 0, 0)), ObservedProgram(gave(1, 1, 1, 0))
    ) == [2, 1, 0]


def test_the_smallest_parting_is_looked_for_among_simpler_inputs() -> None:
    def observe(inputs: object) -> list[ObservedProgram]:
        values = [i.positional[0] for i in inputs]  # type: ignore[attr-defined]
        return [
            ObservedProgram(gave(*(v > 2 for v in values))),
            ObservedProgram(gave(*(v > 5 for v in values))),
        ]

    inputs = [an_input(100), an_input(4)]
    best = minimize_differences(
        inputs, observe(inputs), [(0, 1)], again=observe, in_time=lambda: True
    )
    assert render_call(best[0, 1].call) in {"clamp(3)", "clamp(4)"}
    assert best[0, 1].results == ("True", "False")


def test_results_are_told_so_that_a_reader_sees_the_difference() -> None:
    one = CallResult("x", "list", "[]", "([1],)")
    assert describe_difference(one, one._replace(shown="[2]")) == ("[]", "[2]")
    assert describe_difference(one, one._replace(kind="Rows")) == ("[] (list)", "[] (Rows)")
    assert describe_difference(one, one._replace(left="([],)")) == (
        "[], leaving ([1],)",
        "[], leaving ([],)",
    )
    assert describe_difference(one, one._replace(text="y")) == ("[], x", "[], y")


def test_no_time_leaves_what_was_found() -> None:
    inputs = [an_input(100)]
    observed = [ObservedProgram(gave(1)), ObservedProgram(gave(2)), None]
    pairs = [(0, 1), (0, 2), (0, 9)]
    best = minimize_differences(inputs, observed, pairs, again=lambda _: [], in_time=lambda: False)
    assert list(best) == [(0, 1)]


def test_calls_are_written_with_names_where_parameters_have_defaults() -> None:
    call = an_input(3)._replace(positional=(3, 5, 10))
    assert render_call(call) == "clamp(3, low=5)"
    assert render_call(call._replace(label="the calls in test_x")) == "the calls in test_x"


def test_what_does_not_end_and_what_raises_has_no_value() -> None:
    assert CallResult(ENDLESS, ENDLESS, ENDLESS).failed
    assert RAISED.failed
    assert not gave(1)[0].failed
