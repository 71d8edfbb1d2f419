"""metaagent action on a red checkout: what the runner gets, what is written on GitHub, and when nothing is."""

import io
import json
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from typing_extensions import override

from bot.action.report import MISSION, PATCH
from bot.action.run import run_action
from bot.domain.github import CheckUpdate, CommitState, PullRequestFile, PullRequestState
from bot.domain.model import ANY_HOST
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import RepositoryRef
from bot.errors import NotPermitted
from bot.pipeline import MissionServices, OpenProgress
from bot.policy.policy_file import POLICY_PATHS
from bot.ports import Workspace
from bot.settings import Settings
from sandbox.errors import SandboxUnavailable
from sandbox.types import Checkout, TrustTier
from tests.builders import BASE, HEAD
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.fakes.scripted_workspace import World
from tests.unit.bot.action.test_step_summary import outputs
from tests.unit.bot.mission.world import ADDS, MENDED, PATH, a_world, one_step_at_a_time

pytestmark = pytest.mark.usefixtures("loggers_as_they_were")

TOKEN = "ghs_a-token-nobody-may-see"
HERE = {"id": 42, "full_name": "octo/calculator", "default_branch": "main"}
FORK = {"id": 43, "full_name": "mallory/calculator"}
NAMES = {
    "outcome",
    "mission-id",
    "branch",
    "pr-number",
    "confidence",
    "report-path",
    "patch-path",
    "cost-usd",
}


class StepGitHub(FakeGitHub):
    """GitHub in memory, as a step sees it."""

    async def app_slug(self) -> str:
        return "github-actions"

    @override
    async def publish_check(self, repository: RepositoryRef, sha: str, update: CheckUpdate) -> int:
        return 0  # the job is the check

    async def aclose(self) -> None:
        self.calls.append("aclose")


def a_github() -> StepGitHub:
    """A red head on main, and people."""
    fake = StepGitHub("github-actions")
    fake.branches["main"] = HEAD
    fake.commits[HEAD] = CommitState(sha=HEAD, parents=(BASE,))
    fake.files[HEAD, PATH] = ADDS.encode()
    fake.permissions = {"ann": "write", "mallory": "read"}
    return fake


@dataclass
class Runner:
    """A runner on a folder of the test."""

    root: Path
    world: World = field(default_factory=lambda: a_world(ADDS, base=None))
    github: StepGitHub = field(default_factory=a_github)
    settings: list[Settings] = field(default_factory=list)
    connected: list[tuple[str, str]] = field(default_factory=list)
    fault: Exception | None = None
    log: io.StringIO = field(default_factory=io.StringIO)
    checkouts: list[Checkout] = field(default_factory=list)

    def build(self, settings: Settings, open_progress: OpenProgress) -> MissionServices:
        self.settings.append(settings)
        if self.fault is not None:
            raise self.fault

        def open_workspace(checkout: Checkout) -> AbstractAsyncContextManager[Workspace]:
            self.checkouts.append(checkout)
            return self.world.open_workspace(checkout)

        return MissionServices(
            open_workspace=open_workspace,
            fixers=(ScriptedFixer(one_step_at_a_time),),
            lessons=MemoryLessons(),
            clock=FixedClock(),
            open_progress=open_progress,
        )

    def connect(self, token: SecretStr, api_url: str) -> StepGitHub:
        self.connected.append((token.get_secret_value(), api_url))
        return self.github

    def run(
        self,
        event: str = "push",
        payload: dict[str, Any] | None = None,
        repository: str = "octo/calculator",
        **inputs: str,
    ) -> dict[str, str]:
        """Run the step; its outputs."""
        (self.root / "event.json").write_text(json.dumps(payload or {"repository": HERE}))
        given = {"github_token": TOKEN, **inputs}
        environment = {
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(self.root / "event.json"),
            "GITHUB_REPOSITORY": repository,
            "GITHUB_SHA": HEAD,
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_ACTOR": "ann",
            "GITHUB_WORKSPACE": str(self.root / "work"),
            "GITHUB_API_URL": "https://github.example/api/v3",
            "GITHUB_OUTPUT": str(self.root / "output"),
            "GITHUB_STEP_SUMMARY": str(self.root / "summary"),
            "RUNNER_TEMP": str(self.root / "temp"),
            "WORKFLOW_TOKEN": TOKEN,
            "METAAGENT_SANDBOX__BACKEND": "local",
            **{f"INPUT_{name.upper()}": value for name, value in given.items()},
        }
        (self.root / "output").write_text("")
        (self.root / "summary").write_text("")
        self.status = run_action(environment, build=self.build, connect=self.connect, out=self.log)
        assert TOKEN not in self.said.replace(f"::add-mask::{TOKEN}", "")
        assert TOKEN not in self.summary
        return outputs((self.root / "output").read_text())

    @property
    def said(self) -> str:
        return self.log.getvalue()

    @property
    def summary(self) -> str:
        return (self.root / "summary").read_text()

    @property
    def left(self) -> Path:
        return self.root / "temp" / "metaagent"

    @property
    def policy(self) -> RepositoryPolicy:
        """The policy that the last mission obeyed."""
        return RepositoryPolicy.model_validate(
            json.loads((self.left / MISSION).read_text())["policy"]
        )

    @property
    def setups(self) -> set[tuple[str, ...]]:
        """The set-up commands of every workspace that was opened."""
        return {checkout.hints.setup for checkout in self.checkouts}


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / PATH).write_text(ADDS)
    return Runner(tmp_path)


