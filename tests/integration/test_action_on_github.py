"""The Action with real tokens on a local GitHub: a workflow's own, one that may only read, a person's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typing_extensions import override

from bot.wiring.github import ActionGitHub, connect
from tests.github_server.auth import mint
from tests.github_server.server import LocalGitHub, Options, strict_github
from tests.unit.bot.action.test_run import Runner
from tests.unit.bot.conftest import loggers_as_they_were  # noqa: F401 - a fixture
from tests.unit.bot.mission.world import ADDS, MENDED, PATH

pytestmark = [pytest.mark.shared, pytest.mark.usefixtures("loggers_as_they_were")]

REPOSITORY = "octo/calculator"
WRITE = {"contents": "write", "pull_requests": "write", "metadata": "read"}
READ = {"contents": "read", "metadata": "read"}


class OnGitHub(Runner):
    """A runner whose GitHub answers over HTTP."""

    local: LocalGitHub
    token: str

    @override
    def connect(self, _: SecretStr, __: str) -> ActionGitHub:  # type: ignore[override]
        return connect(SecretStr(self.token), self.local.api_url, 0.0)


@pytest.fixture
def local(shared: Path) -> Iterator[LocalGitHub]:
    with strict_github(Options(openapi_dir=shared / "github")) as running:
        running.create_repository("octo", "calculator", {PATH: MENDED}, ci="true")
        yield running


@pytest.fixture
def runner(tmp_path: Path, local: LocalGitHub) -> OnGitHub:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / PATH).write_text(ADDS)
    made = OnGitHub(tmp_path)
    made.local = local
    return made


def workflow_token(local: LocalGitHub, rights: dict[str, str]) -> str:
    """As a workflow gets one: nobody's, for one repository, with the rights of its job."""
    repository = local.repository(REPOSITORY)
    return mint(local.world, local.install("octo"), rights, {repository.id}).value


def red_push(runner: OnGitHub, branch: str = "main") -> dict[str, object]:
    sha = runner.local.push(REPOSITORY, branch, {PATH: ADDS}, author="octo")
    repository = runner.local.repository(REPOSITORY)
    here = {"id": repository.id, "full_name": REPOSITORY, "default_branch": "main"}
    head = {"ref": branch, "sha": sha, "repo": here}
    return {"repository": here, "pull_request": {"number": 1, "head": head}}


def test_the_workflow_s_own_token_opens_a_pull_request(runner: OnGitHub) -> None:
    payload = red_push(runner)
    runner.token = workflow_token(runner.local, WRITE)
    told = runner.run("pull_request", payload, allow_users="*")
    (pull,) = runner.local.pull_requests(REPOSITORY)
    assert told["pr-number"] == str(pull.number), runner.summary
    assert pull.pull is not None
    assert runner.local.files(REPOSITORY, pull.pull.head_sha)[PATH].decode() == MENDED
    again = runner.run("pull_request", payload, allow_users="*")
    assert len(runner.local.pull_requests(REPOSITORY)) == 1, again


def test_a_token_that_may_only_read_leaves_everything_here(runner: OnGitHub) -> None:
    payload = red_push(runner)
    runner.token = workflow_token(runner.local, READ)
    told = runner.run("pull_request", payload, allow_users="*")
    assert (runner.status, told["outcome"], told["pr-number"]) == (0, "FIXED", "")
    assert Path(told["patch-path"]).is_file()
    assert runner.local.pull_requests(REPOSITORY) == []
    assert "This run" in runner.summary


def test_a_person_s_token_commits_onto_the_red_branch(runner: OnGitHub) -> None:
    payload = red_push(runner, "faster")
    runner.local.open_pull_request(REPOSITORY, "faster", user="octo", title="Faster")
    runner.token = runner.local.user_token("octo")
    told = runner.run("pull_request", payload, mode="commit", allow_users="*")
    assert told["branch"] == "faster", runner.summary
    head = runner.local.store(REPOSITORY).ref("refs/heads/faster") or ""
    assert runner.local.files(REPOSITORY, head)[PATH].decode() == MENDED


def test_a_person_who_may_only_read_leads_to_nothing_written(runner: OnGitHub) -> None:
    payload = red_push(runner)
    runner.local.set_permission(REPOSITORY, "ann", "read")
    runner.token = runner.local.user_token("octo")
    told = runner.run("pull_request", payload)
    assert told["pr-number"] == ""
    assert "ann has no write access" in runner.summary


@pytest.mark.parametrize("head", [None, {"id": 990, "full_name": "mallory/calculator"}])
def test_setup_and_budgets_come_from_the_default_branch(
    runner: OnGitHub, head: dict[str, object] | None
) -> None:
    """The workspace of a pull request, also of a fork's, holds another policy."""
    policy = "setup: [python -m pip install -e .]\nrungs: [1]\nlimits: {usd_per_mission: 0.5, tokens_per_mission: 7}\n"
    runner.local.push(REPOSITORY, "main", {".github/metaagent.yml": policy}, author="octo")
    payload: dict[str, Any] = red_push(runner, "faster")
    payload["pull_request"]["head"]["repo"] = head or payload["repository"]
    proposed = runner.root / "work" / ".github" / "metaagent.yml"
    proposed.parent.mkdir()
    proposed.write_text(
        "setup: [sh planted.sh]\nrungs: [0, 1, 2]\nlimits: {usd_per_mission: 500}\n"
    )
    runner.token = workflow_token(runner.local, READ)
    runner.run("pull_request", payload, mode="report")
    assert runner.setups == {("python -m pip install -e .",)}, runner.summary
    limits = runner.policy.limits
    assert (runner.policy.rungs, limits.usd_per_mission, limits.tokens_per_mission) == (
        (1,),
        0.5,
        7,
    )
