"""Random test orders that keep folders, modules and classes together."""

import random
from typing import Any, Dict, List, Sequence


def shuffle_order(paths: Sequence[Sequence[Any]], seed: int) -> List[int]:
    """Return the indexes of the tests in a random order that depends on the seed only.

    Folders, modules, classes and tests are shuffled within their parent, so that the set-up of a
    module or class still runs once.

    Args:
        paths: The parents of each test, outermost first.
        seed: The seed of the order.
    """
    return _flatten(
        _build_tree([(list(path), index) for index, path in enumerate(paths)]), random.Random(seed)
    )


def _build_tree(paths: List[Any]) -> List[Any]:
    """Build a tree of lists in the order of first appearance."""
    children: Dict[Any, Any] = {}
    for path, index in paths:
        if path:
            children.setdefault((False, path[0]), []).append((path[1:], index))
        else:
            children[(True, index)] = index
    return [inside if leaf else _build_tree(inside) for (leaf, _), inside in children.items()]


def _flatten(tree: List[Any], chance: random.Random) -> List[int]:
    chance.shuffle(tree)
    found: List[int] = []
    for entry in tree:
        if isinstance(entry, list):
            found += _flatten(entry, chance)
        else:
            found.append(entry)
    return found
