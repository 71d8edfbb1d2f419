"""Clusters, profiles and the smallest input on which two survivors part, from results made by hand."""

from sandbox.guest.search.compare.calls import ENDLESS, Result
from sandbox.guest.search.compare.judge import Observed, clusters_of, kinds_of, parting, profile_of, wavering
from sandbox.guest.search.compare.record import Input
from sandbox.guest.search.compare.shrink import rendered, smallest_partings, told_apart


def clamp(value: object, low: int = 0, high: int = 10) -> object:
    return min(max(value, low), high) if isinstance(value, int) else value


def helper(value: int) -> int:
    return value


def an_input(value: object, **changes: object) -> Input:
    given: dict[str, object] = {"entry": True, "edited": True, "failing": False}
    return Input(clamp, (value,), {}, **{**given, **changes})  # type: ignore[arg-type]


def gave(*values: object) -> list[Result]:
    return [Result(repr(value), type(value).__name__, repr(value)) for value in values]


RAISED = Result("raises KeyError", "raises KeyError", "raises KeyError")


NEAR = [an_input(n, recorded=False) for n in range(5)]
SAME = tuple(range(5))


def test_what_the_tests_call_themselves_shows_no_agreement() -> None:
    inputs = [an_input(n) for n in range(9)]
    observed = [Observed(gave(*range(9)))] * 2
    assert clusters_of(inputs, observed, ["f", "f"]) == [0, 1]


def test_equal_results_on_every_likely_input_are_one_behaviour() -> None:
    inputs = [*NEAR, an_input(2), an_input(3, far=True)]
    observed = [Observed(gave(*SAME, 2, 3)), Observed(gave(*SAME, 5, 3)), Observed(gave(*SAME, 2, 99))]
    assert clusters_of(inputs, observed, ["f", "f", "f"]) == [0, 1, 0]


def test_survivors_that_edit_different_functions_have_to_agree_only_where_tests_call() -> None:
    inputs = [*NEAR, Input(helper, (1,), {}, entry=False, edited=True, failing=False)]
    observed = [Observed(gave(*SAME, 2)), Observed(gave(*SAME, 3))]
    assert clusters_of(inputs, observed, ["f", "g"]) == [0, 0]
    assert clusters_of(inputs, observed, ["f", "f"]) == [0, 1]
    inside = inputs[-1:]
    assert clusters_of(inside, [Observed(gave(2)), Observed(gave(2))], ["f", "g"]) == [0, 1]


def test_who_could_not_be_observed_is_alone() -> None:
    assert clusters_of([an_input(1)], [None, Observed(gave(1)), None], ["f", "f", "f"]) == [0, 1, 2]
    assert clusters_of([], [Observed([]), Observed([])], ["f", "f"]) == [0, 1]


def test_a_profile_counts_what_changed_away_from_the_failing_tests() -> None:
    inputs = [
        an_input(1),
        an_input(2),
        an_input(3, recorded=False),
        an_input(4, recorded=False, failing=True),
        an_input(5, far=True),
    ]
    before = Observed(gave(1, 2, 3, 4, 5))
    after = Observed([*gave(1, "2", 9), RAISED, *gave(7)], side_effects=2)
    profile = profile_of(inputs, before, after, kinds_of(inputs, before))
    assert (profile["changed_passing"], profile["passing_calls"]) == (1, 2)
    assert (profile["changed_neighbours"], profile["neighbours"]) == (1, 1)
    assert (profile["new_errors"], profile["changed_types"]) == (1, 1)
    assert (profile["inputs"], profile["side_effects"]) == (5, 2)


def test_inputs_on_which_one_program_wavers_are_found() -> None:
    assert wavering(gave(1, 2, 3), gave(1, 9, 3)) == [1]


def test_likely_inputs_that_tests_could_make_come_first_among_partings() -> None:
    inputs = [an_input(1, far=True), an_input(2, entry=False), an_input(3), an_input(4)]
    assert parting(inputs, Observed(gave(0, 0, 0, 0)), Observed(gave(1, 1, 1, 0))) == [2, 1, 0]


def test_the_smallest_parting_is_looked_for_among_simpler_inputs() -> None:
    def observe(inputs: object) -> list[Observed]:
        values = [i.positional[0] for i in inputs]  # type: ignore[attr-defined]
        return [Observed(gave(*(v > 2 for v in values))), Observed(gave(*(v > 5 for v in values)))]

    inputs = [an_input(100), an_input(4)]
    best = smallest_partings(inputs, observe(inputs), [(0, 1)], again=observe, in_time=lambda: True)
    assert rendered(best[0, 1].call) in {"clamp(3)", "clamp(4)"}
    assert best[0, 1].results == ("True", "False")


def test_results_are_told_so_that_a_reader_sees_the_difference() -> None:
    one = Result("x", "list", "[]", "([1],)")
    assert told_apart(one, one._replace(shown="[2]")) == ("[]", "[2]")
    assert told_apart(one, one._replace(kind="Rows")) == ("[] (list)", "[] (Rows)")
    assert told_apart(one, one._replace(left="([],)")) == ("[], leaving ([1],)", "[], leaving ([],)")
    assert told_apart(one, one._replace(text="y")) == ("[], x", "[], y")


def test_no_time_leaves_what_was_found() -> None:
    inputs = [an_input(100)]
    observed = [Observed(gave(1)), Observed(gave(2)), None]
    pairs = [(0, 1), (0, 2), (0, 9)]
    best = smallest_partings(inputs, observed, pairs, again=lambda _: [], in_time=lambda: False)
    assert list(best) == [(0, 1)]


def test_calls_are_written_with_names_where_parameters_have_defaults() -> None:
    call = an_input(3)._replace(positional=(3, 5, 10))
    assert rendered(call) == "clamp(3, low=5)"
    assert rendered(call._replace(label="the calls in test_x")) == "the calls in test_x"


def test_what_does_not_end_and_what_raises_has_no_value() -> None:
    assert Result(ENDLESS, ENDLESS, ENDLESS).failed
    assert RAISED.failed
    assert not gave(1)[0].failed
