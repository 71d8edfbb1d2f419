"""What an edited function does on recorded and slightly changed inputs, as a hash: equal hashes mean equivalent."""

from __future__ import annotations

import copy
import hashlib
import random
import re
import sys
import types
from typing import Any, Callable, Dict, List, Sequence, Tuple

from sandbox.guest.search.forked import Report, collect
from sandbox.guest.search.functions import Swap
from sandbox.guest.search.harness import Items, Runner
from sandbox.guest.search.limits import Limiter

RECORDED = 24
"""How many calls of the tests are kept per function."""
NEIGHBOURS = 120
"""How many changed inputs are tried per function."""
CALL_S = 0.05
ADDRESS = re.compile(r"0x[0-9a-f]+")
Call = Tuple[types.FunctionType, Tuple[Any, ...]]


def behaviour_of(items: Items, functions: Sequence[types.FunctionType], swaps: Sequence[Swap], wait_s: float) -> str:
    """A hash over the results of the edited functions, or nothing when they cannot be called alone."""
    if not functions or wait_s <= 0.1:
        return ""

    def work(limiter: Limiter, report: Report) -> None:
        calls = _record(items, functions, limiter)
        calls += _neighbours(calls)
        for function, code in swaps:
            function.__code__ = code
        digest = hashlib.sha256()
        for function, arguments in calls:
            digest.update(_result(function, arguments, limiter).encode("utf-8", "replace") + b"\n")
        report([digest.hexdigest()[:16] if calls else ""])

    reports = collect(work, wait_s)
    return str(reports[-1][0]) if reports else ""


def _record(items: Items, functions: Sequence[types.FunctionType], limiter: Limiter) -> List[Call]:
    """Arguments with which the tests call the functions, copied at the time of the call."""
    wanted: Dict[types.CodeType, types.FunctionType] = {f.__code__: f for f in functions}
    calls: List[Call] = []
    counts = dict.fromkeys(wanted, 0)

    def on_event(frame: Any, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code not in wanted or counts[code] >= RECORDED:
            return
        counts[code] += 1
        names = code.co_varnames[: code.co_argcount]
        try:
            calls.append((wanted[code], copy.deepcopy(tuple(frame.f_locals[name] for name in names))))
        except Exception:
            counts[code] = RECORDED

    def profiled(call: Callable[[], Any]) -> Any:
        sys.setprofile(on_event)
        try:
            return call()
        finally:
            sys.setprofile(None)

    runner = Runner(items.all, limiter)
    for index in [*items.failing[:20], *items.passing[:20]]:
        runner.run(index, 0.2, profiled)
    runner.close()
    return calls


def _neighbours(calls: Sequence[Call]) -> List[Call]:
    if not calls:
        return []
    chance = random.Random(len(calls))
    found: List[Call] = []
    for number in range(NEIGHBOURS):
        function, arguments = calls[number % len(calls)]
        try:
            found.append((function, tuple(vary(a, chance) if chance.random() < 0.8 else a for a in arguments)))
        except Exception:
            continue
    return found


def vary(value: Any, chance: random.Random) -> Any:
    """A value of the same type near this one."""
    if isinstance(value, bool):
        return chance.random() < 0.5
    if type(value) is int:
        moved = value + chance.choice([-3, -2, -1, 1, 2, 3])
        return max(0, moved) if value >= 0 else moved
    if type(value) is float:
        return value + chance.choice([-1.5, -0.5, 0.5, 1.0, 2.25])
    if type(value) is str:
        return _vary_text(value, chance)
    if type(value) in (list, tuple):
        return type(value)(_vary_items(list(value), chance))
    if type(value) is dict:
        return {key: (vary(v, chance) if chance.random() < 0.4 else v) for key, v in value.items()}
    return copy.deepcopy(value)


def _vary_text(value: str, chance: random.Random) -> str:
    if not value:
        return chance.choice(["", "a", "ab"])
    letters, at = list(value), chance.randrange(len(value))
    kind = chance.randrange(4)
    if kind == 0:
        letters.pop(at)
    elif kind == 1:
        letters.insert(at, chance.choice(letters))
    elif kind == 2:
        letters[at] = chance.choice([*letters, "a", "Z", "(", " "])
    else:
        letters.reverse()
    return "".join(letters)


def _vary_items(items: List[Any], chance: random.Random) -> List[Any]:
    varied = [vary(item, chance) if chance.random() < 0.4 else copy.deepcopy(item) for item in items]
    kind = chance.randrange(4)
    if varied and kind == 0:
        varied.pop(chance.randrange(len(varied)))
    elif varied and kind == 1:
        varied.insert(chance.randrange(len(varied) + 1), copy.deepcopy(chance.choice(varied)))
    elif kind == 2:
        chance.shuffle(varied)
    return varied


def _result(function: types.FunctionType, arguments: Tuple[Any, ...], limiter: Limiter) -> str:
    try:
        with limiter.within(CALL_S):
            own = copy.deepcopy(arguments)
            value = function(*own)
            if hasattr(value, "__next__"):
                value = [item for _, item in zip(range(200), value)]
            return ADDRESS.sub("0x", f"{shape(value)} after {shape(own)}")[:2000]
    except BaseException as error:
        return "raises " + type(error).__name__


def shape(value: Any, depth: int = 0) -> str:
    """A text that is equal for equal values; sets and dictionaries in sorted order."""
    if depth > 4:
        return "..."
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(shape(item, depth + 1) for item in value)) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{shape(k, depth + 1)}: {shape(v, depth + 1)}" for k, v in value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + "(" + ", ".join(shape(item, depth + 1) for item in value) + ")"
    if hasattr(value, "__dict__") and not isinstance(value, (type, types.FunctionType, types.ModuleType)):
        return type(value).__name__ + shape(vars(value), depth + 1)
    return repr(value)
