"""Places that hold values (containers, closure cells, slots): copy, compare and restore them."""

from __future__ import annotations

import collections
import types
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

COPIES: Dict[type, Callable[[Any], Any]] = {
    list: list,
    dict: dict,
    set: set,
    bytearray: bytearray,
    collections.deque: collections.deque,
    collections.OrderedDict: dict,
    collections.defaultdict: dict,
    collections.Counter: dict,
}
"""Watched containers, and the function that copies each."""
PLAIN: Tuple[type, ...] = (list, dict, set, collections.deque, tuple, frozenset)
"""Plain containers that a class may derive from."""
FIXED = (tuple, frozenset)
NOTHING = object()
"""The content of an empty cell or slot."""
MOST_PARTS = 2000
MOST_PLACES = 20_000
"""Maximum number of watched cells and slots."""
MOST_SLOW = 200
"""Maximum number of watched empty slots that raise an exception when read."""
CELL: Any = vars(types.CellType)["cell_contents"]
EMPTY_CELL = types.CellType()


class Derived(NamedTuple):
    """An instance of a class derived from a plain container.

    Only methods of the plain base are called: those of the class may do anything.
    """

    thing: Any
    base: Any
    copy: Any

    def differs(self) -> bool:
        """Return True if the content has changed."""
        return bool(self.base.__ne__(self.thing, self.copy))

    def refill(self) -> None:
        """Restore the content."""
        thing, base = self.thing, self.base
        if base is list:
            list.__setitem__(thing, slice(None), self.copy)
        elif isinstance(thing, collections.OrderedDict):
            collections.OrderedDict.clear(thing)
            for name, value in self.copy.items():
                collections.OrderedDict.__setitem__(thing, name, value)
        else:
            base.clear(thing)
            (base.extend if base is collections.deque else base.update)(thing, self.copy)


class ValuePlace(NamedTuple):
    """A cell or a slot: one name that holds one value or nothing."""

    descriptor: Any
    owner: Any
    value: Any

    def now(self) -> Any:
        """Return the present content."""
        try:
            return self.descriptor.__get__(self.owner)
        except (AttributeError, ValueError):  # an empty slot or an empty cell
            return NOTHING

    def differs(self) -> bool:
        """Return True if the content has changed."""
        now = self.now()
        return now is not self.value and differ(now, self.value)

    def refill(self) -> None:
        """Restore the content."""
        if self.value is NOTHING:
            self.descriptor.__delete__(self.owner)
        else:
            self.descriptor.__set__(self.owner, self.value)


class ValuePlaces:
    """Watched cells and slots; comparing an unchanged one runs no repository code."""

    def __init__(self) -> None:
        self._all: List[ValuePlace] = []
        self._filled: List[Tuple[Callable[[Any], Any], Any, Any]] = []
        """The getter, the owner and the value of each."""
        self._cells: List[Any] = []
        """Owners of empty cells."""
        self._slots: List[Tuple[Any, str]] = []
        """Empty slots of objects with the default attribute look-up."""
        self._slow: List[ValuePlace] = []

    def add(self, descriptor: Any, owner: Any) -> Any:
        """Watch one more place; return its value."""
        value = ValuePlace(descriptor, owner, NOTHING).now()
        if len(self._all) >= MOST_PLACES:
            return value
        place = ValuePlace(descriptor, owner, value)
        if value is not NOTHING:
            self._filled.append((descriptor.__get__, owner, value))
        elif descriptor is CELL:
            self._cells.append(owner)
        elif _has_default_lookup(type(owner)):
            self._slots.append((owner, descriptor.__name__))
        elif len(self._slow) < MOST_SLOW:
            self._slow.append(place)
        else:
            return value
        self._all.append(place)
        return value

    def same(self) -> bool:
        """Return True if all places have their original value.

        An empty cell or slot that is read raises an exception.
        """
        for get, owner, value in self._filled:
            now = get(owner)
            if now is not value and now != value:
                return False
        for owner, name in self._slots:
            if getattr(owner, name, NOTHING) is not NOTHING:
                return False
        # `count` compares in C, while reading an empty cell raises an exception.
        return self._cells.count(EMPTY_CELL) == len(self._cells) and not any(
            p.differs() for p in self._slow
        )

    def restore(self) -> None:
        """Restore all values."""
        for place in self._all:
            if place.differs():
                place.refill()


def _has_default_lookup(kind: type) -> bool:
    """Return True if an attribute look-up on instances runs no repository code."""
    ask: Any = kind.__getattribute__
    return ask is object.__getattribute__ and not hasattr(kind, "__getattr__")


def list_slots(kind: type) -> List[Any]:
    """Return the slots of instances of a class."""
    named = [vars(base) for base in kind.__mro__ if "__slots__" in vars(base)]
    return [
        found
        for names in named
        for found in names.values()
        if type(found) is types.MemberDescriptorType
    ]


def find_base(kind: type) -> Optional[type]:
    """Return the plain container that a class derives from, or None."""
    return next((base for base in PLAIN if any(known is base for known in kind.__mro__)), None)


def plain_copy(thing: Any, base: Any) -> Any:
    """Return a plain copy of a derived container."""
    if base is dict:
        return dict(dict.items(thing))
    return base(base.__iter__(thing))


def refill(container: Any, copy: Any) -> None:
    """Restore the content of a watched container."""
    if isinstance(container, (list, bytearray)):
        container[:] = copy
        return
    container.clear()
    if isinstance(container, collections.deque):
        container.extend(copy)
    else:
        container.update(copy)


def differ(one: Any, other: Any) -> bool:
    """Return True if two values differ; values that cannot be compared differ."""
    try:
        return bool(one != other)
    except Exception:  # a method of the repository
        return True


def list_parts(thing: Any) -> List[Any]:
    """Return the elements of a container that may be containers themselves."""
    parts = list(thing.values() if isinstance(thing, dict) else thing)[:MOST_PARTS]
    return [part for part in parts if not _is_atom(part)]


def _is_atom(value: Any) -> bool:
    return value is None or type(value) in (int, str, float, bool, bytes, complex)
