"""What a model is shown of a failure: the important first, each part within its room, and what is left out by name."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.model import Passage
from bot.fixers.rung2_model import surroundings
from bot.fixers.rung2_model.budget import Part, Room
from bot.fixers.rung2_model.edits import SentFile
from bot.fixers.rung2_model.excerpts import Excerpts
from bot.fixers.rung2_model.failing import add_test_sources, failing_passages, first_failures
from bot.fixers.rung2_model.sources import Files
from bot.fixers.trials import Failure
from sandbox.changes import is_protected, is_safe_path
from sandbox.types import TestReport

_PLACES = 60
_CUT_SHOWN = 40

Gaps = dict[str, str | Passage | tuple[Passage, ...]]


@dataclass(frozen=True)
class Place:
    """A line that may hold the cause."""

    file: str
    line: int


@dataclass(frozen=True)
class Brief:
    """Everything that is shown, and the files an answer may edit."""

    parts: dict[Part, tuple[Passage, ...]]
    sent: tuple[SentFile, ...]
    cut: tuple[str, ...]
    files: Files
    places: tuple[Place, ...]
    tokens: int
    """The size of the whole."""
    task: str
    said: tuple[Passage, ...] = ()

    def gaps(self, feedback: tuple[Passage, ...] = ()) -> Gaps:
        """What fills the prompt; equal for all samples of a round, and what is new in a later one comes last.

        Args:
            feedback: What became of earlier answers.
        """
        cut = "\n".join(self.cut[:_CUT_SHOWN])
        return {
            **{part.value: self.parts.get(part, ()) for part in Part},
            "said": self.said,
            "cut": (Passage(label="names of what is not shown", text=cut, origin="the repository"),) if cut else (),
            Part.FEEDBACK.value: feedback,
            "task": self.task,
        }

    def with_asked(self, asked: Excerpts) -> "Brief":
        """This brief with files the model asked for.

        Args:
            asked: What is shown of them.
        """
        known = {file.path: file for file in self.sent}
        for file in asked.sent:
            before = known.get(file.path)
            known[file.path] = file.with_(regions=(*(before.regions if before else ()), *file.regions))
        return replace(
            self,
            parts={**self.parts, Part.ASKED: (*self.parts.get(Part.ASKED, ()), *asked.passages)},
            sent=tuple(known.values()),
            cut=(*self.cut, *asked.cut),
        )


async def brief_of(failure: Failure, report: TestReport, tokens: int) -> Brief:
    """Gather what is known about a failure.

    Args:
        failure: What is to be mended.
        report: The red run.
        tokens: What a whole prompt may hold.
    """
    context, diagnosis, files = failure.context, failure.diagnosis, Files(failure.workspace)
    failures = first_failures(report)
    tests = Excerpts(files, Room.of(Part.TESTS, tokens), "source of the failing tests")
    await add_test_sources(failures, files, tests)
    places = suspect_places(context, diagnosis, report)
    sources = Excerpts(files, Room.of(Part.SOURCES, tokens), "source")
    for place in places:
        await sources.add_line(place.file, place.line)
    shown = sources.shown
    facts = await failure.workspace.facts()
    paths = [excerpt.source.path for excerpt in shown]
    diff, diff_cut = await surroundings.red_diff(facts, paths, files, Room.of(Part.DIFF, tokens))
    more = [f"failing test {name}" for name in sorted(report.failing - {one.name for one in failures})]
    return Brief(
        parts={
            Part.FAILING: failing_passages(context, report, Room.of(Part.FAILING, tokens)),
            Part.TESTS: tests.passages,
            Part.SOURCES: sources.passages,
            Part.SKELETON: await surroundings.skeleton(shown, files, Room.of(Part.SKELETON, tokens)),
            Part.DIFF: diff,
            Part.LESSONS: surroundings.lessons(context, Room.of(Part.LESSONS, tokens)),
            Part.ATTEMPTS: surroundings.attempts(context, Room.of(Part.ATTEMPTS, tokens)),
        },
        sent=_joined(sources.sent, tests.sent),
        cut=tuple(dict.fromkeys((*sources.cut, *tests.cut, *diff_cut, *more))),
        files=files,
        places=places,
        tokens=tokens,
        task=_task(report),
        said=surroundings.said(context, diagnosis.cause, Room.of(Part.LESSONS, tokens)),
    )


def suspect_places(context: MissionContext, diagnosis: Diagnosis, report: TestReport) -> tuple[Place, ...]:
    """Where the cause may be: the deepest frame of each failure, near misses of the search, then all suspects by rank.

    Args:
        context: With near misses.
        diagnosis: With suspects, best first.
        report: With tracebacks.
    """
    deepest = [
        next((Place(file, line) for file, line, _ in reversed(failure.frames) if _editable(file)), None)
        for failure in report.failures
    ]
    near = [Place(miss.path, miss.line) for miss in context.near_misses]
    ranked = [Place(suspect.file, suspect.line) for suspect in diagnosis.suspects]
    found = dict.fromkeys(place for place in (*deepest, *near, *ranked) if place and _editable(place.file))
    return tuple(found)[:_PLACES]


def _editable(path: str) -> bool:
    return is_safe_path(path) and not is_protected(path)


def _joined(first: Iterable[SentFile], second: Iterable[SentFile]) -> tuple[SentFile, ...]:
    """Each file once, with everything of it that was shown."""
    files: dict[str, SentFile] = {}
    for file in (*first, *second):
        before = files.get(file.path)
        files[file.path] = file.with_(regions=(*before.regions, *file.regions)) if before else file
    return tuple(files.values())


def _task(report: TestReport) -> str:
    """What is wanted, in words of ours: names and messages are passages."""
    if not report.failing:
        return "Change the program so that the failing command succeeds."
    count = len(report.failing)
    if report.runner == "diagnostics":
        return f"Change the program so that the checker's {count} findings are gone."
    tests = "the failing test passes" if count == 1 else f"all {count} failing tests pass"
    return f"Change the program so that {tests} and no test that passes now fails."
