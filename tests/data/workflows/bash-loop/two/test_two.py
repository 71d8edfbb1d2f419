def test_two():
    assert 2 == 3
