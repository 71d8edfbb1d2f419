"""The rules of admission, one row each: what is known, and what is said to it."""

from dataclasses import replace
from typing import Any

import pytest

from bot.domain.github import CommitState, PullRequestState, WorkflowRunState
from bot.domain.mission import Outcome
from bot.domain.policy import (
    ContinuousImprovement,
    PolicyLimits,
    RepositoryPolicy,
    Triggers,
)
from bot.domain.registry import Switch
from bot.domain.request import CheckRef, CommentRef, MissionRequest, Trigger
from bot.intake.admission_rules import ASKED, UNASKED, Facts, find_refusal, list_actors
from sandbox.types import TrustTier
from tests.builders import a_check, a_repository

HEAD, OTHER = "a" * 40, "b" * 40
PULL = PullRequestState(
    number=3,
    state="open",
    head_sha=HEAD,
    head_ref="feature",
    base_sha=OTHER,
    base_ref="main",
    from_fork=False,
)
RUN = WorkflowRunState(
    id=1,
    name="CI",
    event="pull_request",
    head_sha=HEAD,
    head_branch="feature",
    conclusion="failure",
    actor="writer",
    triggering_actor="writer",
)
UNASKED_REQUEST = MissionRequest(
    mission_id="m",
    trigger=Trigger.CHECK_RUN,
    repository=a_repository(),
    head_sha=HEAD,
    head_branch="feature",
    check=a_check(),
)
ASKED_REQUEST = UNASKED_REQUEST.with_(
    trigger=Trigger.COMMENT,
    requested_by="writer",
    pull_request=3,
    comment=CommentRef(id=1, author="writer", number=3),
)
FACTS = Facts(
    UNASKED_REQUEST,
    a_repository(),
    pull=PULL,
    head_now=HEAD,
    commit=CommitState(sha=HEAD, message="add", author="writer"),
    runs=(RUN,),
    permissions={"writer": "write", "owner": "admin", "reader": "read", "gone": "none"},
)


def unasked(**request: Any) -> Facts:
    return replace(FACTS, request=UNASKED_REQUEST.with_(**request))


def asked(**request: Any) -> Facts:
    return replace(FACTS, request=ASKED_REQUEST.with_(**request))


def told(facts: Facts) -> tuple[str, str] | None:
    no = find_refusal(facts)
    return None if no is None else (no.outcome, no.reason)


def policy(**keys: Any) -> RepositoryPolicy:
    return RepositoryPolicy(origins=dict.fromkeys(keys, "p.yml:7"), **keys)


