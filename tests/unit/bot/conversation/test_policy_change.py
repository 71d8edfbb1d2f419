"""A pull request changes the policy file: each problem is shown in its line, once."""

import re
from dataclasses import dataclass, field

import pytest

from bot.conversation.policy_change import MOST, check_policy_change
from bot.domain.github import CheckUpdate, PullRequestFile
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import Switch
from bot.errors import GitHubError
from bot.policy.policy_file import POLICY_PATH
from tests.builders import HEAD, a_pull_request, a_repository
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.memory_registry import MemoryRegistry
from tests.services import services

pytestmark = pytest.mark.anyio
NUMBER = 5
OFF = Switch(repository_id=42, off=True, by="ada")


@dataclass
class Scene:
    """A pull request, the policy in effect, and the switch."""

    github: FakeGitHub = field(default_factory=FakeGitHub)
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    policy: RepositoryPolicy = field(default_factory=RepositoryPolicy)

    def __post_init__(self) -> None:
        self.github.pulls[NUMBER] = a_pull_request(number=NUMBER, head_sha=HEAD)

    def change(self, path: str, content: str, status: str = "modified") -> None:
        """Let the pull request change one more file."""
        self.github.files[HEAD, path] = content.encode()
        before = self.github.pull_files.get(NUMBER, ())
        self.github.pull_files[NUMBER] = (*before, PullRequestFile(path=path, status=status))

    async def check(self) -> CheckUpdate | None:
        """Check it, and return what the check run shows."""
        bag = services(
            self.github, policy=self.policy, registry=self.registry, secrets=("hunter22-secret",)
        )
        run = await check_policy_change(a_repository(), NUMBER, HEAD, bag)
        if run is None:
            assert self.github.checks == []
            return None
        (check,) = self.github.checks
        assert (check.id, check.sha) == (run, HEAD)
        return check.updates[-1]


async def test_each_problem_is_shown_in_its_line() -> None:
    scene = Scene()
    scene.change(POLICY_PATH, "automatic: true\ncolour: red\ntime_limit_s: 60\nrungs: [9]\n")
    update = await scene.check()
    assert update is not None
    assert (update.name, update.title) == ("MetaAgent policy", "2 errors")
    places = [(note.path, note.line, note.level) for note in update.annotations]
    assert places == [
        (POLICY_PATH, 2, "failure"),
        (POLICY_PATH, 3, "warning"),
        (POLICY_PATH, 4, "failure"),
    ]
    assert update.annotations[0].message == "unknown key `colour`"
    assert "colour" in update.summary


async def test_a_valid_policy_says_when_it_applies() -> None:
    scene = Scene()
    scene.change(POLICY_PATH, "automatic: false\n", status="added")
    update = await scene.check()
    assert update is not None
    assert update.title == "the policy is valid"
    assert "once it is on the branch `main`" in update.summary
    assert update.annotations == ()


async def test_a_second_look_updates_the_same_check_run() -> None:
    scene = Scene()
    scene.change(POLICY_PATH, "x: 1\n")
    assert await scene.check() == await scene.check()


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("src/metaagent.yml", "x: 1\n", "modified"),
        (POLICY_PATH, "x: 1\n", "removed"),
        ("pyproject.toml", "[project]\nname = 'metaagent'\n", "modified"),
    ],
)
async def test_other_changes_are_ignored(path: str, content: str, status: str) -> None:
    scene = Scene()
    scene.change(path, content, status)
    assert await scene.check() is None


async def test_all_policy_files_are_checked() -> None:
    scene = Scene()
    scene.change("metaagent.yml", "x: 1\n")
    scene.change("pyproject.toml", "[tool.metaagent]\ny = 1\n")
    update = await scene.check()
    assert update is not None
    assert [(note.path, note.line) for note in update.annotations] == [
        ("metaagent.yml", 1),
        ("pyproject.toml", 2),
    ]


async def test_it_is_silent_where_it_is_off() -> None:
    by_switch = Scene()
    await by_switch.registry.switch(OFF)
    by_label = Scene()
    by_label.github.pull_labels[NUMBER] = ["MetaAgent:off"]
    by_policy = Scene(
        policy=RepositoryPolicy(enabled=False, origins={"enabled": f"{POLICY_PATH}:1"})
    )
    for scene in (by_switch, by_label, by_policy):
        scene.change(POLICY_PATH, "x: 1\n")
        assert await scene.check() is None


async def test_the_repair_of_an_unreadable_policy_is_checked() -> None:
    origin = f"{POLICY_PATH}:3"
    broken = RepositoryPolicy(
        enabled=False, origins={"enabled": origin}, problems=(f"{origin}: the file is not YAML",)
    )
    scene = Scene(policy=broken)
    scene.change(POLICY_PATH, "automatic: true\n")
    assert await scene.check() is not None


async def test_hostile_text_is_shown_harmlessly() -> None:
    scene = Scene()
    key = "</details><img src=x> @octo `hunter22-secret"
    scene.change(POLICY_PATH, f'"{key}": 1\nmode: "\\e[31m#7"\n')
    update = await scene.check()
    assert update is not None
    outside_of_code = re.sub(r"`[^`]*`", "", update.summary)
    assert "<img" not in outside_of_code
    assert "@octo" not in outside_of_code
    for text in (update.summary, *(note.message for note in update.annotations)):
        assert "hunter22-secret" not in text
        assert "\x1b" not in text


async def test_many_problems_fit_into_one_check_run() -> None:
    scene = Scene()
    scene.change(POLICY_PATH, "".join(f"x{number}: 1\n" for number in range(MOST + 30)))
    update = await scene.check()
    assert update is not None
    assert len(update.annotations) == MOST
    assert update.title == f"{MOST + 30} errors"
    assert update.summary.endswith("- 30 more")


async def test_a_file_that_github_refuses_to_send_is_a_problem() -> None:
    scene = Scene()
    scene.change(POLICY_PATH, "x: 1\n")
    scene.github.faults["read_file"] = [GitHubError("it is too large", status=403)]
    update = await scene.check()
    assert update is not None
    assert (update.title, update.annotations[0].line) == ("1 error", 1)


async def test_an_outage_of_github_is_passed_on() -> None:
    scene = Scene()
    scene.change(POLICY_PATH, "x: 1\n")
    scene.github.faults["read_file"] = [GitHubError("down", status=502, retryable=True)]
    with pytest.raises(GitHubError):
        await scene.check()
