"""The agent `gemini`: one JSON object on standard output, its errors as JSON on standard error."""

import json
from typing import Any

from bot.domain.model import Completion, ModelTrouble, Usage
from bot.llm.providers.cli_process import CliOutput
from bot.llm.providers.cli_tool import Asked, Complaint, Way, complaint, last_object, part, whole_prompt
from bot.llm.providers.replies import count

_CODES = {41: ModelTrouble.AUTH, 42: ModelTrouble.BAD_REQUEST, 52: ModelTrouble.BAD_REQUEST}
"""Its own exit statuses: no key, wrong input, wrong settings."""


class Gemini:
    """`gemini -p` in plan mode: it may read an empty folder and nothing else."""

    program = "gemini"
    key_variable = "GEMINI_API_KEY"
    takes_schema = False
    reads_host = True

    def way(self, asked: Asked) -> Way:
        """How it is called; the prompt comes by standard input, and `-p` appends nothing."""
        settings = asked.folder / "home" / ".gemini" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True}}
        settings.write_text(json.dumps(chosen))
        argv = [self.program, "-p", "", "-o", "json", "--approval-mode", "plan", "--skip-trust"]
        argv += ["-m", asked.model] if asked.model else []
        variables = {} if asked.base_url is None else {"GOOGLE_GEMINI_BASE_URL": asked.base_url}
        return Way(tuple(argv), whole_prompt(asked.prompt), variables)

    def is_hopeless(self, stdout: bytes) -> bool:
        """It gives up by itself."""
        del stdout
        return False

    def read(self, output: CliOutput, asked: Asked) -> Completion | Complaint:
        """Its answer, unless status or error say otherwise."""
        said = last_object(output.stdout.decode("utf-8", "replace"))
        error = part(said, "error") or part(last_object(output.stderr.decode("utf-8", "replace")), "error")
        text = said.get("response")
        if output.status != 0 or part(said, "error") or not isinstance(text, str):
            told = complaint(error.get("message"), output.stderr)
            code = error.get("code", output.status)
            return Complaint(_CODES[code], told.words) if code in _CODES else told
        models = part(said, "stats", "models")
        return Completion(text=text, usage=_usage(models), model=next(iter(models), asked.model)[:200])


def _usage(models: dict[str, Any]) -> Usage:
    tokens = [part(one, "tokens") for one in models.values()]
    cached = sum(count(one.get("cached")) for one in tokens)
    thoughts = sum(count(one.get("thoughts")) for one in tokens)
    return Usage(
        # `input` leaves out what came from a cache; `prompt`, where it is there, does not.
        input_tokens=sum(
            count(one.get("prompt")) or count(one.get("input")) + count(one.get("cached")) for one in tokens
        ),
        output_tokens=sum(count(one.get("candidates")) for one in tokens) + thoughts,
        cache_read_tokens=cached,
        reasoning_tokens=thoughts,
    )
