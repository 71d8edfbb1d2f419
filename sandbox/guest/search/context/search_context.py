"""The search context: all facts known before the first candidate, collected or not."""

from __future__ import annotations

import contextlib
import os
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
)

from sandbox.guest.search.candidates.generator import CandidatePatch, Generator, Suspicion
from sandbox.guest.search.candidates.reverts import Diff, read_diff
from sandbox.guest.search.context.flakiness import find_flaky
from sandbox.guest.search.context.suite_facts import (
    SearchJob,
    SearchRefused,
    SuiteFacts,
    measure_suite,
)
from sandbox.guest.search.context.untraced import lines_to_suspect
from sandbox.guest.search.locate.located import imported_here
from sandbox.guest.search.process.forked import usual_bounds
from sandbox.guest.search.session import baseline as base
from sandbox.guest.search.session.collected import BrokenFile, Collected
from sandbox.guest.search.session.failing import collect_failures, describe_broken, syntax_errors
from sandbox.guest.search.session.failures import FailureRecord
from sandbox.guest.search.source.functions import Unit, list_units
from sandbox.guest.search.source.plain import PlainSource
from sandbox.guest.search.source.render import SourceFile
from sandbox.guest.search.source.scope import SeenLiterals

NO_SESSION = ("UsageError", "SystemExit", "NothingCollected")
"""Errors that show a command that does not fit the checkout; no edit of the source can fix them."""
WAVERING_S = 6.0
WAVERING_RUNS = 3
UNCHANGED_S, UNCHANGED_RUNS = 3.0, 8
"""Time limit in seconds and number of runs for repeating the failing tests without an edit.

A flaky test is found this way before an edit is credited with fixing it.
"""
FAILING_S = 6.0
"""Time limit for collecting the exceptions of failing tests, in seconds."""


class CheckoutSources(NamedTuple):
    """The files of the checkout that the search may edit."""

    root: str
    reach: base.EditablePaths

    def editable(self, path: str) -> bool:
        """Return True if a relative path may be edited."""
        return (
            path.endswith(".py") and self.reach.relative(os.path.join(self.root, path)) is not None
        )

    def parse(self, path: str) -> Optional[SourceFile]:
        """Return a file with its syntax tree, or None."""
        try:
            with open(os.path.join(self.root, path), "rb") as file:
                return SourceFile(path, file.read())
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return None

    def load(self, path: str) -> Optional[SourceFile]:
        """Return an editable file, or None.

        A file that does not parse has no syntax tree.
        """
        if not self.editable(path):
            return None
        source = self.parse(path)
        if source is None:
            with contextlib.suppress(OSError), open(os.path.join(self.root, path), "rb") as file:
                source = PlainSource(path, file.read())
        return source


class SuspectCode(NamedTuple):
    """The places to edit, and what makes candidates of them."""

    scores: Dict[str, Dict[int, float]]
    suspicion: Suspicion
    units: List[Unit]
    """The functions to edit, most suspicious first."""
    sources: List[SourceFile]
    literals: SeenLiterals
    generator: Generator


class TestReach(NamedTuple):
    """The part of the checkout that the failing tests run in their own process."""

    blind: bool = False
    """True if they run no function of the checkout."""
    imported: Tuple[str, ...] = ()
    """If they are blind: the modules of the checkout that they import."""
    elsewhere: bool = False
    """True if they import none of its modules either: they test other processes."""
    unseen: FrozenSet[str] = frozenset()
    """Failing tests that run nothing of the checkout, while others do.

    Other processes may run it.
    """


