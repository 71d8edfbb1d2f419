"""Whose money is spent, and how much of it may be."""

from datetime import date

import pytest

from bot.domain.account import ModelLimits, account_of
from bot.domain.policy import PolicyLimits, RepositoryPolicy
from bot.domain.request import MissionRequest, Trigger
from tests.builders import a_repository

TODAY = date(2026, 1, 2)


def a_request(**changes: object) -> MissionRequest:
    values = {"mission_id": "m-1", "trigger": Trigger.CHECK_RUN, "repository": a_repository(), "head_branch": "topic"}
    return MissionRequest.model_validate(values | changes)


def a_policy(usd: float) -> RepositoryPolicy:
    return RepositoryPolicy(limits=PolicyLimits(usd_per_mission=usd, usd_per_pull_request=usd, usd_per_day=usd))


@pytest.mark.parametrize(("policy", "ours", "allowed"), [(1.0, 5.0, 1.0), (100.0, 5.0, 5.0), (0.0, 5.0, 0.0)])
def test_the_lower_of_policy_and_settings_counts(policy: float, ours: float, allowed: float) -> None:
    limits = ModelLimits(usd_per_mission=ours, usd_per_day=ours)
    account = account_of(a_request(), a_policy(policy), limits, TODAY)
    assert (account.usd_per_mission, account.usd_per_day) == (allowed, allowed)


def test_it_is_booked_to_the_pull_request_or_else_to_the_branch() -> None:
    booked = [
        account_of(request, RepositoryPolicy(), ModelLimits(), TODAY).pull_request
        for request in (a_request(pull_request=7), a_request())
    ]
    assert booked == ["7", "branch:topic"]


def test_a_folder_has_an_account_of_its_own() -> None:
    account = account_of(a_request(repository=None, folder="/here"), RepositoryPolicy(), ModelLimits(), TODAY)
    assert (account.repository, account.day) == ("local:/here", "2026-01-02")
