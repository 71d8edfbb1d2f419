"""The local GitHub through REST: checks, pull requests, comments, pages, faults and the checker."""

from typing import Any

import httpx
import pytest

from tests.github_server.clients import GREEN, RED, REPO, installed, token
from tests.github_server.receiver import WebhookReceiver
from tests.github_server.server import LocalGitHub

pytestmark = pytest.mark.shared


def test_a_job_log_lives_behind_a_signed_address_that_refuses_credentials(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    local_github.faults.log_misses = 1
    local_github.create_repository("octo", "math", RED, ci="true")
    run = local_github.wait_for_check(local_github.store(REPO).resolve("main") or "")
    path = f"repos/octo/math/actions/jobs/{run.id}/logs"
    assert rest.get(path).status_code == 404
    location = rest.get(path).headers["location"]
    assert httpx.get(location, trust_env=False).status_code == 200
    assert httpx.get(location + "0", trust_env=False).status_code == 403
    assert (
        httpx.get(location, headers={"authorization": "token x"}, trust_env=False).status_code
        == 400
    )


def test_check_runs_have_githubs_limits(local_github: LocalGitHub) -> None:
    local_github.create_repository("octo", "math", RED)
    sha = local_github.store(REPO).resolve("main") or ""
    headers = {"authorization": f"token {token(local_github)}"}
    root = "repos/octo/math/check-runs"
    with httpx.Client(base_url=local_github.api_url, headers=headers, trust_env=False) as client:
        body: dict[str, Any] = {"name": "MetaAgent", "head_sha": sha, "status": "in_progress"}
        run = client.post(root, json=body).json()
        note = {
            "path": "a.py",
            "start_line": 1,
            "end_line": 1,
            "annotation_level": "notice",
            "message": "m",
        }
        output: dict[str, Any] = {"title": "t", "summary": "s", "annotations": [note] * 50}
        for _ in range(2):
            client.patch(f"{root}/{run['id']}", json={"output": output})
        done = client.patch(
            f"{root}/{run['id']}", json={"conclusion": "neutral", "output": output}
        ).json()
        assert (done["status"], done["output"]["annotations_count"]) == ("completed", 150)
        assert len(client.get(f"{root}/{run['id']}/annotations?per_page=100").json()) == 100
        listed = client.get(f"repos/octo/math/commits/{sha}/check-runs?check_name=MetaAgent").json()
        assert listed["total_count"] == 1
        assert local_github.violations == []
        wrong: list[dict[str, Any]] = [
            {"status": "completed"},
            {"output": {"title": "t", "summary": "s" * 65_536}},
            {"output": {**output, "annotations": [note] * 51}},
            {"actions": [{"label": "l" * 21, "description": "d", "identifier": "i"}]},
            {"actions": [{"label": "l", "description": "d", "identifier": "i"}] * 4},
        ]
        for more in wrong:
            assert client.post(root, json={**body, **more}).status_code == 422
        # Three of these break the description as well, which the checker must have seen.
        assert len(local_github.forget_violations()) >= 3


def test_pull_requests_are_refused_as_github_refuses_them(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    local_github.create_repository("octo", "math", RED)
    local_github.push(REPO, "fix", {"broken_math.py": GREEN})
    root = "repos/octo/math/pulls"
    good = {"title": "t", "head": "fix", "base": "main"}
    assert rest.post(root, json=good).status_code == 201
    again = rest.post(root, json=good).json()
    assert again["errors"][0]["message"] == "A pull request already exists for octo:fix."
    empty = rest.post(root, json={**good, "head": "main"}).json()
    assert empty["errors"][0]["message"] == "No commits between main and main"
    long = rest.post(root, json={**good, "body": "x" * 65_537})
    assert "body is too long" in long.json()["errors"][0]["message"]
    assert [
        one["number"] for one in rest.get(root, params={"head": "octo:fix", "state": "open"}).json()
    ] == [1]
    assert rest.get(root, params={"head": "octo:other"}).json() == []
    assert rest.get(f"{root}/1/files").json()[0]["filename"] == "broken_math.py"
    assert rest.patch(f"{root}/1", json={"state": "closed"}).json()["state"] == "closed"


def test_people_comment_react_and_have_permissions(
    local_github: LocalGitHub, receiver: WebhookReceiver, rest: httpx.Client
) -> None:
    local_github.webhook_url = receiver.url
    local_github.create_repository("octo", "math", RED)
    local_github.push(REPO, "fix", {"broken_math.py": GREEN})
    local_github.open_pull_request(REPO, "fix", title="Fix")
    local_github.set_permission(REPO, "mona", "write")
    comment = local_github.comment(REPO, 1, "mona", "/metaagent fix")
    heard = receiver.wait_for(lambda got: got.title == "issue_comment.created").payload
    assert (heard["comment"]["id"], heard["issue"]["pull_request"]["merged_at"]) == (
        comment.id,
        None,
    )
    assert rest.get("repos/octo/math/collaborators/mona/permission").json()["permission"] == "write"
    client = installed(local_github)
    bot = client.rest.reactions.create_for_issue_comment("octo", "math", comment.id, content="eyes")
    assert bot.status_code == 201
    said = client.rest.issues.create_comment("octo", "math", 1, body="On it.").json()
    assert said["user"]["type"] == "Bot"
    assert said["performed_via_github_app"]["id"] == local_github.app_id
    client.rest.issues.update_comment("octo", "math", said["id"], body="Done.")
    client.rest.issues.add_labels("octo", "math", 1, labels=["metaagent"])
    assert [one.body for one in local_github.comments(REPO, 1)] == ["/metaagent fix", "Done."]
    assert local_github.merge(REPO, 1) == local_github.store(REPO).ref("refs/heads/main")
    local_github.settle()
    assert {"issue_comment.edited", "pull_request.labeled", "pull_request.closed"} <= set(
        receiver.titles
    )
    assert rest.get("users/metaagent%5Bbot%5D").json()["type"] == "Bot"


def test_pages_are_linked(local_github: LocalGitHub) -> None:
    local_github.create_repository("octo", "math", RED)
    for number in range(3):
        local_github.push(REPO, f"b{number}", {"x": str(number)})
    local_github.faults.page_size = 1
    client = installed(local_github)
    names = [
        one.name
        for one in client.rest.paginate(client.rest.repos.list_branches, owner="octo", repo="math")
    ]
    assert names == ["b0", "b1", "b2", "main"]


def test_faults_are_answered_as_planned(local_github: LocalGitHub, rest: httpx.Client) -> None:
    local_github.create_repository("octo", "math", RED)
    local_github.faults.fresh_token_failures = 2
    headers = {"authorization": f"token {token(local_github)}"}
    with httpx.Client(base_url=local_github.api_url, headers=headers, trust_env=False) as client:
        assert [client.get("repos/octo/math").status_code for _ in range(3)] == [401, 401, 200]
    local_github.faults.add("GET", "/branches", 502, times=2)
    assert [rest.get("repos/octo/math/branches").status_code for _ in range(3)] == [502, 502, 200]
    local_github.faults.secondary_limit("GET", "/branches", retry_after=7)
    assert rest.get("repos/octo/math/branches").headers["retry-after"] == "7"
    local_github.faults.add("POST", "/git/refs", 500, after=True)
    sha = local_github.store(REPO).resolve("main")
    assert (
        rest.post(
            "repos/octo/math/git/refs", json={"ref": "refs/heads/lost", "sha": sha}
        ).status_code
        == 500
    )
    assert local_github.store(REPO).ref("refs/heads/lost") == sha


def test_the_checker_sees_what_is_wrong(local_github: LocalGitHub, rest: httpx.Client) -> None:
    local_github.create_repository("octo", "math", RED)
    rest.get("repos/octo/math/stargazers")
    rest.post("repos/octo/math/git/blobs", json={"content": 1})
    local_github.checker.submit_webhook("check_run", "completed", {"action": "completed"})
    local_github.checker.submit_webhook("check_run", "eaten", {})
    found = local_github.forget_violations()
    assert len(found) == 4
    assert "no such path" in found[0]
    assert "bad request" in found[1]
    assert "'check_run' is a required property" in found[2]
    assert local_github.violations == []


def test_what_a_client_has_already_is_not_sent_again(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    local_github.create_repository("octo", "math", RED)
    first = rest.get("repos/octo/math/branches")
    known = {"if-none-match": first.headers["etag"]}
    again = rest.get("repos/octo/math/branches", headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["x-ratelimit-used"] == first.headers["x-ratelimit-used"]
    local_github.push(REPO, "more", {"x": ""})
    assert rest.get("repos/octo/math/branches", headers=known).status_code == 200


def test_limits_come_with_and_without_headers(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    local_github.create_repository("octo", "math", RED)
    local_github.faults.primary_limit("GET", "/branches")
    assert rest.get("repos/octo/math/branches").headers["x-ratelimit-remaining"] == "0"
    local_github.faults.too_many("POST", "/graphql")
    local_github.faults.add("POST", "/graphql", 502)
    url = local_github.api_url.replace("/v3/", "/graphql")
    answers = [rest.post(url, json={"query": "{ viewer { login } }"}) for _ in range(3)]
    assert [one.status_code for one in answers] == [429, 502, 200]
    assert answers[2].json()["data"]["viewer"]["login"] == "octo"
