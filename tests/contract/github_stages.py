"""One repository with a branch and a pull request, on the fake and on the local GitHub."""

from datetime import UTC, datetime
from typing import Protocol

from pydantic import SecretStr

from bot.domain.github import (
    BranchCommit,
    BranchRules,
    CheckRunState,
    CommitState,
    HookDelivery,
    InstallationRef,
    PullRequestState,
    StatusState,
    WorkflowRunState,
)
from bot.domain.request import RepositoryRef
from bot.github.gateway import GitHubGateway
from bot.ports.github import AppHooks, GitHub
from sandbox.types import CalledWorkflow
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.fake_github_state import FakeComment, FakeIssue
from tests.fakes.fake_github_upkeep import sha_of
from tests.github_server.server import LocalGitHub

FILES = {"README.md": "# calculator\n", "calculator.py": "def add(a, b):\n    return a - b\n"}
POLICY_PATH = ".github/metaagent.yml"
NAME, BOT = "octo/calculator", "metaagent[bot]"
SHARED = ".github/workflows/python.yml"


class WholeGitHub(GitHub, AppHooks, Protocol):
    """Every port of GitHub's."""


class Stage(Protocol):
    """What a contract test needs beside the port."""

    github: WholeGitHub
    repository: RepositoryRef
    main: str
    head: str
    pull: int

    def shared_workflow(self, text: str) -> CalledWorkflow:
        """A reusable workflow in a public repository of somebody else."""
        ...

    def comments(self, number: int) -> list[tuple[str, str]]:
        """(author, body) of every comment."""
        ...

    def grant(self, **permissions: str) -> None:
        """The owner grants the App more."""
        ...

    def issue_as(self, login: str, title: str, body: str) -> int:
        """Somebody opens an issue."""
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

    def buttons(self, check: int) -> list[str]:
        """The identifiers of the buttons of our check run."""
        ...

    def status(self, context: str, state: str) -> None:
        """An older CI judges the head."""
        ...

    def red_run(self) -> tuple[int, str]:
        """A workflow run that failed, and its commit."""
        ...

    def review_comment_as(self, login: str, body: str, reply_to: int | None = None) -> int:
        """Somebody comments on line 2 of calculator.py in the pull request."""
        ...

    def reviews(self) -> list[tuple[str, int]]:
        """(body, number of comments) of every review of ours."""
        ...

    def answers(self) -> list[tuple[int | None, str]]:
        """(what it answers, body) of every review comment of ours that answers."""
        ...

    def asked(self) -> list[str]:
        """Whose review was asked for."""
        ...

    def demand(self, branch: str, rule: str) -> None:
        """A branch gets a rule."""
        ...

    def event(self) -> None:
        """GitHub tries to tell us of a comment."""
        ...


class FakeStage:
    """The stage in memory."""

    def __init__(self) -> None:
        self.fake = FakeGitHub()
        self.github: WholeGitHub = self.fake
        self.repository = RepositoryRef(id=42, owner="octo", name="calculator", installation_id=7)
        self.main, self.head, self.pull = "a" * 40, "b" * 40, 1
        self.fake.branches = {"main": self.main, "feature/one": self.head}
        self.fake.commits = {
            self.main: CommitState(sha=self.main, message="First commit", author="octo"),
            self.head: CommitState(
                sha=self.head, parents=(self.main,), message="Change files", author="octo"
            ),
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
            head_repository_id=self.repository.id,
            author="octo",
        )

    def shared_workflow(self, text: str) -> CalledWorkflow:
        called = CalledWorkflow(repository="acme/ci", path=SHARED, ref="v1", sha="c" * 40)
        self.fake.called[f"acme/ci/{SHARED}@{called.sha}"] = text.encode()
        return called

    def grant(self, **permissions: str) -> None:
        """The fake grants everything."""

    def issue_as(self, login: str, title: str, body: str) -> int:
        self.fake.issues.append(FakeIssue(4700 + len(self.fake.issues), login, title, body))
        return self.fake.issues[-1].number

    def comments(self, number: int) -> list[tuple[str, str]]:
        return [(c.author, c.body) for c in self.fake.comments if c.number == number]

    def comment_as(self, login: str, body: str) -> int:
        comment = FakeComment(
            id=len(self.fake.comments) + 1, number=self.pull, author=login, body=body
        )
        self.fake.comments.append(comment)
        return comment.id

    def allow(self, login: str, level: str) -> None:
        self.fake.permissions[login] = level

    def foreign_check(self, name: str, conclusion: str) -> None:
        number = len(self.fake.other_checks) + 1
        run = CheckRunState(
            id=number, name=name, head_sha=self.head, conclusion=conclusion, app_slug="other-ci"
        )
        self.fake.other_checks.append(run)

    def push(self, branch: str) -> str:
        sha = sha_of(BranchCommit(branch=branch, parent=self.main, message="Change files"), ())
        self.fake.branches[branch] = sha
        self.fake.commits[sha] = CommitState(
            sha=sha, parents=(self.main,), message="Change files", author="octo"
        )
        return sha

    def file_at(self, commit: str, path: str) -> bytes | None:
        edit = next(edit for edit in self.fake.edits[commit] if edit.path == path)
        return None if edit.mode == "deleted" else edit.content

    def buttons(self, check: int) -> list[str]:
        (found,) = (one for one in self.fake.checks if one.id == check)
        return [action.identifier for action in found.updates[-1].actions]

    def status(self, context: str, state: str) -> None:
        others = (one for one in self.fake.statuses.get(self.head, ()) if one.context != context)
        self.fake.statuses[self.head] = (*others, StatusState(context=context, state=state))

    def red_run(self) -> tuple[int, str]:
        self.fake.runs[5] = WorkflowRunState(
            id=5,
            event="push",
            head_sha=self.head,
            head_branch="main",
            conclusion="failure",
            actor="octo",
            name="ci",
        )
        return 5, self.head

    def review_comment_as(self, login: str, body: str, reply_to: int | None = None) -> int:
        number = 900 + len(self.fake.review_comments)
        self.fake.review_comments.append(
            FakeComment(number, self.pull, login, body, in_reply_to=reply_to)
        )
        return number

    def reviews(self) -> list[tuple[str, int]]:
        return [(review.body, len(review.suggestions)) for review in self.fake.reviews]

    def answers(self) -> list[tuple[int | None, str]]:
        return [
            (one.in_reply_to, one.body)
            for one in self.fake.review_comments
            if one.author == self.fake.bot
        ]

    def asked(self) -> list[str]:
        return self.fake.reviewers.get(self.pull, [])

    def demand(self, branch: str, rule: str) -> None:
        needs, signed = rule == "pull_request", rule == "required_signatures"
        self.fake.rules[branch] = BranchRules(
            needs_pull_request=needs, needs_signature=signed, names=(rule,)
        )

    def event(self) -> None:
        now = datetime.now(UTC).isoformat()
        self.fake.hook_log.insert(
            0,
            HookDelivery(
                id=77, guid="a-guid", event="issue_comment", action="created", delivered_at=now
            ),
        )
        self.fake.payloads[77] = ("issue_comment", b'{"action": "created"}')
        self.fake.installed = [
            InstallationRef(id=7, account="octo", permissions={"contents": "write"})
        ]
        self.fake.installed_on[7] = (self.repository,)


