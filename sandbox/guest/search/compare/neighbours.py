"""Inputs near recorded calls.

Arguments are varied, mixed, set to the function's own constants, or generated from annotations.
"""

from __future__ import annotations

import copy
import random
import types
import typing
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Set, Tuple

from sandbox.guest.search.compare.copies import own_copy
from sandbox.guest.search.compare.inputs import ValueProfile, describe_values, make_strategy, vary
from sandbox.guest.search.compare.record import Input

LEAST_ROWS = 3
"""Minimum number of calls from which the order of arguments is inferred."""
AT_A_NUMBER = 0.15
"""Probability that a number becomes a constant of the function or one next to it.

Fixes often differ at such bounds.
"""
LARGEST = 1_000_000
OPENED = 0.5
"""Probability that an omitted parameter whose default is None gets a value."""
GIVEN = (1, 2, 3, 5, 0, "a", True)
"""Values for it; small numbers are most often valid."""


def neighbours(
    calls: Sequence[Input],
    count: int,
    seed: int,
    forms: Mapping[Any, Sequence[types.CodeType]] | None = None,
) -> List[Input]:
    """Return inputs near these calls, in a reproducible order.

    Args:
        calls: Recorded calls.
        count: Number of inputs.
        seed: Random seed.
        forms: Alternative code of each function.
    """
    by_function: Dict[Any, List[Input]] = {}
    for call in calls:
        by_function.setdefault(call.function, []).append(call)
    found: List[Input] = []
    for number, (function, own) in enumerate(by_function.items()):
        try:
            numbers = _find_numbers([function.__code__, *(forms or {}).get(function, ())])
            maker = _Maker(function, own, random.Random(seed * 1000 + number), numbers)
        except Exception:  # values of the repository may not be comparable
            continue
        found += maker.make(max(8, count // len(by_function)))
    return found[:count]


class _Maker:
    """Creates neighbours of the calls of one function."""

    def __init__(
        self,
        function: Any,
        calls: Sequence[Input],
        chance: random.Random,
        numbers: Sequence[float] = (),
    ) -> None:
        self._function = function
        self._numbers = numbers
        self._calls = calls
        self._chance = chance
        self._columns: Dict[Any, List[Any]] = {}
        for call in calls:
            for key, value in _arguments(call):
                self._columns.setdefault(key, []).append(value)
        self._customs: Dict[Any, ValueProfile] = {
            key: describe_values(values) for key, values in self._columns.items()
        }
        self._order = _ordered_pairs(calls)
        self._made = _strategies(function, len(calls[0].positional))
        self._optional = _left_out(function)

    def make(self, count: int) -> List[Input]:
        found: List[Input] = []
        turns = 0
        while len(found) < count and turns < 3 * count:
            call = self._calls[turns % len(self._calls)]
            turns += 1
            try:
                made = self._one(call)
            except Exception:  # a value of the repository that cannot be copied or compared
                continue
            # Likely inputs come first and are the majority; at most a third is unlike the recorded
            # ones.
            if made is not None and (not made.far or sum(i.far for i in found) * 3 < count):
                found.append(made)
        return found

    def _one(self, call: Input) -> Input | None:
        keys = [key for key, _ in _arguments(call) if not (key == 0 and self._is_method())]
        if not keys:
            return None
        changed = set(keys) if self._chance.random() < 0.3 else {self._chance.choice(keys)}
        values = {
            key: self._changed(key, value) if key in changed else own_copy(value)
            for key, value in _arguments(call)
        }
        opened = {key for key in changed if key in self._optional and values[key] is not None}
        far = any(not self._customs[key].holds(values[key]) for key in changed - opened)
        far = far or any(
            key in changed or other in changed
            for key, other in self._order
            if values[key] > values[other]
        )
        positional = tuple(values[i] for i in range(len(call.positional)))
        named = {name: values[name] for name in call.named}
        return call._replace(positional=positional, named=named, recorded=False, far=far)

    def _is_method(self) -> bool:
        names = self._function.__code__.co_varnames
        return bool(names) and names[0] in ("self", "cls")

    def _changed(self, key: Any, value: Any) -> Any:
        made = self._made.get(key)
        if (
            value is None
            and made is None
            and key in self._optional
            and self._chance.random() < OPENED
        ):
            return self._chance.choice(GIVEN)
        if made is not None and self._chance.random() < 0.15:
            return made(self._chance)
        if self._numbers and type(value) in (int, float) and self._chance.random() < AT_A_NUMBER:
            return type(value)(
                self._chance.choice(self._numbers) + self._chance.choice((-1, 0, 0, 1))
            )
        varied = vary(value, self._chance, self._columns[key], self._customs[key].letters)
        if self._customs[key].ordered and type(varied) is list and self._chance.random() < 0.8:
            varied.sort()
        return varied


def _find_numbers(codes: Sequence[types.CodeType]) -> List[float]:
    """Return the numbers in these code objects, in order."""
    found: Dict[float, None] = {}
    for code in codes:
        for value in _constants(code):
            if type(value) in (int, float) and abs(value) <= LARGEST:
                found.setdefault(value)
    return list(found)


def _constants(code: types.CodeType) -> Iterator[Any]:
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _constants(value)
        elif isinstance(value, tuple):
            yield from value
        else:
            yield value


def _ordered_pairs(calls: Sequence[Input]) -> List[Tuple[Any, Any]]:
    """Return pairs of arguments of which the first was never greater and at least once smaller."""
    rows = [dict(_arguments(call)) for call in calls]
    keys = [key for key in rows[0] if all(type(row.get(key)) in (int, float) for row in rows)]
    if len(rows) < LEAST_ROWS:
        return []
    return [
        (key, other)
        for key in keys
        for other in keys
        if key != other
        and all(row[key] <= row[other] for row in rows)
        and any(row[key] < row[other] for row in rows)
    ]


def _arguments(call: Input) -> List[Tuple[Any, Any]]:
    return [*enumerate(call.positional), *sorted(call.named.items())]


def _left_out(function: Any) -> Set[Any]:
    """Return parameters, by position or name, whose default is None."""
    code, defaults = function.__code__, function.__defaults__ or ()
    first = code.co_argcount - len(defaults)
    found: Set[Any] = {first + place for place, value in enumerate(defaults) if value is None}
    return found | {
        name for name, value in (function.__kwdefaults__ or {}).items() if value is None
    }


def _strategies(function: Any, count: int) -> Dict[Any, Callable[[random.Random], Any]]:
    """Return generators of values by position or name, from the annotations of the function."""
    try:
        hints = typing.get_type_hints(function)
    except Exception:
        return {}
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    found: Dict[Any, Callable[[random.Random], Any]] = {}
    for place, name in enumerate(names):
        if name in hints:
            maker = make_strategy(hints[name]) or _from_hypothesis(hints[name])
            if maker is not None:
                found[place if place < min(count, code.co_argcount) else name] = maker
    return found


def _from_hypothesis(hint: Any) -> Callable[[random.Random], Any] | None:
    """Return a generator of Hypothesis values, if the environment has it.

    The values are always the same.
    """
    if not isinstance(hint, type) or hint is object:
        return None
    try:
        from hypothesis import HealthCheck, Phase, given, settings, strategies

        values: List[Any] = []

        @settings(
            max_examples=20, derandomize=True, database=None, deadline=None,
            phases=[Phase.generate], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(strategies.from_type(hint))
        def collect(value: Any) -> None:
            values.append(value)

        collect()
    except Exception:
        return None
    return (lambda chance: copy.deepcopy(chance.choice(values))) if values else None
