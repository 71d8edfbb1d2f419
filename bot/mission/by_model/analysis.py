"""ANALYZE by a model: the cause in its words, places it suspects beside those of the rules, how sure it is."""

from bot.domain.diagnosis import Diagnosis, Suspect
from bot.domain.mission import MissionContext
from bot.domain.model import Passage, Question
from bot.llm import passages
from bot.llm.protocol.messages import AnalyzeFailure, SuspectNamed
from bot.mission.suspects import contexts_of, is_suspectable, merged, text_of
from bot.ports import Mind, Workspace
from sandbox.types import Frozen, SourceDiff

_SUSPECTS = 10
_FILE_CHARS = 6_000
_AROUND = 15
"""Lines of context around a place it names."""
_AT_LEAST = 0.3
"""The score of a place that was named without one: that of the last frame of a traceback."""


class Look(Frozen):
    """One pass of thinking."""

    number: int = 1
    feedback: str = ""
    """What was said about the thought before this one."""
    least: int = 1
    """So many passes in any case."""
    wanted: tuple[str, ...] = ()
    """Files it is to be shown besides."""


async def analyze_by_model(
    mind: Mind, rules: Diagnosis, context: MissionContext, workspace: Workspace, *, look: Look
) -> Diagnosis:
    """What a model makes of a failure; kind, title, failures and fingerprint are measured and stay.

    Args:
        mind: The models.
        rules: What the rules found.
        context: The mission, with its lessons.
        workspace: On the failing tree.
        look: Which pass this is.

    Raises:
        ModelError: there is no usable answer.
    """
    question = Question(
        stage="analyze",
        prompt="analyze_failure",
        gaps={
            "failures": passages.failures(rules.failures),
            "sources": (*passages.sources(rules.contexts), *await _wanted(look.wanted, workspace)),
            "red_diff": passages.red_diff(context.facts.red_diff if context.facts else SourceDiff()),
            "known": passages.diagnosis(rules),
            "person": passages.person(context),
            "lessons": passages.lessons(context),
            "attempts": passages.attempts(context),
            "feedback": Passage(label="what was said about the look before", text=look.feedback)
            if look.feedback
            else (),
        },
    )
    said, _ = await mind.ask(question, AnalyzeFailure)
    named = await _places(said.suspects, workspace)
    suspects = merged((*rules.suspects, *named)) if named else rules.suspects
    return rules.with_(
        by="model",
        cause=passages.paragraph(said.cause),
        suspects=suspects,
        contexts=await contexts_of(rules.failures, suspects, workspace, around=_AROUND) if named else rules.contexts,
        confidence=rules.confidence if said.confidence is None else said.confidence,
        reasoning=passages.paragraph(said.reasoning) or rules.reasoning,
    )


async def _wanted(files: tuple[str, ...], workspace: Workspace) -> tuple[Passage, ...]:
    """The beginnings of the files that were asked for, of those the checkout has."""
    there = frozenset(await workspace.list_files()) if files else frozenset()
    shown = []
    for path in files:
        text = await text_of(path, workspace) if path in there else ""
        said = text[:_FILE_CHARS] or "(no such text file in the checkout)"
        shown.append(Passage(label="asked for", origin=path, text=said))
    return tuple(shown)


async def _places(named: tuple[SuspectNamed, ...], workspace: Workspace) -> tuple[Suspect, ...]:
    """Those that are lines of files of the checkout which may be edited."""
    there = frozenset(await workspace.list_files()) if named else frozenset()
    found = []
    for one in named[:_SUSPECTS]:
        if one.file not in there or not is_suspectable(one.file):
            continue
        length = len((await text_of(one.file, workspace)).splitlines())
        if one.line <= length:
            score = _AT_LEAST if one.score is None else one.score
            reason = f"named by a model: {passages.line(one.reason, 160)}"
            found.append(Suspect(file=one.file, line=one.line, score=score, reason=reason))
    return tuple(found)