class ServerStage:
    """The stage on a local GitHub, reached by the real gateway."""

    def __init__(self, server: LocalGitHub) -> None:
        self.server = server
        self.gateway = GitHubGateway(
            str(server.app_id), SecretStr(server.private_key_pem), server.api_url, write_pause_s=0
        )
        self.github: WholeGitHub = self.gateway
        made = server.create_repository(
            "octo", "calculator", {**FILES, POLICY_PATH: "draft: true\n"}
        )
        self.main = server.store("octo/calculator").ref("refs/heads/main") or ""
        self.head = server.push(
            "octo/calculator",
            "feature/one",
            {"calculator.py": "def add(a, b):\n    return b - a\n"},
        )
        self.pull = server.open_pull_request("octo/calculator", "feature/one").number
        self.repository = RepositoryRef(id=made.id, owner="octo", name="calculator")

    def shared_workflow(self, text: str) -> CalledWorkflow:
        self.server.create_repository("acme", "ci", {SHARED: text})
        sha = self.server.store("acme/ci").ref("refs/heads/main") or ""
        return CalledWorkflow(repository="acme/ci", path=SHARED, ref="main", sha=sha)

    def grant(self, **permissions: str) -> None:
        given = {**self.server.world.install("octo").permissions, **permissions}
        self.server.set_app_permissions("octo", given)

    def issue_as(self, login: str, title: str, body: str) -> int:
        return self.server.open_issue(NAME, title, login, body).number

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

    def buttons(self, check: int) -> list[str]:
        return [action["identifier"] for action in self.server.world.check_runs[check].actions]

    def status(self, context: str, state: str) -> None:
        self.server.status(NAME, self.head, context, state)

    def red_run(self) -> tuple[int, str]:
        owned = self.server.world.install("octo")
        self.server.set_app_permissions("octo", {**owned.permissions, "actions": "write"})
        workflow = "name: ci\non: push\njobs:\n  tests:\n    runs-on: ubuntu-latest\n    steps:\n      - run: exit 3\n"
        sha = self.server.push(NAME, "main", {".github/workflows/ci.yml": workflow})
        self.server.wait_for_check(sha)
        self.server.settle()
        (run,) = self.server.workflow_runs(sha)
        return run.id, sha

    def review_comment_as(self, login: str, body: str, reply_to: int | None = None) -> int:
        made = self.server.review_comment(
            NAME, self.pull, login, body, path="calculator.py", line=2, reply_to=reply_to
        )
        return made.id

    def reviews(self) -> list[tuple[str, int]]:
        comments = self.server.review_comments(NAME, self.pull)
        return [
            (review.body, sum(comment.review == review.id for comment in comments))
            for review in self.server.reviews(NAME, self.pull)
            if review.user == BOT
        ]

    def answers(self) -> list[tuple[int | None, str]]:
        there = self.server.review_comments(NAME, self.pull)
        return [
            (one.reply_to, one.body)
            for one in there
            if one.user == BOT and one.reply_to is not None
        ]

    def asked(self) -> list[str]:
        pull = self.server.repository(NAME).issues[self.pull].pull
        return pull.reviewers if pull else []

    def demand(self, branch: str, rule: str) -> None:
        self.server.set_rules(NAME, branch, rule)

    def event(self) -> None:
        self.server.webhook_url = "http://127.0.0.1:9/"
        self.comment_as("octo", "hello")
        self.server.settle()
