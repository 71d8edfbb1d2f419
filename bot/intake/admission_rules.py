"""Rules that refuse a mission, from the facts of GitHub, the policy and the registry. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from bot.domain.command import Origin
from bot.domain.github import CommitState, PullRequestState, WorkflowRunState
from bot.domain.mission import Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import Switch
from bot.domain.request import MissionRequest, RepositoryRef, Trigger
from bot.intake import guards
from bot.policy.globs import names_branch
from bot.policy.policy_file import POLICY_PATH
from bot.policy.rules import LABEL_OFF, command_refusal, describe_origin
from sandbox.types import TrustTier

MAY_COMMAND = frozenset({"admin", "write"})
"""Roles with write access; GitHub reports `maintain` as write and `triage` as read."""

BY_WRITERS = frozenset(
    {"push", "schedule", "workflow_dispatch", "repository_dispatch", "merge_group"}
)
"""Events that only people with write access to this repository can trigger."""

_SKIP = re.compile(r"\[\s*(?:skip metaagent|metaagent skip)\s*\]", re.IGNORECASE)
_ASK = "a maintainer can comment `/metaagent fix` on the pull request"


@dataclass(frozen=True)
class Facts:
    """The facts that admission decides on."""

    request: MissionRequest
    """The request, completed with the pull request's data."""
    repository: RepositoryRef
    policy: RepositoryPolicy = field(default_factory=RepositoryPolicy)
    pull: PullRequestState | None = None
    in_a_fork: bool = False
    """True if only pull requests of forks have this commit as their head."""
    head_now: str | None = None
    """The current head of the branch; None if the branch was deleted."""
    commit: CommitState | None = None
    runs: tuple[WorkflowRunState, ...] = ()
    """The head's workflow runs."""
    permissions: Mapping[str, str] = field(default_factory=dict)
    """GitHub roles of the requester and of the failed runs' actors, by login."""
    attempts: int = 0
    """Earlier automatic missions on this branch."""
    switch: Switch | None = None
    own_login: str = "metaagent[bot]"

    @property
    def commanded(self) -> bool:
        """Return True if a person requested the mission."""
        return self.request.trigger is Trigger.COMMENT

    @property
    def in_a_step(self) -> bool:
        """Return True if an Action run requested it.

        The workflow's author decides when that happens.
        """
        return self.request.trigger is Trigger.ACTION

    @property
    def asker(self) -> str:
        """Return the login of the requester."""
        comment = self.request.comment
        return self.request.requested_by or (comment.author if comment else "")

    @property
    def branch(self) -> str:
        """Return the branch that the policy applies to: the target of the work."""
        return (self.pull.base_ref if self.pull else self.request.head_branch) or ""


@dataclass(frozen=True)
class Denial:
    """A refusal: its reason, the mission's outcome and advice."""

    reason: str
    outcome: Outcome = Outcome.POLICY
    advice: str = ""


Rule = Callable[[Facts], Denial | None]


def may_ask(facts: Facts) -> Denial | None:
    """Require write access of the requester."""
    if facts.permissions.get(facts.asker) in MAY_COMMAND:
        return None
    reason = (
        f"{facts.asker or 'the requester'} has no write access here, "
        "which is required to start a mission"
    )
    return Denial(reason, advice="ask a maintainer to comment `/metaagent fix`")


def is_on_pull_request(facts: Facts) -> Denial | None:
    """Require a pull request: otherwise the commit is unknown, or its branch may be a fork's."""
    request = facts.request
    if facts.pull is not None:
        return None
    if request.improve is not None and request.head_sha and request.head_branch:
        return None  # the default branch, asked for in an issue
    if request.comment is not None or request.head_sha is None:
        return Denial("the comment is not on a pull request")
    return Denial("the commit's branch is unknown") if request.head_branch is None else None


def policy_hears(facts: Facts) -> Denial | None:
    """Require that the policy accepts this kind of command."""
    # Intake has checked buttons and labels separately; here it is enough that one of them is
    # allowed.
    origins = [Origin.COMMENT] if facts.request.comment else [Origin.BUTTON, Origin.LABEL]
    reasons = [command_refusal(facts.policy, origin) for origin in origins]
    return Denial(reasons[0] or "", advice=_change(facts)) if all(reasons) else None


def pull_request_is_open(facts: Facts) -> Denial | None:
    """Refuse closed pull requests."""
    return (
        Denial("the pull request is not open")
        if facts.pull and facts.pull.state != "open"
        else None
    )


