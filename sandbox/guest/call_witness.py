"""Record how a test's own function ended, from a wrapper directly around it.

Every hook and wrapper of pytest is further outside. A hook that skips the function leaves no record
of its return, and one that catches its exception is too late.
"""

import functools
import inspect
import types
from typing import Any, Callable, Dict, Tuple

Harden = Callable[[Any], Any]


def ledger(send: Callable[..., Any], harden: Harden) -> Tuple[Any, Any, Any]:
    """Return functions to register a session's tests, look one up, and record how it ended."""
    places: Dict[int, Tuple[Any, ...]] = {}

    def remember(item: Any, index: int, path: str, name: str) -> None:
        places[id(item)] = (index, path, name, item)

    def find_place(item: Any) -> Any:
        return places.get(id(item))

    def ended(item: Any, value: int) -> bool:
        place = places.get(id(item))
        if place is None:
            return False
        send(["ran", place[0], value], held=True)
        return True

    return harden(remember), harden(find_place), harden(ended)


class _WitnessedCall(Tuple[Any, ...]):  # noqa: SLOT001 - it carries the function's own attributes
    """The test's function with callbacks before and after it. Its parts cannot be replaced."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function. `before` and `after` receive the item, the function and the result."""
        function, item, before, after = self
        before(item, function)
        try:
            value = function(*args, **named)
        except BaseException:
            after(item, function, 0)
            raise
        after(item, function, 1)
        return value

    def __getattr__(self, name: str) -> Any:
        """Return attributes of the function: plugins read its marks, its name and what it wraps."""
        return getattr(self[0], name)


def wrap_witness(function: Any, item: Any, before: Any, after: Any) -> Any:
    """Wrap a function to record how it ended.

    Return None for a function that is not simply called.
    """
    if inspect.iscoroutinefunction(function):
        return _forwarding(function, types.MethodType(_awaited, (function, item, before, after)))
    if (
        not callable(function)
        or inspect.isgeneratorfunction(function)
        or inspect.isasyncgenfunction(function)
    ):
        return None
    # The wrapper has the function's name, module and marks.
    return functools.update_wrapper(_WitnessedCall((function, item, before, after)), function)


async def _awaited(parts: Tuple[Any, ...], *args: Any, **named: Any) -> Any:
    function, item, before, after = parts
    before(item, function)
    try:
        value = await function(*args, **named)
    except BaseException:
        after(item, function, 0)
        raise
    after(item, function, 1)
    return value


def _forwarding(function: Any, call: Any) -> Any:
    """Return a coroutine function with another's attributes.

    Without a call of the wrapper there is no record.
    """

    async def awaited(*args: Any, **named: Any) -> Any:
        return await call(*args, **named)

    return functools.update_wrapper(awaited, function)
