"""When to say no from the payload alone: our own traces, forks, other bots, checks that are not tests. Pure."""

from bot.github.events import CheckRunEvent, PullRequestLink, Side

BRANCH_PREFIX = "metaagent/"
"""Every branch we make starts so; nothing that happens on one starts a mission."""

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


def is_own_branch(branch: str | None) -> bool:
    """Whether we made this branch."""
    return branch is not None and branch.startswith(BRANCH_PREFIX)


def other_bot(branch: str | None) -> str | None:
    """The bot this branch belongs to."""
    if branch is None:
        return None
    return next((name for prefix, name in OTHER_BOTS.items() if branch.startswith(prefix)), None)


def is_from_fork(side: Side, repository_id: int) -> bool:
    """Whether the head of a pull request is elsewhere; a deleted fork counts as one."""
    return side.repo is None or side.repo.id != repository_id


def pull_requests_here(event: CheckRunEvent) -> tuple[PullRequestLink, ...]:
    """The pull requests into this repository; GitHub also lists those of forks of it."""
    here = event.repository.id
    return tuple(p for p in event.check_run.pull_requests if p.base.repo is not None and p.base.repo.id == here)


def no_to_check_run(event: CheckRunEvent, app_id: int | None) -> str | None:
    """Why a completed check run starts no mission, or None."""
    run = event.check_run
    if run.conclusion not in RED:
        return f"the conclusion is {run.conclusion or 'missing'}"
    if run.app is not None and app_id is not None and run.app.id == app_id:
        return "it is our own check"
    if run.app is not None and run.app.slug in NOT_TESTS:
        return f"checks of {run.app.slug} are not tests"
    return no_to_branch(event)


def no_to_branch(event: CheckRunEvent) -> str | None:
    """Why this head starts no mission by itself, or None."""
    suite = event.check_run.check_suite
    branch = suite.head_branch if suite else None
    if is_own_branch(branch):
        return "it is our own branch"
    if (bot := other_bot(branch)) is not None:
        return f"the branch belongs to {bot}"
    here = pull_requests_here(event)
    if any(is_from_fork(p.head, event.repository.id) for p in here):
        return "the head is in a fork; a maintainer may ask with a comment"
    if branch is None:
        return "the head is in a fork or its branch is gone"
    return None
