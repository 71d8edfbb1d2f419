"""Prompts are Markdown files: the first line holds name and version, `{gap}` is filled, and none may be left over."""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from bot.domain.model import Passage, Prompt, Question, Role
from bot.errors import MetaAgentError
from bot.llm.spans import Washer, nonce_of, spans
from sandbox.types import Frozen

SYSTEM: Final = "common"
"""The prompt file that goes ahead of every question, unless `NAME_system` stands beside the prompt `NAME`."""
REPAIR: Final = "repair"
FOLDER: Final = "bot.llm.prompts"
OURS_CAP = 262_144
ANSWER_CAP = 6_000
PROBLEM_CAP = 1_500
_FIRST = re.compile(r"<!-- ([a-z][a-z0-9_]*) version (\d+)\b[^\n]*-->")
_GAP = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class PromptError(MetaAgentError):
    """A prompt file and what it is filled with do not fit: a mistake of ours."""


class PromptFile(Frozen):
    """One Markdown file."""

    name: str
    version: int
    text: str

    @property
    def title(self) -> str:
        """`plan_task@3`."""
        return f"{self.name}@{self.version}"

    @property
    def gaps(self) -> frozenset[str]:
        """What has to be filled."""
        return frozenset(_GAP.findall(self.text))

    def filled(self, gaps: Mapping[str, str]) -> str:
        """The text with every gap filled; what fills one is not looked at again.

        Args:
            gaps: A text for each gap, and nothing else.

        Raises:
            PromptError: a gap is left over, or something fills none.
        """
        if wrong := sorted(self.gaps ^ set(gaps)):
            left = [f"{{{name}}} is left over" if name in self.gaps else f"{name} fills no gap" for name in wrong]
            raise PromptError(f"prompt {self.title}: {', '.join(left)}")
        return _GAP.sub(lambda found: gaps[found[1]], self.text)


def prompt_names() -> tuple[str, ...]:
    """Every prompt file there is."""
    found = (entry.name for entry in files(FOLDER).iterdir())
    return tuple(sorted(name.removesuffix(".md") for name in found if name.endswith(".md")))


def prompt_file(name: str) -> PromptFile:
    """A prompt file by its name.

    Args:
        name: `plan_task`.

    Raises:
        PromptError: there is none of this name, or its first line is not what it has to be.
    """
    file = files(FOLDER) / f"{name}.md"
    if not _NAME.fullmatch(name) or not file.is_file():
        raise PromptError(f"there is no prompt {name!r}", f"one of {', '.join(prompt_names())}")
    first, _, text = file.read_text(encoding="utf-8").partition("\n")
    found = _FIRST.fullmatch(first.strip())
    if found is None or found[1] != name:
        raise PromptError(f"the first line of prompt {name} is not `<!-- {name} version N -->`")
    return PromptFile(name=name, version=int(found[2]), text=text.strip() + "\n")


def rendered(question: Question, washer: Washer | None = None) -> Prompt:
    """A question as a provider takes it: cleaned, redacted, foreign text between marks.

    Args:
        question: Which prompt, and what fills its gaps.
        washer: Takes out what must not leave.

    Raises:
        PromptError: prompt and gaps do not fit.
    """
    file, own = prompt_file(question.prompt), f"{question.prompt}_system"
    system = prompt_file(own if (files(FOLDER) / f"{own}.md").is_file() else SYSTEM)
    return Prompt(
        system=system.filled({}),
        user=file.filled(_texts(question.gaps, nonce_of(passages_of(question)), washer or Washer())),
        max_tokens=question.max_tokens,
        temperature=question.temperature,
        seed=question.sample,
        cache=question.role is Role.FIX,
        name=file.title,
    )


def asked_again(
    question: Question, prompt: Prompt, washer: Washer | None = None, *, answer: str, problem: str, kind: str
) -> Prompt:
    """A prompt once more, with the answer that was of no use and what is wrong with it.

    Args:
        question: What was asked.
        prompt: As it was sent.
        washer: Takes out what must not leave.
        answer: Hostile.
        problem: Why it is of no use.
        kind: The type of message asked for.
    """
    nonce = nonce_of(passages_of(question))
    said = Passage(label="your answer", text=answer[-ANSWER_CAP:])
    # A validator's words may hold a model's: they stand between marks too.
    wrong = Passage(label="what is wrong", text=problem[:PROBLEM_CAP])
    texts = _texts({"answer": said, "problem": wrong, "type": kind}, nonce, washer or Washer())
    return prompt.with_(user=f"{prompt.user}\n{prompt_file(REPAIR).filled(texts)}")


def passages_of(question: Question) -> tuple[Passage, ...]:
    """Everything in a question that is not a bare string of ours."""
    return tuple(one for gap in question.gaps.values() if not isinstance(gap, str) for one in _listed(gap))


def _listed(gap: Passage | tuple[Passage, ...]) -> tuple[Passage, ...]:
    return (gap,) if isinstance(gap, Passage) else gap


def _texts(gaps: Mapping[str, str | Passage | tuple[Passage, ...]], nonce: str, washer: Washer) -> dict[str, str]:
    """What stands in the gaps; our own words are redacted too, since they may quote."""
    return {
        name: washer.washed(gap, OURS_CAP) if isinstance(gap, str) else spans(_listed(gap), nonce, washer)
        for name, gap in gaps.items()
    }
