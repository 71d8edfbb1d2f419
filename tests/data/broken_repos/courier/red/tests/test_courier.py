import pytest

from courier import DOORS, Route

TOUR = Route()


@pytest.mark.parametrize("door", range(DOORS))
def test_every_door_is_reached_in_time(door):
    assert TOUR.minutes_until(door) < 5 * DOORS
