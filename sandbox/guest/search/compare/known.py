"""Calls kept as text with a digest of their result, by which a behaviour is recognized later."""

from __future__ import annotations

import ast
import hashlib
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence

from sandbox.guest.search.compare.calls import CallResult
from sandbox.guest.search.compare.judge import ENOUGH, ObservedProgram
from sandbox.guest.search.compare.record import Input

MOST_CALLS = 24
"""Maximum number of calls kept of one behaviour."""
MOST_ARGUMENTS = 300
"""Length of a call's arguments, in characters."""
MOST_BEHAVIOURS = 50

PathOf = Callable[[str], Optional[str]]
"""Returns the path of a source file of the project, relative to its root."""


class KnownBehaviour(NamedTuple):
    """Calls of an earlier search, as inputs of this one."""

    calls: Sequence[Input]
    digests: Sequence[str]


def keep_calls(
    inputs: Sequence[Input], own: ObservedProgram, first: Iterable[int], path_of: PathOf
) -> List[Dict[str, str]]:
    """Return calls whose arguments are plain values, with digests of their results.

    Args:
        inputs: All calls.
        own: The behaviour to keep.
        first: Indexes of inputs that distinguish survivors, to be kept before others.
        path_of: Returns a function's source file.
    """
    kept: List[Dict[str, str]] = []
    for number in dict.fromkeys([*first, *range(len(inputs))]):
        call = inputs[number]
        # All fixes agree on the tests' own calls.
        if call.recorded or call.far or call.label or number >= len(own.results):
            continue
        arguments = _as_text(call)
        path = path_of(call.function.__code__.co_filename)
        if arguments is None or path is None:
            continue
        function = str(call.function.__qualname__)
        result = digest(own.results[number])
        kept.append({"path": path, "function": function, "arguments": arguments, "result": result})
        if len(kept) == MOST_CALLS:
            break
    return kept


def digest(result: CallResult) -> str:
    """Return a short hash of a result, which may be long or secret."""
    return hashlib.sha256(result.text.encode("utf-8", "replace")).hexdigest()[:16]


def read_behaviours(
    known: Sequence[Mapping[str, Any]], functions: Iterable[Any], path_of: PathOf
) -> List[KnownBehaviour]:
    """Return the behaviours with the functions of this process.

    Calls of functions that no longer exist are left out.
    """
    if not known:
        return []
    places = {(path_of(f.__code__.co_filename), f.__qualname__): f for f in functions}
    return [_read(one, places) for one in known[:MOST_BEHAVIOURS]]


def _read(known: Mapping[str, Any], places: Mapping[Any, Any]) -> KnownBehaviour:
    calls: List[Input] = []
    digests: List[str] = []
    for kept in known["calls"][:MOST_CALLS]:
        function = places.get((kept["path"], kept["function"]))
        try:
            positional, named = ast.literal_eval(str(kept["arguments"]))
            call = Input(
                function, tuple(positional), dict(named), entry=False, edited=True, failing=False
            )
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
        if function is not None:
            # As a far input it counts neither for clusters nor for profiles.
            calls.append(call._replace(recorded=False, far=True))
            digests.append(str(kept["result"]))
    return KnownBehaviour(calls, digests)


def recognize_new(
    known: Sequence[KnownBehaviour],
    inputs: Sequence[Input],
    before: Optional[ObservedProgram],
    after: Sequence[Optional[ObservedProgram]],
) -> List[List[int]]:
    """Return the behaviours that each alternative shows and the unedited program does not.

    An edit elsewhere does not change what an unrelated function returns.

    Args:
        known: The behaviours.
        inputs: All calls, theirs included.
        before: Results of the unedited program.
        after: Results of each alternative.
    """
    there = set(recognize(known, inputs, before))
    return [[n for n in recognize(known, inputs, own) if n not in there] for own in after]


def recognize(
    known: Sequence[KnownBehaviour], inputs: Sequence[Input], own: Optional[ObservedProgram]
) -> List[int]:
    """Return the indexes of behaviours whose every call has the same result here."""
    if own is None:
        return []
    places = {id(call): number for number, call in enumerate(inputs)}
    found: List[int] = []
    for number, one in enumerate(known):
        # Unstable inputs were dropped.
        seen = [
            own.results[place] if place < len(own.results) else None
            for place in (places.get(id(call), -1) for call in one.calls)
            if place >= 0
        ]
        wanted = [d for call, d in zip(one.calls, one.digests) if id(call) in places]
        same = all(result and digest(result) == d for result, d in zip(seen, wanted))
        if len(seen) >= ENOUGH and same:
            found.append(number)
    return found


def _as_text(call: Input) -> Optional[str]:
    """Return the arguments as a literal; None if they are not plain values."""
    try:
        text = repr((tuple(call.positional), dict(call.named)))
        if len(text) > MOST_ARGUMENTS:
            return None
        # Equal by text, because nan differs from itself and 1 equals True.
        return text if repr(ast.literal_eval(text)) == text else None
    except Exception:  # a value of the repository with its own `repr`
        return None