WRITES = (
    "commit_on",
    "open_pull_request",
    "update",
    "comment",
    "react",
    "close",
    "delete",
    "suggest",
    "add_",
    "request_",
)


def written(fake: FakeGitHub) -> list[str]:
    """Calls that leave a trace."""
    return [call for call in fake.calls if call.startswith(WRITES) and call != "open_pull_requests"]


def pull_payload(repo: dict[str, Any]) -> dict[str, Any]:
    head = {"ref": "main", "sha": HEAD, "repo": repo}
    return {"repository": HERE, "pull_request": {"number": 5, "head": head}}


def run_payload(repo: dict[str, Any]) -> dict[str, Any]:
    told = {
        "id": 1,
        "conclusion": "failure",
        "head_sha": HEAD,
        "head_branch": "main",
        "head_repository": repo,
    }
    return {"repository": HERE, "workflow_run": {**told, "actor": {"login": "ann"}}}


# --- what is left with the runner --------------------------------------------------------------------


def test_a_report_leaves_patch_summary_and_outputs_and_asks_github_nothing(runner: Runner) -> None:
    told = runner.run(mode="report")
    assert runner.status == 0
    assert set(told) == NAMES
    assert (told["outcome"], told["mission-id"], told["branch"], told["pr-number"]) == (
        "FIXED",
        f"action:42:{HEAD}",
        "",
        "",
    )
    assert 0 < float(told["confidence"]) <= 1
    assert float(told["cost-usd"]) == 0
    patch = Path(told["patch-path"]).read_text()
    assert "== 0" in patch
    assert patch.startswith(f"diff --git a/{PATH}")
    assert Path(told["report-path"]).read_text() == runner.summary
    assert "FIXED" in runner.summary
    assert {call.split(" ")[0].split("(")[0] for call in runner.github.calls} <= {
        "aclose",
        "read_file",
    }
    assert "::notice file=calc.py,line=" in runner.said


@pytest.mark.parametrize(
    ("repo", "origin"), [(HERE, (TrustTier.LOCAL, None)), (FORK, (TrustTier.FORK, str(FORK["id"])))]
)
def test_a_forks_code_shares_no_environment_with_ours_or_other_forks(
    runner: Runner, repo: dict[str, Any], origin: tuple[TrustTier, str | None]
) -> None:
    assert runner.run("pull_request", pull_payload(repo), mode="report")["outcome"] == "FIXED"
    assert {(checkout.tier, checkout.head_repository_id) for checkout in runner.checkouts} == {
        origin
    }


def test_nothing_between_stop_and_resume_is_a_command(runner: Runner) -> None:
    runner.run(mode="report")
    word = runner.said.split("::stop-commands::")[1].split("\n")[0]
    before, after = runner.said.split(f"\n::{word}::\n")
    inside = before.split(f"::stop-commands::{word}\n")[1]
    assert "triage" in inside
    assert not any(line.startswith("::") for line in inside.splitlines())
    assert "::notice" in after


