import pytest

from courier import DOORS, Route


@pytest.mark.parametrize("door", range(DOORS))
def test_every_door_is_reached_in_time(door):
    assert Route().minutes_until(door) <= 5 * DOORS
