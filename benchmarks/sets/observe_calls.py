"""Runs inside a judge's sandbox, as a plugin of pytest: what named functions give on the tests' calls and near them.

`OBSERVE=module:function,module:Class.method`; writes `observed.json`: for every input a pair of hashes, of the input
and of what came out. Two programs that agree on every input they share behave alike as far as anybody looked.
"""

import copy
import functools
import hashlib
import importlib
import inspect
import itertools
import json
import os
import random
import signal
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

MOST_CALLS = 40
MOST_INPUTS = 200
MOST_DEPTH = 12
MOST_ITEMS = 2000
CPU_S = 1.0
ALL_CPU_S = 40.0

Call = tuple[tuple[Any, ...], dict[str, Any]]


class TooLate(BaseException):
    """A call took too long; no `except Exception` of the program stops it."""


def form(value: object, depth: int = 0, seen: tuple[int, ...] = ()) -> str:
    """A text that equal values share, whatever their addresses."""
    if value is None or isinstance(value, bool | int | str | bytes):
        return f"{type(value).__name__}:{value!r}"[:5000]
    if isinstance(value, float):
        return f"float:{value:.9g}"
    if depth > MOST_DEPTH or id(value) in seen:
        return f"<{type(value).__name__}>"
    inside = functools.partial(form, depth=depth + 1, seen=(*seen, id(value)))
    name = type(value).__name__
    if isinstance(value, Mapping):
        pairs = [f"{inside(k)}={inside(v)}" for k, v in itertools.islice(value.items(), MOST_ITEMS)]
        return f"{name}{{{';'.join(pairs)}}}"
    if isinstance(value, set | frozenset):
        return f"{name}({';'.join(sorted(inside(item) for item in value))})"
    if isinstance(value, list | tuple | Iterator):
        return f"{name}[{';'.join(inside(item) for item in itertools.islice(value, MOST_ITEMS))}]"
    if isinstance(
        value,
        type | types.FunctionType | types.BuiltinFunctionType | types.MethodType | types.ModuleType,
    ):
        return f"<{getattr(value, '__qualname__', getattr(value, '__name__', name))}>"
    fields = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        names = cls.__dict__.get("__slots__", ())
        fields |= {
            n: getattr(value, n, None) for n in ((names,) if isinstance(names, str) else names)
        }
    fields.pop("__weakref__", None)
    return f"{name}<{';'.join(f'{k}={inside(v)}' for k, v in sorted(fields.items()))}>"


