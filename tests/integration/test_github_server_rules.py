"""The local GitHub's rules of branches, signatures, contents API, roles, trial merges and tokens of jobs."""

import base64
from pathlib import Path
from typing import Any

import httpx
import pytest
from githubkit.exception import GraphQLFailed, RequestFailed

from tests.github_server.clients import GREEN, RED, REPO, TESTS, fix_by_data_api, git, installed
from tests.github_server.entities import ACTIONS_APP_ID, Ci
from tests.github_server.server import LocalGitHub
from tests.integration.test_github_server_git import COMMIT

pytestmark = pytest.mark.shared


def written(path: str, text: str, **more: str) -> dict[str, str]:
    """The body of a PUT to the contents API."""
    return {"message": f"Write {path}", "content": base64.b64encode(text.encode()).decode(), **more}


def test_files_are_written_and_removed_one_commit_each(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    local_github.create_repository("octo", "math", RED)
    root = "repos/octo/math/contents"
    made = rest.put(f"{root}/docs/a.md", json=written("docs/a.md", "A\n"))
    assert (made.status_code, made.json()["commit"]["author"]["name"]) == (201, "octo")
    sha = made.json()["content"]["sha"]
    assert rest.put(f"{root}/docs/a.md", json=written("docs/a.md", "B\n")).status_code == 422
    assert (
        rest.put(f"{root}/docs/a.md", json=written("docs/a.md", "B\n", sha="0" * 40)).status_code
        == 409
    )
    assert (
        rest.put(f"{root}/docs/a.md", json=written("docs/a.md", "B\n", sha=sha)).status_code == 200
    )
    sha = rest.get(f"{root}/docs/a.md").json()["sha"]
    gone = rest.request("DELETE", f"{root}/docs/a.md", json={"message": "Remove", "sha": sha})
    assert (gone.status_code, gone.json()["content"]) == (200, None)
    assert set(local_github.files(REPO, "main")) == set(RED)


def test_a_branch_with_rules_is_changed_by_nobody_but_a_pull_request(
    local_github: LocalGitHub, rest: httpx.Client, tmp_path: Path
) -> None:
    local_github.create_repository("octo", "math", RED)
    local_github.set_rules(REPO, "main", "pull_request", "non_fast_forward")
    listed = rest.get("repos/octo/math/rules/branches/main").json()
    assert [one["type"] for one in listed] == ["pull_request", "non_fast_forward"]
    client = installed(local_github)
    head = local_github.store(REPO).resolve("main") or ""
    made = fix_by_data_api(client, head, "fix", {"broken_math.py": GREEN})
    with pytest.raises(RequestFailed) as refused:
        client.rest.git.update_ref("octo", "math", "heads/main", sha=made)
    assert "Changes must be made through a pull request" in refused.value.response.json()["message"]
    with pytest.raises(GraphQLFailed, match="rule violations"):
        client.graphql(COMMIT, {"input": on_branch("main", head)})
    assert rest.put("repos/octo/math/contents/x", json=written("x", "x")).status_code == 409
    url = local_github.clone_url(REPO, local_github.user_token("octo"))
    git("clone", "--quiet", url, "work", cwd=tmp_path)
    git("commit", "--quiet", "--allow-empty", "-m", "Try", cwd=tmp_path / "work")
    with pytest.raises(RuntimeError, match="GH013"):
        git("push", "--quiet", "origin", "HEAD:main", cwd=tmp_path / "work")
    assert local_github.store(REPO).resolve("main") == head


def on_branch(branch: str, head: str) -> dict[str, Any]:
    """The input of createCommitOnBranch."""
    return {
        "branch": {"repositoryNameWithOwner": REPO, "branchName": branch},
        "expectedHeadOid": head,
        "message": {"headline": "Fix"},
        "fileChanges": {"additions": [{"path": "x", "contents": base64.b64encode(b"x").decode()}]},
    }


def test_github_signs_for_a_bot_that_commits_in_its_own_name(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    local_github.create_repository("octo", "math", RED)
    head = local_github.store(REPO).resolve("main") or ""
    client = installed(local_github)
    own = fix_by_data_api(client, head, "own", {"x": "x"})
    tree = rest.get(f"repos/octo/math/git/commits/{own}").json()["tree"]["sha"]
    author = {"name": "Somebody", "email": "some@example.com"}
    named = client.rest.git.create_commit(
        "octo", "math", data={"message": "m", "tree": tree, "parents": [head], "author": author}
    ).json()
    assert named["verification"]["verified"] is False
    assert (
        rest.get(f"repos/octo/math/commits/{own}").json()["commit"]["verification"]["reason"]
        == "valid"
    )
    local_github.set_rules(REPO, "main", "required_signatures")
    with pytest.raises(RequestFailed):
        client.rest.git.update_ref("octo", "math", "heads/main", sha=named["sha"])
    assert client.rest.git.update_ref("octo", "math", "heads/main", sha=own).status_code == 200


def test_roles_are_told_with_the_permission_they_include(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    local_github.create_repository("octo", "math", RED, private=True)
    for role, included in (
        ("admin", "admin"),
        ("maintain", "write"),
        ("write", "write"),
        ("triage", "read"),
        ("none",) * 2,
    ):
        local_github.set_permission(REPO, "mona", role)
        told = rest.get("repos/octo/math/collaborators/mona/permission").json()
        assert (told["permission"], told["role_name"]) == (included, role)
        assert told["user"]["permissions"]["push"] is (included in {"write", "admin"})
        assert rest.get("repos/octo/math/collaborators/mona").status_code == (
            404 if role == "none" else 204
        )


def test_an_open_pull_request_has_a_trial_merge_unless_it_conflicts(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    ci = Ci.command(TESTS, events=("pull_request",))
    local_github.create_repository("octo", "math", RED, ci=ci)
    local_github.push(REPO, "fix", {"new.py": "x = 1\n"})
    local_github.push(REPO, "main", {"broken_math.py": GREEN})
    issue = local_github.open_pull_request(REPO, "fix")
    assert issue.pull
    # The head alone is red; merged with its base it is green, and that is what the CI tests.
    assert local_github.wait_for_check(issue.pull.head_sha).conclusion == "success"
    told = rest.get("repos/octo/math/pulls/1").json()
    assert local_github.store(REPO).ref("refs/pull/1/merge") == told["merge_commit_sha"]
    local_github.push(REPO, "fix", {"broken_math.py": "def add(): pass\n"})
    told = rest.get("repos/octo/math/pulls/1").json()
    assert (told["mergeable"], told["mergeable_state"], told["merge_commit_sha"]) == (
        False,
        "dirty",
        None,
    )


def test_the_token_of_a_job_is_that_of_github_actions(local_github: LocalGitHub) -> None:
    local_github.create_repository("octo", "math", RED, ci="true")
    local_github.create_repository("octo", "other", RED, private=True)
    sha = local_github.push(REPO, "fix", {"x": ""})
    secret = local_github.job_token(
        REPO, {"checks": "write", "pull_requests": "write", "contents": "read"}
    )
    with httpx.Client(
        base_url=local_github.api_url,
        headers={"authorization": f"Bearer {secret}"},
        trust_env=False,
    ) as client:
        assert client.get("user").status_code == 403
        assert client.get("repos/octo/other").status_code == 404
        run = client.post(
            "repos/octo/math/check-runs", json={"name": "MetaAgent", "head_sha": sha}
        ).json()
        assert run["app"]["id"] == ACTIONS_APP_ID
        body = {"title": "t", "head": "fix", "base": "main"}
        local_github.repository(REPO).actions_open_pulls = False
        assert (
            "not permitted to create"
            in client.post("repos/octo/math/pulls", json=body).json()["message"]
        )
        local_github.repository(REPO).actions_open_pulls = True
        made = client.post("repos/octo/math/pulls", json=body).json()
        assert made["user"]["login"] == "github-actions[bot]"
        assert (
            client.post(
                "repos/octo/math/git/refs", json={"ref": "refs/heads/y", "sha": sha}
            ).status_code
            == 403
        )
