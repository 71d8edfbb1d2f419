"""Minimize the input on which two survivors differ.

Simpler inputs are tried on all survivors at once.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.compare.calls import CallResult
from sandbox.guest.search.compare.inputs import simplify
from sandbox.guest.search.compare.judge import ObservedProgram, differing_inputs
from sandbox.guest.search.compare.record import Input
from sandbox.guest.search.compare.values import to_call_text, to_text

ROUNDS = 3
PER_PAIR = 24
MOST_INPUTS = 90
Pair = Tuple[int, int]


class InputDifference(NamedTuple):
    """An input on which two survivors differ, with both results."""

    call: Input
    results: Tuple[str, str]

    @property
    def size(self) -> Tuple[bool, bool, int]:
        """A sort key: smaller inputs are easier to judge for a reader."""
        return (
            self.call.far,
            not self.call.entry,
            len(render_call(self.call)) + sum(len(r) for r in self.results) // 4,
        )


def render_call(call: Input) -> str:
    """Return the call as a reader would write it."""
    if call.label:
        return call.label
    function = call.function
    names = function.__code__.co_varnames
    qualified = function.__qualname__.replace("<locals>.", "")
    count = function.__code__.co_argcount
    if names[:1] == ("self",) and call.positional and "." in qualified:
        if function.__name__ == "__init__":
            return to_call_text(qualified.split(".")[-2], call.positional[1:], call.named)
        return to_call_text(function.__name__, call.positional[1:], call.named, call.positional[0])
    # Name the arguments of parameters with defaults, for the reader.
    defaults = len(function.__defaults__ or ())
    plain = [i for i in range(len(call.positional)) if i < count - defaults or i >= count]
    if plain and plain[-1] >= count:
        return to_call_text(function.__name__, call.positional, call.named)
    given = {names[i]: call.positional[i] for i in range(len(call.positional)) if i not in plain}
    defaulted = dict(zip(names[count - defaults : count], function.__defaults__ or ()))
    shown = {
        name: value
        for name, value in given.items()
        if to_text(defaulted.get(name)) != to_text(value)
    }
    return to_call_text(
        function.__name__, [call.positional[i] for i in plain], {**shown, **call.named}
    )


def describe_difference(one: CallResult, other: CallResult) -> Tuple[str, str]:
    """Return two results as texts that show how they differ."""
    if one.shown != other.shown:
        return one.shown, other.shown
    if one.kind != other.kind:
        return f"{one.shown} ({one.kind})", f"{other.shown} ({other.kind})"
    if one.left != other.left:
        return f"{one.shown}, leaving {one.left}", f"{other.shown}, leaving {other.left}"
    return f"{one.shown}, {one.text[:200]}", f"{other.shown}, {other.text[:200]}"


def minimize_differences(
    inputs: Sequence[Input],
    observed: Sequence[Optional[ObservedProgram]],
    pairs: Sequence[Pair],
    *,
    again: Callable[[Sequence[Input]], Sequence[Optional[ObservedProgram]]],
    in_time: Callable[[], bool],
) -> Dict[Pair, InputDifference]:
    """Return the smallest input found for each pair.

    Args:
        inputs: The calls.
        observed: The behaviour of each survivor.
        pairs: Pairs of survivor indexes.
        again: Observes all survivors on more inputs.
        in_time: Returns False when the time is up.
    """
    best: Dict[Pair, InputDifference] = {}
    _take(best, inputs, observed, pairs)
    for _ in range(ROUNDS):
        tries = _simpler(best)
        if not tries or not in_time():
            break
        if not _take(best, tries, again(tries), pairs):
            break
    return best


def _take(
    best: Dict[Pair, InputDifference],
    inputs: Sequence[Input],
    observed: Sequence[Optional[ObservedProgram]],
    pairs: Sequence[Pair],
) -> bool:
    """Keep smaller inputs; return True if any was found."""
    better = False
    for pair in pairs:
        one, other = (observed[number] if number < len(observed) else None for number in pair)
        if one is None or other is None:
            continue
        found = [
            InputDifference(inputs[i], describe_difference(one.results[i], other.results[i]))
            for i in differing_inputs(inputs, one, other)[:40]
        ]
        smallest = min(found, key=lambda p: p.size, default=None)
        if smallest is not None and (pair not in best or smallest.size < best[pair].size):
            best[pair] = smallest
            better = True
    return better


def _simpler(best: Dict[Pair, InputDifference]) -> List[Input]:
    found: List[Input] = []
    for parted in best.values():
        found += _simpler_calls(parted.call)[:PER_PAIR]
    return found[:MOST_INPUTS]


def _simpler_calls(call: Input) -> List[Input]:
    """Return the same call with one argument simplified."""
    if call.label:
        return []
    names = call.function.__code__.co_varnames
    skip = 1 if names[:1] in (("self",), ("cls",)) else 0
    found: List[Input] = []
    for place, value in list(enumerate(call.positional))[skip:]:
        for less in _safely_smaller(value):
            positional = (*call.positional[:place], less, *call.positional[place + 1 :])
            found.append(call._replace(positional=positional, recorded=False))
    for name, value in sorted(call.named.items()):
        found += [
            call._replace(named={**call.named, name: less}, recorded=False)
            for less in _safely_smaller(value)
        ]
    return found


def _safely_smaller(value: Any) -> List[Any]:
    try:
        return simplify(value)
    except Exception:  # a value of the repository with its own operators
        return []
