"""What holds values: containers of every kind, cells of closures, slots of objects; copied, compared, put back."""

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
"""Containers that are watched, and how a plain copy of each is made."""
PLAIN: Tuple[type, ...] = (list, dict, set, collections.deque, tuple, frozenset)
"""What classes that are containers may stand on."""
FIXED = (tuple, frozenset)
NOTHING = object()
"""What an empty cell or slot holds."""
MOST_PARTS = 2000
MOST_PLACES = 20_000
"""How many cells and slots are watched at the most."""
MOST_SLOW = 200
"""How many empty slots for which nothing but an exception says so."""
CELL: Any = vars(types.CellType)["cell_contents"]
EMPTY_CELL = types.CellType()


class Derived(NamedTuple):
    """A container of a class that stands on a plain one.

    Everything is done by the methods of that one: what the class puts in their place may do anything.
    """

    thing: Any
    base: Any
    copy: Any

    def differs(self) -> bool:
        """Whether it holds something else now."""
        return bool(self.base.__ne__(self.thing, self.copy))

    def refill(self) -> None:
        """Let it hold again what it held."""
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


class Place(NamedTuple):
    """A cell or a slot: one name that holds one value or nothing."""

    descriptor: Any
    owner: Any
    value: Any

    def now(self) -> Any:
        """What it holds now."""
        try:
            return self.descriptor.__get__(self.owner)
        except (AttributeError, ValueError):  # an empty slot, an empty cell
            return NOTHING

    def differs(self) -> bool:
        """Whether it holds something else now."""
        now = self.now()
        return now is not self.value and differ(now, self.value)

    def refill(self) -> None:
        """Let it hold again what it held."""
        if self.value is NOTHING:
            self.descriptor.__delete__(self.owner)
        else:
            self.descriptor.__set__(self.owner, self.value)


class Places:
    """Cells and slots that are watched; looking at one that did not change runs nothing of the repository."""

    def __init__(self) -> None:
        self._all: List[Place] = []
        self._filled: List[Tuple[Callable[[Any], Any], Any, Any]] = []
        """How each is asked, whose it is, and what it held."""
        self._cells: List[Any] = []
        """Empty ones."""
        self._slots: List[Tuple[Any, str]] = []
        """Empty ones of objects that say quickly that there is nothing."""
        self._slow: List[Place] = []

    def add(self, descriptor: Any, owner: Any) -> Any:
        """Watch one more; what it holds."""
        value = Place(descriptor, owner, NOTHING).now()
        if len(self._all) >= MOST_PLACES:
            return value
        place = Place(descriptor, owner, value)
        if value is not NOTHING:
            self._filled.append((descriptor.__get__, owner, value))
        elif descriptor is CELL:
            self._cells.append(owner)
        elif _asks_nobody(type(owner)):
            self._slots.append((owner, descriptor.__name__))
        elif len(self._slow) < MOST_SLOW:
            self._slow.append(place)
        else:
            return value
        self._all.append(place)
        return value

    def same(self) -> bool:
        """Whether all hold what they held; an empty one that held something is told by an exception."""
        for get, owner, value in self._filled:
            now = get(owner)
            if now is not value and now != value:
                return False
        for owner, name in self._slots:
            if getattr(owner, name, NOTHING) is not NOTHING:
                return False
        return self._cells.count(EMPTY_CELL) == len(self._cells) and not any(p.differs() for p in self._slow)

    def restore(self) -> None:
        """Let all hold again what they held."""
        for place in self._all:
            if place.differs():
                place.refill()


def _asks_nobody(kind: type) -> bool:
    """Whether the objects of a class are asked for an attribute without running anything of the repository."""
    ask: Any = kind.__getattribute__
    return ask is object.__getattribute__ and not hasattr(kind, "__getattr__")


def slots_of(kind: type) -> List[Any]:
    """The slots of the objects of a class."""
    named = [vars(base) for base in kind.__mro__ if "__slots__" in vars(base)]
    return [found for names in named for found in names.values() if type(found) is types.MemberDescriptorType]


def base_of(kind: type) -> Optional[type]:
    """The plain container that a class stands on, if it does."""
    return next((base for base in PLAIN if any(known is base for known in kind.__mro__)), None)


def plain_copy(thing: Any, base: Any) -> Any:
    """What a container of a class of its own holds."""
    if base is dict:
        return dict(dict.items(thing))
    return base(base.__iter__(thing))


def refill(container: Any, copy: Any) -> None:
    """Let a container of one of the kinds that are watched hold again what it held."""
    if isinstance(container, (list, bytearray)):
        container[:] = copy
        return
    container.clear()
    if isinstance(container, collections.deque):
        container.extend(copy)
    else:
        container.update(copy)


def differ(one: Any, other: Any) -> bool:
    """Whether two values differ; those that will not be compared do."""
    try:
        return bool(one != other)
    except Exception:  # a method of the repository
        return True


def parts_of(thing: Any) -> List[Any]:
    """What a plain container holds that may hold something itself."""
    parts = list(thing.values() if isinstance(thing, dict) else thing)[:MOST_PARTS]
    return [part for part in parts if not _is_atom(part)]


def _is_atom(value: Any) -> bool:
    return value is None or type(value) in (int, str, float, bool, bytes, complex)