class SearchContext(NamedTuple):
    """Goals, suspicious places, and the data that candidate sources may use."""

    request: SearchJob
    kit: Any
    """Tools for candidate sources."""
    left: Callable[[], float]
    """Returns the seconds left."""
    files: CheckoutSources
    broken: Tuple[BrokenFile, ...]
    """Files that could not be collected."""
    facts: Optional[SuiteFacts]
    """None if the tests could not be collected."""
    goals: Tuple[str, ...]
    """Names of tests that fail here and of files that cannot be collected here."""
    failures: List[FailureRecord]
    reach: TestReach
    code: SuspectCode
    diff: Diff

    @property
    def root(self) -> str:
        """Return the real path of the checkout."""
        return self.files.root

    @property
    def passing(self) -> Tuple[str, ...]:
        """Return the names of tests that have to keep passing."""
        if self.facts is None:
            return self.request.passing
        return tuple(dict.fromkeys(self.facts.items.names[i] for i in self.facts.items.passing))

    def refuse_flaky_goals(self) -> None:
        """Check that the failing tests never pass without a change.

        Raises:
            SearchRefused: One of them passed.
        """
        facts = self.facts
        if facts is not None and not facts.baseline.isolated:
            alone = [i for i in facts.items.failing if i not in facts.baseline.hung]
            _refuse_any(facts, alone, UNCHANGED_RUNS, min(UNCHANGED_S, 0.1 * self.left()))

    def unparsable(self) -> List[Tuple[str, int]]:
        """Return the relative path and line of each editable file that does not parse."""
        found = []
        for filename, line in syntax_errors(self.broken):
            path = self.files.reach.relative(os.path.realpath(filename))
            if path is not None:
                found.append((path, line))
        return found

    def best(self) -> Iterator[CandidatePatch]:
        """Yield candidates in functions, best first."""
        observed = self.facts.located.observed.types if self.facts else None
        code = self.code
        return code.generator.best_first(code.units, code.suspicion, code.literals, observed)


def build_context(
    request: SearchJob,
    kit: Any,
    left: Callable[[], float],
    collected: Optional[Collected],
    *,
    broken: Sequence[BrokenFile],
    guard_for: Callable[[], Any],
) -> SearchContext:
    """Measure the suite and locate the fault, from the tests or from their failures alone.

    Args:
        request: The search request.
        kit: Tools for candidate sources.
        left: Returns the seconds left.
        collected: The collected session, or None.
        broken: Files that could not be collected.
        guard_for: Returns the guard of children, once the suite has run.

    Raises:
        SearchRefused: Nothing can be searched here.
    """
    root = os.path.realpath(request.root)
    files = CheckoutSources(root, base.EditablePaths(root, request.protected))
    facts, refusal = _measure(request, kit, left, collected, guard_for=guard_for)
    if collected is None and all(type(b.error).__name__ in NO_SESSION for b in broken):
        raise SearchRefused(f"the tests could not be collected here: {broken[-1].error}"[:200])
    goals = _name_goals(request, facts, broken, has_session=collected is not None)
    if not goals:
        raise SearchRefused(refusal)
    failures = _collect_failures(facts, broken, root, left)
    if facts is not None and facts.baseline.isolated:
        # Two runs in one process differed: because of leftover state, or by chance?
        in_order = sorted([*facts.items.failing, *facts.items.passing])
        _refuse_any(facts, in_order, WAVERING_RUNS, min(WAVERING_S, 0.1 * left()))
    reach = _measure_reach(facts, files)
    if facts is not None and not reach.blind:
        code = _suspect_traced(facts)
    else:
        scores = _score_unseen(request, files, goals, failures, reach=reach)
        literals = facts.literals if facts is not None else SeenLiterals((), ())
        generator = Generator(kit.templates, request.template_shifts)
        code = _suspect_lines(scores, files, literals, generator)
    return SearchContext(
        request=request,
        kit=kit,
        left=left,
        files=files,
        broken=tuple(broken),
        facts=facts,
        goals=goals,
        failures=failures,
        reach=reach,
        code=code,
        diff=read_diff(request.red_hunks, files, goals, code.units),
    )


def _measure(
    request: SearchJob,
    kit: Any,
    left: Callable[[], float],
    collected: Optional[Collected],
    *,
    guard_for: Callable[[], Any],
) -> Tuple[Optional[SuiteFacts], str]:
    """Return the facts from the collected tests, or None and the reason."""
    refusal = "pytest could not collect the tests here"
    if collected is None:
        return None, refusal
    try:
        facts = measure_suite(collected.session, request, kit.templates, left, guard_for=guard_for)
    except SearchRefused as refused:
        return None, str(refused) or refusal
    return facts, ""


def _refuse_any(facts: SuiteFacts, tests: Sequence[int], runs: int, wait_s: float) -> None:
    names = find_flaky(facts.items, tests, runs=runs, wait_s=wait_s, bounds=facts.screen.bounds)
    if names:
        raise SearchRefused(f"flaky tests: {', '.join(names[:3])} sometimes pass without a change")


