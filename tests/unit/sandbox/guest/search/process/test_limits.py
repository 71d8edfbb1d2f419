"""Limits of wall time grow with the machine's load; limits of processor time never do."""

import pytest

from sandbox.guest.search.process.limits import MOST_SLOWED, slowdown, slowdown_under


@pytest.mark.parametrize(
    ("load", "processors", "factor"),
    [(0.0, 4, 1.0), (3.9, 4, 1.0), (19.0, 2, 9.5)],
)
def test_the_slowdown_is_the_load_by_processor(load: float, processors: int, factor: float) -> None:
    assert slowdown_under(load, processors) == factor


def test_this_machine_has_a_slowdown() -> None:
    assert 1.0 <= slowdown() <= MOST_SLOWED
    assert slowdown(most=1.0) == 1.0
