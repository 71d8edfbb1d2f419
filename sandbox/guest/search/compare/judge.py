"""Judge the results of all survivors on the same inputs: clusters, profiles and differences."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.compare.calls import CallResult
from sandbox.guest.search.compare.record import Input

Results = Sequence[CallResult]

ENOUGH = 5
"""Minimum number of calls besides the tests' own on which survivors of one cluster agree."""


class ObservedProgram(NamedTuple):
    """The observed behaviour of one program: a survivor, or the unedited one."""

    results: Results
    """Results in the order of the inputs; may end early."""
    broken: Tuple[int, ...] = ()
    """Indexes of failing docstring examples."""
    side_effects: int = 0
    """Number of module-level names that the calls changed."""


def assign_clusters(
    inputs: Sequence[Input], observed: Sequence[Optional[ObservedProgram]], edits: Sequence[Any]
) -> List[int]:
    """Return the cluster number of each survivor; one that could not be observed is alone.

    Survivors that edit the same functions have to agree on these and on the tests' entry points.
    Others only have to agree on the entry points, because their internals are not comparable.

    Args:
        inputs: The calls.
        observed: The behaviour of each survivor, or None.
        edits: A key of the edited functions, per survivor.
    """
    numbers: List[int] = []
    for mine, own in enumerate(observed):
        same = next(
            (
                n
                for n in range(mine)
                if own
                and observed[n]
                and not _part(inputs, own, observed[n], same_places=edits[mine] == edits[n])
            ),
            None,
        )
        numbers.append(mine if same is None else numbers[same])
    # Number the clusters 0, 1, 2, ... in the order of their first survivors.
    order = list(dict.fromkeys(numbers))
    return [order.index(number) for number in numbers]


def _part(
    inputs: Sequence[Input],
    one: ObservedProgram,
    other: Optional[ObservedProgram],
    *,
    same_places: bool,
) -> bool:
    """Return True if two survivors differ, or if their agreement could not be observed."""
    if other is None:
        return True
    seen = [
        i
        for i, call in enumerate(inputs[: min(len(one.results), len(other.results))])
        if not call.far and (call.entry or same_places)
    ]
    # At the tests' own calls all survivors pass; only further calls can show that they agree.
    enough = sum(not inputs[i].recorded for i in seen) >= ENOUGH
    return not enough or any(one.results[i].text != other.results[i].text for i in seen)


def differing_inputs(
    inputs: Sequence[Input], one: ObservedProgram, other: ObservedProgram
) -> List[int]:
    """Return the indexes of inputs on which two survivors differ.

    Likely inputs come first, then entry points, then the order of creation.
    """
    both = range(min(len(one.results), len(other.results), len(inputs)))
    found = [i for i in both if one.results[i].text != other.results[i].text]
    return sorted(found, key=lambda i: (inputs[i].far, not inputs[i].entry, i))


def measure_profile(
    inputs: Sequence[Input],
    before: ObservedProgram,
    after: ObservedProgram,
    known_kinds: Mapping[Any, Sequence[str]],
) -> Dict[str, int]:
    """Return how much a survivor differs from the unedited program.

    Args:
        inputs: The calls.
        before: The unedited program.
        after: The survivor.
        known_kinds: Kinds of results that passing tests saw, per function.
    """
    counts = dict.fromkeys(
        (
            "changed_passing",
            "passing_calls",
            "changed_neighbours",
            "neighbours",
            "changed_near_failing",
            "near_failing",
            "new_errors",
            "changed_types",
        ),
        0,
    )
    for call, old, new in zip(inputs, before.results, after.results):
        if call.far:
            continue
        counts["new_errors"] += new.failed and not old.failed
        kinds = known_kinds.get(call.function, ())
        counts["changed_types"] += bool(kinds) and not new.failed and new.kind not in kinds
        changed = old.text != new.text
        if call.failing:
            # At a failing test's own call every survivor differs; only calls near it tell more.
            counts["near_failing"] += not call.recorded
            counts["changed_near_failing"] += changed and not call.recorded
            continue
        counts["passing_calls" if call.recorded else "neighbours"] += 1
        counts["changed_passing" if call.recorded else "changed_neighbours"] += changed
    return {
        **counts,
        "inputs": min(len(inputs), len(after.results)),
        "side_effects": after.side_effects,
    }


def result_kinds(inputs: Sequence[Input], before: ObservedProgram) -> Dict[Any, List[str]]:
    """Return the kinds of values that each function returned to passing tests."""
    kinds: Dict[Any, List[str]] = {}
    for call, result in zip(inputs, before.results):
        if call.recorded and not call.failing and not result.failed:
            kinds.setdefault(call.function, []).append(result.kind)
    return kinds


def find_unstable(one: Results, other: Results) -> List[int]:
    """Return the inputs on which the same program gave two results."""
    return [i for i, (a, b) in enumerate(zip(one, other)) if a.text != b.text]