STATUS = CheckRef(id=0, name="ci/jenkins")
FORK = PULL.with_(from_fork=True, head_ref="main")
NO: dict[str, tuple[Facts, str]] = {
    "switched off": (
        replace(FACTS, policy=policy(enabled=False)),
        "the policy disables MetaAgent (p.yml:7)",
    ),
    "on request only": (
        replace(FACTS, policy=policy(automatic=False)),
        "disables automatic missions (p.yml:7)",
    ),
    "checks not heard": (
        replace(FACTS, policy=policy(triggers=Triggers(checks=False))),
        "disables automatic missions",
    ),
    "statuses not heard": (
        replace(unasked(check=STATUS), policy=policy(triggers=Triggers(statuses=False))),
        "disables automatic missions",
    ),
    "no schedule": (
        replace(unasked(trigger=Trigger.SCHEDULE), policy=policy(schedule="never")),
        "disables automatic missions (p.yml:7)",
    ),
    "fork by tier": (unasked(tier=TrustTier.FORK), "in a fork"),
    "fork by pull request": (replace(FACTS, pull=FORK), "in a fork"),
    "fork by commit": (replace(FACTS, pull=None, in_a_fork=True, head_now=OTHER), "in a fork"),
    "closed": (replace(FACTS, pull=PULL.with_(state="closed")), "not open"),
    "our branch": (
        replace(FACTS, pull=PULL.with_(head_ref="metaagent/main/1")),
        "MetaAgent's own pull requests",
    ),
    "our branch by push": (
        replace(unasked(head_branch="metaagent/main/1"), pull=None),
        "MetaAgent's own pull requests",
    ),
    "our commit": (
        replace(FACTS, commit=CommitState(sha=HEAD, author="metaagent[bot]")),
        "one of MetaAgent's own",
    ),
    "bot's branch": (unasked(head_branch="dependabot/pip/x"), "belongs to Dependabot"),
    "bot's pull request": (
        replace(FACTS, pull=PULL.with_(author="renovate[bot]")),
        "renovate[bot], which is a bot",
    ),
    "label": (
        replace(FACTS, pull=PULL.with_(labels=("bug", "metaagent:off"))),
        "label `metaagent:off`",
    ),
    "label in capitals": (
        replace(FACTS, pull=PULL.with_(labels=("MetaAgent:Off",))),
        "label `metaagent:off`",
    ),
    "off here": (
        replace(FACTS, switch=Switch(repository_id=42, pull_request=3, off=True, by="owner")),
        "owner turned MetaAgent off for this pull request",
    ),
    "off everywhere": (
        replace(FACTS, switch=Switch(repository_id=42, off=True, by="owner")),
        "for this repository",
    ),
    "skipped": (
        replace(FACTS, commit=CommitState(sha=HEAD, message="wip\n\n[Skip metaagent]")),
        "[skip metaagent]",
    ),
    "skipped the other way": (
        replace(FACTS, commit=CommitState(sha=HEAD, message="wip [metaagent skip]")),
        "[skip metaagent]",
    ),
    "other base": (
        replace(FACTS, policy=policy(base_branches=("release/*",))),
        "does not list the branch main",
    ),
    "other branch": (
        replace(FACTS, pull=None, policy=policy(base_branches=("main",))),
        "does not list the branch feature",
    ),
    "approval": (
        replace(FACTS, runs=(RUN, RUN.with_(id=2, name="docs", conclusion="action_required"))),
        "docs waits for a maintainer",
    ),
    "approval of the check": (
        unasked(check=a_check(conclusion="action_required")),
        "waits for a maintainer",
    ),
    "reader's run": (
        replace(FACTS, runs=(RUN.with_(actor="reader"),)),
        "reader, who has no write access",
    ),
    "reader's rerun": (
        replace(FACTS, runs=(RUN.with_(triggering_actor="gone"),)),
        "gone, who has no write access",
    ),
    "stranger's run": (
        replace(FACTS, runs=(RUN.with_(actor="who"),)),
        "who, who has no write access",
    ),
    "bot's run": (
        replace(FACTS, runs=(RUN.with_(actor="helper[bot]"),)),
        "helper[bot], which is a bot",
    ),
    "actor by the event": (
        replace(unasked(actors=("reader",)), runs=()),
        "reader, who has no write access",
    ),
    "push from a fork": (
        replace(FACTS, runs=(RUN.with_(event="push", from_fork=True, actor="who"),)),
        "who, who has",
    ),
    "attempts": (
        replace(FACTS, attempts=3),
        "3 automatic missions were started on feature, 3 are allowed",
    ),
    "none allowed": (
        replace(FACTS, policy=policy(limits=PolicyLimits(attempts=0))),
        "0 are allowed",
    ),
    "ask: reader": (asked(requested_by="reader"), "reader has no write access"),
    "ask: stranger": (asked(requested_by="who"), "who has no write access"),
    "ask: nobody": (asked(requested_by=None, comment=None), "the requester has no write access"),
    "ask: in an issue": (
        replace(asked(head_sha=None), pull=None),
        "is not on a pull request",
    ),
    "ask: in an issue, with a commit": (
        replace(asked(), pull=None),
        "is not on a pull request",
    ),
    "ask: a commit of nobody knows whom": (
        replace(asked(comment=None, head_branch=None), pull=None),
        "the commit's branch is unknown",
    ),
    "ask: off": (
        replace(asked(), policy=policy(enabled=False)),
        "switches MetaAgent off (p.yml:7)",
    ),
    "ask: comments not heard": (
        replace(asked(), policy=policy(triggers=Triggers(comments=False))),
        "comments off",
    ),
    "ask: neither button nor label": (
        replace(asked(comment=None), policy=policy(triggers=Triggers(buttons=False, labels=False))),
        "buttons off",
    ),
    "ask: closed": (replace(asked(), pull=PULL.with_(state="closed")), "not open"),
    "ask: ours": (
        replace(asked(), pull=PULL.with_(head_ref="metaagent/x")),
        "MetaAgent's own pull requests",
    ),
    "ask: forks never": (
        replace(asked(tier=TrustTier.FORK), pull=FORK, policy=policy(forks="never")),
        "disables work on forks (p.yml:7)",
    ),
}


@pytest.mark.parametrize("name", NO)
def test_it_is_refused_and_says_why(name: str) -> None:
    facts, reason = NO[name]
    outcome, said = told(facts) or ("", "")
    assert (outcome, reason in said) == (Outcome.POLICY, True), said


def test_every_rule_refuses_a_row_of_its_own() -> None:
    told_by = {
        next(rule for rule in (ASKED if facts.commanded else UNASKED) if rule(facts))
        for facts, _ in NO.values()
    }
    assert {rule.__name__ for rule in (*UNASKED, *ASKED)} - {rule.__name__ for rule in told_by} == {
        "not_stale"
    }


