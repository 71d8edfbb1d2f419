"""What a search knows before its first candidate, whether or not the tests could be collected."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.generator import Candidate, Generator, Suspicion
from sandbox.guest.search.candidates.reverts import diff_of
from sandbox.guest.search.context.blind import lines_to_suspect
from sandbox.guest.search.context.ground import Ground, Refused, Request
from sandbox.guest.search.context.steadiness import wavering
from sandbox.guest.search.locate.located import imported_here
from sandbox.guest.search.process.forked import usual_bounds
from sandbox.guest.search.session import baseline as base
from sandbox.guest.search.session.collected import Broken, Collected
from sandbox.guest.search.session.failing import failures_of, failures_of_broken, syntax_errors
from sandbox.guest.search.session.failures import Failure
from sandbox.guest.search.source.functions import units_of
from sandbox.guest.search.source.plain import PlainSource
from sandbox.guest.search.source.render import Source
from sandbox.guest.search.source.scope import SeenLiterals

NO_SESSION = ("UsageError", "SystemExit", "NothingCollected")
"""Errors that say that the command does not fit the checkout; nothing in the source can mend that."""
WAVERING_S = 6.0
WAVERING_RUNS = 3
UNCHANGED_S, UNCHANGED_RUNS = 3.0, 8
"""How long and how often failing tests are run without any change, before a change is said to mend them."""
FAILING_S = 6.0
"""How long failing tests may take to show what they die of."""


class Situation:
    """Goals, places to look, and what sources of candidates may ask for.

    Args:
        request: What to do.
        kit: What sources are made with.
        left: Seconds until the search has to end.
        collected: The session; None when there is none.
        broken: What could not be collected.
        guard_for: Gives the guard of children, once the suite has run.

    Raises:
        Refused: nothing can be searched here.
    """

    def __init__(
        self,
        request: Request,
        kit: Any,
        left: Callable[[], float],
        collected: Optional[Collected],
        *,
        broken: Sequence[Broken],
        guard_for: Callable[[], Any],
    ) -> None:
        self.guard_for = guard_for
        self.request = request
        self.kit = kit
        self.templates = kit.templates
        self.left = left
        self.root = os.path.realpath(request.root)
        self.reach = base.Reach(self.root, request.protected)
        self.broken = list(broken)
        self.refusal = ""
        self.ground = self._ground(collected) if collected is not None else None
        self.goals = self._goals(has_session=collected is not None)
        if collected is None and all(type(b.error).__name__ in NO_SESSION for b in self.broken):
            raise Refused(f"the tests could not be collected here: {self.broken[-1].error}"[:200])
        if not self.goals:
            raise Refused(self.refusal or "pytest could not collect the tests here")
        self.failures = self._failures()
        self._refuse_wavering()
        self.blind = self.ground is not None and not any(self.ground.scores.values())
        """The failing tests run, and no function of the checkout with them."""
        self.imported = tuple(imported_here(self.reach)) if self.blind else ()
        self.elsewhere = self.blind and not self.imported
        """Nor was any of its modules imported: what they try out is in other processes."""
        self.unseen = self._unseen()
        """Goals that run nothing of the checkout in this process, where others do: other processes may run it."""
        if self.ground is not None and not self.blind:
            self._look_from(self.ground)
        else:
            self._look_from_failures(Generator(self.templates, request.template_shifts))
        self.diff = diff_of(self)
        self.undone = False
        """Undoing some part of the diff was found to help."""

    def _ground(self, collected: Collected) -> Optional[Ground]:
        try:
            return Ground(collected.session, self.request, self.templates, self.left, guard_for=self.guard_for)
        except Refused as refused:
            self.refusal = str(refused)
            return None

    def _refuse_wavering(self) -> None:
        ground = self.ground
        if ground is None or not ground.baseline.isolated:
            return
        # Two runs in one process went otherwise: by what the first left behind, or by chance?
        in_order = sorted([*ground.items.failing, *ground.items.passing])
        self._refuse_any(ground, in_order, WAVERING_RUNS, WAVERING_S)

    def refuse_lucky(self) -> None:
        """Before the first fix is believed: that failing tests never pass when nothing was changed.

        Raises:
            Refused: one did.
        """
        ground = self.ground
        if ground is not None and not ground.baseline.isolated:
            alone = [i for i in ground.items.failing if i not in ground.baseline.hung]
            self._refuse_any(ground, alone, UNCHANGED_RUNS, UNCHANGED_S)

    def _refuse_any(self, ground: Ground, tests: Sequence[int], runs: int, most_s: float) -> None:
        wait = min(most_s, 0.1 * self.left())
        names = wavering(ground.items, tests, runs=runs, wait_s=wait, bounds=ground.screen.bounds)
        if names:
            raise Refused(f"the failing tests waver: {', '.join(names[:3])} pass now and then")

    def _goals(self, *, has_session: bool) -> Tuple[str, ...]:
        """Names of failing tests that fail here, and of files that cannot be collected here."""
        items = self.ground.items if self.ground else None
        failing = [items.names[i] for i in items.failing] if items else []
        names = {b.name for b in self.broken}
        hopeless = not has_session or "" in names
        asked = ["" if name == "." else name for name in self.request.failing]
        more = [n for n in asked if hopeless or n in names or n.split("::")[0] in names]
        goals = tuple(dict.fromkeys([*failing, *more]))
        return goals or (("",) if hopeless and not self.request.failing else ())

    def _unseen(self) -> FrozenSet[str]:
        ground = self.ground
        if ground is None or self.blind:
            return frozenset()
        seen = {i for i in ground.items.failing if i not in ground.coverage or any(ground.coverage[i].values())}
        return frozenset(ground.items.names[i] for i in ground.items.failing if i not in seen)

    @property
    def passing(self) -> Tuple[str, ...]:
        """Names of tests that have to go on passing."""
        if self.ground is None:
            return self.request.passing
        return tuple(dict.fromkeys(self.ground.items.names[i] for i in self.ground.items.passing))

    def _failures(self) -> List[Failure]:
        found = failures_of_broken(self.broken, self.root)
        if self.ground is not None:
            items, wait = self.ground.items, min(FAILING_S, 0.15 * self.left())
            found += failures_of(items.all, items.failing, self.root, wait_s=wait, bounds=usual_bounds())
        return found

    def _look_from(self, ground: Ground) -> None:
        self.scores, self.suspicion = ground.scores, ground.suspicion
        self.units, self.literals, self.generator = ground.units, ground.literals, ground.generator
        self.sources = [file.source for _, file in sorted(ground.located.files.items())]

    def _look_from_failures(self, generator: Generator) -> None:
        """No test ran: lines that exceptions came through, and what the host suspects."""
        scores: Dict[str, Dict[int, float]] = {}
        for path, line, score in self._named_lines():
            lines = scores.setdefault(path, {})
            lines[line] = max(lines.get(line, 0.0), score)
        if self.blind:
            tests = list(dict.fromkeys(goal.split("::")[0] for goal in self.goals))
            for path, everywhere in lines_to_suspect(self.root, tests, self._concerned).items():
                scores[path] = {**everywhere, **scores.get(path, {})}
        self.generator, self.scores, self.suspicion = generator, scores, Suspicion(scores)
        self.literals = self.ground.literals if self.ground is not None else SeenLiterals((), ())
        self.sources, self.units = [], []
        for path in sorted(scores):
            source = self._source(path)
            if source is not None:
                self.sources.append(source)
                units = units_of(source, os.path.join(self.root, path))
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

    def _source(self, path: str) -> Optional[Source]:
        try:
            with open(os.path.join(self.root, path), "rb") as file:
                return Source(path, file.read())
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return None

    def source_of(self, path: str) -> Optional[Source]:
        """A file that may be edited, without a tree where it does not parse; None when there is none."""
        if not self.editable(path):
            return None
        source = self._source(path)
        if source is None:
            with contextlib.suppress(OSError), open(os.path.join(self.root, path), "rb") as file:
                source = PlainSource(path, file.read())
        return source

    def editable(self, path: str) -> bool:
        """Whether a path (relative) may be edited."""
        return path.endswith(".py") and self.reach.relative(os.path.join(self.root, path)) is not None

    def _concerned(self, path: str) -> bool:
        """Whether a file may be at fault when nothing says where to look."""
        return self.editable(path) and (not self.imported or path in self.imported)

    def unparsable(self) -> List[Tuple[str, int]]:
        """Path (relative) and line of files that do not parse and may be edited."""
        found = []
        for filename, line in syntax_errors(self.broken):
            path = self.reach.relative(os.path.realpath(filename))
            if path is not None:
                found.append((path, line))
        return found

    def best(self) -> Iterator[Candidate]:
        """Candidates of functions, best first."""
        observed = self.ground.located.observed.types if self.ground else None
        return self.generator.best_first(self.units, self.suspicion, self.literals, observed)
