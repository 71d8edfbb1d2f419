"""The process in which the tests are collected and the search is conducted."""

from __future__ import annotations

import base64
import os
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from sandbox.guest.search.candidates.sources import Kit
from sandbox.guest.search.context.budget import Course, Ended
from sandbox.guest.search.context.ground import Refused, Request
from sandbox.guest.search.context.situation import Situation
from sandbox.guest.search.control.search_loop import Conductor
from sandbox.guest.search.lanes.selection import Lanes, Means
from sandbox.guest.search.process.guard import Guard
from sandbox.guest.search.process.link import Link
from sandbox.guest.search.process.warm import modules_beside
from sandbox.guest.search.session.collected import Broken, Collected, Command
from sandbox.guest.search.session.collecting import collect, enter

CHECK_S = 20.0
"""How long the keeper may take to look through the checkout."""


class Tree:
    """The checkout, as the keeper remembers it, and what trials of it are forked from.

    Args:
        keeper: The link to it.
        root: Absolute path.
        check_s: How long the keeper may take to look through it.
    """

    def __init__(self, keeper: Link, root: str, check_s: float = CHECK_S) -> None:
        self._keeper = keeper
        self._root = root
        self._check_s = check_s
        self._owed = 0
        """Answers that have not come yet."""
        self.guard: Optional[Guard] = None
        self.usual: List[str] = []
        """What the unedited tests themselves change."""

    def restore(self) -> List[str]:
        """Put everything back; what had changed, beyond what the unedited tests change."""
        return [path for path in self._ask({"restore": True}).get("changed", ()) if path not in self.usual]

    def write(self, files: Mapping[str, bytes]) -> bool:
        """Put edited files into the checkout until `restore`; whether all could be written."""
        texts = {path: base64.b64encode(data).decode("ascii") for path, data in files.items()}
        answer = self._ask({"write": texts})
        if not answer:
            self.restore()  # what was written too late for anybody must not stay
        return bool(answer.get("written"))

    def _ask(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """What the keeper says to this; nothing when that takes too long. Late answers are to earlier questions."""
        self._keeper.send(message)
        self._owed += 1
        answer: Dict[str, Any] = {}
        while self._owed:
            heard = self._keeper.next(self._check_s)
            if heard is None:
                return {}
            self._owed -= 1
            answer = heard
        return answer

    def preload(self) -> None:
        """Have trials forked from a process that has imported what this one has, outside the checkout.

        When this returns, the one before it hears no order any more.
        """
        self._ask({"modules": modules_beside(self._root)})

    def guard_for(self) -> Guard:
        """After the tests have run once: what children put on from now on."""
        self.usual = self.restore()
        self.guard = Guard(self._root, guards_tree=not self.usual)
        return self.guard


class Host:
    """Conducts one search.

    Args:
        command: What runs the tests.
        request: What to do.
        kit: What sources are made with.
        emit: Tells the host one event.
        links: To the keeper and to the zygote.
        started: When the clock of the time limit started.
    """

    def __init__(
        self,
        command: Command,
        request: Request,
        kit: Kit,
        *,
        emit: Callable[[Dict[str, Any]], None],
        links: Links,
        started: float,
    ) -> None:
        self._command = command
        self._request = request
        self._kit = kit
        self._links = links
        self._course = Course(request, emit, started)
        self._cpu = 0.0

    def run(self) -> None:
        """Collect, search, and tell the keeper how it ended."""
        end = {"reason": "refused", "detail": ""}
        try:
            enter(self._command)
            end = self._search()
        except SystemExit as error:
            end["detail"] = f"the tests left with {error}"
        except BaseException as error:
            end["detail"] = f"{type(error).__name__}: {str(error)[:300]}"
        self._links.keeper.send({"done": dict(end, tried=self._course.tried)})

    def _search(self) -> Dict[str, str]:
        self._cpu = time.process_time()
        try:
            broken = collect(self._command, self._inside)
            if broken:
                self._conduct(None, broken)
        except Ended as ended:
            return {"reason": str(ended), "detail": self._course.why_untried()}
        except Refused as refused:
            return {"reason": "refused", "detail": str(refused)}
        told = [self._course.why_untried(), *self._course.late_notes()]
        return {"reason": "exhausted", "detail": "; ".join(filter(None, told))[:300]}

    def _inside(self, collected: Collected) -> None:
        self._conduct(collected, collected.broken)

    def _conduct(self, collected: Optional[Collected], broken: Sequence[Broken]) -> None:
        collect_s = time.process_time() - self._cpu
        tree = Tree(self._links.keeper, self._command.root)
        tree.preload()
        situation = Situation(
            self._request, self._kit, self._course.left, collected, broken=broken, guard_for=tree.guard_for
        )
        if situation.ground is not None and situation.ground.baseline.imported:
            tree.preload()
        if tree.guard is None:
            tree.guard_for()
        lanes = Lanes(situation, self._course, Means(self._links.zygote, tree, self._command, collect_s))
        Conductor(situation, self._course, lanes, tree).run()


class Links(NamedTuple):
    """Who a host talks with."""

    keeper: Link
    zygote: Link


def mute() -> None:
    """Nothing the repository prints is of interest, and it reads nothing."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
