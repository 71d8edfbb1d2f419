"""Inputs of the Action: what is not given is left open, what is wrong is named as the workflow names it."""

import pytest

from bot.action.inputs import ActionInputs
from bot.domain.policy import DeliveryRule, RepositoryPolicy
from bot.errors import UsageError


def read(**given: str) -> ActionInputs:
    return ActionInputs.of({f"INPUT_{name.upper()}": value for name, value in given.items()})


def test_nothing_given_asks_for_a_pull_request_and_leaves_the_policy_as_it_is() -> None:
    inputs = read(mode="", rungs="", draft=" ")
    policy = RepositoryPolicy(draft=True, rungs=(0,), test_command="make test")
    assert inputs.policy(policy) == policy.with_(deliver=(DeliveryRule(deliver="pull-request"),))


def test_what_is_given_wins_over_the_policy() -> None:
    inputs = read(
        mode="commit",
        rungs="1, 0",
        draft="true",
        time_limit="30",
        max_cost_usd="0.5",
        test_command="pytest",
    )
    policy = inputs.policy(RepositoryPolicy())
    assert [rule.deliver for rule in policy.deliver] == ["push"]
    assert (policy.rungs, policy.draft, policy.time_limit) == ((0, 1), True, 30.0)
    assert (policy.limits.usd_per_mission, policy.test_command) == (0.5, "pytest")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "yolo"),
        ("rungs", "0,3"),
        ("rungs", "one"),
        ("max_attempts", "0"),
        ("max_cost_usd", "-1"),
        ("max_cost_usd", "nan"),
        ("time_limit", "soon"),
        ("draft", "perhaps"),
        ("branch_prefix", "main"),
        ("branch_prefix", "../x/"),
        ("working_directory", "../elsewhere"),
        ("working_directory", "/etc"),
    ],
)
def test_a_wrong_input_is_named_and_its_value_is_not_shown(name: str, value: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(**{name: value})
    assert raised.value.message.startswith(f"input {name.replace('_', '-')}: ")


def test_several_users_stand_in_one_text() -> None:
    assert read(allow_users="ann, bea\n  carl").allow_users == ("ann", "bea", "carl")


@pytest.mark.parametrize(
    ("given", "folder"), [("", ""), (".", ""), ("./", ""), ("services/api/", "services/api/")]
)
def test_a_project_below_the_top_has_a_folder(given: str, folder: str) -> None:
    assert read(working_directory=given).folder == folder


def test_secrets_are_never_shown() -> None:
    inputs = read(github_token="ghs_1234567890", api_key="sk-abc")
    assert inputs.secrets == ("ghs_1234567890", "sk-abc")
    assert "1234567890" not in repr(inputs)
    assert "sk-abc" not in str(inputs)


def test_the_most_a_step_may_spend_is_not_less_because_of_what_several_may() -> None:
    limits = read(max_cost_usd="20").policy(RepositoryPolicy()).limits
    assert (limits.usd_per_mission, limits.usd_per_pull_request, limits.usd_per_day) == (
        20.0,
        20.0,
        20.0,
    )
    limits = read(max_cost_usd="0.5").policy(RepositoryPolicy()).limits
    assert (limits.usd_per_mission, limits.usd_per_pull_request, limits.usd_per_day) == (
        0.5,
        3.0,
        10.0,
    )
