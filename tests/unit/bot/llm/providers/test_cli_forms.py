"""How the command-line agents are called, and how what they print is read: their recorded forms, without a process."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.domain.model import Completion, Finish, ModelTrouble, Prompt, Usage
from bot.llm.providers.cli_claude import Claude
from bot.llm.providers.cli_codex import Codex
from bot.llm.providers.cli_process import CliOutput, ProcessEnd
from bot.llm.providers.cli_tool import AgentPrompt, CliTool, Complaint, Invocation, trouble_in
from tests.fakes.cli_agents import (
    RECONNECTING,
    WAITING,
    claude_says,
    codex_fails,
    codex_says,
)

PROMPT = Prompt(system="You repair.", user="Fix it.", max_tokens=700)
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def asked(
    folder: Path, prompt: Prompt = PROMPT, *, model: str = "m-1", base_url: str | None = None
) -> AgentPrompt:
    (folder / "home").mkdir(exist_ok=True)
    return AgentPrompt(prompt, model, folder, base_url)


def printed(stdout: str = "", stderr: str = "", *, status: int = 0) -> CliOutput:
    return CliOutput(ProcessEnd.ITSELF, status, stdout.encode(), stderr.encode())


def option(way: Invocation, name: str) -> str:
    return way.argv[way.argv.index(name) + 1]


def test_codex_reads_standard_input_in_an_empty_folder_and_may_write_nothing(
    tmp_path: Path,
) -> None:
    way = Codex().way(asked(tmp_path))
    assert way.argv[:2] == ("codex", "exec")
    assert way.argv[-1] == "-"
    assert {"--json", "--ephemeral", "--ignore-user-config", "--ignore-rules"} <= set(way.argv)
    assert (option(way, "-s"), option(way, "-C"), option(way, "-m")) == (
        "read-only",
        str(tmp_path / "empty"),
        "m-1",
    )
    assert way.stdin == "You repair.\n\nFix it."
    assert Path(way.variables["CODEX_HOME"]).is_dir()


def test_codex_is_told_of_another_server_by_its_configuration(tmp_path: Path) -> None:
    way = Codex().way(asked(tmp_path, base_url="http://127.0.0.1:9/v1"))
    assert "model_provider=own" in way.argv
    assert 'base_url="http://127.0.0.1:9/v1"' in way.argv[way.argv.index("model_provider=own") + 2]


def test_codex_gets_a_schema_as_a_file(tmp_path: Path) -> None:
    way = Codex().way(asked(tmp_path, PROMPT.with_(json_schema=SCHEMA)))
    assert json.loads(Path(option(way, "--output-schema")).read_text()) == SCHEMA


def test_claude_has_no_tools_and_reads_nothing_of_the_machine(tmp_path: Path) -> None:
    way = Claude().way(asked(tmp_path, base_url="http://127.0.0.1:9"))
    assert {"-p", "--bare", "--no-session-persistence"} <= set(way.argv)
    assert (option(way, "--tools"), option(way, "--output-format")) == ("", "json")
    assert (option(way, "--model"), option(way, "--system-prompt")) == ("m-1", "You repair.")
    assert way.stdin == "Fix it."
    assert way.variables["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9"
    assert way.variables["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "700"


def test_claude_gets_a_system_prompt_that_is_too_long_for_an_argument_by_standard_input(
    tmp_path: Path,
) -> None:
    way = Claude().way(asked(tmp_path, PROMPT.with_(system="s" * 200_000)))
    assert "--system-prompt" not in way.argv
    assert way.stdin.startswith("sss")
    assert way.stdin.endswith("Fix it.")


@pytest.mark.parametrize("tool", [Codex(), Claude()], ids=lambda tool: tool.program)
def test_a_tool_chooses_its_model_itself_where_none_is_named(tool: CliTool, tmp_path: Path) -> None:
    assert not {"-m", "--model"} & set(tool.way(asked(tmp_path, model="")).argv)


def answer(tool: CliTool, output: CliOutput, folder: Path) -> Completion:
    said = tool.read(output, asked(folder))
    assert isinstance(said, Completion)
    return said


def complaint(tool: CliTool, output: CliOutput, folder: Path) -> Complaint:
    said = tool.read(output, asked(folder))
    assert isinstance(said, Complaint)
    return said


def test_codex_said_what_its_last_message_says(tmp_path: Path) -> None:
    said = answer(Codex(), printed(codex_says("draft") + codex_says("final")), tmp_path)
    assert said.text == "final"
    assert said.usage == Usage(
        input_tokens=1000, cache_read_tokens=400, output_tokens=50, reasoning_tokens=20
    )


def test_the_file_with_codex_last_message_counts_more_than_its_events(tmp_path: Path) -> None:
    (tmp_path / "last-message.txt").write_text("from the file")
    assert answer(Codex(), printed(codex_says("from the events")), tmp_path).text == "from the file"


def test_errors_that_codex_overcame_are_none(tmp_path: Path) -> None:
    assert (
        answer(Codex(), printed(RECONNECTING + codex_says("after all")), tmp_path).text
        == "after all"
    )


def test_codex_noise_between_events_is_passed_over(tmp_path: Path) -> None:
    noise = "banner\n{half\n[1]\n" + "{" * 5000 + '\n{"type": 5, "item": [1]}\n'
    assert answer(Codex(), printed(noise + codex_says("fine")), tmp_path).text == "fine"


@pytest.mark.parametrize(
    ("words", "trouble"),
    [
        ("unexpected status 401 Unauthorized: Incorrect API key provided", ModelTrouble.AUTH),
        ("You've hit your usage limit.", ModelTrouble.RATE_LIMIT),
        (
            "stream disconnected before completion: error sending request for url",
            ModelTrouble.TRANSPORT,
        ),
        ("Your input exceeds the context window of this model.", ModelTrouble.TOO_LARGE),
        ("Invalid schema for response_format", ModelTrouble.BAD_REQUEST),
        ("something nobody has seen", ModelTrouble.BAD_RESPONSE),
    ],
)
def test_a_failed_turn_of_codex_says_what_failed(
    words: str, trouble: ModelTrouble, tmp_path: Path
) -> None:
    said = complaint(Codex(), printed(codex_fails(words), status=1), tmp_path)
    assert (said.trouble, said.words) == (trouble, words)


def test_a_status_counts_even_where_codex_said_something(tmp_path: Path) -> None:
    said = complaint(
        Codex(),
        printed(codex_says("text"), "error: unexpected argument '--ephemeral' found\n", status=2),
        tmp_path,
    )
    assert said.trouble is ModelTrouble.BAD_REQUEST


def test_codex_is_hopeless_once_it_reconnects_again_and_again() -> None:
    assert not Codex().is_hopeless((RECONNECTING * 5).encode())
    assert Codex().is_hopeless((RECONNECTING * 6).encode())
    assert Codex().is_hopeless((WAITING * 3).encode())
    assert not Codex().is_hopeless((RECONNECTING * 6 + codex_says("Reconnecting")).encode())


def test_claude_counts_what_its_server_counts_apart(tmp_path: Path) -> None:
    said = answer(Claude(), printed(claude_says("text")), tmp_path)
    assert said.text == "text"
    assert said.usage == Usage(
        input_tokens=1550, cache_read_tokens=1000, cache_write_tokens=500, output_tokens=42
    )
    assert (said.cost_usd, said.model, said.request_id) == (0.0125, "claude-test-1", "s-1")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", Finish.STOP),
        (None, Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("refusal", Finish.REFUSAL),
    ],
)
def test_claude_says_why_it_ended(reason: str | None, finish: Finish, tmp_path: Path) -> None:
    assert (
        answer(Claude(), printed(claude_says("t", stop_reason=reason)), tmp_path).finish is finish
    )


def test_success_with_an_error_flag_is_none(tmp_path: Path) -> None:
    failed = claude_says("Invalid API key · Please run /login", is_error=True)
    said = complaint(Claude(), printed(failed, status=1), tmp_path)
    assert said.trouble is ModelTrouble.AUTH
    assert (
        complaint(Claude(), printed(failed), tmp_path).trouble is ModelTrouble.AUTH
    )  # even with status 0


@pytest.mark.parametrize(
    ("words", "trouble"),
    [
        ("API Error: 529 overloaded_error", ModelTrouble.OVERLOADED),
        ("API Error: 429 rate_limit_error", ModelTrouble.RATE_LIMIT),
        ("API Error: Connection error.", ModelTrouble.TRANSPORT),
        ("Prompt is too long", ModelTrouble.TOO_LARGE),
        ("Credit balance is too low", ModelTrouble.AUTH),
    ],
)
def test_what_claude_complains_of_is_understood(
    words: str, trouble: ModelTrouble, tmp_path: Path
) -> None:
    assert (
        complaint(Claude(), printed(claude_says(words, is_error=True)), tmp_path).trouble is trouble
    )


def test_an_answer_held_to_a_schema_is_given_as_it_was_held(tmp_path: Path) -> None:
    said = answer(Claude(), printed(claude_says("prose", structured_output={"a": "b"})), tmp_path)
    assert json.loads(said.text) == {"a": "b"}


@pytest.mark.parametrize(
    "stdout", ["", "not JSON", "[1]", '{"result": 5, "is_error": false}', '{"result": "no flag"}']
)
def test_whatever_is_no_result_of_claude_is_a_complaint(stdout: str, tmp_path: Path) -> None:
    assert complaint(Claude(), printed(stdout), tmp_path).trouble is ModelTrouble.BAD_RESPONSE


@pytest.mark.parametrize("cost", [-1, "free", True, float("1e300"), None])
def test_a_price_that_is_none_is_unknown(cost: Any, tmp_path: Path) -> None:
    assert (
        answer(Claude(), printed(claude_says("t", total_cost_usd=cost)), tmp_path).cost_usd is None
    )


def test_only_the_last_line_of_standard_error_is_taken_for_words(tmp_path: Path) -> None:
    said = complaint(Claude(), printed("", "first line\nlast line\n", status=1), tmp_path)
    assert said.words == "last line"


def test_troubles_are_looked_for_in_the_beginning_only() -> None:
    assert trouble_in("x" * 3000 + " 401") is ModelTrouble.BAD_RESPONSE
