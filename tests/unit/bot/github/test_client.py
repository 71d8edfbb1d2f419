"""One request, sent well: signed in, repeated only where that is safe, with errors that name their cause."""

import json
import threading
from collections.abc import AsyncIterator, Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from pydantic import SecretStr
from typing_extensions import override

from bot.errors import GitHubError, NotPermitted, RateLimited, SettingsError
from bot.github.app_client import AppClient, covers, life_s
from bot.github.app_replies import TokenReply
from bot.github.client import Write
from bot.github.sending import retry_wait_s, unreachable
from bot.github.tokens import CLONE, LIFE_S
from tests.builders import a_repository
from tests.github_server.server import new_private_key

pytestmark = pytest.mark.anyio

Answer = tuple[int, dict[str, str], bytes]
TOKEN = "ghs_" + "x" * 36


def said(content: object, status: int = 200, **headers: str) -> Answer:
    return (
        status,
        {name.replace("_", "-"): value for name, value in headers.items()},
        json.dumps(content).encode(),
    )


class Script:
    """A server on loopback that answers from a list by method and path; the last answer stays."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {
            "POST /app/installations/7/access_tokens": [
                said({"token": TOKEN, "permissions": {}}, 201)
            ]
        }
        self.seen: list[tuple[str, str]] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                name = f"{self.command} {self.path.partition('?')[0]}"
                script.seen.append(
                    (f"{self.command} {self.path}", self.headers.get("authorization", ""))
                )
                waiting = script.answers.get(name, [said({"message": "Not Found"}, 404)])
                status, headers, body = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                self.send_response(status)
                for key, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(key, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - the library calls them so

            @override
            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def times(self, name: str) -> int:
        return sum(seen.startswith(name) for seen, _ in self.seen)


@pytest.fixture(scope="module")
def key() -> str:
    return new_private_key()


@pytest.fixture
async def script() -> AsyncIterator[Script]:
    running = Script()
    yield running
    running.server.shutdown()
    running.server.server_close()


@pytest.fixture
async def client(script: Script, key: str) -> AsyncIterator[AppClient]:
    made = AppClient("1", SecretStr(key), script.url, write_pause_s=0)
    yield made
    await made.aclose()


async def test_who_we_are_is_asked_once_and_signed_by_the_key(
    script: Script, client: AppClient
) -> None:
    script.answers["GET /app"] = [
        said({"id": 1, "slug": "mender", "permissions": {"checks": "write"}})
    ]
    assert (await client.app()).slug == (await client.app()).slug == "mender"
    assert script.times("GET /app") == 1
    assert script.seen[0][1].startswith("Bearer ey")


async def test_a_request_carries_a_token_of_the_installation(
    script: Script, client: AppClient
) -> None:
    script.answers["GET /repos/octo/calculator/commits/x"] = [said({"sha": "x"})]
    for _ in range(2):
        reply = await client.call(a_repository(), "GET", "/commits/x", needs="contents:read")
        assert reply.json() == {"sha": "x"}
    assert script.times("POST /app/installations") == 1, "a token is used again"
    assert script.seen[-1][1].endswith(TOKEN)


async def test_an_unknown_installation_is_looked_up_once(script: Script, client: AppClient) -> None:
    script.answers["GET /repos/octo/calculator/installation"] = [said({"id": 7, "permissions": {}})]
    repository = a_repository(installation_id=None)
    assert (await client.token(repository, CLONE)).value == TOKEN
    assert (await client.token(repository, CLONE)).value == TOKEN
    assert script.times("GET /repos/octo/calculator/installation") == 1


async def test_repositories_that_have_only_a_name_do_not_share_tokens(
    script: Script, client: AppClient
) -> None:
    for owner, installation in (("octo", 7), ("cat", 8)):
        script.answers[f"GET /repos/{owner}/.github/installation"] = [said({"id": installation})]
        script.answers[f"POST /app/installations/{installation}/access_tokens"] = [
            said({"token": f"ghs_{owner}"}, 201)
        ]
        named = a_repository(id=0, owner=owner, name=".github", installation_id=None)
        assert (await client.token(named, CLONE)).value == f"ghs_{owner}"


async def test_where_the_app_is_not_installed_it_may_do_nothing(client: AppClient) -> None:
    with pytest.raises(NotPermitted, match="not installed") as refused:
        await client.token(a_repository(installation_id=None), CLONE)
    assert "install the App" in refused.value.advice


async def test_a_missing_permission_is_named(script: Script, client: AppClient) -> None:
    script.answers["POST /app/installations/7/access_tokens"] = [
        said({"message": "The permissions requested are not granted to this installation."}, 422)
    ]
    script.answers["GET /app/installations/7"] = [
        said({"id": 7, "permissions": {"metadata": "read"}})
    ]
    with pytest.raises(NotPermitted, match="contents:read"):
        await client.token(a_repository(), CLONE)


async def test_reading_is_tried_again_after_an_outage(script: Script, client: AppClient) -> None:
    script.answers["GET /repos/octo/calculator/commits/x"] = [said({}, 502), said({"sha": "x"})]
    assert (
        await client.call(a_repository(), "GET", "/commits/x", needs="contents:read")
    ).status_code == 200
    assert script.times("GET /repos") == 2


async def test_writing_is_never_repeated_when_it_may_have_happened(
    script: Script, client: AppClient
) -> None:
    script.answers["POST /repos/octo/calculator/check-runs"] = [said({}, 502), said({"id": 1}, 201)]
    with pytest.raises(GitHubError):
        await client.call(a_repository(), "POST", "/check-runs", needs="checks:write", json={})
    assert script.times("POST /repos") == 1


async def test_a_limit_that_graphql_names_is_heeded_by_all(
    script: Script, client: AppClient
) -> None:
    script.answers["POST /graphql"] = [
        said({"errors": [{"type": "RATE_LIMITED", "message": "too many"}]})
    ]
    with pytest.raises(RateLimited):
        await client.mutate(a_repository(), "mutation { x }", {}, needs="contents:write")
    asked = len(script.seen)
    with pytest.raises(RateLimited, match="still"):
        await client.call(a_repository(), "GET", "/commits/x", needs="contents:read")
    assert len(script.seen) == asked


@pytest.mark.parametrize("status", [301, 307])
async def test_a_write_to_a_renamed_repository_stays_the_write_it_is(
    script: Script, client: AppClient, status: int
) -> None:
    moved = f"{script.url}/repositories/42/check-runs"
    script.answers["POST /repos/octo/calculator/check-runs"] = [
        (status, {"location": moved}, b"{}")
    ]
    script.answers["POST /repositories/42/check-runs"] = [said({"id": 1}, 201)]
    reply = await client.call(
        a_repository(), "POST", "/check-runs", needs="checks:write", json={"a": 1}
    )
    assert reply.json() == {"id": 1}


async def test_a_write_is_never_sent_to_another_host(script: Script, client: AppClient) -> None:
    elsewhere = {"location": "http://localhost:9/x"}
    script.answers["POST /repos/octo/calculator/check-runs"] = [(307, elsewhere, b"{}")]
    with pytest.raises(GitHubError, match="another host"):
        await client.call(a_repository(), "POST", "/check-runs", needs="checks:write", json={})


async def test_a_delete_is_repeated_after_an_outage(script: Script, client: AppClient) -> None:
    script.answers["DELETE /repos/octo/calculator/git/refs/heads/x"] = [
        said({}, 502),
        (204, {}, b""),
    ]
    await client.call(a_repository(), "DELETE", "/git/refs/heads/x", needs="contents:write")
    assert script.times("DELETE /repos") == 2


async def test_tokens_are_given_back_once_and_their_failing_hurts_nobody(
    script: Script, client: AppClient
) -> None:
    script.answers["DELETE /installation/token"] = [said({}, 500), (204, {}, b""), said({}, 401)]
    await client.token(a_repository(), CLONE)
    for _ in range(2):
        await client.release(a_repository())
        assert script.times("DELETE /installation/token") == 2, "once, after an outage"
    await client.token(a_repository(), CLONE)
    await client.aclose()
    assert script.times("DELETE /installation/token") == 3


async def test_pages_are_followed_and_bounded(script: Script, client: AppClient) -> None:
    more = said([], link=f'<{script.url}/next>; rel="next"')
    script.answers["GET /repos/octo/calculator/pulls"] = [more, said([])]
    assert (
        len(
            await client.pages(
                a_repository(), "/pulls", needs="pull_requests:read", params={"state": "all"}
            )
        )
        == 2
    )
    script.answers["GET /repos/octo/calculator/pulls"] = [more]
    replies = await client.pages(
        a_repository(), "/pulls", needs="pull_requests:read", params={}, most=3
    )
    assert len(replies) == 3
    assert "page=3" in script.seen[-1][0]


async def test_the_end_of_a_log_is_read_without_our_token(
    script: Script, client: AppClient
) -> None:
    script.answers["GET /blob"] = [(302, {"location": f"{script.url}/signed"}, b"")]
    script.answers["GET /signed"] = [(200, {}, b"head" + b"x" * 5000 + b"tail")]
    assert await client.read_tail(f"{script.url}/blob", 10, 1 << 20) == b"xxxxxxtail"
    assert [authorization for _, authorization in script.seen] == ["", ""]


async def test_a_log_that_is_gone_is_refused(script: Script, client: AppClient) -> None:
    with pytest.raises(GitHubError):
        await client.read_tail(f"{script.url}/gone", 10, 100)


async def test_an_address_nobody_answers_at_is_told(client: AppClient) -> None:
    with pytest.raises(GitHubError, match="cannot be reached") as error:
        await client.read_tail("http://127.0.0.1:9/", 10, 100)
    assert error.value.retryable


async def test_a_key_that_is_no_key_is_the_operators(script: Script) -> None:
    client = AppClient("1", SecretStr("no key at all"), script.url)
    with pytest.raises(SettingsError, match="sign"):
        await client.app()
    await client.aclose()
    assert script.seen == []


@pytest.mark.parametrize(
    ("error", "repeatable", "renewable", "pause", "wait"),
    [
        (RateLimited("x", retry_after_s=2.0), False, False, 0.5, 2.0),
        (RateLimited("x", retry_after_s=60.0), True, False, 0.5, None),
        (RateLimited("x", retry_after_s=2.0), True, True, None, None),
        (GitHubError("x", status=401), False, True, 0.5, 0.5),
        (GitHubError("x", status=401), True, False, 0.5, None),
        (GitHubError("x", status=502, retryable=True), True, False, 1.5, 1.5),
        (GitHubError("x", status=502, retryable=True), False, False, 1.5, None),
        (GitHubError("x", status=422), True, True, 1.5, None),
    ],
)
def test_what_is_worth_waiting_for(
    error: GitHubError,
    *,
    repeatable: bool,
    renewable: bool,
    pause: float | None,
    wait: float | None,
) -> None:
    assert retry_wait_s(error, repeatable=repeatable, renewable=renewable, pause=pause) == wait


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (httpx.ReadTimeout("x"), GitHubError, "in time"),
        (httpx.ConnectError("x"), GitHubError, "cannot be reached"),
        (ValueError("x"), SettingsError, "cannot sign in"),
    ],
)
def test_what_went_wrong_while_sending_has_one_at_fault(
    error: Exception, kind: type[Exception], words: str
) -> None:
    found = unreachable(error)
    assert isinstance(found, kind)
    assert words in str(found)


@pytest.mark.parametrize(
    ("expires", "date", "life"),
    [
        (None, "", LIFE_S),
        ("2026-01-02T04:04:05Z", "nonsense", LIFE_S),
        ("2026-01-02T03:14:05Z", "Fri, 02 Jan 2026 03:04:05 GMT", None),
    ],
)
def test_a_tokens_life_is_told_by_githubs_own_clock(
    expires: str | None, date: str, life: float | None
) -> None:
    reply = httpx.Response(201, headers={"date": date} if date else {})
    minted = TokenReply.model_validate({"token": TOKEN, "expires_at": expires})
    found = life_s(reply, minted)
    assert found == life if life is not None else 0 < found <= 600


@pytest.mark.parametrize(
    ("granted", "wanted", "enough"),
    [
        ("write", "read", True),
        ("admin", "write", True),
        ("read", "read", True),
        ("read", "write", False),
        (None, "read", False),
    ],
)
def test_a_higher_right_covers_a_lower_one(
    granted: str | None, wanted: str, *, enough: bool
) -> None:
    assert covers(granted, wanted) is enough


def test_the_address_of_the_api_ends_with_a_slash(key: str) -> None:
    made: Callable[[str], str] = lambda url: AppClient("1", SecretStr(key), url).api_url  # noqa: E731
    assert made("https://github.example/api/v3") == made("https://github.example/api/v3/")


async def test_every_write_is_reported_with_its_result_and_no_read_is(
    script: Script, key: str
) -> None:
    script.answers["GET /repos/octo/calculator/pulls"] = [said([])]
    script.answers["POST /repos/octo/calculator/pulls"] = [
        said({"number": 1}, 201),
        said({"message": "Validation Failed"}, 422),
    ]
    script.answers["POST /graphql"] = [said({"data": {"createCommitOnBranch": {}}})]
    writes: list[Write] = []

    async def note(write: Write) -> None:
        writes.append(write)

    client = AppClient("1", SecretStr(key), script.url, write_pause_s=0, on_write=note)
    where, body = a_repository(), {"title": "a secret in the content"}
    await client.call(where, "GET", "/pulls", needs="pull_requests:read")
    await client.call(where, "POST", "/pulls", needs="pull_requests:write", json=body)
    with pytest.raises(GitHubError):
        await client.call(where, "POST", "/pulls", needs="pull_requests:write", json=body)
    mutation = "mutation ($input: X!) {\n  createCommitOnBranch(input: $input) { commit }\n}"
    await client.mutate(where, mutation, {}, needs="contents:write")
    await client.aclose()
    assert [(write.action, write.result) for write in writes] == [
        ("POST /pulls", "201"),
        ("POST /pulls", "refused: 422"),
        ("createCommitOnBranch", "200"),
    ]
    assert "secret" not in repr(writes)
