"""The registry of everything the local GitHub knows, its clock, its counters and its lock."""

import itertools
import re
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.github_server.entities import (
    ACTIONS_APP_ID,
    APP_EVENTS,
    APP_PERMISSIONS,
    WORST_FIRST,
    App,
    CheckRun,
    Comment,
    Installation,
    Issue,
    Job,
    Json,
    Repository,
    Suite,
    Token,
    User,
    WorkflowRun,
)
from tests.github_server.entities_reviews import Review, ReviewComment, Status
from tests.github_server.faults import Faults
from tests.github_server.gitstore import GitStore, Person, utc

NAME = re.compile(r"^[A-Za-z0-9._-]+$")


@dataclass(slots=True)
class Counters:
    """Where ids come from; check runs and runs start above 32 bits as on github.com.

    App and installation ids differ from server to server: clients cache credentials under them in the process.
    """

    small: Iterator[int] = field(
        default_factory=lambda: itertools.count(1_000_001 + secrets.randbelow(10**8))
    )
    large: Iterator[int] = field(default_factory=lambda: itertools.count(30_625_113_001))
    repositories: Iterator[int] = field(default_factory=lambda: itertools.count(523_280_001))


class World:
    """State of one local GitHub. Every access from a request or a job happens under `lock`."""

    def __init__(self, data: Path, private_key_pem: str, app: App | None = None) -> None:
        self.data = data
        self.lock = threading.RLock()
        self.counters = Counters()
        self.app = app or App(
            90_000 + secrets.randbelow(900_000),
            "metaagent",
            "MetaAgent",
            "metaagent-dev",
            dict(APP_PERMISSIONS),
            APP_EVENTS,
        )
        self.private_key_pem = private_key_pem
        self.webhook_secret = secrets.token_hex(20)
        self.manifests: dict[str, tuple[str | None, Json]] = {}
        self.faults = Faults()
        self.web_url = ""
        self.blob_url = ""
        self.blob_key = secrets.token_bytes(32)
        self.users: dict[str, User] = {}
        self.apps: dict[int, App] = {self.app.id: self.app}
        self.installations: dict[int, Installation] = {}
        self.tokens: dict[str, Token] = {}
        self.repositories: dict[int, Repository] = {}
        self.renamed: dict[str, int] = {}
        self.comments: dict[int, Comment] = {}
        self.reviews: dict[int, Review] = {}
        self.review_comments: dict[int, ReviewComment] = {}
        self.statuses: list[Status] = []
        self.suites: dict[int, Suite] = {}
        self.check_runs: dict[int, CheckRun] = {}
        self.runs: dict[int, WorkflowRun] = {}
        self.jobs: dict[int, Job] = {}
        self.log_requests: dict[int, int] = {}
        self.workflow_ids: dict[tuple[int, str], int] = {}
        everything = dict.fromkeys(
            ("actions", "checks", "contents", "issues", "metadata", "pull_requests"), "write"
        )
        self.add_app(App(ACTIONS_APP_ID, "github-actions", "GitHub Actions", "github", everything))

    @property
    def api_url(self) -> str:
        """The root of REST."""
        return f"{self.web_url}/api/v3"

    def now(self) -> str:
        """The current time in GitHub's form."""
        return utc(datetime.now(UTC))

    def next_id(self) -> int:
        """An id for anything small."""
        return next(self.counters.small)

    def next_large_id(self) -> int:
        """An id above 32 bits."""
        return next(self.counters.large)

    def become(self, app: App, private_key_pem: str, webhook_secret: str) -> None:
        """Our App is another one now, which nobody has installed yet."""
        del self.apps[self.app.id]
        self.app, self.private_key_pem, self.webhook_secret = app, private_key_pem, webhook_secret
        self.apps[app.id] = app
        self.installations.clear()
        self.tokens = {
            value: token for value, token in self.tokens.items() if token.installation is None
        }

    def add_app(self, app: App) -> App:
        """Register another App (GitHub Actions, or a third party's CI)."""
        self.apps[app.id] = app
        return app

    def user(self, login: str, kind: str | None = None) -> User:
        """The account of this name, made when it is new."""
        found = self.users.get(login.lower())
        if found is None:
            found = User(
                login, self.next_id(), kind or ("Bot" if login.endswith("[bot]") else "User")
            )
            self.users[login.lower()] = found
        return found

    def person(self, login: str) -> Person:
        """How an account signs its commits."""
        user = self.user(login)
        return Person(login, f"{user.id}+{login}@users.noreply.github.com", self.now())

    # --- repositories -------------------------------------------------------------------------

    def find(self, owner: str, name: str) -> Repository | None:
        """A repository by its present name."""
        wanted = f"{owner}/{name}".lower()
        return next(
            (repo for repo in self.repositories.values() if repo.full_name.lower() == wanted), None
        )

    def named(self, full_name: str) -> Repository:
        """A repository that must exist."""
        found = self.find(*full_name.split("/", 1))
        if found is None:
            raise KeyError(f"no repository {full_name}")
        return found

    def add_repository(
        self, owner: str, name: str, *, private: bool, parent: Repository | None = None
    ) -> Repository:
        """An empty repository on disk and in the registry, installed for our App unless it is a fork."""
        if not (NAME.match(owner) and NAME.match(name)) or self.find(owner, name):
            raise ValueError(f"{owner}/{name} is not a free repository name")
        number = next(self.counters.repositories)
        store = GitStore.create(self.data / "repositories" / f"{number}.git", "main")
        self.user(owner)
        repo = Repository(number, owner, name, store, self.now(), private, pushed_at=self.now())
        repo.permissions[owner] = "admin"
        repo.parent = parent.id if parent else None
        self.repositories[number] = repo
        return repo

    def install(self, account: str, permissions: dict[str, str] | None = None) -> Installation:
        """Our App's installation on an account, made when it is new."""
        found = next(
            (i for i in self.installations.values() if i.account.lower() == account.lower()), None
        )
        if found is None:
            found = Installation(
                self.next_id(), account, dict(permissions or self.app.permissions), self.now()
            )
            self.installations[found.id] = found
        return found

    def installation_of(self, repo: Repository) -> Installation | None:
        """The installation that covers a repository."""
        for installation in self.installations.values():
            covered = installation.repository_ids is None or repo.id in installation.repository_ids
            if covered and installation.account.lower() == repo.owner.lower():
                return installation
        return None

    def permission(self, repo: Repository, login: str) -> str:
        """What a person may do: admin, write, read or none."""
        return {"maintain": "write", "triage": "read"}.get(role := self.role(repo, login), role)

    def role(self, repo: Repository, login: str) -> str:
        """The role of a person: admin, maintain, write, triage, read or none."""
        for name, level in repo.permissions.items():
            if name.lower() == login.lower():
                return level
        return "none" if repo.private else "read"

    # --- issues and checks --------------------------------------------------------------------

    def next_number(self, repo: Repository) -> int:
        """The number of the next issue or pull request."""
        return max((*repo.issues, *repo.deleted_issues), default=0) + 1

    def pulls(self, repo: Repository) -> list[Issue]:
        """Pull requests into a repository, newest first."""
        return sorted((i for i in repo.issues.values() if i.pull), key=lambda i: -i.number)

    def pulls_with_head(self, repo: Repository, sha: str, branch: str | None = None) -> list[Issue]:
        """Open pull requests whose head is this commit of this repository."""
        return [
            issue
            for base in self.repositories.values()
            for issue in self.pulls(base)
            if issue.pull
            and issue.state == "open"
            and issue.pull.head_repository == repo.id
            and issue.pull.head_sha == sha
            and branch in {None, issue.pull.head_ref}
        ]

    def suite_for(
        self, repo: Repository, app: int, sha: str, branch: str | None, before: str = "0" * 40
    ) -> Suite:
        """The suite of an App on a commit, made when it is new."""
        for suite in self.suites.values():
            if (suite.repository, suite.app, suite.head_sha) == (repo.id, app, sha):
                return suite
        suite = Suite(
            self.next_large_id(), repo.id, app, sha, branch, before, self.now(), self.now()
        )
        self.suites[suite.id] = suite
        return suite

    def suite_state(self, suite: Suite) -> tuple[str, str | None]:
        """Status and conclusion of a suite: done when all runs are, and as bad as the worst."""
        runs = [self.check_runs[number] for number in suite.runs]
        if not runs:
            return "queued", None
        if any(run.status != "completed" for run in runs):
            return "in_progress", None
        return "completed", min(
            (run.conclusion or "success" for run in runs), key=WORST_FIRST.index
        )

    def branch_of(self, repo: Repository, sha: str) -> str | None:
        """A branch whose head is this commit."""
        heads = repo.store.refs("refs/heads/")
        names = [name.removeprefix("refs/heads/") for name, head in heads.items() if head == sha]
        return names[0] if names else None
