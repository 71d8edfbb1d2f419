"""What stages show a model (failures, source, plans, attempts as bounded passages), and its words made clean."""

from collections.abc import Iterable, Sequence

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
    """A model's words as one clean, bounded line.

    Args:
        text: Hostile.
        cap: Most characters.
    """
    return " ".join(clean(text, cap=cap).split())


def lines(texts: Iterable[str], most: int, cap: int = 300) -> tuple[str, ...]:
    """The first few of a model's sentences, each once, none empty.

    Args:
        texts: Hostile.
        most: How many.
        cap: Most characters of each.
    """
    return tuple(dict.fromkeys(said for said in (line(text, cap) for text in texts) if said))[:most]


def paragraph(text: str, cap: int = 2_000) -> str:
    """A model's words, clean and bounded, with their lines."""
    return clean(text.strip(), cap=cap)


def failures(found: Sequence[TestResult]) -> tuple[Passage, ...]:
    """The first failing tests: what they say and where."""
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
    """Source around the failing lines and the suspects, numbered."""
    return tuple(
        Passage(label="source", origin=one.file, text=one.snippet[:_CONTEXT_CHARS]) for one in contexts[:_CONTEXTS]
    )


def red_diff(diff: SourceDiff) -> tuple[Passage, ...]:
    """What stood where the commit changed something."""
    return tuple(
        Passage(
            label=f"before the red commit, at line {hunk.line} ({hunk.lines} lines now)",
            origin=hunk.path,
            text=hunk.before[:_HUNK_CHARS] or "(nothing)",
        )
        for hunk in diff.hunks[:_HUNKS]
    )


def lessons(context: MissionContext) -> tuple[Passage, ...]:
    """What earlier missions learned."""
    return tuple(
        Passage(label="lesson of an earlier mission", origin=one.reason, text=one.lesson.sentence[:_LESSON_CHARS])
        for one in context.lessons[:_LESSONS]
    )


def person(context: MissionContext) -> tuple[Passage, ...]:
    """What a person said when asking for this mission."""
    hint = context.request.hint[:_HINT_CHARS]
    return (Passage(label="where a person says to look", text=hint),) if hint else ()


def attempts(context: MissionContext) -> tuple[Passage, ...]:
    """The last changes that were tried, and why they were refused."""
    tried = [one for one in context.iterations if one.candidate is not None and one.verification is not None]
    return tuple(_attempt(one) for one in tried[-_ATTEMPTS:])


def _attempt(iteration: Iteration) -> Passage:
    verification, title = iteration.verification, iteration.candidate.title if iteration.candidate else ""
    diff = verification.diff[:_DIFF_CHARS] if verification else ""
    why = verification.reason if verification else ""
    return Passage(label="tried before", origin=title, text=f"{why}\n\n{diff}")


def diagnosis(found: Diagnosis) -> Passage:
    """What is broken and where, as far as it is known."""
    places = [f"{s.file}:{s.line} ({s.score:.2f}) {s.reason}" for s in found.suspects[:10]]
    text = f"{found.title}\n{found.cause}\n\nSuspects:\n{_listed(places)}\n\nConfidence: {found.confidence:.2f}"
    return Passage(label="diagnosis", text=f"{text}\n{found.reasoning}")


def plan(intended: Plan) -> Passage:
    """What we intend to do."""
    steps = [f"{s.id} [{s.action}] {s.description}; after: {', '.join(s.dependencies) or '-'}" for s in intended.steps]
    return Passage(label="plan", text=f"{intended.goal}\n\n{_listed(steps)}\n\nConfidence: {intended.confidence:.2f}")


def critique(said: Critique) -> Passage:
    """What the critic said."""
    issues = [f"{i.severity.value} {i.category.value}: {i.description} {i.suggestion}" for i in said.issues]
    head = f"{said.recommendation.value}, {said.overall:.2f}: {said.rationale}"
    return Passage(label="critique of the plan", text=f"{head}\n{_listed(issues)}\n{_listed(said.suggestions)}")


def criteria(known: Sequence[AcceptanceCriterion]) -> Passage:
    """When the mission has succeeded; the first ones where there are many."""
    listed = [f"{c.id} {'(passed) ' if c.passed else ''}{c.description}" for c in known[:_CRITERIA]]
    more = [f"... and {len(known) - _CRITERIA} more"] if len(known) > _CRITERIA else []
    return Passage(label="acceptance criteria", text=_listed([*listed, *more]))


def task(summary: TaskSummary) -> Passage:
    """A task in one line, and the criteria that say when it is done."""
    runs = f"{summary.worker_runs_count} {'run' if summary.worker_runs_count == 1 else 'runs'} of workers so far"
    text = f"{line(summary.title)} ({summary.state}, {runs})\n{criteria(summary.acceptance_criteria).text}"
    return Passage(label="task and acceptance criteria", text=text)


def change(diff: str) -> Passage:
    """A change as a unified diff."""
    cut = f"{diff[:_DIFF_CHARS]}\n(cut)" if len(diff) > _DIFF_CHARS else diff
    return Passage(label="change", text=cut)


def workers(rungs: Iterable[Rung]) -> str:
    """The workers a plan may name, in our words."""
    what = {
        Rung.TOOLS: "`tools`: a linter or formatter repairs its own findings",
        Rung.SEARCH: "`search`: tries thousands of small changes of the suspect lines against the failing tests",
        Rung.MODEL: "`model`: a language model writes edits, which are tried against the failing tests",
    }
    return _listed([*(what[rung] for rung in sorted(rungs)), "`verify`: proves the change in a fresh workspace"])


def _listed(entries: Iterable[str]) -> str:
    return "\n".join(f"- {entry}" for entry in entries) or "(none)"
