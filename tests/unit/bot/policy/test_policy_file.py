"""The policy file: every mistake is named by line, and none allows more than was meant."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from bot.domain.policy import (
    ContinuousImprovement,
    DeliveryRule,
    PolicyLimits,
    RepositoryPolicy,
    ScheduledImprovement,
    Triggers,
)
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError, NotFound, NotPermitted
from bot.policy.document import MAX_BYTES
from bot.policy.keys import GROUPS, STRICTEST, every_key
from bot.policy.policy_file import POLICY_PATH, load_policy, read_folder_policy, read_policy
from bot.policy.rules import delivery_for
from tests.builders import a_repository
from tests.fakes.fake_github import FakeGitHub


def told(policy: RepositoryPolicy) -> RepositoryPolicy:
    """A policy without where it comes from."""
    return policy.with_(origins={})


def test_no_file_means_the_defaults() -> None:
    assert read_policy(None) == RepositoryPolicy()


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"---\n", b"\xef\xbb\xbf\r\n"])
def test_an_empty_file_means_the_defaults(content: bytes) -> None:
    assert read_policy(content) == RepositoryPolicy()


ALL_KEYS = b"""
enabled: true
automatic: false
mode: staged
triggers: {checks: true, statuses: false, comments: true, labels: false, buttons: true}
rungs: [0]
test_command: pytest -q
setup:
  - make deps
