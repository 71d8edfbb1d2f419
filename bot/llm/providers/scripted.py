"""Scripted answers from a YAML or JSON file, by the name of the prompt, in order."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from bot.domain.model import Completion, Finish, ModelTrouble, Prompt, Usage
from bot.domain.model_error import ModelError
from bot.errors import SettingsError
from sandbox.types import Frozen

ANY = "*"


class ScriptedAnswer(Frozen):
    """A scripted answer or error."""

    text: str = ""
    finish: Finish = Finish.STOP
    usage: Usage = Usage()
    cost_usd: float | None = None
    after_s: float = Field(default=0.0, ge=0.0)
    """Delay of the answer, in seconds."""
    trouble: ModelTrouble | None = None
    """Error to raise instead of an answer."""
    retry_after_s: float | None = None


def _line(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


def _lines(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


ScriptedAnswers = Annotated[
    tuple[Annotated[ScriptedAnswer, BeforeValidator(_line)], ...],
    BeforeValidator(_lines),
    Field(min_length=1),
]
_SCRIPT: TypeAdapter[dict[str, ScriptedAnswers]] = TypeAdapter(dict[str, ScriptedAnswers])


def build(path: Path, options: object = None) -> "Scripted":
    """Create a model from a script.

    Args:
        path: The file.
        options: Not used.

    Raises:
        SettingsError: The file cannot be read.
    """
    del options
    return Scripted(path)


class Scripted:
    """Answers from a script: `{plan_task: [first, second], fix: …, "*": …}`.

    The last answer of each prompt is repeated.

    Args:
        path: The file.

    Raises:
        SettingsError: The file cannot be read, or is invalid.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._script = _read(path)
        self._asked: dict[str, int] = {}

    @property
    def name(self) -> str:
        """Return the model's name, such as `scripted:answers.yaml`."""
        return f"scripted:{self._path.name}"

    @property
    def can_hold_to_schema(self) -> bool:
        """Return False: its answers are fixed."""
        return False

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """Return the next answer to this prompt.

        Raises:
            ModelError: There is none, or the script has an error here.
        """
        name = prompt.name.partition("@")[0]
        name = name if name in self._script else ANY
        lines = self._script.get(name)
        if lines is None:
            message = f"{self.name} has no answer to {prompt.name or 'a prompt without a name'}"
            raise ModelError(message, trouble=ModelTrouble.BAD_REQUEST)
        at = self._asked.get(name, 0)
        self._asked[name] = at + 1
        line = lines[min(at, len(lines) - 1)]
        if line.after_s:
            await asyncio.sleep(min(line.after_s, deadline_s))
        trouble = ModelTrouble.DEADLINE if line.after_s > deadline_s else line.trouble
        if trouble is not None:
            raise ModelError(
                f"{self.name}: {trouble.value}", trouble=trouble, retry_after_s=line.retry_after_s
            )
        return Completion(
            text=line.text,
            finish=line.finish,
            usage=line.usage,
            cost_usd=line.cost_usd,
            latency_s=line.after_s,
        )

    async def close(self) -> None:
        """Do nothing; no resources are held."""


def _read(path: Path) -> dict[str, ScriptedAnswers]:
    import yaml

    try:
        content = path.read_bytes()
        try:
            found = json.loads(
                content
            )  # which joins the halves of characters that JSON may write apart
        except ValueError:
            found = yaml.safe_load(content)
        return _SCRIPT.validate_python(found)
    except OSError as error:
        raise SettingsError(
            f"the script {path} cannot be read ({error.strerror})", "check scripted:FILE"
        ) from error
    except (yaml.YAMLError, ValidationError) as error:
        raise SettingsError(
            f"{path} is not a script of answers", "write prompt names, each with its answers"
        ) from error
