"""What GitHubGateway knows of addresses, and that nothing is sent twice."""

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from bot.errors import GitHubError
from bot.github.gateway import TokenGateway, clone_url
from tests.builders import HEAD, a_repository
from tests.unit.bot.github.test_client import Script, said, script

__all__ = ["script"]


@pytest.fixture
async def gateway(script: Script) -> AsyncIterator[TokenGateway]:
    made = TokenGateway(SecretStr("ghs_given"), script.url, write_pause_s=0)
    yield made
    await made.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "words", "times"),
    [
        (502, "Server Error", 1),
        (422, "Draft pull requests are not supported in this repository.", 2),
    ],
)
async def test_a_draft_is_asked_for_again_only_where_there_are_none(
    script: Script, gateway: TokenGateway, status: int, words: str, times: int
) -> None:
    """The name of the repository stands in the address, and the address in the error."""
    script.answers["POST /repos/octo/draft-horse/pulls"] = [said({"message": words}, status)]
    given = {"head": "metaagent/draft/1", "base": "main", "title": "t", "body": "b"}
    with pytest.raises(GitHubError):
        await gateway.open_pull_request(a_repository(name="draft-horse"), **given, draft=True)
    assert script.times("POST /repos") == times


@pytest.mark.anyio
async def test_when_a_pull_request_was_touched_is_known(
    script: Script, gateway: TokenGateway
) -> None:
    side = {"ref": "main", "sha": HEAD, "repo": None}
    content = {
        "number": 5,
        "state": "open",
        "head": side,
        "base": side,
        "updated_at": "2026-01-12T00:00:00Z",
    }
    script.answers["GET /repos/octo/calculator/pulls/5"] = [said(content)]
    pull = await gateway.pull_request(a_repository(), 5)
    assert pull is not None
    assert pull.updated_at == "2026-01-12T00:00:00Z"


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
