"""Names from outside never change an address."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import GitHubError
from bot.github import names
from tests.builders import a_repository


@pytest.mark.parametrize(
    "branch", ["main", "feature/one", "fix#1", "50%25", "日本", "a@b", "x.y", "release/1.0"]
)
def test_branches_that_git_knows_are_quoted_and_come_back(branch: str) -> None:
    assert unquote(names.branch_segment(branch)) == branch


@pytest.mark.parametrize(
    "branch",
    [
        *(
            "",
            "@",
            "../x",
            "a..b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?b",
            "a*",
            "a[b",
            "a\\b",
            "-a",
            "/a",
            "a/",
            "a.",
        ),
        *("a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a@{b", "a\nb", "a\x7f", "x" * 300),
    ],
)
def test_branches_that_git_refuses_are_refused(branch: str) -> None:
    with pytest.raises(GitHubError, match="branch name"):
        names.branch_segment(branch)


@given(st.text(max_size=40))
def test_no_branch_name_leaves_its_place(branch: str) -> None:
    if names.is_branch_name(branch):
        segment = names.branch_segment(branch)
        assert not set(segment) & set("?# \\")
        assert ".." not in segment


@pytest.mark.parametrize(
    ("owner", "name"),
    [("..", "x"), ("o", ".."), ("o/p", "x"), ("o", "x?y"), ("", "x"), ("o", "x#")],
)
def test_repositories_with_impossible_names_are_refused(owner: str, name: str) -> None:
    with pytest.raises(GitHubError, match="not the name"):
        names.repository_path(a_repository(owner=owner, name=name))


@pytest.mark.parametrize(
    "path", ["", "/a", "a/../b", "..", "./a", "a//b", ".git/config", "a/.GIT/x", "a\\b", "a\x00"]
)
def test_paths_that_leave_the_repository_are_refused(path: str) -> None:
    with pytest.raises(GitHubError, match="path"):
        names.file_segment(path)


def test_a_path_is_quoted_but_for_its_slashes() -> None:
    assert names.file_segment("a b/c#?.py") == "a%20b/c%23%3F.py"


@pytest.mark.parametrize("sha", ["", "main", "a" * 39, "A" * 40, "a" * 41, "../" + "a" * 37])
def test_only_whole_commits_pass_as_commits(sha: str) -> None:
    with pytest.raises(GitHubError, match="not a commit"):
        names.sha_segment(sha)


def test_a_bot_login_is_quoted() -> None:
    assert names.login_segment("metaagent[bot]") == "metaagent%5Bbot%5D"
