"""Whose money is spent, and how much of it may be."""

from datetime import date

import pytest

from bot.domain.account import Account, Kind, ModelLimits, Quota, Scope, build_account
from bot.domain.policy import PolicyLimits, RepositoryPolicy
from bot.domain.request import MissionRequest, Trigger
from tests.builders import a_repository

TODAY = date(2026, 1, 2)


def a_request(**changes: object) -> MissionRequest:
    values = {
        "mission_id": "m-1",
        "trigger": Trigger.CHECK_RUN,
        "repository": a_repository(),
        "head_branch": "topic",
    }
    return MissionRequest.model_validate(values | changes)


def a_policy(usd: float) -> RepositoryPolicy:
    return RepositoryPolicy(
        limits=PolicyLimits(usd_per_mission=usd, usd_per_pull_request=usd, usd_per_day=usd)
    )


def most(account: Account, kind: Kind, scope: Scope) -> float | None:
    return next(
        (one.most for one in account.ceilings if (one.kind, one.scope) == (kind, scope)), None
    )


@pytest.mark.parametrize(
    ("policy", "ours", "allowed"), [(1.0, 5.0, 1.0), (100.0, 5.0, 5.0), (0.0, 5.0, 0.0)]
)
def test_the_lower_of_policy_and_settings_counts(
    policy: float, ours: float, allowed: float
) -> None:
    limits = ModelLimits(usd_per_mission=ours, usd_per_day=ours)
    account = build_account(a_request(), a_policy(policy), limits, TODAY)
    assert (most(account, Kind.USD, Scope.MISSION), most(account, Kind.USD, Scope.DAY)) == (
        allowed,
        allowed,
    )
    assert account.is_penniless == (policy == 0.0)


def test_a_ceiling_is_named_as_whoever_set_it_knows_it() -> None:
    account = build_account(
        a_request(),
        RepositoryPolicy(),
        Quota(missions_per_day=7, seconds_per_day_total=60.0),
        TODAY,
    )
    names = {one.name: one.most for one in account.ceilings}
    assert (names["quota.missions_per_day"], names["quota.seconds_per_day_total"]) == (7, 60.0)
    assert names["limits.seconds_per_day"] == PolicyLimits().seconds_per_day
    assert "limits.missions_per_day" not in names


def test_only_what_belongs_to_an_installation_is_held_to_its_ceilings() -> None:
    quota = Quota(missions_per_day_installation=7)
    for number, expected in ((9, 7.0), (None, None)):
        request = a_request(repository=a_repository().with_(installation_id=number))
        account = build_account(request, RepositoryPolicy(), quota, TODAY)
        assert most(account, Kind.MISSIONS, Scope.INSTALLATION) == expected


def test_it_is_booked_to_the_pull_request_or_else_to_the_branch_and_its_day() -> None:
    booked = [
        build_account(request, RepositoryPolicy(), ModelLimits(), TODAY).pull_request
        for request in (a_request(pull_request=7), a_request())
    ]
    assert booked == ["7", "branch:topic 2026-01-02"]


def test_a_folder_has_an_account_of_its_own() -> None:
    account = build_account(
        a_request(repository=None, folder="/here"), RepositoryPolicy(), ModelLimits(), TODAY
    )
    assert (account.repository, account.day) == ("local:/here", "2026-01-02")
