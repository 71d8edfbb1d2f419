"""Collect messages, tracebacks and test sources of the failing tests."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from bot.domain.mission import MissionContext
from bot.domain.model import Passage
from bot.fixers.rung2_model.budget import PromptSpace
from bot.fixers.rung2_model.excerpts import Excerpts
from bot.fixers.rung2_model.sources import Files, Source
from sandbox.changes import PathClass, protected_class
from sandbox.changes.syntax import is_python
from sandbox.languages import GO, JAVASCRIPT, RUST, TYPESCRIPT, find_language
from sandbox.languages.outline import TITLES, Definition
from sandbox.types import TestReport, TestResult

TESTS_SHOWN = 3
PASSING_SHOWN = 2
_MESSAGE = 600
_FILES_SEARCHED = 60
_LEAST_TITLE = 4
"""Shortest title of a test that is searched for, in characters."""


def first_failures(
    report: TestReport, wanted: frozenset[str] = frozenset()
) -> tuple[TestResult, ...]:
    """Return the failures to show; of a parametrized test only the first.

    Args:
        report: The red run.
        wanted: Names of failures to show; empty for all.
    """
    first: dict[str, TestResult] = {}
    for failure in report.failures:
        if not wanted or failure.name in wanted:
            # Parameters of one test usually fail for the same reason.
            first.setdefault(failure.name.partition("[")[0], failure)
    return tuple(first.values())[:TESTS_SHOWN]


def failing_passages(
    context: MissionContext,
    report: TestReport,
    room: PromptSpace,
    *,
    shown: frozenset[str] = frozenset(),
) -> tuple[Passage, ...]:
    """Return the messages of the red run.

    Args:
        context: Has CI's own log, for a run without test names.
        report: The red run.
        room: Space for all passages.
        shown: Lines of source that the prompt has elsewhere, stripped.
    """
    if report.traits.is_findings and report.failures:
        findings = "\n".join(
            f"{failure.name}: {failure.error_message or ''}" for failure in report.failures
        )
        return (Passage(label="findings", text=room.cut(findings), origin=report.target),)
    failures = first_failures(report)
    if failures:
        left = len(failures) + 1
        told = {one.name.partition("[")[0] for one in failures}
        others = [name for name in report.failing if name.partition("[")[0] not in told]
        named = Passage(
            label="failing too", text=room.cut("\n".join(merge_parameters(others)), parts=left)
        )
        return tuple(
            failure_passage(f, room, parts=left - number, shown=shown)
            for number, f in enumerate(failures, start=1)
        ) + ((named,) if named.text else ())
    log = report.raw_output or (context.ci_log.excerpt if context.ci_log else "")
    return (
        Passage(label="output of the failing command", text=room.cut(log), origin=report.target),
    )


def failure_passage(
    failure: TestResult,
    room: PromptSpace,
    *,
    parts: int = 1,
    shown: frozenset[str] = frozenset(),
) -> Passage:
    """Return a failing test's message, frames and output.

    Args:
        failure: A failure of the red run.
        room: Space shared with other passages.
        parts: Number of passages that share it.
        shown: Lines of source that the prompt has elsewhere, stripped.
    """
    message = f"{failure.error or 'failed'}: {(failure.error_message or '')[:_MESSAGE]}"
    frames = [f"  {file}, line {line}, in {function}" for file, line, function in failure.frames]
    pieces = [failure.name, message, *(["frames, outermost first:", *frames] if frames else [])]
    pieces += [_without_source(failure.traceback or failure.output, shown)]
    return Passage(
        label="failing test", text=room.cut("\n".join(pieces), parts=parts), origin=failure.name
    )


def _without_source(traceback: str, shown: frozenset[str]) -> str:
    """Return a traceback without the lines of source around the failing ones."""
    lines = [
        line
        for line in traceback.splitlines()
        # pytest marks the failing line with `>`, which does not begin with a space.
        if not (line.startswith(" ") and line.strip() in shown)
    ]
    # A removed line may leave several empty ones.
    return re.sub(r"\n\s*\n\s*\n+", "\n\n", "\n".join(lines))


def merge_parameters(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of tests, each once with the number of its parameter sets.

    Args:
        names: Names such as `test_a.py::test_b[3-4]`.
    """
    counts = Counter(name.partition("[")[0] for name in names)
    return tuple(
        f"{name} ({count} parameter sets)" if count > 1 else name
        for name, count in sorted(counts.items())
    )


