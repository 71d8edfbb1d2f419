"""metaagent prompts: list the prompts, or render one as a model reads it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.domain.model import Passage, Question
from bot.errors import UsageError
from bot.llm.prompts.render import PromptError, prompt_file, prompt_names, render_question

_CHARACTERS_PER_TOKEN = 3.3
"""As `bot.llm.estimate`, which explains it."""


@dataclass(frozen=True)
class PromptsOrder:
    """The options of one run."""

    name: str | None = None
    """None lists them."""
    gaps: Sequence[str] = field(default_factory=tuple)
    """`name=text`, each; foreign text."""


@dataclass(frozen=True)
class PromptsResult:
    """A text for people, and an object for programs."""

    text: str
    json_object: dict[str, Any]


def run_prompts(order: PromptsOrder) -> PromptsResult:
    """List the prompts, or render one; unfilled gaps stay `{name}`.

    Args:
        order: The options.

    Raises:
        UsageError: there is no such prompt, or no such gap in it.
    """
    if order.name is None:
        files = [prompt_file(name) for name in prompt_names()]
        listed = [
            {"name": file.name, "version": file.version, "gaps": sorted(file.gaps)}
            for file in files
        ]
        lines = [f"{file.title:<24} {', '.join(sorted(file.gaps))}".rstrip() for file in files]
        return PromptsResult("\n".join(lines), {"prompts": listed})
    try:
        file = prompt_file(order.name)
    except PromptError as error:
        raise UsageError(error.message, error.advice) from error
    given = _parse_gaps(order.gaps, file.gaps)
    gaps: dict[str, str | Passage | tuple[Passage, ...]] = {
        name: f"{{{name}}}" for name in file.gaps
    }
    gaps |= {name: Passage(label=name, text=text) for name, text in given.items()}
    prompt = render_question(Question(stage="show", prompt=file.name, gaps=gaps))
    tokens = round((len(prompt.system) + len(prompt.user)) / _CHARACTERS_PER_TOKEN)
    head = f"{file.title}: {tokens} tokens; gaps: {', '.join(sorted(file.gaps)) or 'none'}"
    text = f"# {head}\n\n## system\n\n{prompt.system.strip()}\n\n## user\n\n{prompt.user.strip()}"
    told = {"name": file.name, "version": file.version, "gaps": sorted(file.gaps), "tokens": tokens}
    return PromptsResult(text, {**told, "system": prompt.system, "user": prompt.user})


def _parse_gaps(entries: Sequence[str], gaps: frozenset[str]) -> dict[str, str]:
    given = {}
    for entry in entries:
        name, equals, text = entry.partition("=")
        if not equals or name not in gaps:
            raise UsageError(
                f"--gap {name} is no gap of this prompt",
                f"write NAME=TEXT, one of {', '.join(sorted(gaps))}",
            )
        given[name] = text
    return given
