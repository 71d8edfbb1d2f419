from calc import add


def test_adds():
    assert add(1, 2) == 3


def test_zero_changes_nothing():
    assert add(1, 0) == 1
