"""The forms places need."""

import re

from hypothesis import given
from hypothesis import strategies as st

from sandbox.gate import clean, fenced, for_markdown, for_workflow_log

TEXT = st.text(alphabet=st.sampled_from("ab1 `~#@<>[]()!*_:/.\n\t\\|-+=GHfixes"), max_size=200).map(
    clean
)


@given(TEXT)
def test_a_fence_holds_whatever_stands_in_it(text: str) -> None:
    block = fenced(text)
    fence = block.split("text\n", 1)[0]
    assert set(fence) == {"`"}
    assert len(fence) >= 3
    assert fence not in text
    assert block.endswith(f"\n{fence}")


@given(TEXT)
def test_prose_has_no_mention_reference_link_or_markup(text: str) -> None:
    markdown = for_markdown(text)
    assert not re.search(r"@\w|GH-\d|://|[<>]|(?<!\\)[`*_\[\]!|#]", re.sub(r"\\\\", ".", markdown))
    assert not re.search(r"(?m)^ +", markdown)


def test_prose_stays_readable() -> None:
    assert for_markdown("Fixes #1 for @you: a_b < c") == "Fixes \\# 1 for @ you: a\\_b &lt; c"
    assert for_markdown("1. one\n    code") == "1\\. one\ncode"


@given(TEXT)
def test_no_line_of_a_log_is_a_command(text: str) -> None:
    assert not re.search(r"(?m)^\s*::|##\[", for_workflow_log(text))


def test_commands_are_neutralised_and_other_lines_stay() -> None:
    assert for_workflow_log("::error::x\n  ::set-output name=a::b\na::b ##[group]") == (
        ": :error::x\n  : :set-output name=a::b\na::b ## [group]"
    )
