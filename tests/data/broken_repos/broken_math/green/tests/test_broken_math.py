from broken_math import add, is_even, multiply, subtract


def test_add():
    assert add(2, 3) == 5
    assert add(-1, 1) == 0
    assert add(10, 0) == 10


def test_subtract():
    assert subtract(7, 4) == 3
    assert subtract(0, 5) == -5


def test_multiply():
    assert multiply(3, 4) == 12
    assert multiply(-2, 5) == -10


def test_is_even():
    assert is_even(4)
    assert not is_even(7)
    assert is_even(0)
