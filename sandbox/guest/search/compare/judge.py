"""What the results of all survivors on the same inputs say: clusters, profiles, and where two of them part."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.compare.calls import Result
from sandbox.guest.search.compare.record import Input

Results = Sequence[Result]

ENOUGH = 5
"""Further calls than those of the tests, on which survivors have to agree to be one behaviour."""


class Observed(NamedTuple):
    """What one program (a survivor, or the one before any edit) did."""

    results: Results
    """In the order of the inputs; may end early."""
    broken: Tuple[int, ...] = ()
    """Numbers of docstring examples that do not hold."""
    side_effects: int = 0
    """Names of modules it left otherwise than the program before did."""


def clusters_of(inputs: Sequence[Input], observed: Sequence[Optional[Observed]], edits: Sequence[Any]) -> List[int]:
    """The number of each survivor's behaviour; one that could not be observed is alone.

    Survivors that edit the same functions have to agree at those and at what tests call; others only at what tests
    call, because nobody else sees what they do inside.

    Args:
        inputs: What was called.
        observed: Per survivor, or None.
        edits: Per survivor a key of the functions it edits.
    """
    numbers: List[int] = []
    for mine, own in enumerate(observed):
        same = next(
            (
                n
                for n in range(mine)
                if own and observed[n] and not _part(inputs, own, observed[n], same_places=edits[mine] == edits[n])
            ),
            None,
        )
        numbers.append(mine if same is None else numbers[same])
    order = list(dict.fromkeys(numbers))
    return [order.index(number) for number in numbers]


def _part(inputs: Sequence[Input], one: Observed, other: Optional[Observed], *, same_places: bool) -> bool:
    """Whether two survivors differ, or could not be seen to agree."""
    if other is None:
        return True
    seen = [
        i
        for i, call in enumerate(inputs[: min(len(one.results), len(other.results))])
        if not call.far and (call.entry or same_places)
    ]
    # Where tests call, all survivors please the tests; only further calls can show that they agree.
    enough = sum(not inputs[i].recorded for i in seen) >= ENOUGH
    return not enough or any(one.results[i].text != other.results[i].text for i in seen)


def parting(inputs: Sequence[Input], one: Observed, other: Observed) -> List[int]:
    """The inputs on which two survivors differ: likely ones first, then what tests call, then as they were made."""
    both = range(min(len(one.results), len(other.results), len(inputs)))
    found = [i for i in both if one.results[i].text != other.results[i].text]
    return sorted(found, key=lambda i: (inputs[i].far, not inputs[i].entry, i))


def profile_of(
    inputs: Sequence[Input], before: Observed, after: Observed, known_kinds: Mapping[Any, Sequence[str]]
) -> Dict[str, int]:
    """How far a survivor is from the program before the edit.

    Args:
        inputs: What was called.
        before: The program as it was.
        after: The survivor.
        known_kinds: Per function the kinds of results that passing tests saw.
    """
    counts = dict.fromkeys(
        ("changed_passing", "passing_calls", "changed_neighbours", "neighbours", "new_errors", "changed_types"), 0
    )
    for call, old, new in zip(inputs, before.results, after.results):
        if call.far:
            continue
        counts["new_errors"] += new.failed and not old.failed
        kinds = known_kinds.get(call.function, ())
        counts["changed_types"] += bool(kinds) and not new.failed and new.kind not in kinds
        if call.failing:
            continue
        counts["passing_calls" if call.recorded else "neighbours"] += 1
        changed = old.text != new.text
        counts["changed_passing" if call.recorded else "changed_neighbours"] += changed
    return {**counts, "inputs": min(len(inputs), len(after.results)), "side_effects": after.side_effects}


def kinds_of(inputs: Sequence[Input], before: Observed) -> Dict[Any, List[str]]:
    """Per function the kinds of values it gave where passing tests called it."""
    kinds: Dict[Any, List[str]] = {}
    for call, result in zip(inputs, before.results):
        if call.recorded and not call.failing and not result.failed:
            kinds.setdefault(call.function, []).append(result.kind)
    return kinds


def wavering(one: Results, other: Results) -> List[int]:
    """Inputs on which the same program gave two results."""
    return [i for i, (a, b) in enumerate(zip(one, other)) if a.text != b.text]