async def passing_tests(
    report: TestReport, functions: frozenset[str], files: Files, room: PromptSpace
) -> tuple[Passage, ...]:
    """Return passing tests in the files of the failing ones that use a suspect function.

    Args:
        report: The red run.
        functions: Last names of the suspect functions.
        files: Files of the checkout.
        room: Space for all of them.
    """
    passing = {name.partition("[")[0] for name in report.passing}
    found = []
    for path in sorted({name.partition("::")[0] for name in report.failing}):
        source = await files.source(path) if path in await files.paths() else None
        found += [
            Passage(
                label="passing test",
                text="\n".join(source.lines[one.first - 1 : one.last]),
                origin=path,
            )
            for one in (source.functions if source is not None else ())
            if source is not None
            and f"{path}::{_written(one)}" in passing - report.failing
            and one.names & functions
        ]
    # Short tests say most in the least space.
    found.sort(key=lambda one: len(one.text))
    return tuple(one for one in found[:PASSING_SHOWN] if room.take(len(one.text)))


async def add_test_sources(failures: tuple[TestResult, ...], files: Files, shown: Excerpts) -> None:
    """Add the failing test functions, and the fixtures and helpers they use.

    Args:
        failures: The shown failures.
        files: Files of the checkout.
        shown: Excerpts to extend.
    """
    for failure in failures:
        source, function = await test_function(failure, files)
        if source is None or function is None:
            continue
        shown.add_definition(source, function)
        for around in source.setup(function):
            shown.add_definition(source, around)
        for helper in source.functions:
            name = helper.name.rpartition(TITLES)[2]
            if name in function.names and helper is not function and not helper.is_titled:
                shown.add_definition(source, helper)
        for fixture in function.arguments if is_python(source.path) else ():
            await _add_fixture(fixture, source, files, shown)


async def test_function(
    failure: TestResult, files: Files
) -> tuple[Source | None, Definition | None]:
    """Return the source file and the definition of a failing test.

    Args:
        failure: A failure of the red run.
        files: Files of the checkout.
    """
    places = [
        failure.name.partition("::")[0],
        *(frame[0] for frame in failure.frames[:1]),
        failure.file or "",
    ]
    source, found = await _find_in(places, failure, files)
    if found is None:
        source, found = await _find_in(await _by_text(failure, files), failure, files)
    return source, found


async def _find_in(
    paths: Iterable[str], failure: TestResult, files: Files
) -> tuple[Source | None, Definition | None]:
    """Return the first file that has a failing test, and the test."""
    for path in dict.fromkeys(paths):
        source = await files.source(path) if path in await files.paths() else None
        if source is not None and (found := _find_test(failure, source)):
            return source, found
    return None, None


def _find_test(failure: TestResult, source: Source) -> Definition | None:
    """Return a failing test in a file, by its name, else by its line."""
    if find_language(source.path) not in {JAVASCRIPT, TYPESCRIPT}:
        return source.named(_function_name(failure))
    lines = [line for file, line, _ in failure.frames if file == source.path]
    lines += [failure.line] if failure.file == source.path and failure.line else []
    return source.test(_titles(failure)) or next(
        (found for line in lines if (found := source.at(line))), None
    )


def _function_name(failure: TestResult) -> str:
    """Return the name of a test function without parameters, and in Go without subtests."""
    name = failure.test or failure.name.rpartition("::")[2]
    return name.partition("[")[0].partition("/")[0]


async def _by_text(failure: TestResult, files: Files) -> list[str]:
    """Return the files that contain a failing test whose report names no file of the checkout."""
    name = _function_name(failure)
    texts = {GO: f"func {name}(", RUST: f"fn {name}("} if name.isidentifier() else {}
    title = _titles(failure).rpartition(TITLES)[2]
    texts |= dict.fromkeys([JAVASCRIPT, TYPESCRIPT], title) if len(title) >= _LEAST_TITLE else {}
    near = [
        (path, text)
        for path in sorted(await files.paths(), key=lambda path: (path.count("/"), path))
        if (language := find_language(path)) is not None
        and (text := texts.get(language)) is not None
        and (language == RUST or protected_class(path) is PathClass.TESTS)
    ]
    read = [(await files.source(path), text) for path, text in near[:_FILES_SEARCHED]]
    return [source.path for source, text in read if source is not None and text in source.text]


def _titles(failure: TestResult) -> str:
    """Return the titles of a test's suites and its own, as our records join them."""
    written = failure.name.partition("::")[2] or failure.name
    return written.replace(" \u203a ", TITLES)


def _written(test: Definition) -> str:
    """Return a test's name as its runner writes it after the file's."""
    return test.name if test.is_titled else test.name.replace(".", "::")


async def _add_fixture(name: str, source: Source, files: Files, shown: Excerpts) -> None:
    """Add a fixture from the test's own file or the nearest `conftest.py`."""
    if source.named(name):
        await shown.add_name(source.path, name)
        return
    there = await files.paths()
    for folder in PurePosixPath(source.path).parents:
        path = str(folder / "conftest.py")
        if path in there and await shown.add_name(path, name):
            return
