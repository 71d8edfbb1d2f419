"""Candidate sources: one function each, which yields candidates best first."""

from __future__ import annotations

import contextlib
import heapq
import importlib
import os
import sys
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Tuple, Union

from sandbox.guest.search.candidates.generator import CandidatePatch, Feed, LowerBound
from sandbox.guest.search.candidates.supplied import supplied_candidates
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.guest.search.candidates.templates.guided import load_guided_templates
from sandbox.guest.search.candidates.templates.outer import load_outer_templates
from sandbox.guest.search.source.plain import PlainSource

MAX_BROKEN = 4
"""Maximum files with syntax errors to repair."""


class SourceModules(NamedTuple):
    """Modules that sources need, loaded before the repository may shadow our module names."""

    templates: Mapping[str, Any]
    parts: Mapping[str, Any]
    """Modules and template tables by name; those that failed to load are absent."""
    modules: Mapping[str, Any]
    """Our modules by name, while `sys.modules` may hold modules of the repository."""

    @classmethod
    def load(cls) -> SourceModules:
        """Load all templates and sources."""
        parts: Dict[str, Any] = {}
        # A part that cannot be imported costs its own candidates only.
        for name in ("outer", "guided", "broken", "reverts"):
            with contextlib.suppress(ImportError):
                parts[name] = importlib.import_module(f"sandbox.guest.search.candidates.{name}")
        return cls(
            load_templates(),
            {
                **parts,
                "outer templates": load_outer_templates(),
                "guided templates": load_guided_templates(),
            },
            {name: module for name, module in sys.modules.items() if is_own_module(name)},
        )

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Restore our modules in `sys.modules` for the duration of the context."""
        theirs = {name: module for name, module in sys.modules.items() if is_own_module(name)}
        sys.modules.update(self.modules)
        try:
            yield
        finally:
            # MetaAgent may repair itself: then the repository has modules with our names.
            for name in [name for name in sys.modules if is_own_module(name)]:
                del sys.modules[name]
            sys.modules.update(theirs)


def is_own_module(name: str) -> bool:
    """Return True if a module name belongs to us."""
    return name == "sandbox" or name.startswith("sandbox.")


def supplied(context: Any) -> Feed:
    """Yield the candidates supplied by the host."""
    yield from supplied_candidates(context)


def functions(context: Any) -> Feed:
    """Yield the candidates of every template on every suspicious function."""
    yield from context.best()


def outer(context: Any) -> Feed:
    """Yield candidates for module and class level: tables, defaults, decorators, imports."""
    kit: SourceModules = context.kit
    templates = {**kit.templates, **kit.parts["outer templates"]}
    shifts = context.request.template_shifts
    make = kit.parts["outer"].outer_candidates
    yield from merge_feeds(
        [
            make(
                source,
                context.code.suspicion,
                context.code.literals,
                templates=templates,
                shifts=shifts,
            )
            for source in context.code.sources
        ]
    )


def guided(context: Any) -> Feed:
    """Yield the candidates that the exceptions suggest."""
    if not context.failures:
        return
    part = context.kit.parts["guided"]
    yield from part.guided_candidates(
        context.failures,
        part.EditableFiles(context.root, context.files.editable),
        templates=context.kit.parts["guided templates"],
        shifts=context.request.template_shifts,
        literals=context.code.literals,
        # Searching installed packages must leave most of the budget for validation.
        seconds=min(4.0, 0.15 * context.left()),
    )


def broken(context: Any) -> Feed:
    """Yield repairs of files that do not parse."""
    feeds: List[List[CandidatePatch]] = []
    shifts = context.request.template_shifts
    for path, line in context.unparsable()[:MAX_BROKEN]:
        part = context.kit.parts["broken"]
        with open(os.path.join(context.root, path), "rb") as file:
            source = PlainSource(path, file.read())
        proposals = part.propose_in_child(
            source.data, part.Broken(path, line), seconds=min(10.0, 0.4 * context.left())
        )
        candidates = []
        for p in proposals:
            cost = p.cost + shifts.get(p.template, 0.0)
            patch = CandidatePatch(p.template, cost, 1.0, line, source, None, p.edits)
            candidates.append(patch._replace(summary=p.description))
        feeds.append(candidates)
    yield from merge_feeds([iter(feed) for feed in feeds])


def reverts(context: Any) -> Feed:
    """Yield reverts of parts of the diff that broke the check."""
    yield from context.diff.candidates()


SOURCES: Tuple[Tuple[str, Callable[[Any], Feed]], ...] = (
    ("given", supplied),
    ("broken", broken),
    ("guided", guided),
    ("reverts", reverts),
    ("functions", functions),
    ("outer", outer),
)
"""All sources by name; among candidates of equal priority, the earlier source goes first."""


def merge_feeds(feeds: Sequence[Feed]) -> Feed:
    """Merge iterators by priority, advancing each only when its next candidate may be the best."""
    heap: List[Tuple[float, int, int, Union[CandidatePatch, LowerBound]]] = []
    for number, feed in enumerate(feeds):
        first = next(feed, None)
        if first is not None:
            # The number of the feed breaks ties, so that the order is deterministic.
            heap.append((first.priority, number, 0, first))
    heapq.heapify(heap)
    while heap:
        _, number, count, candidate = heapq.heappop(heap)
        yield candidate
        following = next(feeds[number], None)
        if following is not None:
            heapq.heappush(heap, (following.priority, number, count + 1, following))


class GuardedFeed:
    """An iterator over a source that ends, and reports why, if the source fails.

    Args:
        name: Name of the source.
        source: Yields its candidates.
        context: Context of the search.
        report: Called with the reason of a failure.
    """

    def __init__(
        self, name: str, source: Callable[[Any], Feed], context: Any, report: Callable[[str], None]
    ) -> None:
        self._name = name
        self._report = report
        self._feed = source(context)
        self._modules: SourceModules = context.kit
        self._started = False

    def __iter__(self) -> Iterator[Union[CandidatePatch, LowerBound]]:
        """Return the iterator itself."""
        return self

    def __next__(self) -> Union[CandidatePatch, LowerBound]:
        """Return the next candidate, or a lower bound for it."""
        found = self._advance()
        return found if isinstance(found, LowerBound) else found._replace(origin=self._name)

    def _advance(self) -> Union[CandidatePatch, LowerBound]:
        try:
            if self._started:
                return next(self._feed)
            self._started = True
            # The first step may import modules of ours; later ones do not.
            with self._modules.active():
                return next(self._feed)
        except StopIteration:
            raise
        # One failing source must leave the others running.
        except Exception as error:
            self._report(f"{self._name}: {type(error).__name__}: {error}"[:200])
            raise StopIteration from None
