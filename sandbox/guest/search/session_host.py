"""The process that collects the tests and runs the search."""

from __future__ import annotations

import base64
import os
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from sandbox.guest.search.candidates.sources import SourceModules
from sandbox.guest.search.context.budget import LimitReached, SearchBudget
from sandbox.guest.search.context.search_context import build_context
from sandbox.guest.search.context.suite_facts import SearchJob, SearchRefused
from sandbox.guest.search.control.search_loop import SearchLoop
from sandbox.guest.search.lanes.selection import LaneResources, Lanes
from sandbox.guest.search.process.guard import Guard
from sandbox.guest.search.process.link import PipeLink
from sandbox.guest.search.process.preload import modules_beside
from sandbox.guest.search.session.collected import BrokenFile, Collected, SuiteCommand
from sandbox.guest.search.session.collecting import collect, prepare_process

CHECK_S = 20.0
"""Timeout for the supervisor to check the checkout, in seconds."""


class CheckoutProxy:
    """The checkout as the supervisor remembers it, and the fork server for trials of it.

    Args:
        supervisor: The link to the supervisor.
        root: Absolute path.
        check_s: Timeout for the supervisor to check the checkout, in seconds.
    """

    def __init__(self, supervisor: PipeLink, root: str, check_s: float = CHECK_S) -> None:
        self._supervisor = supervisor
        self._root = root
        self._check_s = check_s
        self._owed = 0
        """The number of answers that have not arrived yet."""
        self.guard: Optional[Guard] = None
        self.usual: List[str] = []
        """Paths that the unedited tests themselves change."""

    def restore(self) -> List[str]:
        """Restore all files.

        Return the paths that had changed, except those the unedited tests change.
        """
        return [
            path
            for path in self._ask({"restore": True}).get("changed", ())
            if path not in self.usual
        ]

    def write(self, files: Mapping[str, bytes]) -> bool:
        """Write edited files into the checkout until `restore`; return True if all were written."""
        texts = {path: base64.b64encode(data).decode("ascii") for path, data in files.items()}
        answer = self._ask({"write": texts})
        if not answer:
            self.restore()  # a write that was completed after the timeout must not stay
        return bool(answer.get("written"))

    def _ask(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """Return the supervisor's answer, or an empty one after the timeout.

        Late answers to earlier questions are dropped.
        """
        self._supervisor.send(message)
        self._owed += 1
        answer: Dict[str, Any] = {}
        # An answer that missed its timeout arrives before the answer to this question.
        while self._owed:
            heard = self._supervisor.next(self._check_s)
            if heard is None:
                return {}
            self._owed -= 1
            answer = heard
        return answer

    def preload(self) -> None:
        """Start a fork server that imports our modules from outside the checkout.

        When this returns, the previous fork server accepts no more orders.
        """
        self._ask({"modules": modules_beside(self._root)})

    def guard_for(self) -> Guard:
        """Return the guard for children that are forked after the tests have run once."""
        self.usual = self.restore()
        self.guard = Guard(self._root, guards_tree=not self.usual)
        return self.guard


class SessionHost:
    """Runs one search.

    Args:
        command: The test command.
        request: The search request.
        kit: Tools for candidate sources.
        emit: Writes one event for the host.
        links: Links to the supervisor and to the fork server.
        started: Start of the time limit, as `time.monotonic()`.
    """

    def __init__(
        self,
        command: SuiteCommand,
        request: SearchJob,
        kit: SourceModules,
        *,
        emit: Callable[[Dict[str, Any]], None],
        links: Links,
        started: float,
    ) -> None:
        self._command = command
        self._request = request
        self._kit = kit
        self._links = links
        self._budget = SearchBudget(request, emit, started)
        self._cpu = 0.0

    def run(self) -> None:
        """Collect the tests, search, and report the end to the supervisor."""
        end: Dict[str, Any] = {"reason": "refused", "detail": ""}
        try:
            prepare_process(self._command)
            end.update(self._search())
        except SystemExit as error:
            end["detail"] = f"the tests exited with {error}"
        except BaseException as error:
            end["detail"] = f"{type(error).__name__}: {str(error)[:300]}"
        spending = self._budget.report_spending()
        done = dict(end, tried=self._budget.tried, spending=spending)
        self._links.supervisor.send({"done": done})

    def _search(self) -> Dict[str, str]:
        self._cpu = time.process_time()
        try:
            broken = collect(self._command, self._inside)
            if broken:
                self._run_search(None, broken)
        except LimitReached as ended:
            return {"reason": str(ended), "detail": self._budget.untried_reason()}
        except SearchRefused as refused:
            return {"reason": "refused", "detail": str(refused)}
        told = [self._budget.untried_reason(), *self._budget.late_notes()]
        return {"reason": "exhausted", "detail": "; ".join(filter(None, told))[:300]}

    def _inside(self, collected: Collected) -> None:
        self._run_search(collected, collected.broken)

    def _run_search(self, collected: Optional[Collected], broken: Sequence[BrokenFile]) -> None:
        collect_s = time.process_time() - self._cpu
        tree = CheckoutProxy(self._links.supervisor, self._command.root)
        tree.preload()
        context = build_context(
            self._request,
            self._kit,
            self._budget.left,
            collected,
            broken=broken,
            guard_for=tree.guard_for,
        )
        if context.facts is not None and context.facts.baseline.imported:
            tree.preload()
        if tree.guard is None:
            tree.guard_for()
        lanes = Lanes(
            context,
            self._budget,
            LaneResources(self._links.fork_server, tree, self._command, collect_s),
        )
        SearchLoop(context, self._budget, lanes, tree).run()


class Links(NamedTuple):
    """The links of a session host."""

    supervisor: PipeLink
    fork_server: PipeLink


def silence_streams() -> None:
    """Redirect stdin, stdout and stderr to the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
