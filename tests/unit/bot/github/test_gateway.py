"""Where git finds a repository, from where its API is."""

import pytest

from bot.github.gateway import clone_url
from tests.builders import a_repository


@pytest.mark.parametrize(
    ("api", "wanted"),
    [
        ("https://api.github.com/", "https://github.com/octo/calculator.git"),
        ("https://api.example.ghe.com/", "https://example.ghe.com/octo/calculator.git"),
        ("https://github.example.com/api/v3/", "https://github.example.com/octo/calculator.git"),
        ("http://127.0.0.1:8123/api/v3", "http://127.0.0.1:8123/octo/calculator.git"),
    ],
)
def test_every_kind_of_github_has_its_clone_address(api: str, wanted: str) -> None:
    assert clone_url(api, a_repository()) == wanted
