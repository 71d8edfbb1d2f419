"""Passages that stages show to a model, and sanitizing of the model's text."""

from collections.abc import Iterable, Sequence

from bot.domain.counted import counted
from bot.domain.decision import TaskSummary
from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import Iteration, MissionContext
from bot.domain.model import Passage
from bot.domain.patch import Rung
from bot.domain.plan import AcceptanceCriterion, Plan
from bot.domain.verdict import Critique
from sandbox.gate import clean
from sandbox.types import FileContext, SourceDiff, TestResult

WORKER_OF = {Rung.TOOLS: "tools", Rung.SEARCH: "search", Rung.MODEL: "model"}
_FAILURES = 3
_FAILURE_CHARS = 1_500
_CONTEXTS = 4
_CONTEXT_CHARS = 2_000
_HUNKS = 8
_HUNK_CHARS = 600
_LESSONS = 3
_LESSON_CHARS = 400
_HINT_CHARS = 1_000
_ATTEMPTS = 2
_DIFF_CHARS = 3_000
_CRITERIA = 10


def line(text: str, cap: int = 300) -> str:
    """Return a model's text as one sanitized, bounded line.

    Args:
        text: Untrusted text.
        cap: Maximum number of characters.
    """
    return " ".join(clean(text, cap=cap).split())


def lines(texts: Iterable[str], most: int, cap: int = 300) -> tuple[str, ...]:
    """Return the first distinct, non-empty sentences of a model.

    Args:
        texts: Untrusted sentences.
        most: Maximum number of sentences.
        cap: Maximum number of characters of each.
    """
    return tuple(
        dict.fromkeys(sentence for sentence in (line(text, cap) for text in texts) if sentence)
    )[:most]


def paragraph(text: str, cap: int = 2_000) -> str:
    """Return a model's text, sanitized and bounded, with its line breaks."""
    return clean(text.strip(), cap=cap)


def failures(found: Sequence[TestResult]) -> tuple[Passage, ...]:
    """Return the first failing tests with their messages."""
    return tuple(
        Passage(
            label="failing test",
            origin=one.name,
            text=f"{one.error or ''} {one.error_message or ''}\n\n{one.traceback or one.output}"[
                :_FAILURE_CHARS
            ].strip(),
        )
        for one in found[:_FAILURES]
    )


def sources(contexts: Sequence[FileContext]) -> tuple[Passage, ...]:
    """Return numbered source around the failing lines and the suspects."""
    return tuple(
        Passage(label="source", origin=one.file, text=one.snippet[:_CONTEXT_CHARS])
        for one in contexts[:_CONTEXTS]
    )


def red_diff(diff: SourceDiff) -> tuple[Passage, ...]:
    """Return the old text of each hunk of the red commit."""
    return tuple(
        Passage(
            label=f"before the red commit, at line {hunk.line} ({hunk.lines} lines now)",
            origin=hunk.path,
            text=hunk.before[:_HUNK_CHARS] or "(nothing)",
        )
        for hunk in diff.hunks[:_HUNKS]
    )


def lessons(context: MissionContext) -> tuple[Passage, ...]:
    """Return lessons of earlier missions."""
    return tuple(
        Passage(
            label="lesson of an earlier mission",
            origin=one.reason,
            text=one.lesson.sentence[:_LESSON_CHARS],
        )
        for one in context.lessons[:_LESSONS]
    )


def person(context: MissionContext) -> tuple[Passage, ...]:
    """Return a person's hint from the request."""
    hint = context.request.hint[:_HINT_CHARS]
    return (Passage(label="a person's hint where to look", text=hint),) if hint else ()


def attempts(context: MissionContext) -> tuple[Passage, ...]:
    """Return the last tried changes and the reasons for their rejection."""
    tried = [
        one
        for one in context.iterations
        if one.candidate is not None and one.verification is not None
    ]
    return tuple(_attempt(one) for one in tried[-_ATTEMPTS:])


def _attempt(iteration: Iteration) -> Passage:
    verification, title = (
        iteration.verification,
        iteration.candidate.title if iteration.candidate else "",
    )
    diff = verification.diff[:_DIFF_CHARS] if verification else ""
    why = verification.reason if verification else ""
    return Passage(label="tried before", origin=title, text=f"{why}\n\n{diff}")


def diagnosis(found: Diagnosis) -> Passage:
    """Return the known cause and suspects."""
    places = [f"{s.file}:{s.line} ({s.score:.2f}) {s.reason}" for s in found.suspects[:10]]
    text = f"{found.title}\n{found.cause}\n\nSuspects:\n{_list(places)}"
    text += f"\n\nConfidence: {found.confidence:.2f}\n{found.reasoning}"
    return Passage(label="diagnosis", text=text)


def plan(intended: Plan) -> Passage:
    """Return the current plan."""
    steps = [
        f"{s.id} [{s.action}] {s.description}; after: {', '.join(s.dependencies) or '-'}"
        for s in intended.steps
    ]
    return Passage(
        label="plan",
        text=f"{intended.goal}\n\n{_list(steps)}\n\nConfidence: {intended.confidence:.2f}",
    )


def critique(verdict: Critique) -> Passage:
    """Return the critique of the plan."""
    issues = [
        f"{i.severity.value} {i.category.value}: {i.description} {i.suggestion}"
        for i in verdict.issues
    ]
    head = f"{verdict.recommendation.value}, {verdict.overall:.2f}: {verdict.rationale}"
    return Passage(
        label="critique of the plan",
        text=f"{head}\n{_list(issues)}\n{_list(verdict.suggestions)}",
    )


def criteria(known: Sequence[AcceptanceCriterion]) -> Passage:
    """Return the acceptance criteria; the first ones if there are many."""
    listed = [f"{c.id} {'(passed) ' if c.passed else ''}{c.description}" for c in known[:_CRITERIA]]
    more = [f"... and {len(known) - _CRITERIA} more"] if len(known) > _CRITERIA else []
    return Passage(label="acceptance criteria", text=_list([*listed, *more]))


def task(summary: TaskSummary) -> Passage:
    """Return the task in one line, with its acceptance criteria."""
    runs = f"{counted(summary.worker_runs_count, 'worker run')} so far"
    known = criteria(summary.acceptance_criteria).text
    text = f"{line(summary.title)} ({summary.state}, {runs})\n{known}"
    return Passage(label="task and acceptance criteria", text=text)


def change(diff: str) -> Passage:
    """Return a change as a unified diff."""
    cut = f"{diff[:_DIFF_CHARS]}\n(cut)" if len(diff) > _DIFF_CHARS else diff
    return Passage(label="change", text=cut)


def workers(rungs: Iterable[Rung]) -> str:
    """Describe the workers that a plan may name, in trusted words."""
    what = {
        Rung.TOOLS: "`tools`: a linter or formatter repairs its own findings",
        Rung.SEARCH: (
            "`search`: tries thousands of small changes of the suspect lines "
            "against the failing tests"
        ),
        Rung.MODEL: (
            "`model`: a language model writes edits, which are tried against the failing tests"
        ),
    }
    return _list(
        [
            *(what[rung] for rung in sorted(rungs)),
            "`verify`: proves the change in a fresh workspace",
        ]
    )


def _list(entries: Iterable[str]) -> str:
    return "\n".join(f"- {entry}" for entry in entries) or "(none)"
