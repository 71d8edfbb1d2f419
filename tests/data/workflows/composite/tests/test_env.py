import os


def test_it_was_prepared():
    assert os.environ["PREPARED"] == "yes"


def test_it_was_prepared_twice():
    assert os.environ["PREPARED"] == "twice"