python: "3.11"
time_limit: 30
flaky_reruns: 5
dependencies: never
paths_allowed: [src/**]
paths_protected: [src/legal]
base_branches: [main, release/*]
forks: never
deliver:
  - deliver: push
    rungs: [0]
    paths: ["src/**"]
    min_confidence: 0.9
draft: yes
reviewers: [octo, org/team]
labels: [bot]
regression_test: true
expire_days: 7
schedule: daily
dashboard_issue: true
limits:
  attempts: 2
  open_pull_requests: 1
  seconds_per_mission: 600
  seconds_per_pull_request: 900
  seconds_per_day: null
  missions_per_pull_request: 4
  missions_per_day: 9
  usd_per_mission: 0.5
  usd_per_pull_request: 1
  usd_per_day: 2
  tokens_per_mission: 1000
  tokens_per_pull_request: 2000
  tokens_per_day: 3000
continuous: {schedule: daily, after_merge: true, missions: 2}
improve: {schedule: weekly}
"""


def test_all_keys_are_read_and_every_one_says_its_line() -> None:
    policy = read_policy(ALL_KEYS)
    assert told(policy) == RepositoryPolicy(
        automatic=False,
        mode="staged",
        triggers=Triggers(statuses=False, labels=False),
        rungs=(0,),
        test_command="pytest -q",
        setup=("make deps",),
        python="3.11",
        time_limit=30.0,
        flaky_reruns=5,
        dependencies="never",
        paths_allowed=("src/**",),
        paths_protected=("src/legal",),
        base_branches=("main", "release/*"),
        forks="never",
        deliver=(DeliveryRule(deliver="push", rungs=(0,), paths=("src/**",), min_confidence=0.9),),
        draft=True,
        reviewers=("octo", "org/team"),
        labels=("bot",),
        regression_test=True,
        expire_days=7,
        schedule="daily",
        dashboard_issue=True,
        limits=PolicyLimits(
            attempts=2,
            open_pull_requests=1,
            seconds_per_mission=600.0,
            seconds_per_pull_request=900.0,
            seconds_per_day=None,
            missions_per_pull_request=4,
            missions_per_day=9,
            usd_per_mission=0.5,
            usd_per_pull_request=1.0,
            usd_per_day=2.0,
            tokens_per_mission=1000,
            tokens_per_pull_request=2000,
            tokens_per_day=3000,
        ),
        continuous=ContinuousImprovement(schedule="daily", after_merge=True, missions=2),
        improve=ScheduledImprovement(schedule="weekly"),
    )
    assert set(policy.origins) == {key for key, _, _ in every_key()}
    assert policy.origins["setup"] == f"{POLICY_PATH}:8"
    assert policy.origins["limits.attempts"] == f"{POLICY_PATH}:31"


PYPROJECT = b"""[project]
name = "x"
[tool.metaagent]
draft = true
rungs = "all"

[tool.metaagent.limits]
attempts = 99

[[tool.metaagent.deliver]]
deliver = "push"
[[tool.metaagent.deliver]]
deliver = "shove"
"""


def test_a_pyproject_is_read_in_its_table_and_told_by_line() -> None:
    policy = read_policy(PYPROJECT, "pyproject.toml")
    assert policy.draft
    assert policy.origins["draft"] == "pyproject.toml:4"
    assert [problem.split(" Input")[0] for problem in policy.problems] == [
        "pyproject.toml:5: `rungs`:",
        "pyproject.toml:8: `limits.attempts`:",
        "pyproject.toml:13: `deliver`:",
    ]
    assert (policy.rungs, policy.limits.attempts, policy.deliver[0].deliver) == ((), 0, "report")


@pytest.mark.parametrize(
    "content", [b"[project]\nname = 'x'\n", b"[project\n", b"tool = 1\nx = 'metaagent'\n"]
)
def test_a_pyproject_that_says_nothing_of_us_says_nothing(content: bytes) -> None:
    assert read_policy(content, "pyproject.toml") == RepositoryPolicy()


@pytest.mark.parametrize(
    "content",
    [
        b"[tool.metaagent]\nenabled = \n",
        b"[tool]\nmetaagent = 1\n",
        b"tool.metaagent.x = 1\n" * 20_000,
    ],
)
def test_a_pyproject_that_names_us_and_cannot_be_read_allows_nothing(content: bytes) -> None:
    assert not read_policy(content, "pyproject.toml").enabled


OURS = b"[tool.metaagent]\ndraft = true\n"
BLANKS, DEEP = b" " * 100_000, b"a." * 50_000
LONG: dict[str, tuple[bytes, bool]] = {
    "blanks behind a bracket": (b'x = """\n[' + BLANKS + b'!\n"""\n', True),
    "blanks": (b'x = """\n' + BLANKS + b'!\n"""\n', True),
    "dots in words": (b"x = '" + DEEP + b"'  # " + DEEP + b"\n", True),
    "dots behind a quote in words": (b'x = "\\"' + DEEP + b'"\n', True),
    "a word of backslashes": (b'x = """\n' + b"\\\\" * 50_000 + b'"""\n', True),
    "a long list": (b"y = [" + b'"a==1.2.3", ' * 9_000 + b"]\n", True),
    "a deep key": (DEEP + b"a = 1\n", False),
    "a deep table": (b"[" + DEEP + b"a]\n", False),
    "a deep key in braces": (b"x = {" + DEEP + b"a = 1}\n", False),
    "a deep key with quotes": (b'"\\"".' + DEEP + b"'\"' = 1\n", False),
    "a deep key behind a long word": (b'x = ["""\n"""", {' + DEEP + b"a = 1}]\n", False),
    "a deep key behind a long plain word": (b"x = ['''\n'''', {" + DEEP + b"a = 1}]\n", False),
    "a deep key over many lines of another kind": (
        ('a."\u2028".' * 25_000).encode() + b"a = 1\n",
        False,
    ),
    "a quote without an end": (b'"' + b'\\"' * 100_000 + b"\n", False),
    "quotes without ends": (b'"""' + b'"\\' * 100_000 + b"\n", False),
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_pyproject_is_read_or_refused_in_no_time(name: str) -> None:
    content, read = LONG[name]
    begun = time.perf_counter()
    policy = read_policy(OURS + content, "pyproject.toml")
    assert time.perf_counter() - begun < 10
    assert (policy.enabled, policy.draft) == (read, True)


def test_unknown_keys_are_named_by_line_and_the_rest_is_kept() -> None:
    policy = read_policy(b"# ours\ncolour: red\ndraft: true\nlimits:\n  moon: 1\norigins: {}\n")
    assert policy.draft
    assert policy.problems == (
        f"{POLICY_PATH}:2: unknown key `colour`",
        f"{POLICY_PATH}:5: unknown key `limits.moon`",
        f"{POLICY_PATH}:6: unknown key `origins`",
    )


@pytest.mark.parametrize(
    ("line", "key", "counts"),
    [
        ("enabeld: false", "enabled", False),
        ("Enabled: false", "enabled", False),
        ("PATHS-ALLOWED: [src]", "paths_allowed", ()),
        ("paths_protect: [src]", "paths_protected", ("**",)),
        ("limits: {attempt: 0}", "limits.attempts", 0),
        ("trigger: {checks: false}", "triggers.checks", False),
    ],
)
def test_a_misspelt_restriction_counts_as_the_strictest(
    line: str, key: str, counts: object
) -> None:
    policy = read_policy(line.encode())
    assert value_of(policy, key) == counts
    (problem,) = policy.problems
    assert f"is `{key.split('.', maxsplit=1)[0] if 'trigger' in key else key}` meant?" in problem
    assert policy.origins[key] == f"{POLICY_PATH}:1"


def test_a_misspelt_key_beside_the_right_one_changes_nothing() -> None:
    assert read_policy(b"enabled: true\nenable: false\n").enabled


@pytest.mark.parametrize(
    "line", ["test_command: [pytest]", "setup: pip install x", "python: 3.11", "labels: [1]"]
)
def test_a_wrong_value_of_a_key_that_restricts_nothing_counts_as_not_set(line: str) -> None:
    policy = read_policy(f"{line}\ndraft: true\n".encode())
    (problem,) = policy.problems
    assert line.partition(":")[0] in problem
    assert policy == RepositoryPolicy(draft=True, problems=policy.problems, origins=policy.origins)


@pytest.mark.parametrize("key", STRICTEST)
@pytest.mark.parametrize(
    "value",
    ["[[1]]", "!!python/object:os.x {}", "2001-01-01", "1e999", "{?: 1}", "-7", "9" * 5_000],
)
def test_a_wrong_value_of_a_restriction_counts_as_the_strictest(key: str, value: str) -> None:
    group, dot, name = key.partition(".")
    text = f"{group}:\n  {name}: {value}\n" if dot else f"{key}: {value}\n"
    policy = read_policy(text.encode())
    assert value_of(policy, key) == STRICTEST[key]
    assert policy.problems[0].startswith(f"{POLICY_PATH}:{2 if dot else 1}: `{key}`: ")


def test_what_is_set_twice_counts_as_the_strictest() -> None:
    policy = read_policy(b"draft: false\nenabled: true\nenabled: true\n")
    assert not policy.enabled
    assert policy.problems == (
        f"{POLICY_PATH}:3: `enabled`: it is set twice, first in line 2; the strictest value applies until this is corrected",
    )


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_that_is_none_is_strict_in_all_its_keys(group: str) -> None:
    policy = read_policy(f"{group}: nonsense\n".encode())
    assert all(
        value_of(policy, key) == value for key, value in STRICTEST.items() if key.startswith(group)
    )


@pytest.mark.parametrize(
    "rule",
    ["deliver: shove", "rungs: [0]", "{deliver: push, path: src}", "{deliver: push, paths: [1]}"],
)
def test_one_wrong_rule_leaves_words_only(rule: str) -> None:
    policy = read_policy(f"deliver:\n- {rule}\n- deliver: push\n".encode())
    assert delivery_for(policy, rung=0, paths=("a.py",), confidence=1.0) == "report"
    assert policy.problems[0].startswith(f"{POLICY_PATH}:2: `deliver`: ")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"draft: true\na: [1, 2", 2),
        (b"- 1\n- 2\n", 1),
        (b"draft: true\n\xff\xfe", 2),
        (b"draft: true\na: &a [1]\nb: [*a, *a]\n", 2),
        (b"x" * (MAX_BYTES + 1), 1),
        (b"[" * 20_000, 1),
        (b"- " * 2_000, 1),
        (b"a: [" + b"1," * 5_000 + b"]", 1),
        (b"a: 1\n---\nb: 2\n", 2),
        (b"a: \x00", 1),
    ],
)
def test_a_file_that_cannot_be_read_allows_nothing_and_says_where(
    content: bytes, line: int
) -> None:
    policy = read_policy(content)
    # Words are still allowed, or nobody would learn of it.
    assert {key: value_of(policy, key) for key in STRICTEST} == {**STRICTEST, "mode": "active"}
    (problem,) = policy.problems
    assert problem.startswith(f"{POLICY_PATH}:{line}: ")


def test_what_somebody_wrote_is_shown_short_and_harmless() -> None:
    (problem,) = read_policy(
        b'test_command: ["`@everyone` \\u202e\\n' + b"x" * 500 + b'"]'
    ).problems
    assert "`@everyone`" not in problem
    assert "\u202e" not in problem
    assert len(problem) < 200


@given(st.binary(max_size=300))
def test_no_content_ever_raises(content: bytes) -> None:
    read_policy(content)
    read_policy(b"[tool.metaagent]\n" + content, "pyproject.toml")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from([*RepositoryPolicy.model_fields, "rung"]), VALUES, max_size=4)
)
def test_a_value_is_taken_as_it_is_or_named(document: dict[str, Any]) -> None:
    policy = read_policy(yaml.safe_dump(document).encode())
    for key, value in document.items():
        if not any(f"`{key}" in problem for problem in policy.problems) and key not in GROUPS:
            assert json.loads(policy.model_dump_json())[key] == value or key == "deliver"


def test_the_policy_of_a_folder_is_read_from_its_file_and_never_through_a_link(
    tmp_path: Path,
) -> None:
    assert read_folder_policy(tmp_path) == RepositoryPolicy()
    file = tmp_path / POLICY_PATH
    file.parent.mkdir()
    file.write_text("test_command: make check\nrungs: [0]\n")
    assert told(read_folder_policy(tmp_path)) == RepositoryPolicy(
        test_command="make check", rungs=(0,)
    )
    file.rename(tmp_path / "elsewhere.yml")
    file.symlink_to(tmp_path / "elsewhere.yml")
    assert read_folder_policy(tmp_path) == RepositoryPolicy()
    file.unlink()
    file.mkdir()
    assert read_folder_policy(tmp_path) == RepositoryPolicy()


def test_a_folder_that_cannot_be_looked_into_allows_nothing(tmp_path: Path) -> None:
    policy = read_folder_policy(tmp_path / ("x" * 300))
    assert not policy.enabled
    assert policy.problems == (
        f"{POLICY_PATH}: the file cannot be read (OSError); nothing is allowed",
    )


def test_the_first_of_a_folder_s_three_files_counts(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(PYPROJECT)
    assert read_folder_policy(tmp_path).draft
    (tmp_path / "metaagent.yml").write_text("labels: [bot]\n")
    policy = read_folder_policy(tmp_path)
    assert (policy.draft, policy.labels, policy.origins) == (
        False,
        ("bot",),
        {"labels": "metaagent.yml:1"},
    )


HOME = ".github/metaagent.yml"


@pytest.mark.anyio
@pytest.mark.parametrize("path", [POLICY_PATH, "metaagent.yml", "pyproject.toml"])
async def test_a_repository_s_policy_stands_in_one_of_three_places(path: str) -> None:
    github = FakeGitHub()
    github.files["main", path] = PYPROJECT if path.endswith(".toml") else b"draft: true\n"
    policy = await load_policy(a_repository(), github)
    assert policy.draft
    assert policy.origins["draft"].startswith(f"{path}:")


@pytest.mark.anyio
async def test_the_owner_s_defaults_count_key_by_key_where_the_repository_says_nothing() -> None:
    github = FakeGitHub()
    github.files["HEAD", "metaagent.yml"] = (
        b"draft: true\nlabels: [all]\nlimits:\n  attempts: 1\n  usd_per_day: 5\nx: 1\n"
    )
    github.files["main", POLICY_PATH] = b"labels: [ours]\nlimits:\n  attempts: 2\n"
    policy = await load_policy(a_repository(), github)
    assert (policy.draft, policy.labels) == (True, ("ours",))
    assert (policy.limits.attempts, policy.limits.usd_per_day) == (2, 5.0)
    assert policy.origins == {
        "draft": "octo/.github/metaagent.yml:1",
        "labels": f"{POLICY_PATH}:1",
        "limits.attempts": f"{POLICY_PATH}:3",
        "limits.usd_per_day": "octo/.github/metaagent.yml:5",
    }
    assert policy.problems == ("octo/.github/metaagent.yml:6: unknown key `x`",)


@pytest.mark.anyio
async def test_an_owner_s_file_that_cannot_be_read_leaves_what_the_repository_itself_says() -> None:
    github = FakeGitHub()
    github.files["HEAD", HOME] = b"enabled: [\n"
    assert not (await load_policy(a_repository(), github)).enabled
    github.files["main", POLICY_PATH] = b"enabled: true\n"
    policy = await load_policy(a_repository(), github)
    assert policy.enabled
    assert not policy.automatic


@pytest.mark.anyio
async def test_the_repository_of_the_defaults_has_no_defaults_of_its_own() -> None:
    github = FakeGitHub()
    github.files["HEAD", HOME] = b"draft: true\n"
    assert not (await load_policy(a_repository(name=".github"), github)).draft


@pytest.mark.anyio
@pytest.mark.parametrize(
    "refusal", [NotPermitted("not installed there"), NotFound("absent", status=404)]
)
async def test_where_the_app_may_not_look_there_are_no_defaults_unless_they_are_public(
    refusal: GitHubError,
) -> None:
    github = FakeGitHub()
    own = a_repository(name="only", id=1)

    class Elsewhere(FakeGitHub):
        @override
        async def read_file(self, repository: RepositoryRef, path: str, ref: str) -> bytes | None:
            if repository.id < 1:
                raise refusal
            return await github.read_file(repository, path, ref)

    assert await load_policy(own, Elsewhere()) == RepositoryPolicy()
    github.files["HEAD", "metaagent.yml"] = b"draft: true\n"
    assert (await load_policy(own, Elsewhere())).draft


@pytest.mark.anyio
async def test_a_file_github_will_not_hand_over_allows_nothing_and_trouble_is_trouble() -> None:
    github = FakeGitHub()
    github.faults["read_file"] = [GitHubError("it is too large to be read")]
    policy = await load_policy(a_repository(), github)
    assert not policy.enabled
    assert policy.problems[0].startswith(f"{POLICY_PATH}: it is too large")
    github.faults["read_file"] = [GitHubError("no answer", retryable=True)]
    with pytest.raises(GitHubError, match="no answer"):
        await load_policy(a_repository(), github)
    github.faults["read_file"] = [NotPermitted("no right to read contents")]
    with pytest.raises(NotPermitted):
        await load_policy(a_repository(), github)


def value_of(policy: RepositoryPolicy, key: str) -> object:
    """`limits.attempts` of a policy."""
    group, dot, name = key.partition(".")
    return getattr(getattr(policy, group), name) if dot else getattr(policy, key)


def test_a_former_key_is_read_and_named_as_deprecated() -> None:
    policy = read_policy(b"draft: true\ntime_limit_s: 30\n")
    assert policy.time_limit == 30.0
    assert policy.origins["time_limit"] == f"{POLICY_PATH}:2"
    assert policy.problems == (
        f"{POLICY_PATH}:2: `time_limit_s` is deprecated: write `time_limit`",
    )


def test_a_policy_stored_under_a_former_key_is_read() -> None:
    assert RepositoryPolicy.model_validate_json('{"time_limit_s": 30}').time_limit == 30.0
