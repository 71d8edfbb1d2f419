"""The search has few top-level modules, short import chains between them and no import cycle."""

from functools import cache
from graphlib import TopologicalSorter
from itertools import permutations

import grimp

SEARCH = "sandbox.guest.search"
MOST_MODULES = 16
LONGEST_CHAIN = 10


@cache
def imports() -> dict[str, frozenset[str]]:
    """Map each module or package at the top of the search to the others it imports."""
    graph = grimp.build_graph("sandbox", cache_dir=None)
    tops = graph.find_children(SEARCH)
    for top in tops:
        graph.squash_module(top)
    found: dict[str, set[str]] = {top: set() for top in tops}
    for top, other in permutations(tops, 2):
        if graph.direct_import_exists(importer=top, imported=other):
            found[top].add(other)
    return {top: frozenset(others) for top, others in found.items()}


def test_the_search_has_few_top_level_modules() -> None:
    assert f"{SEARCH}.server" in imports()
    assert len(imports()) <= MOST_MODULES


def test_import_chains_of_the_search_are_short() -> None:
    lengths: dict[str, int] = {}
    for top in TopologicalSorter(imports()).static_order():  # raises CycleError on a cycle
        lengths[top] = 1 + max((lengths[other] for other in imports()[top]), default=0)
    assert 1 < max(lengths.values()) <= LONGEST_CHAIN
