"""One repository with a branch and a pull request, on the fake and on the local GitHub."""

from typing import Protocol

from pydantic import SecretStr

from bot.domain.github import CheckRunState, CommitState, PullRequestState
from bot.domain.request import RepositoryRef
from bot.github.gateway import GitHubGateway
from bot.ports import GitHub
from tests.fakes.fake_github import FakeComment, FakeGitHub
from tests.github_server.server import LocalGitHub

FILES = {"README.md": "# calculator\n", "calculator.py": "def add(a, b):\n    return a - b\n"}
POLICY_PATH = ".github/metaagent.yml"


class Stage(Protocol):
    """What a contract test needs beside the port."""

    github: GitHub
    repository: RepositoryRef
    main: str
    head: str
    pull: int

    def comments(self, number: int) -> list[tuple[str, str]]:
        """(author, body) of every comment."""
        ...

    def comment_as(self, login: str, body: str) -> int:
        """Somebody comments on the pull request."""
        ...

    def allow(self, login: str, level: str) -> None:
        """Give somebody a permission."""
        ...

    def foreign_check(self, name: str, conclusion: str) -> None:
        """Another CI judges the head."""
        ...

    def push(self, branch: str) -> str:
        """Somebody pushes to a branch."""
        ...

    def file_at(self, commit: str, path: str) -> bytes | None:
        """A file as committed by us; None when it was deleted."""
        ...


class FakeStage:
    """The stage in memory."""

    def __init__(self) -> None:
        self.fake = FakeGitHub()
        self.github: GitHub = self.fake
        self.repository = RepositoryRef(id=42, owner="octo", name="calculator", installation_id=7)
        self.main, self.head, self.pull = "a" * 40, "b" * 40, 1
        self.fake.branches = {"main": self.main, "feature/one": self.head}
        self.fake.commits = {
            self.main: CommitState(sha=self.main, message="First commit", author="octo"),
            self.head: CommitState(sha=self.head, parents=(self.main,), message="Change files", author="octo"),
        }
        self.fake.merge_bases = {(self.main, self.head): self.main}
        self.fake.files = {("main", POLICY_PATH): b"draft: true\n"}
        self.fake.pulls[1] = PullRequestState(
            number=1,
            state="open",
            head_sha=self.head,
            head_ref="feature/one",
            base_sha=self.main,
            base_ref="main",
            from_fork=False,
            author="octo",
        )

    def comments(self, number: int) -> list[tuple[str, str]]:
        return [(c.author, c.body) for c in self.fake.comments if c.number == number]

    def comment_as(self, login: str, body: str) -> int:
        comment = FakeComment(id=len(self.fake.comments) + 1, number=self.pull, author=login, body=body)
        self.fake.comments.append(comment)
        return comment.id

    def allow(self, login: str, level: str) -> None:
        self.fake.permissions[login] = level

    def foreign_check(self, name: str, conclusion: str) -> None:
        number = len(self.fake.other_checks) + 1
        run = CheckRunState(id=number, name=name, head_sha=self.head, conclusion=conclusion, app_slug="other-ci")
        self.fake.other_checks.append(run)

    def push(self, branch: str) -> str:
        sha = "c" * 40
        self.fake.branches[branch] = sha
        self.fake.commits[sha] = CommitState(sha=sha, parents=(self.main,), message="Change files", author="octo")
        return sha

    def file_at(self, commit: str, path: str) -> bytes | None:
        edit = next(edit for edit in self.fake.edits[commit] if edit.path == path)
        return None if edit.mode == "deleted" else edit.content


class ServerStage:
    """The stage on a local GitHub, reached by the real gateway."""

    def __init__(self, server: LocalGitHub) -> None:
        self.server = server
        self.gateway = GitHubGateway(
            str(server.app_id), SecretStr(server.private_key_pem), server.api_url, write_pause_s=0
        )
        self.github: GitHub = self.gateway
        made = server.create_repository("octo", "calculator", {**FILES, POLICY_PATH: "draft: true\n"})
        self.main = server.store("octo/calculator").ref("refs/heads/main") or ""
        self.head = server.push(
            "octo/calculator", "feature/one", {"calculator.py": "def add(a, b):\n    return b - a\n"}
        )
        self.pull = server.open_pull_request("octo/calculator", "feature/one").number
        self.repository = RepositoryRef(id=made.id, owner="octo", name="calculator")

    def comments(self, number: int) -> list[tuple[str, str]]:
        found = self.server.comments("octo/calculator", number)
        return [(comment.user, comment.body) for comment in found]

    def comment_as(self, login: str, body: str) -> int:
        return self.server.comment("octo/calculator", self.pull, login, body).id

    def allow(self, login: str, level: str) -> None:
        self.server.set_permission("octo/calculator", login, level)

    def foreign_check(self, name: str, conclusion: str) -> None:
        self.server.third_party_check("octo/calculator", self.head, name, conclusion)

    def push(self, branch: str) -> str:
        return self.server.push("octo/calculator", branch, {"new.py": "x = 1\n"}, start="main")

    def file_at(self, commit: str, path: str) -> bytes | None:
        return self.server.files("octo/calculator", commit).get(path)