def test_without_a_token_the_patch_is_here_and_it_says_why(runner: Runner) -> None:
    told = runner.run(github_token="")
    assert told["outcome"] == "FIXED"
    assert runner.connected == []
    assert "there is no token" in runner.summary


def test_no_file_of_the_checkout_says_where_the_token_goes(runner: Runner) -> None:
    (runner.root / "work" / "metaagent.toml").write_text(
        'github_api_url = "https://evil.example"\nworkers = 7\n'
    )
    runner.run(mode="report")
    runner.run(mode="report", config="metaagent.toml")
    assert {url for _, url in runner.connected} == {"https://github.example/api/v3"}
    assert [settings.workers for settings in runner.settings] == [2, 7]


def test_a_fork_s_settings_are_not_read(runner: Runner) -> None:
    (runner.root / "work" / "metaagent.toml").write_text("workers = 7\n")
    runner.run("pull_request", pull_payload(FORK), config="metaagent.toml")
    assert [settings.workers for settings in runner.settings] == [2]


@pytest.mark.parametrize(
    ("event", "payload", "reason"),
    [
        ("issue_comment", None, "is not handled"),
        ("push", {"repository": HERE, "deleted": True}, "the branch was deleted"),
    ],
)
def test_nothing_to_do_is_told_and_no_failure(
    runner: Runner, event: str, payload: dict[str, Any] | None, reason: str
) -> None:
    assert runner.run(event, payload) == {"outcome": "IGNORED"}
    assert (runner.status, reason in runner.summary) == (0, True)


def test_wrong_use_fails_the_step_and_names_the_input(runner: Runner) -> None:
    assert runner.run(mode="yolo") == {"outcome": "ERROR"}
    assert runner.status == 2
    assert "::error title=MetaAgent::input mode: " in runner.said
    assert "input mode" in runner.summary


def test_a_runner_without_a_sandbox_fails_with_advice(runner: Runner) -> None:
    runner.world.trouble = lambda _: SandboxUnavailable("no Docker daemon answers", "start one")
    told = runner.run(mode="report")
    assert told["outcome"] in {"ERROR", "ENV_UNBUILDABLE"}
    assert "no Docker daemon answers" in runner.summary


def test_what_breaks_inside_us_is_shown_where_nothing_is_a_command(runner: Runner) -> None:
    runner.fault = RuntimeError(f"odd\n::set-env name=PATH::{TOKEN}")
    assert runner.run(mode="report") == {"outcome": "ERROR"}
    assert runner.status == 2
    word = runner.said.split("::stop-commands::")[1].split("\n")[0]
    assert "RuntimeError" in runner.said.split(f"\n::{word}::\n")[0]
    assert "\n::set-env" not in runner.said
    assert "our fault" in runner.summary


def test_the_model_its_key_and_its_money_are_those_of_the_step(runner: Runner) -> None:
    runner.run(
        mode="report", model="anthropic:any", api_key="sk-never-shown-anywhere", max_cost_usd="8"
    )
    (settings,) = runner.settings
    assert (settings.model, settings.models.usd_per_mission) == ("anthropic:any", 8.0)
    assert settings.keys[ANY_HOST].get_secret_value() == "sk-never-shown-anywhere"
    assert "No model was asked" not in runner.summary
    assert "sk-never" not in runner.said.replace("::add-mask::sk-never-shown-anywhere", "")


def test_where_github_gives_no_secrets_a_model_without_its_key_is_not_asked_and_that_is_said(
    runner: Runner,
) -> None:
    head = {"ref": "topic", "sha": HEAD, "repo": FORK}
    pull = {"number": 7, "head": head, "base": {"ref": "main", "sha": BASE, "repo": HERE}}
    runner.run(
        "pull_request",
        {"repository": HERE, "pull_request": pull},
        mode="report",
        model="anthropic:any",
    )
    assert [settings.model for settings in runner.settings] == [None]
    assert "No model was asked" in runner.summary


def test_an_event_that_is_no_json_is_wrong_use(runner: Runner) -> None:
    assert run_action({"GITHUB_EVENT_PATH": str(runner.root / "work" / PATH)}, out=runner.log) == 2
    assert "cannot be read" in runner.said


# --- what is written on GitHub -----------------------------------------------------------------------


