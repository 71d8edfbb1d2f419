import os


def test_the_greeting_is_polite():
    assert os.environ["GREETING"] == "good morning"


def test_there_is_a_greeting():
    assert "GREETING" in os.environ
