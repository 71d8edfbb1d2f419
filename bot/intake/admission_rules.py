"""When a mission must not run, rule by rule, from what GitHub, the policy and the registry said. Pure."""

import re
from collections.abc import Callable, Mapping
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
from bot.policy.rules import LABEL_OFF, because, no_to_command
from sandbox.types import TrustTier

MAY_COMMAND = frozenset({"admin", "write"})
"""GitHub reports `maintain` as write and `triage` as read."""

BY_WRITERS = frozenset({"push", "schedule", "workflow_dispatch", "repository_dispatch", "merge_group"})
"""Events that only somebody with write access can bring about in this very repository."""

_SKIP = re.compile(r"\[\s*(?:skip metaagent|metaagent skip)\s*\]", re.IGNORECASE)
_ASK = "a maintainer may write `/metaagent fix` in the pull request"


@dataclass(frozen=True)
class Facts:
    """What is known when it is decided."""

    request: MissionRequest
    """Completed by what the pull request says."""
    repository: RepositoryRef
    policy: RepositoryPolicy = field(default_factory=RepositoryPolicy)
    pull: PullRequestState | None = None
    in_a_fork: bool = False
    """Only a fork's pull request has this commit as its head."""
    head_now: str | None = None
    """Where the branch stands; None when it is gone."""
    commit: CommitState | None = None
    runs: tuple[WorkflowRunState, ...] = ()
    """The workflow runs of the head."""
    permissions: Mapping[str, str] = field(default_factory=dict)
    """Of whoever asks, and of whoever set off the red runs."""
    attempts: int = 0
    """Automatic missions on this branch before this one."""
    switch: Switch | None = None
    own_login: str = "metaagent[bot]"

    @property
    def commanded(self) -> bool:
        """A person asks."""
        return self.request.trigger is Trigger.COMMENT

    @property
    def in_a_step(self) -> bool:
        """A step of a workflow asks, and its author has decided when it runs."""
        return self.request.trigger is Trigger.ACTION

    @property
    def asker(self) -> str:
        """Who asks."""
        comment = self.request.comment
        return self.request.requested_by or (comment.author if comment else "")

    @property
    def branch(self) -> str:
        """The branch that counts for the policy: where the work is to go."""
        return (self.pull.base_ref if self.pull else self.request.head_branch) or ""


@dataclass(frozen=True)
class No:
    """Why not."""

    reason: str
    outcome: Outcome = Outcome.POLICY
    advice: str = ""


Rule = Callable[[Facts], No | None]


def may_ask(facts: Facts) -> No | None:
    """Whoever asks has write access."""
    if facts.permissions.get(facts.asker) in MAY_COMMAND:
        return None
    reason = f"{facts.asker or 'nobody known'} has no write access here, and only people who have may start a mission"
    return No(reason, advice="ask a maintainer to write `/metaagent fix`")


def stands_in_a_pull_request(facts: Facts) -> No | None:
    """A comment without a pull request names no commit, and a commit without a branch may be a fork's."""
    request = facts.request
    if facts.pull is not None:
        return None
    if request.comment is not None or request.head_sha is None:
        return No("the comment does not stand in a pull request")
    return No("the branch of the commit is not known") if request.head_branch is None else None


def policy_hears(facts: Facts) -> No | None:
    """The policy lets people ask in this way."""
    # Buttons and labels are told apart where they come in; here it counts that one of them is open.
    origins = [Origin.COMMENT] if facts.request.comment else [Origin.BUTTON, Origin.LABEL]
    reasons = [no_to_command(facts.policy, origin) for origin in origins]
    return No(reasons[0] or "", advice=_change(facts)) if all(reasons) else None


def pull_request_is_open(facts: Facts) -> No | None:
    """Nobody waits for a repair of a closed one."""
    return No("the pull request is not open") if facts.pull and facts.pull.state != "open" else None


