"""The gateway on a local GitHub: signing in, limits, texts and names; bad days are in test_github_faults.py."""

import asyncio
import base64
from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import SecretStr

from bot.domain.github import CheckAnnotation, CheckUpdate
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError, NotPermitted, RateLimited, SettingsError
from bot.github.gateway import GitHubGateway
from sandbox.types import CalledWorkflow, FileEdit
from tests.github_server.fixtures import app_key, local_github
from tests.github_server.server import LocalGitHub

__all__ = ["app_key", "local_github"]

pytestmark = [pytest.mark.anyio, pytest.mark.shared]
NAME = "octo/calculator"
EDIT = FileEdit(path="calculator.py", mode="100644", content=b"def add(a, b):\n    return a + b\n")


class Scene:
    """A repository on the local GitHub and the gateway that sees it."""

    def __init__(self, server: LocalGitHub) -> None:
        self.server = server
        made = server.create_repository(
            "octo", "calculator", {"calculator.py": "def add(a, b):\n    return a - b\n"}
        )
        self.head = server.store(NAME).ref("refs/heads/main") or ""
        self.repository = RepositoryRef(id=made.id, owner="octo", name="calculator")
        self.gateway = GitHubGateway(
            str(server.app_id), SecretStr(server.private_key_pem), server.api_url, write_pause_s=0
        )

    def minted(self) -> int:
        return sum(r.endswith("/access_tokens") for r in self.server.requests)


@pytest.fixture
async def scene(local_github: LocalGitHub) -> AsyncIterator[Scene]:
    built = Scene(local_github)
    yield built
    await built.gateway.aclose()


async def test_parallel_first_calls_make_one_token(scene: Scene) -> None:
    await asyncio.gather(*(scene.gateway.branch_head(scene.repository, "main") for _ in range(8)))
    assert scene.minted() == 1


async def test_a_token_carries_one_repository_and_only_the_rights_it_needs(scene: Scene) -> None:
    source = await scene.gateway.clone_source(scene.repository)
    value = (
        base64.b64decode(source.authorization.removeprefix("Basic "))
        .decode()
        .removeprefix("x-access-token:")
    )
    token = scene.server.world.tokens[value]
    granted = {name: level for name, level in token.permissions.items() if name != "metadata"}
    assert granted == {"contents": "read"}
    assert list(token.repository_ids or ()) == [scene.repository.id]


@pytest.mark.parametrize(
    ("retry_after", "wait"), [(30, 30.0), (None, 60.0)], ids=["named", "not named"]
)
async def test_a_long_limit_is_told_with_its_seconds(
    scene: Scene, retry_after: int | None, wait: float
) -> None:
    scene.server.faults.secondary_limit("GET", "/git/ref/", retry_after=retry_after)
    with pytest.raises(RateLimited) as limited:
        await scene.gateway.branch_head(scene.repository, "main")
    assert limited.value.retry_after_s == wait


async def test_a_missing_permission_is_named(scene: Scene) -> None:
    scene.server.set_app_permissions("octo", {"contents": "read", "metadata": "read"})
    update = CheckUpdate(status="queued", title="t", summary="s", external_id="m")
    with pytest.raises(NotPermitted, match=r"checks:(read|write)"):
        await scene.gateway.publish_check(scene.repository, scene.head, update)


async def test_an_app_that_is_not_installed_is_told_so(scene: Scene) -> None:
    elsewhere = RepositoryRef(id=1, owner="nobody", name="nothing")
    with pytest.raises(NotPermitted, match="not installed"):
        await scene.gateway.branch_head(elsewhere, "main")


async def test_more_than_fifty_annotations_arrive_once_each(scene: Scene) -> None:
    notes = tuple(
        CheckAnnotation(path="calculator.py", line=n + 1, message=f"note {n}") for n in range(120)
    )
    update = CheckUpdate(
        status="completed", title="t", summary="s", annotations=notes, external_id="m"
    )
    run = await scene.gateway.publish_check(scene.repository, scene.head, update)
    assert await scene.gateway.publish_check(scene.repository, scene.head, update) == run
    assert len(scene.server.world.check_runs[run].annotations) == 120


async def test_texts_too_long_for_github_are_cut(scene: Scene) -> None:
    long = "```\n" + "x" * 100 + "\n" + "y\n" * 70_000
    update = CheckUpdate(
        status="completed", title="t" * 400, summary=long, text=long, external_id="m"
    )
    run = scene.server.world.check_runs[
        await scene.gateway.publish_check(scene.repository, scene.head, update)
    ]
    assert len(run.summary or "") <= 65_535
    scene.server.push(NAME, "feature", {"a.py": "x = 1\n"})
    pull = scene.server.open_pull_request(NAME, "feature").number
    await scene.gateway.comment(scene.repository, pull, long, marker="<!-- m -->")
    (comment,) = scene.server.comments(NAME, pull)
    assert len(comment.body) <= 65_536
    assert comment.body.endswith("<!-- m -->")


