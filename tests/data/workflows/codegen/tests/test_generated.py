from generated import LIMIT


def test_the_limit_is_four():
    assert LIMIT == 4


def test_there_is_a_limit():
    assert LIMIT
