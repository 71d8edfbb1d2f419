"""How deep a text nests, told before a parser is asked."""

import pytest

from sandbox.guest.nesting import measure_nesting


@pytest.mark.parametrize(
    ("text", "depth"),
    [("", 0), ("f(a[0], {})", 2), (")))(", 1), ("[" * 900 + "]" * 900, 900), ("()()", 1)],
)
def test_the_deepest_place_counts(text: str, depth: int) -> None:
    assert measure_nesting(text) == depth
