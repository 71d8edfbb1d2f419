"""The local GitHub through git and the git data API, and who may do what."""

import base64
from pathlib import Path
from typing import Any

import httpx
import pytest
from githubkit.exception import GraphQLFailed, RequestFailed

from tests.github_server.clients import (
    GREEN,
    RED,
    REPO,
    TESTS,
    fix_by_data_api,
    git,
    installed,
    token,
)
from tests.github_server.server import LocalGitHub

pytestmark = pytest.mark.shared


def test_git_clones_and_pushes_with_an_installation_token(
    local_github: LocalGitHub, tmp_path: Path
) -> None:
    local_github.create_repository("octo", "math", RED, ci=TESTS, private=True)
    url = local_github.clone_url(REPO, token(local_github))
    git("clone", "--quiet", "--depth=1", url, "work", cwd=tmp_path)
    work = tmp_path / "work"
    (work / "broken_math.py").write_text(GREEN, encoding="utf-8")
    git("commit", "--quiet", "-am", "Fix", cwd=work)
    git("push", "--quiet", "origin", "HEAD:fix", cwd=work)
    sha = git("rev-parse", "HEAD", cwd=work)
    assert local_github.store(REPO).ref("refs/heads/fix") == sha
    assert local_github.wait_for_check(sha, "test").conclusion == "success"
    git("init", "--quiet", "--bare", "bare", cwd=tmp_path)
    git("fetch", "--quiet", "--depth=1", "--filter=blob:none", url, sha, cwd=tmp_path / "bare")


@pytest.mark.parametrize("how", ["nobody", "another repository", "read only"])
def test_git_refuses_whom_github_would_refuse(
    local_github: LocalGitHub, tmp_path: Path, how: str
) -> None:
    local_github.create_repository("octo", "math", RED, private=True)
    local_github.create_repository("octo", "other", RED, private=True)
    secret = {
        "nobody": None,
        "another repository": token(local_github, repositories=["other"]),
        "read only": token(local_github, permissions={"contents": "read"}),
    }[how]
    url = local_github.clone_url(REPO, secret)
    if how == "read only":
        git("clone", "--quiet", url, "work", cwd=tmp_path)
        with pytest.raises(RuntimeError, match="403"):
            git("push", url, "HEAD:refs/heads/x", cwd=tmp_path / "work")
    else:
        with pytest.raises(RuntimeError, match=r"could not read|not found"):
            git("clone", "--quiet", url, "work", cwd=tmp_path)


def test_workflow_files_are_refused_without_the_workflows_permission(
    local_github: LocalGitHub, tmp_path: Path
) -> None:
    local_github.create_repository("octo", "math", RED)
    secret = token(local_github)
    git("clone", "--quiet", local_github.clone_url(REPO, secret), "work", cwd=tmp_path)
    folder = tmp_path / "work" / ".github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "ci.yml").write_text("on: push\n", encoding="utf-8")
    git("add", ".", cwd=tmp_path / "work")
    git("commit", "--quiet", "-m", "CI", cwd=tmp_path / "work")
    with pytest.raises(
        RuntimeError, match="refusing to allow a GitHub App to create or update workflow"
    ):
        git("push", "origin", "HEAD:refs/heads/ci", cwd=tmp_path / "work")
    sha = local_github.store(REPO).resolve("main") or ""
    with pytest.raises(RequestFailed) as refused:
        fix_by_data_api(
            installed(local_github), sha, "ci", {".github/workflows/ci.yml": "on: push\n"}
        )
    assert refused.value.response.status_code == 403


def test_a_missing_permission_is_403_and_a_hidden_repository_404(local_github: LocalGitHub) -> None:
    local_github.create_repository("octo", "math", RED, private=True)
    local_github.create_repository("octo", "other", RED, private=True)
    reader = installed(local_github, {"contents": "read"})
    with pytest.raises(RequestFailed) as refused:
        reader.rest.checks.create(
            "octo", "math", name="x", head_sha=local_github.store(REPO).resolve("main") or ""
        )
    assert refused.value.response.status_code == 403
    assert refused.value.response.json()["message"] == "Resource not accessible by integration"
    headers = {"authorization": f"token {token(local_github, repositories=['math'])}"}
    with httpx.Client(base_url=local_github.api_url, headers=headers, trust_env=False) as client:
        assert client.get("repos/octo/math").status_code == 200
        assert client.get("repos/octo/other").status_code == 404
        assert [
            one["name"] for one in client.get("installation/repositories").json()["repositories"]
        ] == ["math"]
        assert client.delete("installation/token").status_code == 204
        assert client.get("repos/octo/math").status_code == 401


