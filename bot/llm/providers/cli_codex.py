"""The agent `codex`: prints events as JSON lines, and writes the last message to a file."""

import json
from collections.abc import Iterator
from typing import Any

from bot.domain.model import Completion, Usage
from bot.llm.providers.cli_process import CliOutput, ProcessEnd
from bot.llm.providers.cli_tool import (
    AgentPrompt,
    Complaint,
    Invocation,
    complaint,
    part,
    whole_prompt,
)
from bot.llm.providers.replies import count

_LAST = "last-message.txt"
_FOR_EVER = ((b"waiting for network", 3), (b"Reconnecting", 6))
"""Number of events that mean endless retries: the tool ignores `max_retries`, and the pauses
grow."""
_MOST_BYTES = 1 << 20


class Codex:
    """`codex exec`: read-only, in an empty folder."""

    program = "codex"
    key_variable = "CODEX_API_KEY"
    takes_schema = True
    reads_host = True

    def way(self, asked: AgentPrompt) -> Invocation:
        """Return the command; the prompt is passed by standard input."""
        home = asked.folder / "codex-home"
        home.mkdir(exist_ok=True)  # the tool does not create it
        argv = [
            self.program,
            "exec",
            "--json",
            "--ephemeral",
            "--ignore-user-config",
            "--ignore-rules",
        ]
        argv += ["-s", "read-only", "--skip-git-repo-check", "-C", str(asked.folder / "empty")]
        argv += [*(("-m", asked.model) if asked.model else ()), "-o", str(asked.folder / _LAST)]
        if asked.base_url is not None:
            server = (
                f'name="own",base_url={json.dumps(asked.base_url)},env_key="{self.key_variable}"'
            )
            argv += [
                "-c",
                "model_provider=own",
                "-c",
                f'model_providers.own={{{server},wire_api="responses"}}',
            ]
        if asked.prompt.json_schema is not None:
            schema = asked.folder / "schema.json"
            schema.write_text(json.dumps(asked.prompt.json_schema))
            argv += ["--output-schema", str(schema)]
        return Invocation((*argv, "-"), whole_prompt(asked.prompt), {"CODEX_HOME": str(home)})

    def is_hopeless(self, stdout: bytes) -> bool:
        """Return True if it keeps reconnecting."""
        return b'"agent_message"' not in stdout and any(
            stdout.count(words) >= times for words, times in _FOR_EVER
        )

    def read(self, output: CliOutput, asked: AgentPrompt) -> Completion | Complaint:
        """Return the last message, or a complaint if the turn failed."""
        text, failure, usage = "", "", Usage()
        for event in _events(output.stdout):
            kind, item = event.get("type"), part(event, "item")
            if kind == "turn.failed":
                failure = str(part(event, "error").get("message", "turn failed"))
            elif kind == "error" and isinstance(event.get("message"), str):
                failure = event["message"]
            elif kind == "turn.completed":
                failure, usage = "", _usage(part(event, "usage"))  # earlier errors were overcome
            elif kind == "item.completed" and item.get("type") == "agent_message":
                text = str(item.get("text", ""))
        if output.ended is not ProcessEnd.ITSELF or output.status != 0 or failure:
            return complaint(failure, output.stderr)
        return Completion(text=_last_message(asked) or text, usage=usage, model=asked.model)


def _events(stdout: bytes) -> Iterator[dict[str, Any]]:
    for line in stdout.splitlines():
        try:
            event = json.loads(line) if line.startswith(b"{") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def _last_message(asked: AgentPrompt) -> str:
    try:
        with (asked.folder / _LAST).open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _usage(values: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=count(values.get("input_tokens")),
        output_tokens=count(values.get("output_tokens")),
        cache_read_tokens=count(values.get("cached_input_tokens")),
        reasoning_tokens=count(values.get("reasoning_output_tokens")),
    )