def not_our_own(facts: Facts) -> No | None:
    """We do not repair our own repairs."""
    branch = facts.pull.head_ref if facts.pull else facts.request.head_branch
    if facts.request.tier is not TrustTier.FORK and guards.is_own_branch(branch):
        reason = "this pull request is one of ours, and we do not repair our own repairs"
        return No(reason, advice="comment on the pull request it wants to repair")
    return None


def forks_may_ask(facts: Facts) -> No | None:
    """The policy lets people ask for forks."""
    if facts.request.tier is not TrustTier.FORK or facts.policy.forks == "ask":
        return None
    return No(f"the policy switches work on forks off ({because(facts.policy, 'forks')})", advice=_change(facts))


def policy_is_on(facts: Facts) -> No | None:
    """The policy lets us work unasked, on this kind of sign."""
    policy, request = facts.policy, facts.request
    red = (*((request.check,) if request.check else ()), *request.also_red)
    kinds = dict.fromkeys("statuses" if check.is_status else "checks" for check in red) or ("checks",)
    heard = {"statuses": policy.triggers.statuses, "checks": policy.triggers.checks}
    for key, on in (
        ("enabled", policy.enabled),
        ("automatic", policy.automatic),
        (f"triggers.{next(iter(kinds))}", any(heard[kind] for kind in kinds)),
        ("schedule", request.trigger is not Trigger.SCHEDULE or policy.schedule != "never"),
    ):
        if not on:
            asked = "" if key == "enabled" else " unless somebody asks"
            return No(f"the policy keeps us away{asked} ({because(policy, key)})", advice=_change(facts))
    return None


def policy_is_not_off(facts: Facts) -> No | None:
    """The policy does not switch us off for everybody."""
    if facts.policy.enabled:
        return None
    return No(f"the policy keeps us away ({because(facts.policy, 'enabled')})", advice=_change(facts))


def not_in_a_fork(facts: Facts) -> No | None:
    """Forks are repaired on request only."""
    if facts.request.tier is TrustTier.FORK or facts.in_a_fork or (facts.pull is not None and facts.pull.from_fork):
        return No("the failing commit is in a fork, and forks are repaired on request only", advice=_ASK)
    return None


def not_stale(facts: Facts) -> No | None:
    """The failing commit is where work goes on."""
    head, branch = facts.request.head_sha or "", facts.request.head_branch
    if facts.pull is not None and facts.pull.head_sha == head and facts.pull.state == "open":
        return None
    if branch is None or facts.head_now == head:
        return None
    if facts.head_now is None:
        return No(f"the branch {branch} is gone", Outcome.STALE)
    return No(f"the branch {branch} has moved on from {head[:8]} to {facts.head_now[:8]}", Outcome.STALE)


def not_a_bot_s(facts: Facts) -> No | None:
    """Neither our own commit nor another bot's pull request, which rewrites it at will."""
    if facts.commit is not None and facts.commit.author == facts.own_login:
        return No("the failing commit is one of ours, and we do not repair our own repairs unasked", advice=_ASK)
    bot = guards.other_bot(facts.request.head_branch)
    if bot is None and facts.pull is not None and is_bot(facts.pull.author):
        bot = facts.pull.author
    return No(f"the pull request belongs to {bot}, which is a bot", advice=_ASK) if bot else None


def not_switched_off(facts: Facts) -> No | None:
    """Nobody turned us off here."""
    if facts.pull is not None and LABEL_OFF in map(str.lower, facts.pull.labels):
        return No(f"the pull request has the label `{LABEL_OFF}`", advice=f"take the label off, or: {_ASK}")
    if facts.switch is None or not facts.switch.off:
        return None
    where = "for this pull request" if facts.switch.pull_request is not None else "for this repository"
    return No(f"{facts.switch.by} turned MetaAgent off {where}", advice="`/metaagent on` turns it on again")


def not_skipped(facts: Facts) -> No | None:
    """The commit does not ask us to leave it alone."""
    if facts.commit is None or _SKIP.search(facts.commit.message) is None:
        return None
    return No("the commit's message says `[skip metaagent]`", advice=_ASK)


