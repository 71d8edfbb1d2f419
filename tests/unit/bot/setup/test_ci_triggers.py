"""Whether a workflow starts on our branch, and on our pull requests, is read from its `on:`."""

import pytest

from bot.setup.ci_triggers import WorkflowTriggers, read_triggers


def starts(text: str) -> WorkflowTriggers:
    return read_triggers(
        ".github/workflows/ci.yml",
        text.encode(),
        default_branch="main",
        our_branch="metaagent/fix/x",
        feature_branch="feature/y",
    )


@pytest.mark.parametrize(
    ("on", "ours", "default", "feature"),
    [
        ("on: push", True, False, False),
        ("on: [push, pull_request]", True, True, True),
        ("'on':\n  push:\n  pull_request:\n", True, True, True),
        ("on:\n  pull_request: {branches: [main]}\n  push: {branches: main}\n", False, True, False),
        ("on:\n  pull_request:\n    branches: ['**']\n", False, True, True),
        ("on:\n  pull_request:\n    branches: ['*']\n", False, True, False),
        ("on:\n  push: {branches-ignore: ['metaagent/**']}\n", False, False, False),
        ("on:\n  push: {branches-ignore: [main]}\n", True, False, False),
        ("on:\n  push: {tags: ['v*']}\n", False, False, False),
        ("on:\n  pull_request: {branches: ['**', '!feature/**']}\n", False, True, False),
        ("on:\n  pull_request: {paths: ['src/**']}\n", False, True, True),
        ("on: workflow_dispatch", False, False, False),
        ("on:\n  pull_request_target:\n", False, False, False),
        ("jobs: {}", False, False, False),
        ("", False, False, False),
        ("on: 3", False, False, False),
        ("on:\n  push: nonsense\n", True, False, False),
    ],
)
def test_the_events_and_their_filters_are_read(
    on: str, *, ours: bool, default: bool, feature: bool
) -> None:
    found = starts(on)
    assert (found.on_our_branch, found.on_default, found.on_feature) == (ours, default, feature)
    assert not found.problem


@pytest.mark.parametrize(
    "text", ["on: [", "a: &x [1]\nb: *x", "- a", "x: " + "[" * 50, "# " + "x" * 40_000]
)
def test_what_cannot_be_read_is_told_and_not_guessed(text: str) -> None:
    found = starts(text)
    assert found.problem
    assert [found.on_our_branch, found.on_default, found.on_feature] == [False] * 3
