"""Missions and a `kill -9`: nothing of them stays on the host. `make soak` does the same a hundred times."""

import pytest

from tests.integration.test_benchmarks import run


@pytest.mark.docker
@pytest.mark.slow
def test_missions_and_a_killed_process_leave_nothing_behind(docker_ready: None) -> None:
    found = run("soak", "--missions", "3", "--kills", "1")
    assert found["outcomes"] == {"FIXED": 3}
    (gone,) = found["seconds_until_a_killed_one_was_gone"]
    assert gone is not None, "its containers were still there after two minutes"
    left, swept = found["left"], found["left_after_the_next_start"]
    assert left["containers"] == left["processes"] == left["volumes"] == []
    # Somebody else on this daemon may be building an image right now: what has no name is for `make soak` to judge.
    assert {
        what: items for what, items in swept.items() if items and what != "nameless_images"
    } == {}
