"""Look at objects of the repository without trusting them.

A proxy (a request outside of its context, lazy settings) answers even `__class__` and `__dict__`
with an exception or with side effects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Tuple, Type, TypeVar, Union

if TYPE_CHECKING:  # only what checks types has it in every Python
    from typing_extensions import TypeGuard

Kind = TypeVar("Kind")


def is_a(thing: Any, kind: Union[Type[Kind], Tuple[Type[Kind], ...]]) -> TypeGuard[Kind]:
    """Return `isinstance` by the real type: a proxy's own `__class__` is not asked."""
    return issubclass(type(thing), kind)


def peek(thing: Any, name: str, default: Any = None) -> Any:
    """Return an attribute, or the default if reading it raises anything."""
    try:
        return getattr(thing, name, default)
    except Exception:  # the object is the repository's
        return default
