import os


def test_the_mode_is_strict():
    assert os.environ["MODE"] == "strict"


def test_the_folder_is_another():
    assert not os.path.exists("tests")
