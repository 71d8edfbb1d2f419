import pytest

from roombook.calendar import Calendar, Taken


@pytest.fixture
def calendar():
    calendar = Calendar()
    calendar.book("ann", 9 * 60, 10 * 60)
    calendar.book("bob", 10 * 60, 12 * 60)
    return calendar


def test_bookings_may_touch(calendar):
    assert calendar.who_has(9 * 60 + 59) == "ann"
    assert calendar.who_has(10 * 60) == "bob"


def test_bookings_may_not_overlap(calendar):
    with pytest.raises(Taken):
        calendar.book("eve", 11 * 60, 13 * 60)


def test_nobody_has_the_room_at_night(calendar):
    assert calendar.who_has(22 * 60) is None


def test_the_longest_gap_is_the_afternoon(calendar):
    assert calendar.longest_gap() == 6 * 60


def test_an_early_long_booking_hides_a_short_one(calendar):
    calendar.book("cyd", 13 * 60, 17 * 60)
    assert calendar.longest_gap() == 60


def test_an_empty_day_is_one_gap():
    assert Calendar().longest_gap() == 10 * 60


def test_a_full_day_has_no_gap():
    calendar = Calendar()
    calendar.book("ann", 8 * 60, 18 * 60)
    assert calendar.longest_gap() == 0
