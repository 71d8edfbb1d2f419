"""Outcomes of tests for all alternatives of an expression, with as few executions as possible."""

from __future__ import annotations

import builtins
import types
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from sandbox.guest.search.execution.shared.chooser import CHOOSE, Chooser
from sandbox.guest.search.execution.shared.purity import Checks
from sandbox.guest.search.execution.shared.sites import TRUTH, ExpressionSite, Sites
from sandbox.guest.search.execution.verdicts import Trial
from sandbox.guest.search.session.harness import TIMEOUT
from sandbox.guest.search.source.functions import Swap

FEWEST, MOST = 3, 64
"""Minimum and maximum number of alternatives in one compiled function."""
FEW = 500
"""Number of comparisons whose time is negligible."""


class Separate(Exception):
    """This alternative has to run by itself."""


class SharedGroup(NamedTuple):
    """Trials whose edits are alternatives of one expression."""

    trials: Tuple[int, ...]
    """Their indexes among all trials, in the order of the compiled alternatives."""
    swaps: Sequence[Swap]


class Sharing:
    """Finds trials that can share executions.

    Args:
        sites: The expressions of each unit, by the unit's id; computed once for all children.
    """

    def __init__(self, sites: Dict[int, Sites]) -> None:
        self._sites = sites

    def groups(self, trials: Sequence[Trial]) -> List[SharedGroup]:
        """Return groups of trials that may share, in the order of each group's first trial."""
        found: Dict[Any, List[Tuple[int, Any]]] = {}
        places: Dict[Any, Tuple[Sites, ExpressionSite]] = {}
        for number, trial in enumerate(trials):
            place = self._place(trial)
            if place is None:
                continue
            sites, site = place
            alternative = sites.alternative(site, trial.candidate.edits[0])
            if alternative is None:
                continue
            key = (
                id(trial.candidate.unit),
                site.start,
                site.end,
                tuple(trial.failing),
                tuple(trial.passing),
            )
            found.setdefault(key, []).append((number, alternative))
            places[key] = place
        groups = []
        for key, members in found.items():
            for at in range(0, len(members), MOST):
                group = self._group(places[key], members[at : at + MOST], trials)
                if group is not None:
                    groups.append(group)
        return groups

    def _place(self, trial: Trial) -> Optional[Tuple[Sites, ExpressionSite]]:
        unit = trial.candidate.unit
        sites = self._sites.get(id(unit))
        if unit is None or sites is None or len(trial.candidate.edits) != 1 or not trial.swaps:
            return None
        name, line = unit.names[-1], trial.swaps[0][1].co_firstlineno
        if any(code.co_name != name or code.co_firstlineno != line for _, code in trial.swaps):
            return None  # nested functions have objects of their own
        site = sites.of(trial.candidate.edits[0])
        return None if site is None else (sites, site)

    def _group(
        self,
        place: Tuple[Sites, ExpressionSite],
        members: Sequence[Tuple[int, Any]],
        trials: Sequence[Trial],
    ) -> Optional[SharedGroup]:
        if len(members) < FEWEST:
            return None
        code = place[0].compile(place[1], [alternative for _, alternative in members])
        functions = [function for function, _ in trials[members[0][0]].swaps]
        if code is None or any(not _fits(function, code) for function in functions):
            return None
        return SharedGroup(
            tuple(number for number, _ in members), [(function, code) for function in functions]
        )


def _fits(function: types.FunctionType, code: types.CodeType) -> bool:
    return function.__code__.co_freevars == code.co_freevars


class Outcomes:
    """Outcomes of tests for the alternatives of one group.

    Args:
        count: Number of alternatives.
        chooser: Serves their function.
        run: Runs a test for the leading alternative. Returns the outcome, and True if a loop
            exceeded its iterations.
    """

    def __init__(
        self, count: int, chooser: Chooser, run: Callable[[int, int], Tuple[str, bool]]
    ) -> None:
        self._count = count
        self._chooser = chooser
        self._run = run
        self._known: Dict[Tuple[int, int], str] = {}
        self._separate: Set[int] = set()
        self.runs = 0

    def of(self, alternative: int, test: int) -> str:
        """Return the outcome of a test.

        Raises:
            Separate: It cannot be determined by sharing.
        """
        while (test, alternative) not in self._known:
            if alternative in self._separate:
                raise Separate
            self._find_out(test, alternative)
        return self._known[test, alternative]

    def _find_out(self, test: int, leader: int) -> None:
        others = [
            n
            for n in range(self._count)
            if n != leader and n not in self._separate and (test, n) not in self._known
        ]
        chooser = self._chooser
        chooser.begin(leader, others)
        self.runs += 1
        outcome, turned = self._run(leader, test)
        followers, chooser.followers = chooser.followers, []
        if chooser.spoiled is not None:
            self._separate.add(chooser.spoiled)
            return
        if outcome == TIMEOUT and not turned:
            # Comparing the followers takes time as well; alone, this alternative may finish in
            # time.
            if chooser.compared > FEW:
                self._separate.add(leader)
            else:
                self._known[test, leader] = TIMEOUT
            return
        for number in (leader, *followers):
            self._known[test, number] = outcome


def serve(chooser: Chooser) -> None:
    """Install the chooser and the checks among the builtins."""
    names = {CHOOSE: chooser.value, TRUTH: chooser.truth, **Checks().names()}
    for name, function in names.items():
        setattr(builtins, name, function)
