"""When to say no from the payload alone: our own traces, forks, other bots, checks that are not tests. Pure."""

from collections.abc import Iterable

from bot.domain.request import CheckRef
from bot.github.events import App, PullRequestLink, Side
from bot.intake.identity import OwnApp
from sandbox.types import Frozen

BRANCH_PREFIX = "metaagent/"
"""Every branch we make starts so; nothing that happens on one starts a mission."""

QUEUE_PREFIXES = ("gh-readonly-queue/", "automation/bors/", "mergify/merge-queue/", "trunk-merge/", "gtmq_")
"""Beginnings of a merge queue's branches: GitHub, bors, Mergify, Trunk, Graphite. They are gone in minutes."""

RED = frozenset({"failure", "timed_out"})
"""Conclusions a repair may answer to."""

OTHER_BOTS = {
    "dependabot/": "Dependabot",
    "renovate/": "Renovate",
    "pre-commit-ci-update-config": "pre-commit.ci",
    "snyk-": "Snyk",
    "pyup-": "PyUp",
    "imgbot": "ImgBot",
    "allcontributors/": "All Contributors",
}
"""Beginnings of branches that belong to another bot, which rewrites them at will."""

NOT_TESTS = frozenset(
    {
        "dependabot",
        "github-advanced-security",
        "github-code-scanning",
        "github-pages",
        "codecov",
        "coveralls",
        "sonarcloud",
        "sonarqubecloud",
        "netlify",
        "vercel",
        "render",
        "mergify",
        "dco",
        "cla-bot",
        "semantic-pull-requests",
        "gitguardian",
        "snyk-io",
        "lgtm-com",
    }
)
"""Apps whose checks judge something that running the repository's tests cannot reproduce."""

NOT_TESTS_CONTEXTS = ("codecov", "coverage", "license", "cla", "dco", "netlify", "vercel", "security", "deploy", "wip")
"""The same for commit statuses, by the first word of their context."""

NO_RED = {
    "action_required": "it waits for a maintainer to allow it",
    "startup_failure": "the workflow file itself is broken, and we do not edit workflows",
}
"""Conclusions whose reason is worth more words."""


class Head(Frozen):
    """The commit an event is about, and all the payload says of where it is."""

    sha: str
    branch: str | None
    repository_id: int
    links: tuple[PullRequestLink, ...] = ()
    """What the payload calls its pull requests; it lies in both directions."""
    elsewhere: bool = False
    """The payload says that the head is in another repository, or that this is gone."""

    @property
    def pull_requests(self) -> tuple[PullRequestLink, ...]:
        """The pull requests into this repository; GitHub also lists those of forks of it."""
        return tuple(p for p in self.links if p.base.repo is not None and p.base.repo.id == self.repository_id)

    @property
    def pull_request(self) -> int | None:
        """The pull request whose head this commit is."""
        return next((p.number for p in self.pull_requests if p.head.sha == self.sha), None)

    @property
    def is_from_fork(self) -> bool:
        """Whether something in the payload says so; a branch of the same name says nothing."""
        return self.elsewhere or any(is_from_fork(p.head, self.repository_id) for p in self.pull_requests)


def is_own_branch(branch: str | None) -> bool:
    """Whether we made this branch."""
    return branch is not None and branch.startswith(BRANCH_PREFIX)


def is_queue_branch(branch: str | None) -> bool:
    """Return whether a merge queue made this branch and will remove it."""
    return branch is not None and branch.startswith(QUEUE_PREFIXES)


def other_bot(branch: str | None) -> str | None:
    """The bot this branch belongs to."""
    if branch is None:
        return None
    return next((name for prefix, name in OTHER_BOTS.items() if branch.startswith(prefix)), None)


def is_from_fork(side: Side, repository_id: int) -> bool:
    """Whether the head of a pull request is elsewhere; a deleted fork counts as one."""
    return side.repo is None or side.repo.id != repository_id


def is_test_status(context: str) -> bool:
    """Whether a commit status may be that of tests."""
    return context.replace("-", "/").replace(":", "/").partition("/")[0].strip().lower() not in NOT_TESTS_CONTEXTS


def no_to_conclusion(conclusion: str | None) -> str | None:
    """Why this conclusion asks for no repair, or None."""
    if conclusion in RED:
        return None
    return NO_RED.get(conclusion or "", f"the conclusion is {conclusion or 'missing'}")


def no_to_app(app: App | None, own: OwnApp) -> str | None:
    """Why checks of this App start no mission, or None."""
    if app is None:
        return None
    if own.slug == app.slug or (own.app_id is not None and own.app_id == app.id):
        return "it is our own check"
    return f"checks of {app.slug} are not tests" if app.slug in NOT_TESTS else None


def no_to_head(head: Head) -> str | None:
    """Why this head starts no mission by itself, or None."""
    if head.is_from_fork:
        return "the head is in a fork; a maintainer may ask with a comment"
    if is_own_branch(head.branch):
        return "it is our own branch"
    if (bot := other_bot(head.branch)) is not None:
        return f"the branch belongs to {bot}"
    if is_queue_branch(head.branch):
        return "the branch belongs to a merge queue"
    if not head.branch:
        return "the head is in a fork or its branch is gone"
    return None


def best_check(checks: Iterable[CheckRef]) -> tuple[CheckRef, ...]:
    """Red checks, the one to repair first: a job of Actions has a log; tests say more than style; else the oldest."""

    def rank(check: CheckRef) -> tuple[bool, bool, int]:
        return not check.is_actions_job, _is_style(check.name), check.id

    return tuple(sorted(checks, key=rank))


def _is_style(name: str) -> bool:
    words = set(name.lower().replace("-", " ").replace("_", " ").replace("/", " ").replace("(", " ").split())
    return bool(words & {"lint", "linter", "style", "format", "formatting", "ruff", "flake8", "black", "docs", "mypy"})