def not_our_own(facts: Facts) -> Denial | None:
    """Refuse MetaAgent's own pull requests."""
    branch = facts.pull.head_ref if facts.pull else facts.request.head_branch
    if facts.request.tier is not TrustTier.FORK and guards.is_own_branch(branch):
        reason = "this is one of MetaAgent's own pull requests, which it does not repair"
        return Denial(reason, advice="comment on the pull request that it is meant to repair")
    return None


def forks_may_ask(facts: Facts) -> Denial | None:
    """Require that the policy allows commands on forks."""
    if facts.request.tier is not TrustTier.FORK or facts.policy.forks == "ask":
        return None
    return Denial(
        f"the policy disables work on forks ({describe_origin(facts.policy, 'forks')})",
        advice=_change(facts),
    )


def policy_is_on(facts: Facts) -> Denial | None:
    """Require that the policy allows automatic work for this kind of trigger."""
    for key, on in _switches(facts.policy, facts.request):
        if not on:
            what = "MetaAgent" if key == "enabled" else "automatic missions"
            return Denial(
                f"the policy disables {what} ({describe_origin(facts.policy, key)})",
                advice=_change(facts),
            )
    return None


def _switches(policy: RepositoryPolicy, request: MissionRequest) -> Iterator[tuple[str, bool]]:
    """Yield the keys of the policy that turn a request's kind of work on, with their state."""
    yield "enabled", policy.enabled
    if request.improve is not None:
        yield "improve.schedule", policy.improve.schedule != "never"
        return
    yield "automatic", policy.automatic
    red = (*((request.check,) if request.check else ()), *request.also_red)
    kinds = {"statuses" if check.is_status else "checks" for check in red} or {"checks"}
    heard = {"checks": policy.triggers.checks, "statuses": policy.triggers.statuses}
    yield f"triggers.{min(kinds)}", any(heard[kind] for kind in kinds)
    if request.continuous:
        wanted = policy.continuous
        yield "continuous.schedule", wanted.after_merge or wanted.schedule != "never"
    elif request.trigger is Trigger.SCHEDULE:
        yield "schedule", policy.schedule != "never"


def policy_is_not_off(facts: Facts) -> Denial | None:
    """Require that the policy does not disable MetaAgent."""
    if facts.policy.enabled:
        return None
    return Denial(
        f"the policy disables MetaAgent ({describe_origin(facts.policy, 'enabled')})",
        advice=_change(facts),
    )


def not_in_a_fork(facts: Facts) -> Denial | None:
    """Refuse commits of forks; they are repaired on request only."""
    if (
        facts.request.tier is TrustTier.FORK
        or facts.in_a_fork
        or (facts.pull is not None and facts.pull.from_fork)
    ):
        return Denial(
            "the failing commit is in a fork, and forks are repaired on request only", advice=_ASK
        )
    return None


def not_stale(facts: Facts) -> Denial | None:
    """Refuse commits that are no longer the head of their branch."""
    head, branch = facts.request.head_sha or "", facts.request.head_branch
    if facts.pull is not None and facts.pull.head_sha == head and facts.pull.state == "open":
        return None
    if branch is None or facts.head_now == head:
        return None
    if facts.head_now is None:
        return Denial(f"the branch {branch} was deleted", Outcome.STALE)
    return Denial(
        f"the branch {branch} has moved on from {head[:8]} to {facts.head_now[:8]}", Outcome.STALE
    )


def not_by_bot(facts: Facts) -> Denial | None:
    """Refuse our own commits, and pull requests that another bot may rewrite at any time."""
    if facts.commit is not None and facts.commit.author == facts.own_login:
        return Denial(
            "the failing commit is one of MetaAgent's own, which it repairs only on request",
            advice=_ASK,
        )
    bot = guards.other_bot(facts.request.head_branch)
    if bot is None and facts.pull is not None and is_bot(facts.pull.author):
        bot = facts.pull.author
    return (
        Denial(f"the pull request belongs to {bot}, which is a bot", advice=_ASK) if bot else None
    )


def not_switched_off(facts: Facts) -> Denial | None:
    """Refuse if MetaAgent is turned off here."""
    if facts.pull is not None and LABEL_OFF in map(str.lower, facts.pull.labels):
        return Denial(
            f"the pull request has the label `{LABEL_OFF}`",
            advice=f"remove the label, or: {_ASK}",
        )
    if facts.switch is None or not facts.switch.off:
        return None
    where = (
        "for this pull request" if facts.switch.pull_request is not None else "for this repository"
    )
    return Denial(
        f"{facts.switch.by} turned MetaAgent off {where}",
        advice="`/metaagent on` turns it on again",
    )


