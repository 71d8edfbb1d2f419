"""Inputs near recorded ones.

They keep the types and the common properties of a parameter's recorded values.
"""

from __future__ import annotations

import copy
import random
import string
import typing
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from sandbox.guest.search.compare.values import shape

PLAIN = (bool, int, float, str, bytes, type(None))
BOUNDARIES: Dict[type, Tuple[Any, ...]] = {
    bool: (False, True),
    int: (0, 1, -1, 2, 10, 1000, -7),
    float: (0.0, 1.0, -1.0, 0.5, 1e6),
    str: ("", "a", " ", "aa", "Ab", "0"),
    bytes: (b"", b"a"),
}
FEW = 4
"""Minimum number of different values that describe the allowed ones."""


class ValueProfile(NamedTuple):
    """Properties that all recorded values of a parameter share.

    An input with these properties is likely a valid one.
    """

    kinds: Tuple[type, ...]
    smallest: Optional[float] = None
    """Lower bound of all numbers at any depth; None if negative ones were recorded."""
    shortest: int = 0
    """Minimum length of the containers and texts themselves."""
    ordered: bool = False
    distinct: bool = False
    whole: bool = True
    letters: str = ""
    """All characters of the texts at any depth."""

    def holds(self, value: Any) -> bool:
        """Return True if a value has the common properties."""
        numbers, texts = _leaves(value)
        if type(value) not in self.kinds or (
            self.smallest is not None and any(n < self.smallest for n in numbers)
        ):
            return False
        if self.whole and any(type(n) is float and not float(n).is_integer() for n in numbers):
            return False
        if any(set(text) - set(self.letters) for text in texts):
            return False
        if not isinstance(value, (list, tuple, str, dict, set)):
            return True
        return len(value) >= self.shortest and self._sequence_holds(value)

    def _sequence_holds(self, value: Any) -> bool:
        if not isinstance(value, (list, tuple)):
            return True
        return not (
            (self.ordered and not _is_ordered(value)) or (self.distinct and not _is_distinct(value))
        )


def describe_values(values: Sequence[Any]) -> ValueProfile:
    """Return the common properties of these values."""
    numbers: List[float] = []
    texts: List[str] = []
    for value in values:
        more_numbers, more_texts = _leaves(value)
        numbers += more_numbers
        texts += more_texts
    sized = [v for v in values if isinstance(v, (list, tuple, str, dict, set))]
    rows = [v for v in values if isinstance(v, (list, tuple)) and len(v) > 1]
    return ValueProfile(
        tuple(dict.fromkeys(type(v) for v in values)),
        _least(numbers, values),
        min([1, *(len(v) for v in sized)]) if sized else 0,
        len(rows) > 1 and all(_is_ordered(row) for row in rows),
        len(rows) > 1 and all(_is_distinct(row) for row in rows),
        not any(type(n) is float and not float(n).is_integer() for n in numbers),
        _alphabet(
            {letter for text in texts for letter in text}, few=len({shape(v) for v in values}) < FEW
        ),
    )


def _alphabet(letters: Set[str], *, few: bool) -> str:
    """Return the recorded characters; with few texts, include others of the same kind."""
    if few:
        for kind in (string.digits, string.ascii_lowercase, string.ascii_uppercase):
            if letters & set(kind):
                letters = letters | set(kind)
    return "".join(sorted(letters))


def _least(numbers: Sequence[float], values: Sequence[Any]) -> Optional[float]:
    """Return 0 if no number was negative, 1 if plain numbers were never below 1, else None."""
    if not numbers or min(numbers) < 0:
        return None
    return 1.0 if min(numbers) >= 1 and all(type(v) in (int, float) for v in values) else 0.0


def _leaves(value: Any, depth: int = 0) -> Tuple[List[float], List[str]]:
    """Return the finite numbers and the texts in a value."""
    if type(value) in (int, float):
        return ([value] if abs(value) < 1e300 else []), []
    if type(value) is str:
        return [], [value]
    numbers: List[float] = []
    texts: List[str] = []
    if depth < 4 and isinstance(value, (list, tuple, set, frozenset, dict)):
        inside = [*value, *value.values()] if isinstance(value, dict) else list(value)
        for item in inside[:200]:
            more_numbers, more_texts = _leaves(item, depth + 1)
            numbers += more_numbers
            texts += more_texts
    return numbers, texts


def _is_ordered(row: Sequence[Any]) -> bool:
    try:
        return all(a <= b for a, b in zip(row, row[1:]))
    except Exception:
        return False


def _is_distinct(row: Sequence[Any]) -> bool:
    try:
        return all(a != b for i, a in enumerate(row) for b in row[i + 1 : i + 40])
    except Exception:
        return False


def vary(value: Any, chance: random.Random, seen: Sequence[Any] = (), letters: str = "") -> Any:
    """Return a similar value of the same type.

    Sometimes it is a boundary value of the type or one recorded elsewhere.
    """
    if seen and chance.random() < 0.2:
        return copy.deepcopy(chance.choice(seen))
    kind = type(value)
    if kind in BOUNDARIES and chance.random() < 0.15:
        return chance.choice(BOUNDARIES[kind])
    if kind in (bool, int, float):
        return _vary_number(value, chance)
    if kind in (str, bytes):
        return _vary_text(value, chance, letters)
    if kind in (list, tuple):
        return kind(_vary_row(list(value), chance, letters))
    if kind in (set, frozenset):
        return kind(_vary_row(sorted(value, key=repr), chance, letters))
    if kind is dict:
        return _vary_dictionary(value, chance, letters)
    return copy.deepcopy(value)


