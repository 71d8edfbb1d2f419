"""See from directly around a test's own function how it ended, and write that down at once.

Every hook and every wrapper of pytest is further outside: who skips the function leaves no record of its return, and
who catches its exception is too late.
"""

import functools
import inspect
import types
from typing import Any, Callable, Dict, Tuple

Harden = Callable[[Any], Any]


def ledger(send: Callable[..., Any], harden: Harden) -> Tuple[Any, Any, Any]:
    """Return three functions: remember the tests of a session, look one up, record how its function ended."""
    places: Dict[int, Tuple[Any, ...]] = {}

    def remember(item: Any, index: int, path: str, name: str) -> None:
        places[id(item)] = (index, path, name, item)

    def place_of(item: Any) -> Any:
        return places.get(id(item))

    def ended(item: Any, value: int) -> bool:
        place = places.get(id(item))
        if place is None:
            return False
        send(["ran", place[0], value], held=True)
        return True

    return harden(remember), harden(place_of), harden(ended)


class Call(Tuple[Any, ...]):  # noqa: SLOT001 - it carries the function's own attributes
    """The test's function with what is to happen before and after it; what it holds cannot be exchanged."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function; `before` and `after` get the item, the function and how it ended."""
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
        """Answer for the function: plugins ask for its marks, its name and what it wraps."""
        return getattr(self[0], name)


def witnessed(function: Any, item: Any, before: Any, after: Any) -> Any:
    """Return a callable that calls the function and tells how it ended; None for what is not simply called."""
    if inspect.iscoroutinefunction(function):
        return _forwarding(function, types.MethodType(_awaited, (function, item, before, after)))
    if not callable(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return None
    # It looks like the function to whoever reads its name, its module or its marks.
    return functools.update_wrapper(Call((function, item, before, after)), function)


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
    """Return a coroutine function with the attributes of another; without the call inside there is no record."""

    async def awaited(*args: Any, **named: Any) -> Any:
        return await call(*args, **named)

    return functools.update_wrapper(awaited, function)
