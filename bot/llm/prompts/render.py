"""Load and fill prompt files: Markdown with a name, a version and `{gap}` placeholders."""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from bot.domain.model import Passage, Prompt, Question, Role
from bot.errors import MetaAgentError
from bot.llm.prompts.order import rotate
from bot.llm.spans import NONE, Sanitizer, compute_nonce, render_passages
from sandbox.types import Frozen

SYSTEM: Final = "common"
"""Prompt file in front of every question, unless the prompt `NAME` has its own `NAME_system`."""
REPAIR: Final = "repair"
FOLDER: Final = "bot.llm.prompts"
OURS_CAP = 262_144
ANSWER_CAP = 6_000
PROBLEM_CAP = 1_500
_FIRST = re.compile(r"<!-- ([a-z][a-z0-9_]*) version (\d+)\b[^\n]*-->")
_GAP = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_HEADING = re.compile(r"^(?=#{1,3} )", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]*")


_EMPTY = frozenset({"", NONE})
_CHANGING = "<!-- what follows changes from question to question -->\n"
"""Ends the part of a prompt file that several questions of one fix share."""


class PromptError(MetaAgentError):
    """A prompt file does not match its gaps: a bug in MetaAgent."""


class PromptFile(Frozen):
    """A Markdown prompt."""

    name: str
    version: int
    text: str

    @property
    def title(self) -> str:
        """Return name and version, such as `plan_task@3`."""
        return f"{self.name}@{self.version}"

    @property
    def stable_gaps(self) -> frozenset[str]:
        """Return the names of the gaps in the shared part; empty if the file marks none."""
        stable, mark, _ = self.text.partition(_CHANGING)
        return frozenset(_GAP.findall(stable)) if mark else frozenset()

    @property
    def gaps(self) -> frozenset[str]:
        """Return the names of the gaps."""
        return frozenset(_GAP.findall(self.text))

    def filled(self, gaps: Mapping[str, str]) -> str:
        """Return the prompt with every gap filled; see `filled_parts`."""
        return "".join(self.filled_parts(gaps))

    def filled_parts(self, gaps: Mapping[str, str], order: int = 0) -> tuple[str, str]:
        """Fill every gap; filled text is not searched for gaps.

        A section whose gaps are all empty is left out, with its heading.

        Args:
            gaps: A text for each gap, and nothing else.
            order: Number of the order of the sections that several questions share.

        Returns:
            The part that several questions share, empty if the file marks none, and the rest.

        Raises:
            PromptError: A gap has no text, or a text has no gap.
        """
        if wrong := sorted(self.gaps ^ set(gaps)):
            left = [
                f"{{{name}}} has no text" if name in self.gaps else f"{name} is not a gap"
                for name in wrong
            ]
            raise PromptError(f"prompt {self.title}: {', '.join(left)}")
        stable, mark, rest = self.text.partition(_CHANGING)
        if not mark:
            return "", _fill(stable, gaps)
        return _fill(stable, gaps, order), _fill(rest, gaps)


def prompt_names() -> tuple[str, ...]:
    """Return the names of all prompt files."""
    found = (entry.name for entry in files(FOLDER).iterdir())
    return tuple(sorted(name.removesuffix(".md") for name in found if name.endswith(".md")))


def prompt_file(name: str) -> PromptFile:
    """Load a prompt file.

    Args:
        name: Name such as `plan_task`.

    Raises:
        PromptError: There is no such file, or its first line is invalid.
    """
    file = files(FOLDER) / f"{name}.md"
    if not _NAME.fullmatch(name) or not file.is_file():
        raise PromptError(f"there is no prompt {name!r}", f"one of {', '.join(prompt_names())}")
    first, _, text = file.read_text(encoding="utf-8").partition("\n")
    found = _FIRST.fullmatch(first.strip())
    if found is None or found[1] != name:
        raise PromptError(f"the first line of prompt {name} is not `<!-- {name} version N -->`")
    return PromptFile(name=name, version=int(found[2]), text=text.strip() + "\n")


