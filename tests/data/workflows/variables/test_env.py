import os


def test_the_step_wins():
    assert os.environ["LEVEL"] == "step fast"


def test_the_workflow_is_seen():
    assert (os.environ["WHO"], os.environ["MODE"]) == ("workflow", "slow")