OFF = Switch(repository_id=42, off=True, by="owner")
YES: dict[str, Facts] = {
    "a red pull request": FACTS,
    "a red push": replace(FACTS, pull=None),
    "a release branch": replace(
        FACTS, pull=PULL.with_(base_ref="release/1.0"), policy=policy(base_branches=("release/*",))
    ),
    "a bot's merge": replace(FACTS, runs=(RUN.with_(event="push", actor="mergify[bot]"),)),
    "a nightly run": replace(FACTS, runs=(RUN.with_(event="schedule", actor="gone"),)),
    "a stranger's green run": replace(
        FACTS, runs=(RUN, RUN.with_(id=2, conclusion="success", actor="who"))
    ),
    "known runs over named actors": unasked(actors=("who",)),
    "no run at all": replace(FACTS, runs=()),
    "one attempt left": replace(FACTS, attempts=2),
    "switched on again": replace(FACTS, switch=OFF.with_(off=False)),
    "a branch that only begins like a bot's": unasked(head_branch="dependabots"),
    "a status beside a check": replace(
        unasked(also_red=(STATUS,)), policy=policy(triggers=Triggers(checks=False))
    ),
    "a check beside a status": replace(
        unasked(also_red=(STATUS,)), policy=policy(triggers=Triggers(statuses=False))
    ),
    "a check that was not named": replace(
        unasked(check=None), policy=policy(triggers=Triggers(statuses=False))
    ),
    "a status": replace(unasked(check=STATUS), policy=policy(triggers=Triggers(checks=False))),
    "the sweep": unasked(trigger=Trigger.SCHEDULE),
    "asked by a writer": asked(),
    "asked by an owner": asked(requested_by="owner"),
    "asked by a button without a pull request": replace(
        asked(comment=None, pull_request=None), pull=None
    ),
    "asked where we work on request only": replace(asked(), policy=policy(automatic=False)),
    "asked where somebody turned us off": replace(
        asked(), switch=OFF, attempts=9, pull=PULL.with_(labels=("metaagent:off",))
    ),
    "asked on a bot's pull request": replace(asked(), pull=PULL.with_(author="renovate[bot]")),
    "asked on a branch not named": replace(asked(), policy=policy(base_branches=())),
    "asked for a fork": replace(asked(tier=TrustTier.FORK, head_branch="main"), pull=FORK),
    "asked for a fork whose branch is called like ours": replace(
        asked(tier=TrustTier.FORK, head_branch="metaagent/x"),
        pull=FORK.with_(head_ref="metaagent/x"),
    ),
    "asked where checks are not heard": replace(
        asked(), policy=policy(triggers=Triggers(checks=False))
    ),
}


@pytest.mark.parametrize("name", YES)
def test_it_is_admitted(name: str) -> None:
    assert told(YES[name]) is None


@pytest.mark.parametrize("facts", [unasked(), asked(comment=None)], ids=["unasked", "asked"])
@pytest.mark.parametrize(
    ("now", "reason"), [(OTHER, "moved on from aaaaaaaa to bbbbbbbb"), (None, "was deleted")]
)
def test_a_commit_that_work_left_behind_is_stale(
    facts: Facts, now: str | None, reason: str
) -> None:
    stale = replace(facts, pull=None, head_now=now)
    outcome, said = told(stale) or ("", "")
    assert (outcome, reason in said) == (Outcome.STALE, True)


def test_who_set_off_the_red_runs_is_told_once_each() -> None:
    runs = (
        RUN.with_(triggering_actor="reader"),
        RUN.with_(id=2, actor=""),
        RUN.with_(id=3, event="push"),
    )
    assert list_actors(UNASKED_REQUEST.with_(actors=("who",)), runs) == ("writer", "reader")
    assert list_actors(UNASKED_REQUEST.with_(actors=("who", "who")), ()) == ("who",)


def test_a_policy_that_cannot_be_read_is_named_in_the_refusal() -> None:
    broken = RepositoryPolicy(
        enabled=False, origins={"enabled": "p.yml:3"}, problems=("p.yml:3: the file is not YAML",)
    )
    assert "(p.yml:3: the file is not YAML)" in (told(replace(FACTS, policy=broken)) or ("", ""))[1]


@pytest.mark.parametrize(
    ("policy", "denied"),
    [
        (RepositoryPolicy(), "continuous.schedule"),
        (RepositoryPolicy(continuous=ContinuousImprovement(after_merge=True)), ""),
        (RepositoryPolicy(continuous=ContinuousImprovement(schedule="daily")), ""),
        (
            RepositoryPolicy(schedule="never", continuous=ContinuousImprovement(schedule="weekly")),
            "",
        ),
        (
            RepositoryPolicy(automatic=False, continuous=ContinuousImprovement(schedule="daily")),
            "automatic",
        ),
    ],
)
def test_continuous_missions_need_their_own_policy_key(
    policy: RepositoryPolicy, denied: str
) -> None:
    policy = policy.with_(origins={denied: "metaagent.yml:7"})
    request = UNASKED_REQUEST.with_(trigger=Trigger.SCHEDULE, check=None, continuous=True)
    no = find_refusal(replace(FACTS, request=request, policy=policy))
    assert (no is not None) is bool(denied)
    assert no is None or "metaagent.yml:7" in no.reason
