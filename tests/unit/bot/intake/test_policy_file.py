"""The policy file: every mistake is named, none is fatal."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.policy import RepositoryPolicy
from bot.intake.policy_file import MAX_BYTES, POLICY_PATH, read_folder_policy, read_policy


def test_no_file_means_the_defaults() -> None:
    assert read_policy(None) == RepositoryPolicy()


def test_an_empty_file_means_the_defaults() -> None:
    assert read_policy(b"# nothing\n") == RepositoryPolicy()


def test_all_keys_are_read() -> None:
    policy = read_policy(
        b"enabled: true\nautomatic: false\nrungs: [0]\ntest_command: pytest -q\nsetup:\n  - make deps\n"
        b'python: "3.11"\ndraft: true\ntime_limit_s: 30\n'
    )
    assert policy == RepositoryPolicy(
        automatic=False,
        rungs=(0,),
        test_command="pytest -q",
        setup=("make deps",),
        python="3.11",
        draft=True,
        time_limit_s=30.0,
    )


def test_unknown_keys_are_named_and_the_rest_is_kept() -> None:
    policy = read_policy(b"colour: red\ndraft: true\n")
    assert policy.draft
    assert policy.problems == ("unknown key `colour`",)


@pytest.mark.parametrize(
    "line",
    [
        "rungs: all",
        "rungs: [7]",
        "test_command: [pytest]",
        "setup: pip install x",
        "python: 3.11",
        "python: '2.7'",
        "draft: maybe",
        "time_limit_s: -1",
        "time_limit_s: true",
    ],
)
def test_a_wrong_value_costs_its_own_key_only(line: str) -> None:
    policy = read_policy(f"{line}\nautomatic: true\n".encode())
    (problem,) = policy.problems
    assert line.partition(":")[0] in problem
    assert policy == RepositoryPolicy(problems=policy.problems)


@pytest.mark.parametrize("line", ["enabled: nope", "automatic: 1"])
def test_a_switch_that_cannot_be_read_stops_unasked_work(line: str) -> None:
    policy = read_policy(line.encode())
    assert not policy.automatic
    assert policy.problems


@pytest.mark.parametrize(
    "content",
    [
        b"a: [1, 2",
        b"- 1\n- 2\n",
        b"\xff\xfe",
        b"x: !!python/object/apply:os.system ['true']",
        b"a: &a [1]\nb: [*a, *a]\n",
        b"x" * (MAX_BYTES + 1),
        b"[" * 20_000,
        b"when: 9999-99-99\n",
    ],
)
def test_a_file_that_cannot_be_read_stops_unasked_work_and_says_so(content: bytes) -> None:
    policy = read_policy(content)
    assert policy.problems
    assert not policy.automatic


@given(st.binary(max_size=300))
def test_no_content_ever_raises(content: bytes) -> None:
    read_policy(content)


@given(
    st.dictionaries(
        st.sampled_from(list(RepositoryPolicy.model_fields)),
        st.one_of(st.integers(), st.text(max_size=9), st.booleans()),
    )
)
def test_no_mapping_ever_raises(document: dict[str, Any]) -> None:
    import yaml

    read_policy(yaml.safe_dump(document).encode())


def test_the_policy_of_a_folder_is_read_from_its_file_and_never_through_a_link(tmp_path: Path) -> None:
    assert read_folder_policy(tmp_path) == RepositoryPolicy()
    file = tmp_path / POLICY_PATH
    file.parent.mkdir()
    file.write_text("test_command: make check\nrungs: [0]\n")
    assert read_folder_policy(tmp_path) == RepositoryPolicy(test_command="make check", rungs=(0,))
    file.rename(tmp_path / "elsewhere.yml")
    file.symlink_to(tmp_path / "elsewhere.yml")
    assert read_folder_policy(tmp_path) == RepositoryPolicy()
    file.unlink()
    file.mkdir()
    assert read_folder_policy(tmp_path) == RepositoryPolicy()