def _vary_number(value: Any, chance: random.Random) -> Any:
    if type(value) is bool:
        return chance.random() < 0.5
    if type(value) is float:
        return value + chance.choice([-1.5, -0.5, 0.5, 1.0, 2.25])
    return value + chance.choice([-3, -2, -1, 1, 2, 3]) if chance.random() < 0.85 else value * 2 + 1


def _vary_text(value: Any, chance: random.Random, alphabet: str) -> Any:
    if type(value) is bytes:
        return value[chance.randrange(len(value) + 1) :] or b"a"
    letters = list(value)
    pool = [*letters, *alphabet] or ["a", "b"]
    at = chance.randrange(len(letters)) if letters else 0
    kind = chance.randrange(6) if letters else 1
    if kind == 0:
        letters.pop(at)
    elif kind == 1:
        letters.insert(at, chance.choice(pool))
    elif kind == 2:
        letters[at] = chance.choice(pool)
    elif kind == 3:
        letters.reverse()
    elif kind == 4:
        letters = letters + letters[at:]
    else:
        letters[at] = letters[at].swapcase()
    return "".join(letters)


def _vary_row(items: List[Any], chance: random.Random, letters: str) -> List[Any]:
    varied = [
        vary(i, chance, items, letters) if chance.random() < 0.35 else copy.deepcopy(i)
        for i in items
    ]
    kind = chance.randrange(7)
    if varied and kind == 0:
        varied.pop(chance.randrange(len(varied)))
    elif varied and kind == 1:
        varied.insert(chance.randrange(len(varied) + 1), copy.deepcopy(chance.choice(varied)))
    elif kind == 2:
        chance.shuffle(varied)
    elif kind == 3:
        varied = _sorted(varied)
    elif kind == 4:
        varied = varied[: chance.randrange(len(varied) + 1)]
    elif varied and kind == 5:
        varied.append(vary(varied[-1], chance, (), letters))
    return varied


def _sorted(row: List[Any]) -> List[Any]:
    try:
        return sorted(row)
    except Exception:
        return row


def _vary_dictionary(value: Dict[Any, Any], chance: random.Random, letters: str) -> Dict[Any, Any]:
    varied = {
        k: (vary(v, chance, (), letters) if chance.random() < 0.4 else copy.deepcopy(v))
        for k, v in value.items()
    }
    if varied and chance.random() < 0.3:
        varied.pop(chance.choice(sorted(varied, key=repr)))
    return varied


def simplify(value: Any) -> List[Any]:
    """Return simpler values of the same type, simplest first."""
    kind = type(value)
    if kind is bool or value is None:
        return []
    if kind is int:
        nearer = [0, 1, -1, value // 2, value - 1 if value > 0 else value + 1]
        return [n for n in dict.fromkeys(nearer) if abs(n) < abs(value)]
    if kind is float:
        return (
            [f for f in dict.fromkeys([0.0, 1.0, float(int(value))]) if abs(f) < abs(value)]
            if abs(value) < 1e15
            else [1.0]
        )
    if kind in (str, bytes, list, tuple):
        return _smaller_row(value)
    if kind is dict:
        keys = list(value)[:6]
        return [{k: v for k, v in value.items() if k != key} for key in keys]
    return []


def _smaller_row(value: Any) -> List[Any]:
    if not value:
        return []
    half = len(value) // 2
    found = [value[:0], value[:half], value[half:]] if half else [value[:0]]
    found += [value[:i] + value[i + 1 :] for i in range(min(len(value), 8))]
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value[:6]):
            found += [
                type(value)([*value[:i], less, *value[i + 1 :]]) for less in simplify(item)[:2]
            ]
    elif isinstance(value, str) and len(value) <= 4:
        found += [value[:i] + "a" + value[i + 1 :] for i in range(len(value)) if value[i] != "a"]
    return [v for v in found if len(v) < len(value) or isinstance(value, (list, tuple, str))]


def make_strategy(hint: Any) -> Optional[Callable[[random.Random], Any]]:
    """Return a generator of values for an annotation, or None if it is not supported."""
    origin: Any = getattr(hint, "__origin__", None)
    inside: Sequence[Any] = getattr(hint, "__args__", None) or ()
    if isinstance(hint, type) and hint in BOUNDARIES:
        edges = BOUNDARIES[hint]
        return lambda chance: chance.choice(edges)
    if origin is typing.Union or type(hint).__name__ == "UnionType":
        return _choose_maker(
            [make_strategy(part) if part is not type(None) else (lambda _: None) for part in inside]
        )
    if hint is list or hint is tuple or hint is dict or hint is set:
        return lambda _: hint()
    if origin in (list, set, frozenset):
        return _row_maker(origin, make_strategy(inside[0]) if inside else None)
    if origin is tuple and inside and inside[-1] is Ellipsis:
        return _row_maker(tuple, make_strategy(inside[0]))
    if origin is tuple and inside:
        return _fixed_row_maker([make_strategy(part) for part in inside])
    if origin is dict and len(inside) == 2:
        return _mapping_maker(make_strategy(inside[0]), make_strategy(inside[1]))
    return None


Maker = Optional[Callable[[random.Random], Any]]


def _choose_maker(makers: Sequence[Maker]) -> Maker:
    known = [maker for maker in makers if maker is not None]
    return (lambda chance: chance.choice(known)(chance)) if known else None


def _row_maker(kind: Any, item: Maker) -> Maker:
    if item is None:
        return None
    return lambda chance: kind([item(chance) for _ in range(chance.randrange(5))])


def _fixed_row_maker(items: Sequence[Maker]) -> Maker:
    known = [item for item in items if item is not None]
    return (
        (lambda chance: tuple(item(chance) for item in known)) if len(known) == len(items) else None
    )


def _mapping_maker(key: Maker, value: Maker) -> Maker:
    if key is None or value is None:
        return None
    return lambda chance: {key(chance): value(chance) for _ in range(chance.randrange(4))}
