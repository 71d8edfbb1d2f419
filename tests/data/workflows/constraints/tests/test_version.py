from importlib.metadata import version


def test_the_bound_holds():
    assert version("iniconfig") == "2.0.0"
