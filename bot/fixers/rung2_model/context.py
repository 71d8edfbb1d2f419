"""Assemble the prompt context of a failure: parts of limited size, omissions listed by name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.model import Passage
from bot.fixers.rung2_model import related_context
from bot.fixers.rung2_model.budget import PromptPart, PromptSpace
from bot.fixers.rung2_model.called_code import called_code
from bot.fixers.rung2_model.doubted import doubted_changes, doubted_places
from bot.fixers.rung2_model.edits import SentFile
from bot.fixers.rung2_model.excerpts import Excerpts
from bot.fixers.rung2_model.failing import (
    add_test_sources,
    failing_passages,
    first_failures,
    passing_tests,
)
from bot.fixers.rung2_model.repository_map import repository_map
from bot.fixers.rung2_model.sources import Files
from bot.fixers.trials import Failure
from sandbox.changes import is_protected, is_safe_path
from sandbox.types import TestReport, TestResult

_PLACES = 60
_FIRST = 6
"""Number of suspect places that are shown before the code that failing tests call by name."""
_CUT_SHOWN = 12
_NAMED = 5
"""Number of suspect places whose functions' passing tests are shown."""

Gaps = dict[str, str | Passage | tuple[Passage, ...]]


@dataclass(frozen=True)
class SuspectPlace:
    """A line that may contain the fault."""

    file: str
    line: int


@dataclass(frozen=True)
class Brief:
    """Contents of the prompt, and the files an answer may edit."""

    parts: dict[PromptPart, tuple[Passage, ...]]
    sent: tuple[SentFile, ...]
    cut: tuple[str, ...]
    files: Files
    places: tuple[SuspectPlace, ...]
    tokens: int
    """Size limit of the whole prompt."""
    task: str
    said: tuple[Passage, ...] = ()
    lacks: bool = False
    """True if a part of the last request could not be shown."""

    def gaps(self, feedback: tuple[Passage, ...] = ()) -> Gaps:
        """Return the prompt's gaps.

        They are equal for all samples of a round; new text of later rounds comes last.

        Args:
            feedback: Results of earlier answers.
        """
        left = len(self.cut) - _CUT_SHOWN
        more = [f"and {left} more"] if left > 0 else []
        cut = "\n".join([*self.cut[:_CUT_SHOWN], *more])
        return {
            **{part.value: self.parts.get(part, ()) for part in PromptPart},
            "said": self.said,
            "cut": (Passage(label="names of what is not shown", text=cut, origin="the repository"),)
            if cut
            else (),
            PromptPart.FEEDBACK.value: feedback,
            "task": self.task,
        }

    def with_asked(
        self, asked: Excerpts, answers: tuple[str, ...] = (), *, lacks: bool = False
    ) -> "Brief":
        """Add what the model asked for.

        Args:
            asked: Excerpts of these files.
            answers: Results of searches, and refusals.
            lacks: True if something was refused.
        """
        text = "\n".join(answers)
        words = (Passage(label="answers to your request", text=text),) if text else ()
        known = {file.path: file for file in self.sent}
        for file in asked.sent:
            before = known.get(file.path)
            known[file.path] = file.with_(
                regions=(*(before.regions if before else ()), *file.regions)
            )
        return replace(
            self,
            parts={
                **self.parts,
                PromptPart.ASKED: (
                    *self.parts.get(PromptPart.ASKED, ()),
                    *asked.passages,
                    *words,
                ),
            },
            sent=tuple(known.values()),
            lacks=lacks,
        )


