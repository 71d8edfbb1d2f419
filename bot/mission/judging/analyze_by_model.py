"""ANALYZE by a model: it adds cause, suspected places and confidence to the rules' diagnosis."""

from bot.domain.diagnosis import Diagnosis, Suspect
from bot.domain.mission import MissionContext
from bot.domain.model import Passage, Question
from bot.llm import passages
from bot.llm.protocol.messages import AnalyzeFailure, SuspectNamed
from bot.mission.failures.suspects import is_suspectable, merged, read_contexts, read_text
from bot.ports import Mind, Workspace
from sandbox.types import Frozen, SourceDiff

# Limits on what a model may name, and on the file that it asks for.
_SUSPECTS = 10
_FILE_CHARS = 6_000
_AROUND = 15
"""Lines of context around a place that the model names."""
_AT_LEAST = 0.3
"""Score of a place named without one, equal to that of a traceback's last frame."""


class Look(Frozen):
    """One analysis pass."""

    number: int = 1
    feedback: str = ""
    """The assessment of the previous pass."""
    least: int = 1
    """Minimum number of passes."""
    wanted: tuple[str, ...] = ()
    """Additional files to show."""


async def analyze_by_model(
    mind: Mind, rules: Diagnosis, context: MissionContext, workspace: Workspace, *, look: Look
) -> Diagnosis:
    """Return a model's diagnosis; kind, title, failures and fingerprint are measured and stay.

    Args:
        mind: The models.
        rules: The diagnosis by rules.
        context: The mission, with its lessons.
        workspace: Workspace with the failing tree.
        look: The analysis pass.

    Raises:
        ModelError: there is no usable answer.
    """
    question = Question(
        stage="analyze",
        prompt="analyze_failure",
        gaps={
            "failures": passages.failures(rules.failures),
            "sources": (*passages.sources(rules.contexts), *await _wanted(look.wanted, workspace)),
            "red_diff": passages.red_diff(
                context.facts.red_diff if context.facts else SourceDiff()
            ),
            "known": passages.diagnosis(rules),
            "person": passages.person(context),
            "lessons": passages.lessons(context),
            "attempts": passages.attempts(context),
            "feedback": Passage(label="assessment of the previous pass", text=look.feedback)
            if look.feedback
            else (),
        },
    )
    said, _ = await mind.ask(question, AnalyzeFailure)
    return await apply_analysis(rules, said, workspace)


async def apply_analysis(rules: Diagnosis, said: AnalyzeFailure, workspace: Workspace) -> Diagnosis:
    """Return the rules' diagnosis with a model's cause, suspects and confidence.

    Args:
        rules: The diagnosis by rules.
        said: The model's analysis.
        workspace: Workspace with the failing tree.
    """
    named = await _places(said.suspects, workspace)
    suspects = merged((*rules.suspects, *named)) if named else rules.suspects
    return rules.with_(
        by="model",
        cause=passages.paragraph(said.cause),
        suspects=suspects,
        contexts=await read_contexts(rules.failures, suspects, workspace, around=_AROUND)
        if named
        else rules.contexts,
        confidence=rules.confidence if said.confidence is None else said.confidence,
        reasoning=passages.paragraph(said.reasoning) or rules.reasoning,
    )


async def _wanted(files: tuple[str, ...], workspace: Workspace) -> tuple[Passage, ...]:
    """Return the beginnings of the requested files that exist in the checkout."""
    there = frozenset(await workspace.list_files()) if files else frozenset()
    shown = []
    for path in files:
        text = await read_text(path, workspace) if path in there else ""
        said = text[:_FILE_CHARS] or "(no such text file in the checkout)"
        shown.append(Passage(label="asked for", origin=path, text=said))
    return tuple(shown)


async def _places(named: tuple[SuspectNamed, ...], workspace: Workspace) -> tuple[Suspect, ...]:
    """Return the named places that are lines of editable files."""
    there = frozenset(await workspace.list_files()) if named else frozenset()
    found = []
    for one in named[:_SUSPECTS]:
        if one.file not in there or not is_suspectable(one.file):
            continue
        length = len((await read_text(one.file, workspace)).splitlines())
        if one.line <= length:
            score = _AT_LEAST if one.score is None else one.score
            reason = f"named by a model: {passages.line(one.reason, 160)}"
            found.append(Suspect(file=one.file, line=one.line, score=score, reason=reason))
    return tuple(found)