def on_a_base_branch(facts: Facts) -> No | None:
    """The policy names the branch the work is to go to."""
    if any(names_branch(pattern, facts.branch) for pattern in facts.policy.base_branches):
        return None
    origin = because(facts.policy, "base_branches")
    return No(f"the policy does not name the branch {facts.branch or 'of this commit'} ({origin})", advice=_ASK)


def not_awaiting_approval(facts: Facts) -> No | None:
    """A run that a maintainer has to allow first is not ours to get ahead of."""
    check = facts.request.check
    waiting = [run.name or "a workflow" for run in facts.runs if run.conclusion == "action_required"]
    if check is not None and check.conclusion == "action_required":
        waiting.append(check.name)
    return No(f"{waiting[0]} waits for a maintainer to allow it", advice="allow it first") if waiting else None


def set_off_by_writers(facts: Facts) -> No | None:
    """Whoever set off the red run could have pushed; what only such people can set off needs no asking."""
    for login in actors_of(facts.request, facts.runs):
        if is_bot(login):
            return No(f"the red run was set off by {login}, which is a bot", advice=_ASK)
        if facts.permissions.get(login) not in MAY_COMMAND:
            return No(f"the red run was set off by {login}, who has no write access here", advice=_ASK)
    return None


def within_attempts(facts: Facts) -> No | None:
    """Enough is enough, until a person pushes or asks."""
    most = facts.policy.limits.attempts
    if facts.attempts < most:
        return None
    tried = f"{facts.attempts} automatic missions were begun on {facts.request.head_branch}"
    origin = because(facts.policy, "limits.attempts")
    return No(f"{tried}, and {most} are allowed until somebody pushes or asks ({origin})", advice=_ASK)


ASKED: tuple[Rule, ...] = (
    may_ask,
    stands_in_a_pull_request,
    policy_hears,
    pull_request_is_open,
    not_our_own,
    forks_may_ask,
    not_stale,
)
"""For what a person asks."""

UNASKED: tuple[Rule, ...] = (
    policy_is_on,
    not_in_a_fork,
    not_stale,
    pull_request_is_open,
    not_our_own,
    not_a_bot_s,
    not_switched_off,
    not_skipped,
    on_a_base_branch,
    not_awaiting_approval,
    set_off_by_writers,
    within_attempts,
)
"""For a red check. A person who may write can ask all the same, except where the policy switches us off."""


IN_A_STEP: tuple[Rule, ...] = (
    policy_is_not_off,
    not_stale,
    pull_request_is_open,
    not_our_own,
    not_switched_off,
    not_skipped,
)
"""For a step of a workflow, also on a fork's commit: whether it may lead to something written is asked elsewhere."""


def refusal(facts: Facts) -> No | None:
    """Why a mission must not run; the first rule that says so.

    Args:
        facts: All that is known.
    """
    rules = IN_A_STEP if facts.in_a_step else ASKED if facts.commanded else UNASKED
    return next((no for rule in rules if (no := rule(facts)) is not None), None)


def actors_of(request: MissionRequest, runs: tuple[WorkflowRunState, ...]) -> tuple[str, ...]:
    """Who set off red runs that people without write access could set off too.

    Args:
        request: Names actors, when the event did.
        runs: Of the head; they know better.
    """
    red = [run for run in runs if run.conclusion in guards.RED and (run.from_fork or run.event not in BY_WRITERS)]
    known = [login for run in red for login in (run.actor, run.triggering_actor)] if runs else request.actors
    return tuple(dict.fromkeys(login for login in known if login))


def is_bot(login: str) -> bool:
    """Whether GitHub calls it a bot.

    Args:
        login: Of an account.
    """
    return login.endswith("[bot]")


def _change(facts: Facts) -> str:
    return f"change {POLICY_PATH} on {facts.repository.default_branch}"
