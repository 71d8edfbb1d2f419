"""Publishing killed at twenty random points: one pull request, one branch, one commit, one comment, one check each."""

import pytest

from tests.github_server.server import LocalGitHub
from tests.integration.test_publish_kill import (
    KILLS_EACH,
    Publisher,
    app_key,
    killed_at,
    publisher,
    server,
)

__all__ = ["app_key", "publisher", "server"]

pytestmark = pytest.mark.slow

MISSIONS = 5


def test_publishing_that_is_killed_at_twenty_points_leaves_everything_once(
    server: LocalGitHub, publisher: Publisher
) -> None:
    killed = killed_at(server, publisher, MISSIONS)
    print(f"killed {killed} of {MISSIONS * KILLS_EACH} times; what was left after each: once")  # noqa: T201
    assert killed >= 20, "the later ones find most of it done and may ask less"
