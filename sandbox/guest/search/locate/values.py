"""Values that should have been equal: where they differ, and which literals could explain it."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

LONGEST = 400
MOST = 12
DEEPEST = 6

Pair = Tuple[Any, Any]
"""Two plain values: text, number, truth value or None."""


def plain(value: Any) -> bool:
    """Return True if a value consists of plain data."""
    return (
        type(value) in (str, int, float, bool, bytes, list, tuple, dict, set, frozenset)
        or value is None
    )


def find_differences(one: Any, two: Any, depth: int = 0) -> List[Pair]:
    """Return the pairs of leaves at which two values differ."""
    if depth > DEEPEST:
        return []
    if type(one) in (list, tuple) and type(two) in (list, tuple):
        return _in_sequences(list(one), list(two), depth)
    if type(one) is dict and type(two) is dict:
        return _in_tables(one, two, depth)
    if type(one) in (set, frozenset) and type(two) in (set, frozenset):
        return _alone(one - two, two - one)
    if leaf(one) and leaf(two):
        return [] if type(one) is type(two) and one == two else [(_short(one), _short(two))]
    return _alone([one], [two])


def leaf(value: Any) -> bool:
    """Return True if a value can be written as a literal."""
    return (
        value is None
        or type(value) in (str, bool)
        or (type(value) in (int, float) and abs(value) < 1e15)
    )


def _short(value: Any) -> Any:
    return value[:LONGEST] if type(value) is str else value


def _in_sequences(one: List[Any], two: List[Any], depth: int) -> List[Pair]:
    found: List[Pair] = []
    for left, right in zip(one[:200], two[:200]):
        found += find_differences(left, right, depth + 1)
        if len(found) >= MOST:
            break
    if len(one) != len(two):
        found += _alone(one[len(two) :], two[len(one) :])
        found.append((len(one), len(two)))
    return found[:MOST]


def _in_tables(one: Dict[Any, Any], two: Dict[Any, Any], depth: int) -> List[Pair]:
    found: List[Pair] = []
    for key in list(one)[:200]:
        if key in two:
            found += find_differences(one[key], two[key], depth + 1)
    return [*found, *_alone([k for k in one if k not in two], [k for k in two if k not in one])][
        :MOST
    ]


def _alone(one: Any, two: Any) -> List[Pair]:
    """Return leaves without a counterpart."""
    left = [(_short(value), None) for value in list(one)[:MOST] if leaf(value)]
    right = [(None, _short(value)) for value in list(two)[:MOST] if leaf(value)]
    return sorted(left, key=repr) + sorted(right, key=repr)


class Clues(NamedTuple):
    """Literals to look for in the source, each with the strength of its evidence."""

    texts: Dict[str, float]
    """Whole texts and the parts in which two texts differ."""
    numbers: Dict[float, float]
    lone: Tuple[Pair, ...]
    """Pairs of texts, to find literals that occur in only one of them."""


def collect_clues(pairs: Sequence[Pair], wanted: Sequence[str] = ()) -> Clues:
    """Return the clues from pairs of values and from words."""
    texts: Dict[str, float] = {}
    numbers: Dict[float, float] = {}
    for pair in pairs:
        for value in pair:
            if type(value) is str and value:
                _keep(texts, value, 1.0)
            elif type(value) in (int, float):
                _keep(numbers, value, 0.2 if value in (-1, 0, 1, 2) else 0.9)
        if all(type(value) is str for value in pair):
            for piece in fragments(pair[0], pair[1]):
                _keep(texts, piece, 0.9 if len(piece) > 1 else 0.7)
        elif all(type(value) in (int, float) for value in pair):
            gap = abs(pair[0] - pair[1])
            _keep(numbers, gap, 0.1 if gap in (0, 1) else 0.4)
    for word in wanted:
        _keep(texts, word, 0.8)
    return Clues(texts, numbers, tuple(p for p in pairs if all(type(v) is str for v in p)))


def _keep(table: Dict[Any, float], key: Any, score: float) -> None:
    table[key] = max(table.get(key, 0.0), score)


def fragments(one: str, two: str) -> List[str]:
    """Return the middle parts in which two texts differ, and characters of only one."""
    shorter = min(len(one), len(two))
    head = next((i for i in range(shorter) if one[i] != two[i]), shorter)
    tail = next((i for i in range(shorter - head) if one[-1 - i] != two[-1 - i]), shorter - head)
    middles = [one[head : len(one) - tail], two[head : len(two) - tail]]
    only = [c for c in dict.fromkeys(one + two) if (c in one) != (c in two)]
    return [piece for piece in [*middles, *only[:6]] if piece and len(piece) <= 60]


def literal_score(literal: Any, clues: Clues) -> float:
    """Return how well a literal explains the differing values, from 0 to 1."""
    if type(literal) in (int, float):
        return clues.numbers.get(literal, 0.0)
    if type(literal) is not str or not literal:
        return 0.0
    best = clues.texts.get(literal, 0.0)
    if best or len(literal) < 2:
        return best
    pieces = [
        p for p in re.split(r"%[-+ #0-9.]*[a-zA-Z]|\{[^{}]*\}", literal) if len(p.strip()) >= 3
    ]
    for one, two in clues.lone:
        for piece in [literal, *pieces]:
            if (piece in one) != (piece in two):
                return 0.75
        if pieces and all(piece in one or piece in two for piece in pieces):
            best = max(best, 0.4)
    return best


def split_words(name: str) -> Iterator[str]:
    """Return the words in a name: parse, iso and date for `parseISODate_2`."""
    for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name):
        if len(part) > 2:
            yield part.lower()
