import os


def test_level():
    assert os.environ["LEVEL"] == "low"