@pytest.mark.parametrize("branch", ["../../user", "a b", "x..y", "x?y", "-x", ""])
async def test_a_branch_that_could_change_the_address_is_refused(scene: Scene, branch: str) -> None:
    with pytest.raises(GitHubError, match="branch name"):
        await scene.gateway.branch_head(scene.repository, branch)
    assert not any(r.endswith("/user") for r in scene.server.requests)


async def test_a_branch_with_characters_of_addresses_in_its_name_is_quoted(scene: Scene) -> None:
    sha = scene.server.push(NAME, "fix/50%25#1", {"a.py": "x = 1\n"})
    assert await scene.gateway.branch_head(scene.repository, "fix/50%25#1") == sha


async def test_a_wrong_key_is_the_operators_fault(scene: Scene) -> None:
    broken = GitHubGateway(str(scene.server.app_id), SecretStr("no key"), scene.server.api_url)
    with pytest.raises(SettingsError, match="sign in"):
        await broken.branch_head(scene.repository, "main")
    await broken.aclose()


async def test_a_github_that_does_not_answer_is_an_error_of_ours(scene: Scene) -> None:
    away = GitHubGateway("1", SecretStr(scene.server.private_key_pem), "http://127.0.0.1:1/api/v3/")
    with pytest.raises(GitHubError, match="reached") as failed:
        await away.branch_head(scene.repository, "main")
    assert failed.value.retryable
    await away.aclose()


async def test_the_failed_job_its_step_and_its_log_are_found(scene: Scene) -> None:
    workflow = (
        "name: ci\non: push\njobs:\n  tests:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - name: fine\n        run: 'true'\n      - name: the tests\n        run: echo it is red; exit 3\n"
    )
    sha = scene.server.push(NAME, "main", {".github/workflows/ci.yml": workflow})
    run = await asyncio.to_thread(scene.server.wait_for_check, sha)
    assert run.conclusion == "failure"
    job = await scene.gateway.failed_job(scene.repository, run.id)
    assert job is not None
    assert (job.failed_step, job.workflow_path) == ("the tests", ".github/workflows/ci.yml")
    log = await scene.gateway.job_log(scene.repository, run.id)
    assert log is not None
    assert "it is red" in log


async def test_a_private_reusable_workflow_needs_the_same_installation(scene: Scene) -> None:
    path = ".github/workflows/python.yml"
    called = {}
    for owner in ("octo", "acme"):
        scene.server.create_repository(owner, "ci", {path: f"# {owner}\n"}, private=True)
        sha = scene.server.store(f"{owner}/ci").ref("refs/heads/main") or ""
        called[owner] = CalledWorkflow(repository=f"{owner}/ci", path=path, ref="main", sha=sha)
    installed = scene.server.install("octo").id
    known = scene.repository.with_(installation_id=installed)
    assert await scene.gateway.read_called(known, called["octo"]) == b"# octo\n"
    assert await scene.gateway.read_called(known, called["acme"]) is None
    assert await scene.gateway.read_called(scene.repository, called["octo"]) is None
    await scene.gateway.release(RepositoryRef(id=0, owner="octo", name="ci"))
    revoked = sum(one.startswith("DELETE") for one in scene.server.requests)
    assert revoked == 1, "the token for the other repository can be revoked"


async def test_the_reusable_workflows_of_a_run_come_with_the_failed_job(scene: Scene) -> None:
    workflow = "on: push\njobs: {t: {runs-on: ubuntu-latest, steps: [{run: exit 3}]}}\n"
    sha = scene.server.push(NAME, "main", {".github/workflows/ci.yml": workflow})
    check = await asyncio.to_thread(scene.server.wait_for_check, sha)
    (run,) = scene.server.workflow_runs(sha)
    scene.server.world.runs[run.id].referenced = [
        {"path": "acme/ci/.github/workflows/py.yml@v1", "sha": "c" * 40, "ref": "refs/tags/v1"},
        {"path": "acme/../../user/.github/workflows/py.yml@v1", "sha": "c" * 40},
    ]
    job = await scene.gateway.failed_job(scene.repository, check.id)
    assert job is not None
    assert [one.name for one in job.called] == ["acme/ci/.github/workflows/py.yml@v1"]


async def test_one_gateway_serves_several_event_loops(scene: Scene) -> None:
    async def elsewhere() -> str | None:
        head = await scene.gateway.branch_head(scene.repository, "main")
        await scene.gateway.aclose()
        return head

    assert await asyncio.to_thread(lambda: asyncio.run(elsewhere())) == scene.head
    assert await scene.gateway.branch_head(scene.repository, "main") == scene.head


async def test_the_token_lets_git_fetch_this_repository_only(scene: Scene) -> None:
    source = await scene.gateway.clone_source(scene.repository)
    async with httpx.AsyncClient() as plain:
        address = f"{source.url}/info/refs?service=git-upload-pack"
        allowed = await plain.get(address, headers={"Authorization": source.authorization})
        assert allowed.status_code == 200
        other = scene.server.create_repository("octo", "other", {"a": "b"}, private=True)
        denied = await plain.get(
            address.replace("calculator", other.name),
            headers={"Authorization": source.authorization},
        )
        assert denied.status_code in {401, 403, 404}
