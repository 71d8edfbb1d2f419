"""Recorded answers: a cassette is a JSON file of completions by the hash of the prompt."""

import hashlib
import json
from pathlib import Path

from pydantic import Field, ValidationError

from bot.domain.model import Completion, ModelTrouble, Prompt
from bot.domain.model_error import ModelError
from bot.errors import SettingsError
from bot.ports.models import Chat
from sandbox.types import Frozen

_SHOWN = 12


class Recorded(Frozen):
    """An answer, with its prompt's name for readers of the file."""

    prompt: str
    answer: Completion


class Cassette(Frozen):
    """A file of recorded answers."""

    version: int = 1
    answers: dict[str, Recorded] = Field(default_factory=dict)


def hash_prompt(prompt: Prompt) -> str:
    """Hash everything that may change an answer: texts, limits, the prompt file and its version."""
    # Caching does not change an answer. Prompts without tools keep the hash of older cassettes.
    left_out = {"cache", "stable"} if prompt.tools else {"cache", "stable", "tools"}
    fields = prompt.model_dump(exclude=left_out)
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def build(path: Path, options: object = None) -> "ReplayChat":
    """Create a model from a cassette.

    Args:
        path: The file.
        options: Not used.

    Raises:
        SettingsError: The file cannot be read.
    """
    del options
    return ReplayChat(path)


class ReplayChat:
    """Returns the answers of a cassette, and no others.

    Args:
        path: The file.

    Raises:
        SettingsError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cassette = _read(path)

    @property
    def name(self) -> str:
        """Return the model's name, such as `replay:fixes.json`."""
        return f"replay:{self._path.name}"

    @property
    def can_hold_to_schema(self) -> bool:
        """Return False: a schema would change the hash of the prompt."""
        return False

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """Return the recorded answer.

        Raises:
            ModelError: No answer was recorded for this prompt.
        """
        del deadline_s
        key = hash_prompt(prompt)
        found = self._cassette.answers.get(key)
        if found is None:
            asked = prompt.name or "a prompt without a name"
            message = f"{self.name} has no answer to {asked} ({key[:_SHOWN]})"
            raise ModelError(
                message, "record it again: the prompt changed", trouble=ModelTrouble.BAD_REQUEST
            )
        return found.answer

    async def close(self) -> None:
        """Do nothing; no resources are held."""


class RecordingChat:
    """Records another model's answers in a cassette, each immediately.

    Args:
        chat: The other model.
        path: The file; its existing answers are kept.

    Raises:
        SettingsError: The existing file is not a cassette.
    """

    def __init__(self, chat: Chat, path: Path) -> None:
        self._chat = chat
        self._path = path
        self._answers = dict(_read(path).answers) if path.exists() else {}

    @property
    def name(self) -> str:
        """Return the other model's name."""
        return self._chat.name

    @property
    def can_hold_to_schema(self) -> bool:
        """Return False, like `ReplayChat`."""
        return False

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """Return the other model's answer, and record it.

        Raises:
            ModelError: There was no answer; nothing is recorded.
        """
        answer = await self._chat.complete(prompt, deadline_s=deadline_s)
        self._answers[hash_prompt(prompt)] = Recorded(prompt=prompt.name, answer=answer)
        cassette = Cassette(answers=dict(sorted(self._answers.items())))
        # Replaced in one step, so that a crash keeps the old cassette.
        beside = self._path.with_name(f".{self._path.name}.new")
        beside.write_text(cassette.model_dump_json(indent=1) + "\n")
        beside.replace(self._path)
        return answer

    async def close(self) -> None:
        """Close the other model."""
        await self._chat.close()


def _read(path: Path) -> Cassette:
    try:
        return Cassette.model_validate_json(path.read_bytes())
    except OSError as error:
        raise SettingsError(
            f"the cassette {path} cannot be read ({error.strerror})", "check replay:FILE"
        ) from error
    except ValidationError as error:
        raise SettingsError(f"{path} is not a cassette", "record it again") from error