def test_a_pull_request_is_opened_and_its_checks_will_not_start(runner: Runner) -> None:
    told = runner.run()
    (number,) = runner.github.pulls
    pull = runner.github.pulls[number]
    assert (told["pr-number"], told["branch"]) == (str(number), pull.head_ref)
    assert pull.base_ref == "main"
    (edit,) = runner.github.edits[pull.head_sha]
    assert (edit.path, edit.content.decode()) == (PATH, MENDED)
    assert "starts no checks" in runner.summary
    assert f"- Pull request: {pull.url}" in runner.summary
    assert "::warning title=MetaAgent::" in runner.said


def test_with_another_token_nothing_is_said_of_checks(runner: Runner) -> None:
    runner.run(github_token="ghp_of-a-person-1234")
    assert "starts no checks" not in runner.summary


def test_a_word_before_our_branches_and_another_base_are_taken(runner: Runner) -> None:
    runner.github.branches["develop"] = BASE
    told = runner.run(branch_prefix="bot/", base_branch="develop", draft="true")
    (pull,) = runner.github.pulls.values()
    assert (told["branch"].partition("/")[0], pull.base_ref) == ("bot", "develop")
    assert pull.number in runner.github.drafts


def test_the_same_step_again_refreshes_the_same_pull_request(runner: Runner) -> None:
    first, second = runner.run(), runner.run()
    assert first["pr-number"] == second["pr-number"]
    assert len(runner.github.pulls) == 1


def test_suggestions_go_into_the_red_pull_request(runner: Runner) -> None:
    runner.github.pulls[5] = PullRequestState(
        number=5,
        state="open",
        head_sha=HEAD,
        head_ref="main",
        base_sha=BASE,
        base_ref="main",
        from_fork=False,
    )
    runner.github.pull_files[5] = (PullRequestFile(path=PATH, patch="@@ -1,10 +1,10 @@\n"),)
    told = runner.run("pull_request", pull_payload(HERE), mode="suggest")
    (review,) = runner.github.reviews
    assert review.number == 5
    assert "== 0" in review.suggestions[0].text
    assert (told["pr-number"], list(runner.github.pulls)) == ("", [5])
    assert "Suggested in the pull request" in runner.summary


def test_a_commit_goes_onto_the_red_branch(runner: Runner) -> None:
    told = runner.run(mode="commit")
    assert runner.github.pulls == {}
    assert told["branch"] == "main"
    assert runner.github.branches["main"] != HEAD


@pytest.mark.parametrize("staged", ["input", "policy"])
def test_a_dry_run_writes_nothing_and_says_what_it_would_have(runner: Runner, staged: str) -> None:
    if staged == "policy":
        runner.github.files["main", ".github/metaagent.yml"] = b"mode: staged\n"
    told = runner.run(dry_run="true" if staged == "input" else "")
    assert (told["outcome"], told["pr-number"], told["branch"]) == ("FIXED", "", "")
    assert written(runner.github) == []
    assert "Dry run" in runner.summary
    assert "Would be written: commit" in runner.summary


def test_a_token_that_may_only_read_leaves_report_and_patch(runner: Runner) -> None:
    runner.github.faults["commit_on_new_branch"] = [
        NotPermitted("403 Resource not accessible by integration", "allow it")
    ]
    told = runner.run()
    assert (runner.status, told["outcome"], told["branch"], told["pr-number"]) == (
        0,
        "FIXED",
        "",
        "",
    )
    assert Path(told["patch-path"]).is_file()
    assert "Resource not accessible by integration" in runner.summary


def test_a_fork_s_pull_request_gets_report_and_patch(runner: Runner) -> None:
    told = runner.run("pull_request", pull_payload(FORK))
    assert Path(told["patch-path"]).is_file()
    assert written(runner.github) == []
    assert "pull request has a read" in runner.summary


def test_people_without_write_access_lead_to_nothing_written(runner: Runner) -> None:
    payload = run_payload(HERE)
    payload["workflow_run"]["actor"]["login"] = "mallory"
    assert runner.run("workflow_run", payload)["outcome"] == "FIXED"
    assert written(runner.github) == []
    assert "mallory has no write access" in runner.summary