def _name_goals(
    request: SearchJob,
    facts: Optional[SuiteFacts],
    broken: Sequence[BrokenFile],
    *,
    has_session: bool,
) -> Tuple[str, ...]:
    """Return the names of tests that fail here and of files that cannot be collected here."""
    failing = [facts.items.names[i] for i in facts.items.failing] if facts else []
    names = {b.name for b in broken}
    hopeless = not has_session or "" in names
    asked = ["" if name == "." else name for name in request.failing]
    more = [n for n in asked if hopeless or n in names or n.split("::")[0] in names]
    goals = tuple(dict.fromkeys([*failing, *more]))
    return goals or (("",) if hopeless and not request.failing else ())


def _collect_failures(
    facts: Optional[SuiteFacts],
    broken: Sequence[BrokenFile],
    root: str,
    left: Callable[[], float],
) -> List[FailureRecord]:
    found = describe_broken(broken, root)
    if facts is not None:
        wait = min(FAILING_S, 0.15 * left())
        found += collect_failures(
            facts.items.all, facts.items.failing, root, wait_s=wait, bounds=usual_bounds()
        )
    return found


def _measure_reach(facts: Optional[SuiteFacts], files: CheckoutSources) -> TestReach:
    if facts is None:
        return TestReach()
    if not any(facts.scores.values()):
        imported = tuple(imported_here(files.reach))
        return TestReach(blind=True, imported=imported, elsewhere=not imported)
    traced = {i for i in facts.items.failing if i in facts.coverage}
    unseen = {i for i in traced if not any(facts.coverage[i].values())}
    return TestReach(unseen=frozenset(facts.items.names[i] for i in unseen))


def _suspect_traced(facts: SuiteFacts) -> SuspectCode:
    sources = [file.source for _, file in sorted(facts.located.files.items())]
    return SuspectCode(
        facts.scores, facts.suspicion, facts.units, sources, facts.literals, facts.generator
    )


def _score_unseen(
    request: SearchJob,
    files: CheckoutSources,
    goals: Sequence[str],
    failures: Sequence[FailureRecord],
    *,
    reach: TestReach,
) -> Dict[str, Dict[int, float]]:
    """Score the lines in tracebacks and those the host names, because no test ran."""
    scores: Dict[str, Dict[int, float]] = {}
    for path, line, score in _named_lines(request, failures):
        if files.editable(path):
            lines = scores.setdefault(path, {})
            lines[line] = max(lines.get(line, 0.0), score)
    if reach.blind:
        tests = list(dict.fromkeys(goal.split("::")[0] for goal in goals))

        def may_be_at_fault(path: str) -> bool:
            return files.editable(path) and (not reach.imported or path in reach.imported)

        for path, everywhere in lines_to_suspect(files.root, tests, may_be_at_fault).items():
            scores[path] = {**everywhere, **scores.get(path, {})}
    return scores


def _named_lines(
    request: SearchJob, failures: Sequence[FailureRecord]
) -> Iterator[Tuple[str, int, float]]:
    for failure in failures:
        for depth, (path, line, _) in enumerate(reversed(failure.frames)):
            yield path, line, max(0.4, 1.0 - 0.1 * depth)
    for suspect in request.suspects:
        yield str(suspect["file"]), int(suspect["line"]), 0.9 * float(suspect["score"])
    for hunk in request.red_hunks:
        for line in range(int(hunk["line"]), int(hunk["line"]) + max(1, int(hunk["lines"]))):
            yield str(hunk["path"]), line, 0.8


def _suspect_lines(
    scores: Dict[str, Dict[int, float]],
    files: CheckoutSources,
    literals: SeenLiterals,
    generator: Generator,
) -> SuspectCode:
    suspicion = Suspicion(scores)
    sources = [source for path in sorted(scores) if (source := files.parse(path)) is not None]
    units = [
        unit
        for source in sources
        for unit in list_units(source, os.path.join(files.root, source.path))
        if suspicion.of_unit(unit) > 0
    ]
    units.sort(key=lambda u: (-suspicion.of_unit(u), u.source.path, u.first_line))
    return SuspectCode(scores, suspicion, units, sources, literals, generator)