def not_skipped(facts: Facts) -> Denial | None:
    """Refuse commits that opt out."""
    if facts.commit is None or _SKIP.search(facts.commit.message) is None:
        return None
    return Denial("the commit's message says `[skip metaagent]`", advice=_ASK)


def on_a_base_branch(facts: Facts) -> Denial | None:
    """Require that the policy lists the target branch."""
    if any(names_branch(pattern, facts.branch) for pattern in facts.policy.base_branches):
        return None
    origin = describe_origin(facts.policy, "base_branches")
    return Denial(
        f"the policy does not list the branch {facts.branch or 'of this commit'} ({origin})",
        advice=_ASK,
    )


def not_awaiting_approval(facts: Facts) -> Denial | None:
    """Refuse while a workflow run waits for a maintainer's approval."""
    check = facts.request.check
    waiting = [
        run.name or "a workflow" for run in facts.runs if run.conclusion == "action_required"
    ]
    if check is not None and check.conclusion == "action_required":
        waiting.append(check.name)
    return (
        Denial(f"{waiting[0]} waits for a maintainer's approval", advice="approve it first")
        if waiting
        else None
    )


def set_off_by_writers(facts: Facts) -> Denial | None:
    """Require that the failed runs' actors have write access, unless their events imply it."""
    for login in list_actors(facts.request, facts.runs):
        if is_bot(login):
            return Denial(f"the failed run was triggered by {login}, which is a bot", advice=_ASK)
        if facts.permissions.get(login) not in MAY_COMMAND:
            return Denial(
                f"the failed run was triggered by {login}, who has no write access here",
                advice=_ASK,
            )
    return None


def within_attempts(facts: Facts) -> Denial | None:
    """Refuse after too many automatic attempts, until a person pushes or asks."""
    most = facts.policy.limits.attempts
    if facts.attempts < most:
        return None
    tried = f"{facts.attempts} automatic missions were started on {facts.request.head_branch}"
    origin = describe_origin(facts.policy, "limits.attempts")
    return Denial(
        f"{tried}, {most} are allowed until a person pushes or asks ({origin})", advice=_ASK
    )


ASKED: tuple[Rule, ...] = (
    may_ask,
    is_on_pull_request,
    policy_hears,
    pull_request_is_open,
    not_our_own,
    forks_may_ask,
    not_stale,
)
"""Rules for commands."""

UNASKED: tuple[Rule, ...] = (
    policy_is_on,
    not_in_a_fork,
    not_stale,
    pull_request_is_open,
    not_our_own,
    not_by_bot,
    not_switched_off,
    not_skipped,
    on_a_base_branch,
    not_awaiting_approval,
    set_off_by_writers,
    within_attempts,
)
"""Rules for red checks. Commands pass most of them, but not a policy that disables MetaAgent."""


SCHEDULED_IMPROVEMENT: tuple[Rule, ...] = (
    policy_is_on,
    not_stale,
    not_our_own,
    not_switched_off,
    not_skipped,
)
"""Rules for scheduled improvements, which have no red check."""


IN_A_STEP: tuple[Rule, ...] = (
    policy_is_not_off,
    not_stale,
    pull_request_is_open,
    not_our_own,
    not_switched_off,
    not_skipped,
)
"""Rules for Action runs, also on forks. Whether a run may write is decided separately."""


def find_refusal(facts: Facts) -> Denial | None:
    """Return the first refusal of the rules, or None.

    Args:
        facts: The known facts.
    """
    rules = IN_A_STEP if facts.in_a_step else ASKED if facts.commanded else UNASKED
    if rules is UNASKED and facts.request.improve is not None:
        rules = SCHEDULED_IMPROVEMENT
    return next((no for rule in rules if (no := rule(facts)) is not None), None)


def list_actors(request: MissionRequest, runs: tuple[WorkflowRunState, ...]) -> tuple[str, ...]:
    """Return the actors of failed runs that do not need write access to trigger.

    Args:
        request: The request, with the event's actors.
        runs: The head's workflow runs; if there are any, their actors replace the request's.
    """
    red = [
        run
        for run in runs
        if run.conclusion in guards.RED and (run.from_fork or run.event not in BY_WRITERS)
    ]
    known = (
        [login for run in red for login in (run.actor, run.triggering_actor)]
        if runs
        else request.actors
    )
    return tuple(dict.fromkeys(login for login in known if login))


def is_bot(login: str) -> bool:
    """Return True if GitHub marks the account as a bot.

    Args:
        login: The account's login.
    """
    return login.endswith("[bot]")


def _change(facts: Facts) -> str:
    return f"change {POLICY_PATH} on {facts.repository.default_branch}"
