"""The search context: all facts known before the first candidate, collected or not."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch, Generator, Suspicion
from sandbox.guest.search.candidates.reverts import read_diff
from sandbox.guest.search.context.flakiness import find_flaky
from sandbox.guest.search.context.suite_facts import SearchJob, SearchRefused, SuiteFacts
from sandbox.guest.search.context.untraced import lines_to_suspect
from sandbox.guest.search.locate.located import imported_here
from sandbox.guest.search.process.forked import usual_bounds
from sandbox.guest.search.session import baseline as base
from sandbox.guest.search.session.collected import BrokenFile, Collected
from sandbox.guest.search.session.failing import collect_failures, describe_broken, syntax_errors
from sandbox.guest.search.session.failures import FailureRecord
from sandbox.guest.search.source.functions import list_units
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


class SearchContext:
    """Goals, suspicious places, and the data that candidate sources may use.

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

    def __init__(
        self,
        request: SearchJob,
        kit: Any,
        left: Callable[[], float],
        collected: Optional[Collected],
        *,
        broken: Sequence[BrokenFile],
        guard_for: Callable[[], Any],
    ) -> None:
        self.guard_for = guard_for
        self.request = request
        self.kit = kit
        self.templates = kit.templates
        self.left = left
        self.root = os.path.realpath(request.root)
        self.reach = base.EditablePaths(self.root, request.protected)
        self.broken = list(broken)
        self.refusal = ""
        self.facts = self._facts(collected) if collected is not None else None
        self.goals = self._goals(has_session=collected is not None)
        if collected is None and all(type(b.error).__name__ in NO_SESSION for b in self.broken):
            raise SearchRefused(
                f"the tests could not be collected here: {self.broken[-1].error}"[:200]
            )
        if not self.goals:
            raise SearchRefused(self.refusal or "pytest could not collect the tests here")
        self.failures = self._failures()
        self._refuse_flaky()
        self.blind = self.facts is not None and not any(self.facts.scores.values())
        """True if the failing tests run no function of the checkout."""
        self.imported = tuple(imported_here(self.reach)) if self.blind else ()
        self.elsewhere = self.blind and not self.imported
        """True if they import none of its modules either: they test other processes."""
        self.unseen = self._unseen()
        """Goals that run nothing of the checkout in this process, while others do.

        Other processes may run it.
        """
        if self.facts is not None and not self.blind:
            self._use_suite_facts(self.facts)
        else:
            self._locate_from_failures(Generator(self.templates, request.template_shifts))
        self.diff = read_diff(self)
        self.undone = False
        """True if undoing some part of the diff helped."""

    def _facts(self, collected: Collected) -> Optional[SuiteFacts]:
        try:
            return SuiteFacts(
                collected.session, self.request, self.templates, self.left, guard_for=self.guard_for
            )
        except SearchRefused as refused:
            self.refusal = str(refused)
            return None

    def _refuse_flaky(self) -> None:
        facts = self.facts
        if facts is None or not facts.baseline.isolated:
            return
        # Two runs in one process differed: because of leftover state, or by chance?
        in_order = sorted([*facts.items.failing, *facts.items.passing])
        self._refuse_any(facts, in_order, WAVERING_RUNS, WAVERING_S)

    def refuse_flaky_goals(self) -> None:
        """Check that the failing tests never pass without a change.

        Raises:
            SearchRefused: One of them passed.
        """
        facts = self.facts
        if facts is not None and not facts.baseline.isolated:
            alone = [i for i in facts.items.failing if i not in facts.baseline.hung]
            self._refuse_any(facts, alone, UNCHANGED_RUNS, UNCHANGED_S)

    def _refuse_any(
        self, facts: SuiteFacts, tests: Sequence[int], runs: int, most_s: float
    ) -> None:
        wait = min(most_s, 0.1 * self.left())
        names = find_flaky(facts.items, tests, runs=runs, wait_s=wait, bounds=facts.screen.bounds)
        if names:
            raise SearchRefused(
                f"flaky tests: {', '.join(names[:3])} sometimes pass without a change"
            )

    def _goals(self, *, has_session: bool) -> Tuple[str, ...]:
        """Return the names of tests that fail here and of files that cannot be collected here."""
        items = self.facts.items if self.facts else None
        failing = [items.names[i] for i in items.failing] if items else []
        names = {b.name for b in self.broken}
        hopeless = not has_session or "" in names
        asked = ["" if name == "." else name for name in self.request.failing]
        more = [n for n in asked if hopeless or n in names or n.split("::")[0] in names]
        goals = tuple(dict.fromkeys([*failing, *more]))
        return goals or (("",) if hopeless and not self.request.failing else ())

    def _unseen(self) -> FrozenSet[str]:
        facts = self.facts
        if facts is None or self.blind:
            return frozenset()
        seen = {
            i
            for i in facts.items.failing
            if i not in facts.coverage or any(facts.coverage[i].values())
        }
        return frozenset(facts.items.names[i] for i in facts.items.failing if i not in seen)

    @property
    def passing(self) -> Tuple[str, ...]:
        """The names of tests that have to keep passing."""
        if self.facts is None:
            return self.request.passing
        return tuple(dict.fromkeys(self.facts.items.names[i] for i in self.facts.items.passing))

    def _failures(self) -> List[FailureRecord]:
        found = describe_broken(self.broken, self.root)
        if self.facts is not None:
            items, wait = self.facts.items, min(FAILING_S, 0.15 * self.left())
            found += collect_failures(
                items.all, items.failing, self.root, wait_s=wait, bounds=usual_bounds()
            )
        return found

    def _use_suite_facts(self, facts: SuiteFacts) -> None:
        self.scores, self.suspicion = facts.scores, facts.suspicion
        self.units, self.literals, self.generator = facts.units, facts.literals, facts.generator
        self.sources = [file.source for _, file in sorted(facts.located.files.items())]

    def _locate_from_failures(self, generator: Generator) -> None:
        """Suspect the lines in tracebacks and those the host names, because no test ran."""
        scores: Dict[str, Dict[int, float]] = {}
        for path, line, score in self._named_lines():
            lines = scores.setdefault(path, {})
            lines[line] = max(lines.get(line, 0.0), score)
        if self.blind:
            tests = list(dict.fromkeys(goal.split("::")[0] for goal in self.goals))
            for path, everywhere in lines_to_suspect(
                self.root, tests, self._may_be_at_fault
            ).items():
                scores[path] = {**everywhere, **scores.get(path, {})}
        self.generator, self.scores, self.suspicion = generator, scores, Suspicion(scores)
        self.literals = self.facts.literals if self.facts is not None else SeenLiterals((), ())
        self.sources, self.units = [], []
        for path in sorted(scores):
            source = self._source(path)
            if source is not None:
                self.sources.append(source)
                units = list_units(source, os.path.join(self.root, path))
                self.units += [unit for unit in units if self.suspicion.of_unit(unit) > 0]
        self.units.sort(key=lambda u: (-self.suspicion.of_unit(u), u.source.path, u.first_line))

    def _named_lines(self) -> Iterator[Tuple[str, int, float]]:
        for failure in self.failures:
            for depth, (path, line, _) in enumerate(reversed(failure.frames)):
                if self.editable(path):
                    yield path, line, max(0.4, 1.0 - 0.1 * depth)
        for suspect in self.request.suspects:
            if self.editable(str(suspect["file"])):
                yield str(suspect["file"]), int(suspect["line"]), 0.9 * float(suspect["score"])
        for hunk in self.request.red_hunks:
            for line in range(int(hunk["line"]), int(hunk["line"]) + max(1, int(hunk["lines"]))):
                if self.editable(str(hunk["path"])):
                    yield str(hunk["path"]), line, 0.8

    def _source(self, path: str) -> Optional[SourceFile]:
        try:
            with open(os.path.join(self.root, path), "rb") as file:
                return SourceFile(path, file.read())
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return None

    def load_source(self, path: str) -> Optional[SourceFile]:
        """Return an editable file, or None.

        A file that does not parse has no syntax tree.
        """
        if not self.editable(path):
            return None
        source = self._source(path)
        if source is None:
            with contextlib.suppress(OSError), open(os.path.join(self.root, path), "rb") as file:
                source = PlainSource(path, file.read())
        return source

    def editable(self, path: str) -> bool:
        """Return True if a relative path may be edited."""
        return (
            path.endswith(".py") and self.reach.relative(os.path.join(self.root, path)) is not None
        )

    def _may_be_at_fault(self, path: str) -> bool:
        """Return True if a file may be at fault when nothing points to a place."""
        return self.editable(path) and (not self.imported or path in self.imported)

    def unparsable(self) -> List[Tuple[str, int]]:
        """Return the relative path and line of each editable file that does not parse."""
        found = []
        for filename, line in syntax_errors(self.broken):
            path = self.reach.relative(os.path.realpath(filename))
            if path is not None:
                found.append((path, line))
        return found

    def best(self) -> Iterator[CandidatePatch]:
        """Yield candidates in functions, best first."""
        observed = self.facts.located.observed.types if self.facts else None
        return self.generator.best_first(self.units, self.suspicion, self.literals, observed)
