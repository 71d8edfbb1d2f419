"""Refusals from the payload alone: our own traces, forks, other bots, non-test checks. Pure."""

from collections.abc import Iterable

from bot.domain.request import CheckRef
from bot.github.events import App, PullRequestLink, Side
from bot.intake.identity import OwnApp
from sandbox.types import Frozen

BRANCH_PREFIX = "metaagent/"
"""Prefix of all our branches; events on them never start a mission."""

QUEUE_PREFIXES = (
    "gh-readonly-queue/",
    "automation/bors/",
    "mergify/merge-queue/",
    "trunk-merge/",
    "gtmq_",
)
"""Branch prefixes of GitHub's, bors', Mergify's, Trunk's and Graphite's merge queues.

Such branches are deleted within minutes.
"""

RED = frozenset({"failure", "timed_out"})
"""Conclusions that may lead to a repair."""

OTHER_BOTS = {
    "dependabot/": "Dependabot",
    "renovate/": "Renovate",
    "pre-commit-ci-update-config": "pre-commit.ci",
    "snyk-": "Snyk",
    "pyup-": "PyUp",
    "imgbot": "ImgBot",
    "allcontributors/": "All Contributors",
}
"""Prefixes of branches of other bots, which rewrite them at any time."""

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
"""Apps whose checks cannot be reproduced by running the repository's tests."""

NOT_TESTS_CONTEXTS = (
    "codecov",
    "coverage",
    "license",
    "cla",
    "dco",
    "netlify",
    "vercel",
    "security",
    "deploy",
    "wip",
)
"""The same for commit statuses, by the first word of their context."""

NO_RED = {
    "action_required": "it waits for a maintainer's approval",
    "startup_failure": "the workflow file is invalid, and MetaAgent does not edit workflows",
}
"""Reasons for conclusions that need an explanation."""


class Head(Frozen):
    """The commit of an event, and its location as far as the payload states it."""

    sha: str
    branch: str | None
    repository_id: int
    links: tuple[PullRequestLink, ...] = ()
    """The payload's pull requests. They are unreliable: some are missing, others are forks'."""
    elsewhere: bool = False
    """True if the payload names another repository for the head, or none."""

    @property
    def pull_requests(self) -> tuple[PullRequestLink, ...]:
        """Return pull requests into this repository; GitHub also lists those of its forks."""
        return tuple(
            p
            for p in self.links
            if p.base.repo is not None and p.base.repo.id == self.repository_id
        )

    @property
    def pull_request(self) -> int | None:
        """Return the number of the pull request whose head is this commit."""
        return next((p.number for p in self.pull_requests if p.head.sha == self.sha), None)

    @property
    def is_from_fork(self) -> bool:
        """Return True if the payload shows that the head is a fork's; branch names do not count."""
        return self.elsewhere or any(
            is_from_fork(p.head, self.repository_id) for p in self.pull_requests
        )


def is_own_branch(branch: str | None) -> bool:
    """Return True if the branch is one of ours."""
    return branch is not None and branch.startswith(BRANCH_PREFIX)


def is_queue_branch(branch: str | None) -> bool:
    """Return whether a merge queue made this branch and will remove it."""
    return branch is not None and branch.startswith(QUEUE_PREFIXES)


def other_bot(branch: str | None) -> str | None:
    """Return the name of the bot that owns the branch, or None."""
    if branch is None:
        return None
    return next((name for prefix, name in OTHER_BOTS.items() if branch.startswith(prefix)), None)


def is_from_fork(side: Side, repository_id: int) -> bool:
    """Return True if a pull request's head is in another repository; a deleted fork counts."""
    return side.repo is None or side.repo.id != repository_id


def is_test_status(context: str) -> bool:
    """Return True if a commit status may be about tests."""
    return (
        context.replace("-", "/").replace(":", "/").partition("/")[0].strip().lower()
        not in NOT_TESTS_CONTEXTS
    )


def refuse_conclusion(conclusion: str | None) -> str | None:
    """Return why a conclusion does not lead to a repair, or None."""
    if conclusion in RED:
        return None
    return NO_RED.get(conclusion or "", f"the conclusion is {conclusion or 'missing'}")


def refuse_app(app: App | None, own: OwnApp) -> str | None:
    """Return why checks of this App do not start a mission, or None."""
    if app is None:
        return None
    if own.slug == app.slug or (own.app_id is not None and own.app_id == app.id):
        return "it is our own check"
    return f"checks of {app.slug} are not tests" if app.slug in NOT_TESTS else None


def refuse_head(head: Head) -> str | None:
    """Return why a head does not start a mission automatically, or None."""
    if head.is_from_fork:
        return "the head is in a fork; a maintainer can request a fix in a comment"
    if is_own_branch(head.branch):
        return "it is our own branch"
    if (bot := other_bot(head.branch)) is not None:
        return f"the branch belongs to {bot}"
    if is_queue_branch(head.branch):
        return "the branch belongs to a merge queue"
    if not head.branch:
        return "the head is in a fork or its branch was deleted"
    return None


def rank_checks(checks: Iterable[CheckRef]) -> tuple[CheckRef, ...]:
    """Sort red checks: Actions jobs first since they have logs, tests before style, then by age."""

    def rank(check: CheckRef) -> tuple[bool, bool, int]:
        return not check.is_actions_job, _is_style(check.name), check.id

    return tuple(sorted(checks, key=rank))


def _is_style(name: str) -> bool:
    words = set(
        name.lower().replace("-", " ").replace("_", " ").replace("/", " ").replace("(", " ").split()
    )
    return bool(
        words
        & {
            "lint",
            "linter",
            "style",
            "format",
            "formatting",
            "ruff",
            "flake8",
            "black",
            "docs",
            "mypy",
        }
    )
