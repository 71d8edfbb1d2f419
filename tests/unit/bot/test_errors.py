"""Every error says whose fault it is and what to do; the drawing above the tree is the tree."""

import re

import pytest

from bot import errors
from bot.domain.model_error import ModelError
from bot.errors import DeliveryRejected, GitHubError, MetaAgentError, NotPermitted, RateLimited
from sandbox import errors as sandbox_errors
from sandbox.errors import SandboxError, SetupFailed


def family(root: type[Exception]) -> set[type[Exception]]:
    return {root}.union(*(family(child) for child in root.__subclasses__()))


BOT = {
    kind
    for kind in family(MetaAgentError)
    if kind.__module__ in {"bot.errors", ModelError.__module__}
}
SANDBOX = {kind for kind in family(SandboxError) if kind.__module__ == "sandbox.errors"}


@pytest.mark.parametrize(
    ("page", "kinds"),
    [(errors.__doc__, BOT), (sandbox_errors.__doc__, SANDBOX)],
    ids=["bot", "sandbox"],
)
def test_the_drawing_shows_every_error_and_no_other(page: str, kinds: set[type[Exception]]) -> None:
    drawn = set(re.findall(r"^(?:[│ ]*[├└]── )?([A-Z]\w+)(?= {2}|$)", page, re.MULTILINE))
    assert drawn >= {kind.__name__ for kind in kinds}
    assert {name for name in drawn if name.endswith("Error")} <= {kind.__name__ for kind in kinds}


@pytest.mark.parametrize("kind", sorted(BOT, key=repr))
def test_every_error_of_the_bot_names_one_at_fault(kind: type[MetaAgentError]) -> None:
    assert kind.fault in errors.Fault


@pytest.mark.parametrize("kind", sorted(SANDBOX, key=repr))
def test_every_error_of_the_sandbox_names_one_at_fault(kind: type[SandboxError]) -> None:
    assert kind.fault in sandbox_errors.FaultOwner


def test_message_and_advice_are_kept_apart() -> None:
    error = MetaAgentError("it is red", "paint it")
    assert (str(error), error.message, error.advice) == ("it is red", "it is red", "paint it")


def test_a_rejected_delivery_carries_its_status() -> None:
    assert DeliveryRejected("too large", status=413).status == 413


def test_a_refusal_of_github_says_whether_to_ask_again() -> None:
    assert not GitHubError("no", status=422).retryable
    limited = RateLimited("slow down", retry_after_s=30.0)
    assert (limited.status, limited.retryable, limited.retry_after_s) == (429, True, 30.0)
    assert NotPermitted("no", "grant it", status=403).fault is errors.Fault.OPERATOR


def test_a_failed_set_up_carries_the_end_of_its_output() -> None:
    assert SetupFailed("no wheel", log="ERROR: no matching distribution").log.startswith("ERROR")
