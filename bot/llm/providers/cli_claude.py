"""The agent `claude`: prints one JSON object, whose subtype may say success despite an error."""

import json
from typing import Any

from bot.domain.model import Completion, Finish, Usage
from bot.llm.providers.cli_process import CliOutput
from bot.llm.providers.cli_tool import (
    AgentPrompt,
    Complaint,
    Invocation,
    complaint,
    last_object,
    part,
)
from bot.llm.providers.replies import amount, count

_ARGUMENT_BYTES = 100_000
"""Maximum size of an argument, in bytes; the kernel's limit is slightly higher."""
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",  # it would retry for minutes, even with a rejected key
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
_FINISHES = {"max_tokens": Finish.LENGTH, "refusal": Finish.REFUSAL}


class Claude:
    """`claude -p --bare`: without tools, and without reading settings or files."""

    program = "claude"
    key_variable = "ANTHROPIC_API_KEY"
    takes_schema = True
    reads_host = False

    def way(self, asked: AgentPrompt) -> Invocation:
        """Return the command; the prompt is passed by standard input."""
        prompt = asked.prompt
        argv = [
            self.program,
            "-p",
            "--bare",
            "--output-format",
            "json",
            "--tools",
            "",
            "--no-session-persistence",
        ]
        argv += ["--model", asked.model] if asked.model else []
        user = prompt.user
        # A longer system prompt becomes part of the user prompt.
        if len(prompt.system.encode()) <= _ARGUMENT_BYTES:
            argv += ["--system-prompt", prompt.system]
        else:
            user = f"{prompt.system}\n\n{user}"
        schema = json.dumps(prompt.json_schema)
        if prompt.json_schema is not None and len(schema.encode()) <= _ARGUMENT_BYTES:
            argv += ["--json-schema", schema]
        variables = {**_QUIET, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(prompt.max_tokens)}
        if asked.base_url is not None:
            variables["ANTHROPIC_BASE_URL"] = asked.base_url
        return Invocation(tuple(argv), user, variables)

    def is_hopeless(self, stdout: bytes) -> bool:
        """Return False: the tool gives up by itself."""
        del stdout
        return False

    def read(self, output: CliOutput, asked: AgentPrompt) -> Completion | Complaint:
        """Parse the result; both status and error flag count, because `subtype` may be wrong."""
        result = last_object(output.stdout.decode("utf-8", "replace"))
        text = result.get("result")
        if output.status != 0 or result.get("is_error") is not False or not isinstance(text, str):
            errors = result.get("errors")
            return complaint(
                text or (json.dumps(errors) if errors else result.get("subtype")), output.stderr
            )
        structured = result.get("structured_output")
        models = part(result, "modelUsage")
        return Completion(
            text=json.dumps(structured) if isinstance(structured, dict) else text,
            finish=_FINISHES.get(str(result.get("stop_reason")), Finish.STOP),
            usage=_usage(part(result, "usage")),
            model=next(iter(models), asked.model)[:200],
            request_id=str(result.get("session_id", ""))[:200],
            cost_usd=amount(result.get("total_cost_usd")),
        )


def _usage(values: dict[str, Any]) -> Usage:
    read, written = (
        count(values.get("cache_read_input_tokens")),
        count(values.get("cache_creation_input_tokens")),
    )
    return Usage(
        input_tokens=count(values.get("input_tokens")) + read + written,
        output_tokens=count(values.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
