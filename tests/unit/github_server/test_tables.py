"""The short permission table against GitHub's own, for every route the server has."""

from pathlib import Path

import pytest

from tests.github_server.app import ALL_ROUTES
from tests.github_server.permissions import Permissions


@pytest.mark.shared
def test_without_githubs_table_the_same_permissions_are_needed(shared: Path) -> None:
    own, theirs = Permissions.load(None), Permissions.load(shared / "github")
    differ = {
        f"{route.method} {route.template}": (own.needed(route.method, route.template), needed)
        for route in ALL_ROUTES
        if (needed := theirs.needed(route.method, route.template))
        != own.needed(route.method, route.template)
    }
    # GitHub lets a token read one pull request with either permission; the short table asks for the stricter one.
    assert set(differ) <= {
        "GET /repos/{owner}/{repo}/pulls/{pull_number}",
        "POST /repos/{owner}/{repo}/issues",
    }


def test_no_two_routes_answer_the_same_request() -> None:
    names = [(route.method, route.template) for route in ALL_ROUTES]
    assert len(names) == len(set(names)) > 70
