"""Recorded answers: a cassette is a JSON file of completions under the hash of what was asked."""

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
    """One answer, and for people which prompt it answered."""

    prompt: str
    answer: Completion


class Cassette(Frozen):
    """The file."""

    version: int = 1
    answers: dict[str, Recorded] = Field(default_factory=dict)


def key_of(prompt: Prompt) -> str:
    """The hash of everything that may change an answer: texts, limits, the prompt file and its version."""
    fields = prompt.model_dump(exclude={"cache"})
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def build(path: Path, options: object = None) -> "Replay":
    """A cassette as a model.

    Args:
        path: The file.
        options: Not used.

    Raises:
        SettingsError: it cannot be read.
    """
    del options
    return Replay(path)


class Replay:
    """Gives the answers of a cassette, and knows no others.

    Args:
        path: The file.

    Raises:
        SettingsError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cassette = _read(path)

    @property
    def name(self) -> str:
        """`replay:fixes.json`."""
        return f"replay:{self._path.name}"

    @property
    def can_hold_to_schema(self) -> bool:
        """A schema is part of what was asked; whoever recorded without one finds nothing with one."""
        return False

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """The recorded answer.

        Raises:
            ModelError: none was recorded for exactly this.
        """
        del deadline_s
        key = key_of(prompt)
        found = self._cassette.answers.get(key)
        if found is None:
            message = f"{self.name} holds no answer to {prompt.name or 'a prompt without a name'} ({key[:_SHOWN]})"
            raise ModelError(message, "record it again: the prompt changed", trouble=ModelTrouble.BAD_REQUEST)
        return found.answer

    async def close(self) -> None:
        """Nothing is held."""


class Recorder:
    """Another model whose answers are written into a cassette, each as soon as it is there.

    Args:
        chat: The other model.
        path: The file; what is in it already is kept.

    Raises:
        SettingsError: there is a file, and it is no cassette.
    """

    def __init__(self, chat: Chat, path: Path) -> None:
        self._chat = chat
        self._path = path
        self._answers = dict(_read(path).answers) if path.exists() else {}

    @property
    def name(self) -> str:
        """That of the other."""
        return self._chat.name

    @property
    def can_hold_to_schema(self) -> bool:
        """Never: `Replay` is asked in the same way."""
        return False

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        """The other's answer, kept.

        Raises:
            ModelError: there is none; nothing is kept then.
        """
        answer = await self._chat.complete(prompt, deadline_s=deadline_s)
        self._answers[key_of(prompt)] = Recorded(prompt=prompt.name, answer=answer)
        cassette = Cassette(answers=dict(sorted(self._answers.items())))
        beside = self._path.with_name(f".{self._path.name}.new")
        beside.write_text(cassette.model_dump_json(indent=1) + "\n")
        beside.replace(self._path)
        return answer

    async def close(self) -> None:
        """Close the other."""
        await self._chat.close()


def _read(path: Path) -> Cassette:
    try:
        return Cassette.model_validate_json(path.read_bytes())
    except OSError as error:
        raise SettingsError(f"the cassette {path} cannot be read ({error.strerror})", "check replay:FILE") from error
    except ValidationError as error:
        raise SettingsError(f"{path} is no cassette", "record it again") from error
