"""Policy and admission against a (local) GitHub: organisation defaults, labels, who set off a run."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.domain.mission import Outcome
from bot.domain.request import MissionRequest, RepositoryRef, Trigger
from bot.github.gateway import GitHubGateway
from bot.intake.admission import admit
from bot.policy.policy_file import POLICY_PATH, load_policy
from tests.demo.bot_process import BotProcess
from tests.github_server.fixtures import app_key, local_github
from tests.github_server.server import LocalGitHub

__all__ = ["app_key", "local_github"]

pytestmark = [pytest.mark.anyio, pytest.mark.shared, pytest.mark.slow]
NAME = "octo/calculator"


@pytest.fixture
async def gateway(local_github: LocalGitHub) -> AsyncIterator[GitHubGateway]:
    made = GitHubGateway(
        str(local_github.app_id), SecretStr(local_github.private_key_pem), local_github.api_url
    )
    yield made
    await made.aclose()


def reference(server: LocalGitHub, name: str = NAME) -> RepositoryRef:
    """As an event names it."""
    repo = server.repository(name)
    installation = server.world.installation_of(repo)
    assert installation is not None
    return RepositoryRef(
        id=repo.id, owner=repo.owner, name=repo.name, installation_id=installation.id
    )


async def test_the_organisation_s_defaults_count_where_the_repository_says_nothing(
    local_github: LocalGitHub, gateway: GitHubGateway
) -> None:
    local_github.create_repository(
        "octo", "calculator", {"pyproject.toml": "[tool.metaagent]\nlabels = ['ours']\n"}
    )
    assert (await load_policy(reference(local_github), gateway)).labels == ("ours",)
    local_github.create_repository(
        "octo",
        ".github",
        {"metaagent.yml": "draft: true\nlabels: [all]\nlimits: {attempts: many}\n"},
        private=True,
    )
    policy = await load_policy(reference(local_github), gateway)
    assert (policy.draft, policy.labels, policy.limits.attempts) == (True, ("ours",), 0)
    assert policy.origins["labels"] == "pyproject.toml:2"
    assert policy.origins["draft"] == "octo/.github/metaagent.yml:1"
    assert policy.problems[0].startswith("octo/.github/metaagent.yml:3: `limits.attempts`: ")


async def test_a_label_and_whoever_set_off_the_run_are_asked_of_github(
    local_github: LocalGitHub, gateway: GitHubGateway
) -> None:
    local_github.create_repository("octo", "calculator", {"a.py": "x = 1\n"}, ci="exit 1")
    head = local_github.push(NAME, "feature", {"a.py": "x = 2\n"})
    pull = local_github.open_pull_request(NAME, "feature").number
    local_github.settle()
    request = MissionRequest(
        mission_id="m",
        trigger=Trigger.CHECK_RUN,
        repository=reference(local_github),
        head_sha=head,
        head_branch="feature",
    )
    admission = await admit(request, gateway)
    assert admission.admitted, admission.reason
    assert admission.request.pull_request == pull
    local_github.label(NAME, pull, "metaagent:off")
    refused = await admit(request, gateway)
    assert (refused.refusal, refused.reason) == (
        Outcome.POLICY,
        "the pull request has the label `metaagent:off`",
    )


def test_a_pull_request_that_changes_the_policy_gets_a_check_run_with_lines(
    local_github: LocalGitHub, tmp_path: Path
) -> None:
    local_github.create_repository("octo", "calculator", {"a.py": "x = 1\n"})
    with BotProcess(local_github, tmp_path / "data"):
        wrong = {POLICY_PATH: "automatic: true\ncolour: red\n"}
        first = local_github.push(NAME, "feature", wrong)
        local_github.open_pull_request(NAME, "feature")
        run = local_github.wait_for_check(first, "MetaAgent policy")
        assert (run.conclusion, run.title) == ("neutral", "1 error")
        assert [(note["path"], note["start_line"]) for note in run.annotations] == [
            (POLICY_PATH, 2)
        ]
        second = local_github.push(NAME, "feature", {POLICY_PATH: "automatic: true\n"})
        run = local_github.wait_for_check(second, "MetaAgent policy")
        assert (run.conclusion, run.title) == ("neutral", "the policy is valid")
        assert local_github.own_check_runs(first)[0].title == "1 error"