def test_a_policy_that_switches_us_off_is_obeyed(runner: Runner) -> None:
    runner.github.files["main", ".github/metaagent.yml"] = b"enabled: false\n"
    assert runner.run()["pr-number"] == ""
    assert written(runner.github) == []
    assert "switches us off" in runner.summary


def test_a_protected_path_of_the_default_branch_s_policy_counts(runner: Runner) -> None:
    runner.github.files["main", ".github/metaagent.yml"] = f"paths_protected: [{PATH}]\n".encode()
    (runner.root / "work" / ".github").mkdir()
    (runner.root / "work" / ".github" / "metaagent.yml").write_text("enabled: true\n")
    assert runner.run()["pr-number"] == ""
    assert runner.github.pulls == {}


WORKSPACE_POLICY = (
    "setup: [sh planted.sh]\npython: '3.9'\nflaky_reruns: 50\nlimits: {usd_per_mission: 900}\n"
)


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("push", None),
        ("schedule", None),
        ("pull_request", pull_payload(HERE)),
        ("pull_request", pull_payload(FORK)),
    ],
)
@pytest.mark.parametrize("file", POLICY_PATHS[:2])
def test_setup_and_budgets_of_the_workspace_do_not_count(
    runner: Runner, event: str, payload: dict[str, Any] | None, file: str
) -> None:
    (runner.root / "work" / file).parent.mkdir(exist_ok=True)
    (runner.root / "work" / file).write_text(WORKSPACE_POLICY)
    runner.github.files["main", POLICY_PATHS[0]] = (
        b"setup: [make deps]\nlimits: {usd_per_mission: 0}\n"
    )
    runner.run(event, payload, mode="report")
    assert runner.setups == {("make deps",)}
    assert {checkout.hints.python for checkout in runner.checkouts} == {None}
    assert (runner.policy.limits.usd_per_mission, runner.policy.flaky_reruns) == (
        0,
        RepositoryPolicy().flaky_reruns,
    )


def test_without_a_token_the_defaults_count_and_that_is_said(runner: Runner) -> None:
    (runner.root / "work" / "metaagent.yml").write_text(WORKSPACE_POLICY)
    runner.run(github_token="", mode="report")
    assert runner.setups == {()}
    assert runner.policy.limits == RepositoryPolicy().limits
    assert "The policy was not read" in runner.summary


def test_a_local_runner_without_a_repository_reads_the_folder(runner: Runner) -> None:
    (runner.root / "work" / "metaagent.yml").write_text(WORKSPACE_POLICY)
    runner.run("push", {"ref": "refs/heads/main"}, mode="report", repository="")
    assert runner.setups == {("sh planted.sh",)}
    assert runner.policy.limits.usd_per_mission == 900


def test_a_default_branch_that_cannot_be_read_ends_the_step(runner: Runner) -> None:
    (runner.root / "work" / "metaagent.yml").write_text(WORKSPACE_POLICY)
    runner.github.faults["read_file"] = [
        NotPermitted("403 Resource not accessible by integration", "allow it")
    ]
    assert runner.run(mode="report") == {"outcome": "ERROR"}
    assert (runner.status, runner.checkouts) == (2, [])


def test_a_patch_that_does_not_fit_the_head_is_only_shown(runner: Runner) -> None:
    """A pull request is tested merged into its base: what was found there need not fit its head."""
    runner.github.files[HEAD, PATH] = b"def add(a, b):\n    return sum((a, b))\n"
    told = runner.run("pull_request", pull_payload(HERE))
    assert (told["outcome"], told["pr-number"]) == ("FIXED", "")
    assert Path(told["patch-path"]).is_file()
    assert written(runner.github) == []


# --- two jobs ----------------------------------------------------------------------------------------


def test_one_job_finds_and_another_hands_over(runner: Runner, tmp_path: Path) -> None:
    runner.run("workflow_run", run_payload(HERE), mode="report")
    assert written(runner.github) == []
    runner.left.rename(tmp_path / "work" / "downloaded")
    before = len(runner.settings)
    told = runner.run("workflow_run", run_payload(HERE), from_report="downloaded")
    assert len(runner.settings) == before, "nothing runs in the job that may write"
    assert told["pr-number"] == str(*runner.github.pulls)
    assert told["outcome"] == "FIXED"


