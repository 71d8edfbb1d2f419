"""Where candidates come from: one function per source, each an iterator of candidates, best first."""

from __future__ import annotations

import contextlib
import heapq
import importlib
import os
import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Tuple, Union

from sandbox.guest.search.candidates.generator import Candidate, Feed, Later
from sandbox.guest.search.candidates.given import given_candidates
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.candidates.templates.guided import load_guided_templates
from sandbox.guest.search.candidates.templates.outer import load_outer_templates
from sandbox.guest.search.source.plain import PlainSource

MOST_BROKEN = 4
"""How many files that do not parse are mended at most."""


class Kit(NamedTuple):
    """What sources are made with: loaded before the names of our modules are left to the repository."""

    templates: Mapping[str, Any]
    parts: Mapping[str, Any]
    """Modules and templates by name; what could not be loaded is missing."""
    modules: Mapping[str, Any]
    """Our own modules, by the names that the repository has now."""

    @classmethod
    def load(cls) -> Kit:
        """Everything there is."""
        parts: Dict[str, Any] = {}
        for name in ("outer", "guided", "broken", "reverts"):
            with contextlib.suppress(ImportError):
                parts[name] = importlib.import_module(f"sandbox.guest.search.candidates.{name}")
        return cls(
            load_templates(),
            {**parts, "outer templates": load_outer_templates(), "guided templates": load_guided_templates()},
            {name: module for name, module in sys.modules.items() if is_ours(name)},
        )

    @contextlib.contextmanager
    def at_hand(self) -> Iterator[None]:
        """Inside, our modules have their names."""
        theirs = {name: module for name, module in sys.modules.items() if is_ours(name)}
        sys.modules.update(self.modules)
        try:
            yield
        finally:
            for name in [name for name in sys.modules if is_ours(name)]:
                del sys.modules[name]
            sys.modules.update(theirs)


def is_ours(name: str) -> bool:
    """Whether a module is one of ours by its name."""
    return name == "sandbox" or name.startswith("sandbox.")


def given(known: Any) -> Feed:
    """What others thought of."""
    yield from given_candidates(known)


def functions(known: Any) -> Feed:
    """Every template on every suspect function."""
    yield from known.best()


def outer(known: Any) -> Feed:
    """What stands outside functions: tables, defaults, decorators, class bodies, imports."""
    kit: Kit = known.kit
    templates = {**kit.templates, **kit.parts["outer templates"]}
    shifts = known.request.template_shifts
    make = kit.parts["outer"].outer_candidates
    yield from merged(
        [make(source, known.suspicion, known.literals, templates=templates, shifts=shifts) for source in known.sources]
    )


def guided(known: Any) -> Feed:
    """What the exceptions themselves suggest."""
    if not known.failures:
        return
    part = known.kit.parts["guided"]
    yield from part.guided_candidates(
        known.failures,
        part.Checkout(known.root, known.editable),
        templates=known.kit.parts["guided templates"],
        shifts=known.request.template_shifts,
        literals=known.literals,
        seconds=min(4.0, 0.15 * known.left()),
    )


def broken(known: Any) -> Feed:
    """Files of the checkout that do not parse."""
    feeds: List[List[Candidate]] = []
    shifts = known.request.template_shifts
    for path, line in known.unparsable()[:MOST_BROKEN]:
        part = known.kit.parts["broken"]
        with open(os.path.join(known.root, path), "rb") as file:
            source = PlainSource(path, file.read())
        proposals = part.propose_in_child(source.data, part.Broken(path, line), seconds=min(10.0, 0.4 * known.left()))
        feeds.append([
            Candidate(
                p.template, p.cost + shifts.get(p.template, 0.0), 1.0, line, source, None, p.edits, said=p.description
            )
            for p in proposals
        ])  # fmt: skip
    yield from merged([iter(feed) for feed in feeds])


def reverts(known: Any) -> Feed:
    """Parts of the diff that turned the check red, undone."""
    yield from known.diff.candidates(only_parts=known.undone)


SOURCES: Tuple[Tuple[str, Callable[[Any], Feed]], ...] = (
    ("given", given),
    ("broken", broken),
    ("guided", guided),
    ("reverts", reverts),
    ("functions", functions),
    ("outer", outer),
)
"""Every source by its name; of candidates with equal priority that of the earlier source goes first."""


def merged(feeds: Sequence[Feed]) -> Feed:
    """One iterator of several; each is asked only when its next candidate may be the best."""
    heap: List[Tuple[float, int, int, Union[Candidate, Later]]] = []
    for number, feed in enumerate(feeds):
        first = next(feed, None)
        if first is not None:
            heap.append((first.priority, number, 0, first))
    heapq.heapify(heap)
    while heap:
        _, number, count, candidate = heapq.heappop(heap)
        yield candidate
        following = next(feeds[number], None)
        if following is not None:
            heapq.heappush(heap, (following.priority, number, count + 1, following))


class Safely:
    """A source that may be missing or break: then it is over, and why is told.

    Args:
        name: Of the source.
        source: Makes its candidates.
        known: What it may use.
        told: Gets the reason when it breaks.
    """

    def __init__(self, name: str, source: Callable[[Any], Feed], known: Any, told: Callable[[str], None]) -> None:
        self._name = name
        self._told = told
        self._feed = source(known)
        self._kit: Kit = known.kit
        self._begun = False

    def __iter__(self) -> Iterator[Union[Candidate, Later]]:
        """Itself."""
        return self

    def __next__(self) -> Union[Candidate, Later]:
        """The next candidate, or that one has to be worked out."""
        try:
            if self._begun:
                return next(self._feed)
            self._begun = True
            with self._kit.at_hand():
                return next(self._feed)
        except StopIteration:
            raise
        except Exception as error:
            self._told(f"{self._name}: {type(error).__name__}: {error}"[:200])
            raise StopIteration from None
