"""A repository with fixes of ours, and a services of them."""

from dataclasses import dataclass, field

from bot.domain.github import CheckRunState, CommitState
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import FixState, OfferedFix
from bot.ports import Services
from tests.builders import FINGERPRINT, HEAD, a_lesson, a_pull_request, a_repository
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.memory_registry import MemoryRegistry
from tests.services import services

NUMBER, RED_PULL = 17, 5
BRANCH, COMMIT = "metaagent/main/01234567", "c" * 40
NEWER = "d" * 40
REPOSITORY = a_repository()


def a_fix(**changes: object) -> OfferedFix:
    """Pull request 17 for the red branch `main`, one day old."""
    values = {
        "repository": REPOSITORY,
        "fingerprint": FINGERPRINT,
        "base_branch": "main",
        "head_sha": HEAD,
        "branch": BRANCH,
        "commit": COMMIT,
        "patch_id": "p" * 16,
        "pull_request": NUMBER,
        "for_pull_request": RED_PULL,
        "checks": ("tests",),
        "mission_id": "m-0001",
        "at": "2026-01-01T03:04:05+00:00",
    }
    return OfferedFix.model_validate(values | changes)


@dataclass
class World:
    """GitHub, what we remember, and what people did."""

    github: FakeGitHub = field(default_factory=FakeGitHub)
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    lessons: MemoryLessons = field(
        default_factory=lambda: MemoryLessons(a_lesson(pull_request=NUMBER, fate="open"))
    )
    clock: FixedClock = field(default_factory=FixedClock)
    policy: RepositoryPolicy = field(default_factory=RepositoryPolicy)

    def __post_init__(self) -> None:
        self.github.branches = {"main": HEAD, BRANCH: COMMIT}
        self.github.commits[COMMIT] = CommitState(
            sha=COMMIT, parents=(HEAD,), message="x\n\nMetaAgent-Mission: m-0001\n"
        )
        self.github.pulls[NUMBER] = a_pull_request()
        self.put(a_fix())

    @property
    def services(self) -> Services:
        return services(
            self.github,
            policy=self.policy,
            registry=self.registry,
            lessons=self.lessons,
            clock=self.clock,
        )

    def put(self, fix: OfferedFix) -> None:
        self.registry.fixes[fix.key] = fix

    @property
    def fix(self) -> OfferedFix:
        """Ours, as remembered now."""
        return self.registry.fixes[a_fix().key]

    @property
    def fate(self) -> str:
        """Of the lesson."""
        return self.lessons.lessons["m-0001"].fate

    @property
    def is_open(self) -> bool:
        return self.github.pulls[NUMBER].state == "open"

    @property
    def words(self) -> list[str]:
        """What we said in our pull request."""
        return [comment.body for comment in self.github.comments if comment.number == NUMBER]

    def push(self, sha: str, **checks: str) -> None:
        """`main` moves on; checks by name and conclusion."""
        self.github.branches["main"] = sha
        for number, (name, conclusion) in enumerate(checks.items()):
            check = CheckRunState(
                id=number, name=name, head_sha=sha, conclusion=conclusion, app_slug="github-actions"
            )
            self.github.other_checks.append(check)

    def expect_taken_back(self, state: FixState, why: str) -> None:
        assert (self.fix.state, self.is_open, self.fix.closing) == (state, False, False)
        assert BRANCH not in self.github.branches
        (word,) = self.words
        assert why in word
