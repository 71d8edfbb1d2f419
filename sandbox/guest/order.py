"""A random order of tests that keeps together what shares a folder, a module or a class."""

import random
from typing import Any, Dict, List, Sequence


def shuffled(paths: Sequence[Sequence[Any]], seed: int) -> List[int]:
    """The indexes of the tests in an order of their own for every seed, the same for the same seed.

    Folders, modules, classes and tests are shuffled among themselves, so that what is set up for a module or a class
    is set up once still.

    Args:
        paths: For each test what it stands in, outermost first.
        seed: Names the order.
    """
    return _flattened(_nested([(list(path), index) for index, path in enumerate(paths)]), random.Random(seed))


def _nested(paths: List[Any]) -> List[Any]:
    """A tree of lists, in the order of first appearance."""
    children: Dict[Any, Any] = {}
    for path, index in paths:
        if path:
            children.setdefault((False, path[0]), []).append((path[1:], index))
        else:
            children[(True, index)] = index
    return [inside if leaf else _nested(inside) for (leaf, _), inside in children.items()]


def _flattened(tree: List[Any], chance: random.Random) -> List[int]:
    chance.shuffle(tree)
    found: List[int] = []
    for entry in tree:
        if isinstance(entry, list):
            found += _flattened(entry, chance)
        else:
            found.append(entry)
    return found