def short(text: str) -> str:
    """A hash that is long enough here."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def outcome(function: Callable[..., object], call: Call) -> str:
    """What a call gives: its result and its arguments afterwards, or the kind of its error."""
    arguments, named = copy.deepcopy(call)
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        result = form(function(*arguments, **named))
        return short(f"{result}|{form(arguments)}|{form(named)}")
    except TooLate:
        return "late"
    except BaseException as error:  # noqa: BLE001 - whatever it raises is what it does
        return f"raises {type(error).__name__}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class Kept:
    """What holds for one place of all recorded inputs, and shall hold for invented ones."""

    def __init__(self, values: Sequence[Any]) -> None:
        lists = [v for v in values if isinstance(v, list)]
        numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        self.ordered = bool(lists) and len(lists) == len(values) and all(map(_is_ordered, lists))
        self.distinct = bool(lists) and all(len({repr(i) for i in v}) == len(v) for v in lists)
        self.filled = bool(lists) and all(lists)
        self.least = min(numbers) if len(numbers) == len(values) and numbers else None
        flat = [
            i for v in lists for i in v if isinstance(i, int | float) and not isinstance(i, bool)
        ]
        self.least_item = min(flat) if flat else None
        self.letters = sorted({c for v in values if isinstance(v, str) for c in v})

    def holds(self, value: Any) -> bool:
        """Whether a value is like the recorded ones."""
        if isinstance(value, list):
            flat = [i for i in value if isinstance(i, int | float)]
            least = (
                self.least_item is None
                or not flat
                or self.least_item < 0
                or min(flat) >= self.least_item
            )
            distinct = not self.distinct or len({repr(i) for i in value}) == len(value)
            return least and distinct and not (self.filled and not value)
        if isinstance(value, int | float) and self.least is not None and self.least >= 0:
            return bool(value >= min(self.least, 1))
        return True


def _is_ordered(values: Sequence[Any]) -> bool:
    try:
        return all(a <= b for a, b in itertools.pairwise(values))
    except TypeError:
        return False


def vary(value: Any, kept: Kept | None, chance: random.Random) -> Any:
    """A value near another one."""
    if isinstance(value, bool):
        return chance.random() < 0.5
    if isinstance(value, int):
        return value + chance.choice([-2, -1, 0, 1, 2])
    if isinstance(value, float):
        return value + chance.choice([-0.5, 0, 0.5, 1.0])
    if isinstance(value, str):
        return _vary_text(value, kept.letters if kept else sorted(set(value)), chance)
    if isinstance(value, list | tuple):
        items = [vary(v, None, chance) if chance.random() < 0.4 else v for v in value]
        if type(value) is tuple:
            return tuple(items)
        if items and chance.random() < 0.3:
            items.pop(chance.randrange(len(items)))
        return sorted(items) if kept and kept.ordered else items
    if type(value) is dict:
        return {k: vary(v, None, chance) if chance.random() < 0.5 else v for k, v in value.items()}
    return value


def _vary_text(text: str, letters: Sequence[str], chance: random.Random) -> str:
    found = list(text)
    if found and chance.random() < 0.5:
        found.pop(chance.randrange(len(found)))
    elif letters:
        found.insert(chance.randrange(len(found) + 1), chance.choice(letters))
    return "".join(found)


def invented(calls: Sequence[Call]) -> Iterator[Call]:
    """Inputs near the recorded ones, as far as they keep what all recorded ones have in common."""
    width = min((len(arguments) for arguments, _ in calls), default=0)
    kept = [Kept([arguments[i] for arguments, _ in calls]) for i in range(width)]
    for number, (arguments, named) in enumerate(itertools.cycle(calls)):
        if number >= MOST_INPUTS:
            return
        chance = random.Random(f"{short(form(arguments))}/{number // len(calls)}")  # noqa: S311
        new = [
            vary(v, kept[i] if i < width else None, chance)
            for i, v in enumerate(copy.deepcopy(arguments))
        ]
        if all(kept[i].holds(new[i]) for i in range(width)):
            yield tuple(new), copy.deepcopy(named)


class Observer:
    """Stands in for one function and remembers what it was called with."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function
        self.calls: dict[str, Call] = {}
        self._inside = False

    def stand_in(self) -> Callable[..., object]:
        """What the tests call."""

        @functools.wraps(self.function)
        def called(*arguments: Any, **named: Any) -> object:
            if not self._inside and len(self.calls) < MOST_CALLS:
                self._inside = True
                try:
                    call = copy.deepcopy((arguments, named))
                    self.calls.setdefault(short(form(call)), call)
                except Exception:  # noqa: BLE001, S110 - what cannot be copied is not compared
                    pass
                finally:
                    self._inside = False
            return self.function(*arguments, **named)

        return called

    def results(self) -> Iterator[tuple[str, str]]:
        """Hashes of inputs and of what came out."""
        calls = list(self.calls.values())
        for call in itertools.chain(calls, invented(calls) if calls else ()):
            try:
                name = short(form(call))
            except Exception:  # noqa: BLE001, S112 - nor is what cannot be described
                continue
            yield name, outcome(self.function, call)


_OBSERVERS: dict[str, Observer] = {}


def pytest_configure() -> None:
    """Stand in before any test module imports them."""
    sys.path[:0] = [str(Path.cwd()), *filter(None, os.environ.get("OBSERVE_PATHS", "").split(":"))]
    for target in filter(None, os.environ.get("OBSERVE", "").split(",")):
        module, _, qualified = target.partition(":")
        owner: Any = importlib.import_module(module)
        *outer, last = qualified.split(".")
        for name in outer:
            owner = getattr(owner, name)
        found = inspect.getattr_static(owner, last)
        if isinstance(found, types.FunctionType) and not inspect.iscoroutinefunction(found):
            _OBSERVERS[target] = Observer(found)
            setattr(owner, last, _OBSERVERS[target].stand_in())
        elif isinstance(found, staticmethod | classmethod) and isinstance(
            found.__func__, types.FunctionType
        ):
            _OBSERVERS[target] = Observer(found.__func__)
            setattr(owner, last, type(found)(_OBSERVERS[target].stand_in()))


def pytest_unconfigure() -> None:
    """Call them, and write what came out."""

    def stop(*_: object) -> None:
        raise TooLate

    signal.signal(signal.SIGPROF, stop)
    told: dict[str, list[tuple[str, str]]] = {}
    begun = os.times().user
    for target, observer in _OBSERVERS.items():
        told[target] = []
        for pair in observer.results():
            told[target].append(pair)
            if os.times().user - begun > ALL_CPU_S:
                break
    Path("observed.json").write_text(json.dumps(told))
