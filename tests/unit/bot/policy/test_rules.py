"""What a policy allows: patterns, files, hand-over, and who is heard."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.command import Origin
from bot.domain.policy import DeliveryRule, RepositoryPolicy, Triggers
from bot.policy.effective import effective
from bot.policy.globs import covers, names_branch
from bot.policy.policy_file import read_policy
from bot.policy.rules import allows, command_refusal, delivery_for, path_refusals


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("**", "a.py src/a.py .hidden"),
        ("*.py", "a.py src/a.py src/deep/a.py"),
        ("/*.py", "a.py"),
        ("src", "src/a.py src/deep/a.py lib/src/a.py src"),
        ("src/", "src/a.py lib/src/a.py"),
        ("/src", "src/a.py src/deep/a.py"),
        ("src/*", "src/a.py src/deep/a.py"),
        ("src/*.py", "src/a.py"),
        ("src/**/*.py", "src/a.py src/deep/a.py src/very/deep/a.py"),
        ("**/deep/**", "src/deep/a.py deep/a.py"),
        ("src/**", "src/a.py src"),
        ("s?c/a.*", "src/a.py"),
        ("[a].py", "[a].py"),
        ("a+b(1).py", "a+b(1).py"),
        ("**/**/a.py", "a.py src/a.py"),
    ],
)
def test_a_pattern_covers_files_as_gitignore_does(pattern: str, paths: str) -> None:
    assert [path for path in paths.split() if not covers(pattern, path)] == []


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("", "a.py"),
        ("/", "a.py"),
        ("*.py", "a.pyc a.py.txt apy"),
        ("/*.py", "src/a.py"),
        ("src", "source/a.py asrc a/src.py"),
        ("/src", "lib/src/a.py"),
        ("src/*.py", "src/deep/a.py lib/src/a.py"),
        ("s?c", "s/c sc sooc"),
        ("Src", "src/a.py"),
        (".", "ab"),
    ],
)
def test_and_no_others(pattern: str, paths: str) -> None:
    assert [path for path in paths.split() if covers(pattern, path)] == []


@pytest.mark.parametrize(
    ("pattern", "names", "others"),
    [
        ("main", "main", "feature/main mains"),
        ("release/*", "release/1.0", "release release/1/2 x/release/1"),
        ("**", "main feature/x/y", ""),
        ("*", "main", "feature/x"),
        ("feature/**", "feature/x feature/x/y", "features/x"),
    ],
)
def test_a_pattern_names_whole_branches(pattern: str, names: str, others: str) -> None:
    assert all(names_branch(pattern, name) for name in names.split())
    assert not any(names_branch(pattern, name) for name in others.split())


def test_no_pattern_takes_long() -> None:
    assert not covers("*a" * 100, "a" * 200 + "b")
    assert not covers("**/" * 60 + "x", "a/" * 100 + "y")


@given(st.text("ab*?/.", max_size=12), st.text("ab/.", min_size=1, max_size=12))
def test_any_pattern_has_an_answer(pattern: str, path: str) -> None:
    assert covers(pattern, path) in {True, False}
    assert covers("**", path)


POLICY = RepositoryPolicy(
    paths_allowed=("src", "*.md"),
    paths_protected=("src/legal",),
    origins={"paths_allowed": "p.yml:3", "paths_protected": "p.yml:4"},
)


def test_a_fix_stays_in_the_files_that_are_open() -> None:
    assert allows(POLICY, ["src/a.py", "README.md"])
    assert path_refusals(POLICY, ["src/a.py", "src/legal/a.py", "setup.cfg"]) == (
        "src/legal/a.py: the policy protects `src/legal` (p.yml:4)",
        "setup.cfg: the policy does not allow it (p.yml:3)",
    )
    assert path_refusals(RepositoryPolicy(paths_allowed=()), ["a.py"]) == (
        "a.py: the policy does not allow it (by default)",
    )


RULES = RepositoryPolicy(
    deliver=(
        DeliveryRule(deliver="report", paths=("billing",)),
        DeliveryRule(deliver="push", rungs=(0,), paths=("**/*.py", "*.md"), min_confidence=0.9),
        DeliveryRule(deliver="suggest", rungs=(1,)),
    )
)


@pytest.mark.parametrize(
    ("rung", "paths", "confidence", "delivered"),
    [
        (0, ["billing/a.py"], 1.0, "report"),
        (0, ["a.py", "billing/a.py"], 1.0, "report"),
        (1, ["a.py", "billing/a.py"], 1.0, "report"),
        (2, ["a.py", "billing/a.py"], 1.0, "report"),
        (0, ["a.py", "b.md"], 0.9, "push"),
        (0, ["a.py", "b.txt"], 1.0, "pull-request"),
        (0, ["a.py"], 0.89, "pull-request"),
        (0, ["a.py"], None, "pull-request"),
        (1, ["a.py"], 1.0, "suggest"),
        (1, ["a.py"], None, "suggest"),
        (2, ["a.py"], 1.0, "pull-request"),
        (0, [], 1.0, "pull-request"),
    ],
)
def test_the_first_rule_that_matches_says_how_a_fix_is_handed_over(
    rung: int, paths: list[str], confidence: float | None, delivered: str
) -> None:
    assert delivery_for(RULES, rung=rung, paths=paths, confidence=confidence) == delivered


def test_without_rules_a_fix_is_a_pull_request() -> None:
    assert (
        delivery_for(RepositoryPolicy(), rung=1, paths=["a.py"], confidence=0.5) == "pull-request"
    )


@pytest.mark.parametrize("origin", Origin)
def test_people_are_heard_where_the_policy_lets_them(origin: Origin) -> None:
    assert command_refusal(RepositoryPolicy(), origin) is None
    assert command_refusal(RepositoryPolicy(automatic=False), origin) is None
    assert "switches MetaAgent off" in (
        command_refusal(RepositoryPolicy(enabled=False), origin) or ""
    )
    deaf = RepositoryPolicy(triggers=Triggers(comments=False, buttons=False, labels=False))
    kind = "button" if origin is Origin.BOX else origin.value
    assert command_refusal(deaf, origin) == f"the policy switches {kind}s off (by default)"


def test_what_is_wrong_in_the_file_is_the_reason() -> None:
    assert command_refusal(read_policy(b"draft: true\nenabled: nope\n"), Origin.COMMENT) == (
        "the policy switches MetaAgent off (.github/metaagent.yml:2: `enabled`: Input should be a valid boolean "
        "(got `nope`); the strictest value applies until this is corrected)"
    )


def test_every_key_has_a_row_with_its_value_its_origin_and_its_meaning() -> None:
    rows = {
        row.key: row for row in effective(read_policy(b"draft: true\nlimits:\n  attempts: 1\n"))
    }
    assert (rows["draft"].value, rows["draft"].origin) == ("true", ".github/metaagent.yml:1")
    assert (rows["limits.attempts"].value, rows["limits.attempts"].origin) == (
        "1",
        ".github/metaagent.yml:3",
    )
    assert (rows["paths_allowed"].value, rows["paths_allowed"].origin) == ('["**"]', "default")
    assert all(row.meaning for row in rows.values())
    assert not {"origins", "problems", "limits", "triggers"} & set(rows)


def test_a_row_is_no_longer_than_a_line_of_a_table() -> None:
    rows = effective(RepositoryPolicy(setup=("x" * 2_000,)))
    assert max(len(row.value) for row in rows) == 300
