"""metaagent prompts: every prompt can be listed and shown."""

import pytest

from bot.errors import UsageError
from bot.llm.prompts.render import prompt_file, prompt_names
from bot.terminal.prompts import PromptsOrder, run_prompts


def test_every_prompt_is_listed_with_its_version_and_gaps() -> None:
    listed = run_prompts(PromptsOrder())
    assert [one["name"] for one in listed.json_object["prompts"]] == list(prompt_names())
    assert listed.text.count("@") == len(prompt_names())


@pytest.mark.parametrize("name", prompt_names())
def test_every_prompt_can_be_shown_with_its_gaps_left_open(name: str) -> None:
    shown = run_prompts(PromptsOrder(name=name))
    assert all(f"{{{gap}}}" in shown.json_object["user"] for gap in prompt_file(name).gaps)
    assert shown.text.startswith(f"# {prompt_file(name).title}: ")
    assert shown.json_object["tokens"] > 0


def test_a_gap_that_is_given_is_filled_as_foreign_text() -> None:
    name = next(name for name in prompt_names() if prompt_file(name).gaps)
    gap = min(prompt_file(name).gaps)
    shown = run_prompts(PromptsOrder(name=name, gaps=(f"{gap}=ghp_{'a' * 36} and a = b",)))
    assert 'trust="untrusted"' in shown.text
    assert "and a = b" in shown.text
    assert "ghp_a" not in shown.text


@pytest.mark.parametrize(
    "order",
    [
        PromptsOrder(name="nothing"),
        PromptsOrder(name="../cli"),
        PromptsOrder(name="common", gaps=("a=b",)),
    ],
    ids=str,
)
def test_what_is_no_prompt_and_no_gap_is_said_so(order: PromptsOrder) -> None:
    with pytest.raises(UsageError):
        run_prompts(order)
