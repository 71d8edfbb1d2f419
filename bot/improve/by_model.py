"""An improvement proposed and criticised by a model. Code travels in edit blocks, never in YAML."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.domain.model import Finish, ModelCall, Passage, Question, Role
from bot.domain.model_error import ModelError
from bot.fixers.rung2_model.edits import EditRules, SentFile, describe_rejections, read_edits
from bot.improve.values import CycleRecord, Improvement
from bot.llm.passages import line, paragraph
from bot.llm.protocol.extract import extract
from bot.llm.protocol.messages import AnalyzeTarget, CritiqueChange, ImplementImprovement
from bot.ports import Mind
from sandbox.diffs import Original

MAX_SHOWN = 60_000
"""Maximum length of the file that a model is shown, in characters; the rest is cut."""
_ROUNDS = 2
_EARLIER = 5
_MAX_TOKENS = 6_000
_FEEDBACK = 4_000


@dataclass
class ModelWork:
    """The calls of one cycle, and facts for its record."""

    mind: Mind
    calls: list[ModelCall] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


async def propose_by_model(
    work: ModelWork,
    path: str,
    tree: Mapping[str, Original],
    *,
    context: str,
    earlier: tuple[CycleRecord, ...],
) -> tuple[Improvement, bytes] | None:
    """Return a model's improvement with the new content; None if its edits cannot be used.

    Args:
        work: The models; gets the calls.
        path: The file.
        tree: All files of the project.
        context: The user's text, context file and logs.
        earlier: The cycles before.

    Raises:
        ModelError: there is no usable answer.
    """
    text = tree[path].content.decode()
    source, sent = _shown(path, text, work)
    question = Question(
        stage="improve",
        prompt="analyze_target",
        gaps={
            "source": source,
            "context": Passage(label="context", text=context) if context else (),
            "earlier": tuple(_describe(record) for record in earlier[-_EARLIER:]),
        },
    )
    try:
        analysis, calls = await work.mind.ask(question, AnalyzeTarget)
    except ModelError as error:
        work.calls += error.calls
        raise
    work.calls += calls
    improvement = Improvement(
        path=path,
        title=line(analysis.title),
        reason=paragraph(f"{analysis.problem}\n{analysis.change}", 1_000),
        expected_impact=line(analysis.expected_impact),
    )
    content = await _implement(work, improvement, source, sent, files=frozenset(tree))
    return None if content is None else (improvement, content)


async def critique_by_model(
    work: ModelWork, improvement: Improvement, old: bytes, diff: str
) -> tuple[float, str] | None:
    """Return a model's score of a change and its reason; None if it gives no score.

    Args:
        work: The models; gets the calls.
        improvement: The improvement.
        old: The old content of its file.
        diff: The change.
    """
    question = Question(
        stage="critique",
        prompt="critique_improvement",
        gaps={
            "improvement": _meant(improvement),
            "source": _shown(improvement.path, old.decode(), work)[0],
            "change": Passage(label="the change", text=diff),
        },
    )
    try:
        said, calls = await work.mind.ask(question, CritiqueChange)
    except ModelError as error:
        work.calls += error.calls
        work.notes.append(f"no critique by a model: {line(error.message)}")
        return None
    work.calls += calls
    return None if said.score is None else (said.score, line(said.justification))


async def _implement(
    work: ModelWork,
    improvement: Improvement,
    source: Passage,
    sent: SentFile,
    *,
    files: frozenset[str],
) -> bytes | None:
    """Ask for the edits, and once more if they do not fit."""
    feedback = ""
    for _ in range(_ROUNDS):
        question = Question(
            stage="improve",
            prompt="implement_improvement",
            role=Role.FIX,
            max_tokens=_MAX_TOKENS,
            gaps={
                "improvement": _meant(improvement),
                "source": source,
                "feedback": Passage(label="your edits", text=feedback) if feedback else (),
            },
        )
        try:
            written = await work.mind.write(question)
        except ModelError as error:
            work.calls += error.calls
            raise
        work.calls += (*written.failed, written.call)
        truncated = written.finish is Finish.LENGTH
        rules = EditRules(files=files, max_files=1)
        found = read_edits(written.text, (sent,), rules, truncated=truncated)
        if not found.rejections and found.changes[0].content is not None:
            if extract(written.text, ImplementImprovement).message is None:
                work.notes.append("the edits came without an implement_improvement message")
            return found.changes[0].content.encode()
        feedback = describe_rejections(found.rejections)[:_FEEDBACK]
    work.notes.append(f"the model's edits do not fit: {line(feedback)}")
    return None


def _shown(path: str, text: str, work: ModelWork) -> tuple[Passage, SentFile]:
    """Return the file for a prompt, cut at a line if it is too long."""
    if len(text) <= MAX_SHOWN:
        return Passage(label="file", text=text, origin=path), SentFile(path=path, text=text)
    part = text[:MAX_SHOWN].rpartition("\n")[0]
    note = f"{path} was cut from {len(text)} to {len(part)} characters for the model"
    if note not in work.notes:
        work.notes.append(note)
    region = (1, part.count("\n") + 1)
    sent = SentFile(path=path, text=text, regions=(region,))
    return Passage(label="file (its beginning)", text=part, origin=path), sent


def _meant(improvement: Improvement) -> Passage:
    return Passage(label="the improvement", text=f"{improvement.title}\n{improvement.reason}")


def _describe(record: CycleRecord) -> Passage:
    title = record.improvement.title if record.improvement is not None else "(nothing)"
    text = f"{title}: {record.status.value} {record.reason}".strip()
    return Passage(label=f"cycle {record.cycle}", text=text)
