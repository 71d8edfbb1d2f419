"""The published schema and our own reader say the same."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bot.policy.policy_file import read_policy
from tests.architecture.policy_pages import policy_schema
from tests.unit.bot.policy.test_policy_file import ALL_KEYS, VALUES

ROOT = Path(__file__).resolve().parents[4]
SCHEMA = Draft202012Validator(policy_schema())
EXAMPLES = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/howto/policy.md").read_text(), re.DOTALL)


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(policy_schema())


@pytest.mark.parametrize("text", [*EXAMPLES, ALL_KEYS.decode(), ""])
def test_what_the_documents_show_is_right(text: str) -> None:
    assert read_policy(text.encode()).problems == ()
    assert SCHEMA.is_valid(yaml.safe_load(text))


GOOD: dict[str, Any] = yaml.safe_load(ALL_KEYS)


@given(
    st.fixed_dictionaries(
        {}, optional={key: st.just(value) | VALUES for key, value in GOOD.items()}
    ),
    st.dictionaries(
        st.sampled_from(["colour", "origins", "problems", "limit"]), VALUES, max_size=1
    ),
)
def test_they_find_the_same_files_right(known: dict[str, Any], unknown: dict[str, Any]) -> None:
    document = known | unknown
    problems = read_policy(yaml.safe_dump(document).encode()).problems
    # JSON schema takes 1.0 for an integer and knows no other floats; we take what is written.
    if not any(isinstance(value, float) for value in _leaves(document)):
        assert (problems == ()) == SCHEMA.is_valid(document), (
            problems,
            list(SCHEMA.iter_errors(document)),
        )


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    return (
        [leaf for inner in value for leaf in _leaves(inner)] if isinstance(value, list) else [value]
    )