def test_a_suspended_installation_and_a_renamed_repository(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    local_github.create_repository("octo", "math", RED)
    client = installed(local_github)
    client.rest.repos.get("octo", "math")
    local_github.suspend("octo")
    with pytest.raises(RequestFailed) as refused:
        client.rest.repos.get("octo", "math")
    assert "suspended" in refused.value.response.json()["message"]
    local_github.rename(REPO, "arithmetic")
    moved = rest.get("repos/octo/math/branches/main")
    assert moved.status_code == 301
    assert rest.get(moved.headers["location"]).json()["name"] == "main"


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"iss": "1"}, 404, "Integration not found"),
        ({"exp": 4_000_000_000}, 401, "too far in the future"),
        ({"exp": 1}, 401, "Expiration time"),
        ({"iat": 4_000_000_000}, 401, "Issued at"),
    ],
)
def test_a_wrong_jwt_is_told_what_is_wrong(
    local_github: LocalGitHub, change: dict[str, Any], status: int, message: str
) -> None:
    import time

    import jwt

    claims = {
        "iss": str(local_github.app_id),
        "iat": int(time.time()) - 60,
        "exp": int(time.time()) + 500,
        **change,
    }
    value = jwt.encode(claims, local_github.private_key_pem, algorithm="RS256")
    answer = httpx.get(
        f"{local_github.api_url}app", headers={"authorization": f"Bearer {value}"}, trust_env=False
    )
    assert answer.status_code == status
    assert message in answer.json()["message"]


def test_refs_trees_and_contents_agree_with_git(
    local_github: LocalGitHub, rest: httpx.Client
) -> None:
    local_github.create_repository(
        "octo", "math", {**RED, "src/a b#c.py": "x = 1\n", "run.sh": "true\n"}
    )
    root = "repos/octo/math"
    assert {one["path"] for one in rest.get(f"{root}/contents/").json()} == {*RED, "src", "run.sh"}
    assert rest.get(f"{root}/contents/src").json()[0]["path"] == "src/a b#c.py"
    raw = rest.get(
        f"{root}/contents/src/a%20b%23c.py", headers={"accept": "application/vnd.github.raw+json"}
    )
    assert raw.text == "x = 1\n"
    file = rest.get(f"{root}/contents/run.sh?ref=main").json()
    assert base64.b64decode(file["content"]) == b"true\n"
    assert rest.get(f"{root}/contents/none.py").status_code == 404
    sha = local_github.store(REPO).resolve("main")
    made = rest.post(f"{root}/git/refs", json={"ref": "refs/heads/feat/x", "sha": sha})
    assert made.status_code == 201
    again = rest.post(f"{root}/git/refs", json={"ref": "refs/heads/feat/x", "sha": sha})
    assert (again.status_code, again.json()["message"]) == (422, "Reference already exists")
    assert rest.get(f"{root}/branches/feat/x").json()["name"] == "feat/x"
    assert [one["ref"] for one in rest.get(f"{root}/git/matching-refs/heads/feat").json()] == [
        "refs/heads/feat/x"
    ]
    local_github.push(REPO, "feat/x", {"new.py": "y = 2\n"})
    moved = rest.patch(f"{root}/git/refs/heads/feat/x", json={"sha": sha})
    assert (moved.status_code, moved.json()["message"]) == (422, "Update is not a fast forward")
    assert (
        rest.patch(f"{root}/git/refs/heads/feat/x", json={"sha": sha, "force": True}).status_code
        == 200
    )
    assert rest.delete(f"{root}/git/refs/heads/feat/x").status_code == 204
    assert rest.get(f"{root}/git/ref/heads/feat/x").status_code == 404


def test_git_can_be_made_to_fail(local_github: LocalGitHub, tmp_path: Path) -> None:
    local_github.create_repository("octo", "math", RED)
    local_github.faults.add("GET", "/octo/math.git/info/refs", 502)
    with pytest.raises(RuntimeError, match="502"):
        git("clone", "--quiet", local_github.clone_url(REPO), "work", cwd=tmp_path)
    git("clone", "--quiet", local_github.clone_url(REPO), "work", cwd=tmp_path)


COMMIT = """mutation($input: CreateCommitOnBranchInput!) {
  createCommitOnBranch(input: $input) { commit { oid url signature { isValid } } ref { name } }
}"""


def test_graphql_commits_on_a_branch_and_checks_its_head(local_github: LocalGitHub) -> None:
    local_github.create_repository("octo", "math", RED, ci=TESTS)
    head = local_github.store(REPO).resolve("main")
    wanted = {
        "branch": {"repositoryNameWithOwner": REPO, "branchName": "main"},
        "expectedHeadOid": head,
        "message": {"headline": "Fix add", "body": "It subtracted."},
        "fileChanges": {
            "additions": [
                {"path": "broken_math.py", "contents": base64.b64encode(GREEN.encode()).decode()}
            ],
            "deletions": [],
        },
    }
    client = installed(local_github)
    made = client.graphql(COMMIT, {"input": wanted})["createCommitOnBranch"]["commit"]
    assert made["signature"] == {"isValid": True}
    assert local_github.files(REPO, "main")["broken_math.py"] == GREEN.encode()
    assert local_github.wait_for_check(made["oid"]).conclusion == "success"
    with pytest.raises(GraphQLFailed, match="Expected branch to point to"):
        client.graphql(COMMIT, {"input": wanted})
    for change in (
        {"deletions": [{"path": "gone.py"}]},
        {"additions": [{"path": "../x", "contents": ""}]},
    ):
        head = local_github.store(REPO).resolve("main")
        with pytest.raises(GraphQLFailed, match="A path was requested"):
            client.graphql(
                COMMIT, {"input": {**wanted, "expectedHeadOid": head, "fileChanges": change}}
            )
    reader = installed(local_github, {"contents": "read"})
    with pytest.raises(GraphQLFailed, match="not accessible"):
        reader.graphql(COMMIT, {"input": wanted})