def render_question(question: Question, washer: Sanitizer | None = None) -> Prompt:
    """Render a question for a provider: sanitized, redacted, untrusted text between marks.

    Args:
        question: The prompt's name and gaps.
        washer: Removes secrets.

    Raises:
        PromptError: The prompt does not match its gaps.
    """
    file, own = prompt_file(question.prompt), f"{question.prompt}_system"
    system = prompt_file(own if (files(FOLDER) / f"{own}.md").is_file() else SYSTEM)
    texts = _texts(_ordered_gaps(question, file), _mark(question), washer or Sanitizer())
    stable, rest = file.filled_parts(texts, question.order)
    return Prompt(
        # A section that several system prompts share is a prompt file of its own.
        system=system.filled({name: prompt_file(name).text.strip() for name in system.gaps}),
        user=stable + rest,
        stable=len(stable),
        max_tokens=question.max_tokens,
        temperature=question.temperature,
        seed=question.sample,
        tools=question.tools,
        # Another order has another beginning, which no later question repeats.
        cache=question.role is Role.FIX and not question.order,
        name=file.title,
    )


def render_repair(
    question: Question,
    prompt: Prompt,
    washer: Sanitizer | None = None,
    *,
    answer: str,
    problem: str,
    kind: str,
) -> Prompt:
    """Append an unusable answer and its problem to a prompt.

    Args:
        question: The question.
        prompt: The prompt as sent.
        washer: Removes secrets.
        answer: The unusable answer; untrusted.
        problem: Description of the problem.
        kind: The message type asked for.
    """
    nonce = _mark(question)
    previous = Passage(label="your answer", text=answer[-ANSWER_CAP:])
    # A validator's message may quote the model, so it is put between marks, too.
    wrong = Passage(label="what is wrong", text=problem[:PROBLEM_CAP])
    texts = _texts(
        {"answer": previous, "problem": wrong, "type": kind}, nonce, washer or Sanitizer()
    )
    return prompt.with_(user=f"{prompt.user}\n{prompt_file(REPAIR).filled(texts)}")


def _ordered_gaps(
    question: Question, file: PromptFile
) -> dict[str, str | Passage | tuple[Passage, ...]]:
    """Return the gaps with the shared facts in the question's order."""
    return {
        name: rotate(gap, question.order)
        if isinstance(gap, tuple) and name in file.stable_gaps
        else gap
        for name, gap in question.gaps.items()
    }


def _mark(question: Question) -> str:
    """Return the mark of a question's passages, equal for questions with the same stable part.

    A later passage may contain the mark, so rendering removes it from every passage.
    """
    stable = prompt_file(question.prompt).stable_gaps
    shared = {name: gap for name, gap in question.gaps.items() if name in stable}
    shared_passages = list_passages(question.with_(gaps=shared))
    return compute_nonce(shared_passages or list_passages(question))


def list_passages(question: Question) -> tuple[Passage, ...]:
    """Return all passages of a question: everything but trusted strings."""
    return tuple(
        one for gap in question.gaps.values() if not isinstance(gap, str) for one in _listed(gap)
    )


def _fill(text: str, gaps: Mapping[str, str], order: int = 0) -> str:
    """Fill the gaps of a text without its empty sections.

    Sections without a gap are instructions and stay where they are, before the facts.
    """
    kept = [part for part in _HEADING.split(text) if not _is_empty(part, gaps)]
    facts = rotate([part for part in kept if _is_about_facts(part)], order)
    rest = [part for part in kept if not _is_about_facts(part)]
    ordered = (*rest, *facts) if order else kept
    return _GAP.sub(lambda found: gaps[found[1]], "".join(ordered))


def _is_about_facts(section: str) -> bool:
    return section.startswith("#") and bool(_GAP.search(section))


def _is_empty(section: str, gaps: Mapping[str, str]) -> bool:
    """Return True for a headed section that has gaps, and nothing to fill them with."""
    named = _GAP.findall(section)
    return section.startswith("#") and bool(named) and all(gaps[n] in _EMPTY for n in named)


def _listed(gap: Passage | tuple[Passage, ...]) -> tuple[Passage, ...]:
    return (gap,) if isinstance(gap, Passage) else gap


def _texts(
    gaps: Mapping[str, str | Passage | tuple[Passage, ...]], nonce: str, washer: Sanitizer
) -> dict[str, str]:
    """Return the text of each gap; trusted text is redacted, too, because it may quote."""
    return {
        name: washer.washed(gap, OURS_CAP)
        if isinstance(gap, str)
        else render_passages(_listed(gap), nonce, washer)
        for name, gap in gaps.items()
    }
