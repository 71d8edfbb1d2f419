"""The smallest input on which two survivors differ: simpler ones are tried on all survivors at once."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.compare.calls import Result
from sandbox.guest.search.compare.inputs import smaller
from sandbox.guest.search.compare.judge import Observed, parting
from sandbox.guest.search.compare.record import Input
from sandbox.guest.search.compare.values import written, written_call

ROUNDS = 3
PER_PAIR = 24
MOST_INPUTS = 90
Pair = Tuple[int, int]


class Parting(NamedTuple):
    """An input on which two survivors differ, and what each gives."""

    call: Input
    results: Tuple[str, str]

    @property
    def size(self) -> Tuple[bool, bool, int]:
        """Smaller is easier to judge for a reader."""
        return (self.call.far, not self.call.entry, len(rendered(self.call)) + sum(len(r) for r in self.results) // 4)


def rendered(call: Input) -> str:
    """The call as a reader would write it."""
    if call.label:
        return call.label
    function = call.function
    names = function.__code__.co_varnames
    qualified = function.__qualname__.replace("<locals>.", "")
    count = function.__code__.co_argcount
    if names[:1] == ("self",) and call.positional and "." in qualified:
        if function.__name__ == "__init__":
            return written_call(qualified.split(".")[-2], call.positional[1:], call.named)
        return written_call(function.__name__, call.positional[1:], call.named, call.positional[0])
    # Parameters with defaults are named, so that a reader knows what they are.
    defaults = len(function.__defaults__ or ())
    plain = [i for i in range(len(call.positional)) if i < count - defaults or i >= count]
    if plain and plain[-1] >= count:
        return written_call(function.__name__, call.positional, call.named)
    given = {names[i]: call.positional[i] for i in range(len(call.positional)) if i not in plain}
    defaulted = dict(zip(names[count - defaults : count], function.__defaults__ or ()))
    shown = {name: value for name, value in given.items() if written(defaulted.get(name)) != written(value)}
    return written_call(function.__name__, [call.positional[i] for i in plain], {**shown, **call.named})


def told_apart(one: Result, other: Result) -> Tuple[str, str]:
    """Two results so that a reader sees how they differ."""
    if one.shown != other.shown:
        return one.shown, other.shown
    if one.kind != other.kind:
        return f"{one.shown} ({one.kind})", f"{other.shown} ({other.kind})"
    if one.left != other.left:
        return f"{one.shown}, leaving {one.left}", f"{other.shown}, leaving {other.left}"
    return f"{one.shown}, {one.text[:200]}", f"{other.shown}, {other.text[:200]}"


def smallest_partings(
    inputs: Sequence[Input],
    observed: Sequence[Optional[Observed]],
    pairs: Sequence[Pair],
    *,
    again: Callable[[Sequence[Input]], Sequence[Optional[Observed]]],
    in_time: Callable[[], bool],
) -> Dict[Pair, Parting]:
    """For each pair the smallest input found.

    Args:
        inputs: What was called.
        observed: Per survivor.
        pairs: Numbers of survivors.
        again: Observes all survivors on more inputs.
        in_time: Whether there is time for more.
    """
    best: Dict[Pair, Parting] = {}
    _take(best, inputs, observed, pairs)
    for _ in range(ROUNDS):
        tries = _simpler(best)
        if not tries or not in_time():
            break
        if not _take(best, tries, again(tries), pairs):
            break
    return best


def _take(
    best: Dict[Pair, Parting], inputs: Sequence[Input], observed: Sequence[Optional[Observed]], pairs: Sequence[Pair]
) -> bool:
    """Keep what is smaller; whether anything was."""
    better = False
    for pair in pairs:
        one, other = (observed[number] if number < len(observed) else None for number in pair)
        if one is None or other is None:
            continue
        found = [
            Parting(inputs[i], told_apart(one.results[i], other.results[i])) for i in parting(inputs, one, other)[:40]
        ]
        smallest = min(found, key=lambda p: p.size, default=None)
        if smallest is not None and (pair not in best or smallest.size < best[pair].size):
            best[pair] = smallest
            better = True
    return better


def _simpler(best: Dict[Pair, Parting]) -> List[Input]:
    found: List[Input] = []
    for parted in best.values():
        found += _simpler_calls(parted.call)[:PER_PAIR]
    return found[:MOST_INPUTS]


def _simpler_calls(call: Input) -> List[Input]:
    """The same call with one argument simpler."""
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
        found += [call._replace(named={**call.named, name: less}, recorded=False) for less in _safely_smaller(value)]
    return found


def _safely_smaller(value: Any) -> List[Any]:
    try:
        return smaller(value)
    except Exception:  # a value of the repository with operators of its own
        return []