async def build_brief(failure: Failure, report: TestReport, tokens: int) -> Brief:
    """Collect the known facts about a failure.

    Args:
        failure: The failure to fix.
        report: The red run.
        tokens: Size limit of the whole prompt.
    """
    context, diagnosis, files = failure.context, failure.diagnosis, Files(failure.workspace)
    failures = first_failures(report)
    test_room = PromptSpace.of(PromptPart.TESTS, tokens)
    tests = Excerpts(files, test_room, "source of the failing tests")
    await add_test_sources(failures, files, tests)
    changed = await doubted_places(failure)
    places = suspect_places(context, diagnosis, report, changed)
    sources = Excerpts(files, PromptSpace.of(PromptPart.SOURCES, tokens), "source")
    for place in places[:_FIRST]:
        await sources.add_line(place.file, place.line)
    for source, definition in await called_code(failures, files):
        await sources.add_name(source.path, definition.name)
    for place in places[_FIRST:]:
        await sources.add_line(place.file, place.line)
    shown = sources.shown
    facts = await failure.workspace.facts()
    paths = [excerpt.source.path for excerpt in shown]
    diff, diff_cut = await related_context.red_diff(
        facts, paths, files, PromptSpace.of(PromptPart.DIFF, tokens)
    )
    functions = await _function_names(places, files)
    signatures = PromptSpace.of(PromptPart.SKELETON, tokens)
    passing = await passing_tests(report, functions, files, test_room)
    return Brief(
        parts={
            PromptPart.FAILING: failing_passages(
                context,
                report,
                PromptSpace.of(PromptPart.FAILING, tokens),
                shown=sources.lines | tests.lines,
            ),
            PromptPart.TESTS: (*tests.passages, *passing),
            PromptPart.SOURCES: sources.passages,
            PromptPart.SKELETON: (
                *await related_context.skeleton(shown, files, signatures),
                *await repository_map(files, paths, signatures),
            ),
            PromptPart.DIFF: diff,
            **await _known(failure, tokens),
        },
        sent=_merge_regions(sources.sent, tests.sent),
        cut=tuple(dict.fromkeys((*sources.cut, *tests.cut, *diff_cut))),
        files=files,
        places=places,
        tokens=tokens,
        task=_task(report),
        said=related_context.person_hints(
            context, diagnosis.cause, PromptSpace.of(PromptPart.LESSONS, tokens)
        ),
    )


async def _known(failure: Failure, tokens: int) -> dict[PromptPart, tuple[Passage, ...]]:
    """Return what earlier missions, iterations and rungs know about the failure."""
    context = failure.context
    return {
        PromptPart.LESSONS: related_context.lessons(
            context, PromptSpace.of(PromptPart.LESSONS, tokens)
        ),
        PromptPart.ATTEMPTS: related_context.attempts(
            context, PromptSpace.of(PromptPart.ATTEMPTS, tokens)
        ),
        PromptPart.DOUBTED: await doubted_changes(
            failure, PromptSpace.of(PromptPart.DOUBTED, tokens)
        ),
    }


async def _function_names(places: Iterable[SuspectPlace], files: Files) -> frozenset[str]:
    """Return the last names of the likeliest suspect functions."""
    names = []
    for place in list(places)[:_NAMED]:
        source = await files.source(place.file)
        function = source.at(place.line) if source is not None else None
        if function is not None:
            names.append(function.last_name)
    return frozenset(names) - {""}


def suspect_places(
    context: MissionContext,
    diagnosis: Diagnosis,
    report: TestReport,
    changed: Iterable[tuple[str, int]] = (),
) -> tuple[SuspectPlace, ...]:
    """Return suspect lines: the deepest frame of each failure, near misses, then ranked suspects.

    Lines that doubted candidates change come with the near misses.

    Args:
        context: Has the near misses.
        diagnosis: Has the suspects, best first.
        report: Has the tracebacks.
        changed: Lines that doubted candidates change.
    """
    deepest = [
        next(
            (SuspectPlace(file, line) for file, line in _places(failure) if _editable(file)),
            None,
        )
        for failure in report.failures
    ]
    near = [SuspectPlace(miss.path, miss.line) for miss in context.near_misses]
    near += [SuspectPlace(path, line) for path, line in changed]
    ranked = [SuspectPlace(suspect.file, suspect.line) for suspect in diagnosis.suspects]
    found = dict.fromkeys(
        place for place in (*deepest, *near, *ranked) if place and _editable(place.file)
    )
    return tuple(found)[:_PLACES]


def _places(failure: TestResult) -> Iterator[tuple[str, int]]:
    """Yield the lines of a failure, the deepest first; some reports have one line and no frames."""
    yield from ((file, line) for file, line, _ in reversed(failure.frames))
    if failure.file and failure.line:
        yield failure.file, failure.line


def _editable(path: str) -> bool:
    return is_safe_path(path) and not is_protected(path)


def _merge_regions(first: Iterable[SentFile], second: Iterable[SentFile]) -> tuple[SentFile, ...]:
    """Merge the shown regions of each file."""
    files: dict[str, SentFile] = {}
    for file in (*first, *second):
        before = files.get(file.path)
        files[file.path] = file.with_(regions=(*before.regions, *file.regions)) if before else file
    return tuple(files.values())


def _task(report: TestReport) -> str:
    """Describe the task in trusted words; names and messages are passages."""
    if not report.failing:
        return "Change the program so that the failing command succeeds."
    count = len(report.failing)
    if report.traits.is_findings:
        finding = (
            "the checker's finding is" if count == 1 else f"the checker's {count} findings are"
        )
        return f"Change the program so that {finding} gone."
    tests = "the failing test passes" if count == 1 else f"all {count} failing tests pass"
    return f"Change the program so that {tests} and no test that passes now fails."