def test_notes_at_a_commit_that_was_fetched_have_its_own_paths(runner: Runner) -> None:
    (runner.root / "work" / "api").mkdir()
    runner.run("workflow_run", run_payload(HERE), mode="report", working_directory="api")
    assert f"::notice file={PATH}," in runner.said


def test_what_the_first_job_claims_is_not_believed(runner: Runner, tmp_path: Path) -> None:
    """Another commit, another branch, another policy, other files: all that comes from the event and from GitHub."""
    runner.run("workflow_run", run_payload(HERE), mode="report")
    folder = tmp_path / "work" / "downloaded"
    runner.left.rename(folder)
    mission = json.loads((folder / MISSION).read_text())
    mission["mission_id"] = "other"
    mission["request"] |= {"head_branch": "release", "head_sha": BASE}
    mission["policy"]["paths_allowed"] = ["**"]
    mission["iterations"][-1]["verification"]["edits"][0]["content"] = "aW1wb3J0IG9zCg=="
    (folder / MISSION).write_text(json.dumps(mission))
    told = runner.run("workflow_run", run_payload(HERE), from_report="downloaded")
    (pull,) = runner.github.pulls.values()
    assert (pull.base_ref, told["mission-id"]) == ("main", f"action:42:{HEAD}")
    (edit,) = runner.github.edits[pull.head_sha]
    assert edit.content.decode() == MENDED


def test_what_another_job_claims_is_never_pushed_straight(runner: Runner, tmp_path: Path) -> None:
    runner.run("workflow_run", run_payload(HERE), mode="report")
    runner.left.rename(tmp_path / "work" / "downloaded")
    told = runner.run("workflow_run", run_payload(HERE), mode="commit", from_report="downloaded")
    assert told["pr-number"] == str(*runner.github.pulls)
    assert runner.github.branches["main"] == HEAD
    assert "never pushed straight" in runner.summary


@pytest.mark.parametrize("path", [".github/workflows/ci.yml", "conftest.py", "tests/test_math.py"])
def test_a_first_job_cannot_smuggle_a_protected_file(
    runner: Runner, tmp_path: Path, path: str
) -> None:
    runner.run("workflow_run", run_payload(HERE), mode="report")
    folder = tmp_path / "work" / "downloaded"
    runner.left.rename(folder)
    (folder / MISSION).write_text((folder / MISSION).read_text().replace(PATH, path))
    runner.github.files[HEAD, path] = ADDS.encode()
    assert (
        runner.run("workflow_run", run_payload(HERE), from_report="downloaded")["pr-number"] == ""
    )
    assert written(runner.github) == []


def test_a_fork_gets_the_patch_as_a_comment_where_everybody_is_allowed(
    runner: Runner, tmp_path: Path
) -> None:
    fork_pull = PullRequestState(
        number=5,
        state="open",
        head_sha=HEAD,
        head_ref="main",
        base_sha=BASE,
        base_ref="main",
        from_fork=True,
    )
    runner.github.pulls[5] = fork_pull
    runner.run("workflow_run", run_payload(FORK), mode="report")
    runner.left.rename(tmp_path / "work" / "downloaded")
    told = runner.run("workflow_run", run_payload(FORK), from_report="downloaded", allow_users="*")
    (comment,) = runner.github.comments
    assert (comment.number, "```diff" in comment.body) == (5, True)
    assert list(runner.github.pulls) == [5]
    assert told["branch"] == ""


def test_a_missing_report_is_wrong_use(runner: Runner) -> None:
    assert runner.run(from_report="nowhere") == {"outcome": "ERROR"}
    assert "from-report" in runner.said


def test_a_project_below_the_top_is_handed_over_at_its_place(runner: Runner) -> None:
    (runner.root / "work" / "api").mkdir()
    (runner.root / "work" / PATH).rename(runner.root / "work" / "api" / PATH)
    runner.github.files[HEAD, f"api/{PATH}"] = ADDS.encode()
    told = runner.run(working_directory="api")
    assert Path(told["patch-path"]).read_text().startswith(f"diff --git a/{PATH}")
    (pull,) = runner.github.pulls.values()
    assert [edit.path for edit in runner.github.edits[pull.head_sha]] == [f"api/{PATH}"]
    assert f"::notice file=api/{PATH}," in runner.said
    assert (runner.left / PATCH).is_file()
