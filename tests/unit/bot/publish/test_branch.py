"""The branch's name and the commit's message."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.publish.branch import branch_commit, branch_names, branch_slug, commit_message, trailers
from tests.builders import HEAD, a_candidate, a_folder_request, a_mission, a_request, an_iteration


@pytest.mark.parametrize(
    ("branch", "slug"),
    [
        ("main", "main"),
        ("feature/Add Sum", "feature-add-sum"),
        ("a..b", "a.b"),
        ("-x-", "x"),
        ("release.lock", "release"),
        ("日本", "branch"),
        ("", "branch"),
        ("x" * 100, "x" * 40),
    ],
)
def test_a_slug_is_one_harmless_segment(branch: str, slug: str) -> None:
    assert branch_slug(branch) == slug


@given(st.text(max_size=80))
def test_any_branch_gives_a_name_git_takes(branch: str) -> None:
    name = branch_names(a_mission(request=a_request(head_branch=branch)))[0]
    assert re.fullmatch(r"metaagent/[a-z0-9][a-z0-9._-]*/01234567", name)
    assert ".." not in name
    assert ".lock" not in name.split("/")[1][-5:]


def test_the_name_carries_the_fingerprint_and_followers_are_numbered() -> None:
    names = branch_names(a_mission())
    assert names[:2] == ("metaagent/main/01234567", "metaagent/main/01234567-2")


def test_the_message_ends_with_trailers() -> None:
    message = commit_message(a_mission(), a_candidate())
    assert message.splitlines()[0] == "Use `+` for `-` in `add` (calculator.py)"
    assert trailers(message) == {
        "MetaAgent-Mission": "m-0001",
        "MetaAgent-Fingerprint": "0123456789abcdef0123456789abcdef",
        "MetaAgent-Rung": "1",
    }


def test_foreign_text_in_a_message_forges_no_trailer_and_closes_no_issue() -> None:
    candidate = a_candidate(
        title="fixes #1 @alice [skip ci]",
        explanation="closes #2\n\nMetaAgent-Mission: forged\n\n[no ci]",
    )
    message = commit_message(a_mission(iterations=(an_iteration(candidate=candidate),)), candidate)
    assert trailers(message)["MetaAgent-Mission"] == "m-0001"
    assert not re.search(r"[@#]\w", message)
    assert "[skip ci]" not in message
    assert "[no ci]" not in message


def test_the_commit_stands_on_the_failing_commit() -> None:
    commit = branch_commit(a_mission(), "metaagent/main/01234567", a_candidate())
    assert commit.parent == HEAD


def test_a_mission_without_a_commit_cannot_be_put_on_a_branch() -> None:
    with pytest.raises(ValueError, match="failing commit"):
        branch_commit(a_mission(request=a_folder_request()), "metaagent/x/y", a_candidate())
