import os


def test_the_settings_are_known():
    assert os.environ["SETTINGS"] == "tests"


def test_the_one_is_two():
    assert os.environ["ONE"] == "2"
