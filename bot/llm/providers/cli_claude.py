"""The agent `claude`: one JSON object, which says success even where there was none."""

import json
from typing import Any

from bot.domain.model import Completion, Finish, Usage
from bot.llm.providers.cli_process import CliOutput
from bot.llm.providers.cli_tool import Asked, Complaint, Way, complaint, last_object, part
from bot.llm.providers.replies import amount, count

_ARGUMENT_BYTES = 100_000
"""The kernel takes somewhat more in one argument."""
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",  # it would go on for minutes, also where the key is refused
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
_FINISHES = {"max_tokens": Finish.LENGTH, "refusal": Finish.REFUSAL}


class Claude:
    """`claude -p --bare`: no tools, and nothing of the folder or the user is read."""

    program = "claude"
    key_variable = "ANTHROPIC_API_KEY"
    takes_schema = True
    reads_host = False

    def way(self, asked: Asked) -> Way:
        """How it is called; the prompt comes by standard input."""
        prompt = asked.prompt
        argv = [self.program, "-p", "--bare", "--output-format", "json", "--tools", "", "--no-session-persistence"]
        argv += ["--model", asked.model] if asked.model else []
        user = prompt.user
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
        return Way(tuple(argv), user, variables)

    def is_hopeless(self, stdout: bytes) -> bool:
        """It gives up by itself."""
        del stdout
        return False

    def read(self, output: CliOutput, asked: Asked) -> Completion | Complaint:
        """Status and error flag both count: `subtype` says success in spite of an error."""
        said = last_object(output.stdout.decode("utf-8", "replace"))
        text = said.get("result")
        if output.status != 0 or said.get("is_error") is not False or not isinstance(text, str):
            errors = said.get("errors")
            return complaint(text or (json.dumps(errors) if errors else said.get("subtype")), output.stderr)
        structured = said.get("structured_output")
        models = part(said, "modelUsage")
        return Completion(
            text=json.dumps(structured) if isinstance(structured, dict) else text,
            finish=_FINISHES.get(str(said.get("stop_reason")), Finish.STOP),
            usage=_usage(part(said, "usage")),
            model=next(iter(models), asked.model)[:200],
            request_id=str(said.get("session_id", ""))[:200],
            cost_usd=amount(said.get("total_cost_usd")),
        )


def _usage(values: dict[str, Any]) -> Usage:
    read, written = count(values.get("cache_read_input_tokens")), count(values.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=count(values.get("input_tokens")) + read + written,
        output_tokens=count(values.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
