"""The repair of a text that does not parse: drafts of every kind, tried best first, over up to three faults."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import warnings
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Set, Tuple

from sandbox.guest.nesting import nesting_of
from sandbox.guest.search.candidates.broken.checking import (
    MAX_NESTING,
    Parser,
    Region,
    TooMuchError,
    region_around,
)
from sandbox.guest.search.candidates.broken.habits import Habits
from sandbox.guest.search.candidates.broken.model import Draft, Fault
from sandbox.guest.search.candidates.broken.oddness import known_names, oddness
from sandbox.guest.search.candidates.broken.text import Text, View
from sandbox.guest.search.source.render import Edit

MAX_CHARACTERS = 400_000
ALLOWANCE = 12_000_000
"""Characters parsed in all: some seconds."""
ROUNDS = 3
BEAM = 5
DRAFTS = (900, 350, 250)
"""Drafts tried in the first round, and for each half-mended text in the ones behind it."""
ENOUGH = 60
MOST_COST, FURTHER_COST = 6.0, 2.0
"""Dearer proposals, or so much dearer than the best, are not made: they parse, and say something else."""
SHORT = 20
"""A file of fewer lines is not taken for one that was cut off."""
NEAR = 8
"""Lines around an edit in which what looks odd counts."""
SURPRISE_WEIGHT = 0.3
ROUND_COST = 1.2
"""What every further edit adds."""


class Mended(NamedTuple):
    """A text that parses."""

    cost: float
    kinds: Tuple[str, ...]
    text: str


class _Half(NamedTuple):
    """A text that parses further than the one it came from."""

    cost: float
    kinds: Tuple[str, ...]
    text: str
    fault: Fault


class Mender:
    """Repairs one text.

    Args:
        kinds: Modules of kinds of mistake, by name.
        allowance: How many characters may be parsed.
    """

    def __init__(self, kinds: Mapping[str, Any], allowance: int = ALLOWANCE) -> None:
        self._kinds = kinds
        self._parser = Parser(allowance)
        self._found: Dict[str, Mended] = {}
        self._seen: Set[str] = set()
        self._known: FrozenSet[str] = frozenset()

    def mend(self, source: str) -> List[Mended]:
        """Every way found, best first; empty when the text parses already or nothing helps."""
        if len(source) > MAX_CHARACTERS or nesting_of(source) > MAX_NESTING:
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(TooMuchError):
                self._work(source)
        most = max(MOST_COST, min((m.cost for m in self._found.values()), default=0.0) + FURTHER_COST)
        fitting = [mended for mended in self._found.values() if mended.cost <= most]
        return sorted(fitting, key=lambda m: (round(m.cost, 6), m.kinds, m.text))

    def _work(self, source: str) -> None:
        fault = self._parser.fault(source)
        if fault is None or _is_cut_off(source, fault):
            return
        text = Text(source)
        self._habits = Habits(text.tokens)
        self._known = known_names(source)
        halves = [_Half(0.0, (), source, fault)]
        for number in range(ROUNDS):
            advanced: List[_Half] = []
            for half in halves:
                advanced += self._round(half, DRAFTS[number])
            if self._found and number >= 1:
                return
            if self._found and min(m.cost for m in self._found.values()) < 2.5:
                return
            advanced.sort(key=lambda h: (round(h.cost - _progress(h.fault.line - fault.line), 6), h.kinds, h.text))
            halves = advanced[:BEAM]

    def _round(self, half: _Half, limit: int) -> List[_Half]:
        """Try the drafts for one fault."""
        text = Text(half.text)
        region = region_around(text, half.fault, self._parser)
        advanced = self._region(half, text, region, limit)
        whole = Region(0, text.count)
        if not self._found and region != whole:
            advanced += self._region(half, text, whole, limit // 3)
        return advanced

    def _region(self, half: _Half, text: Text, region: Region, limit: int) -> List[_Half]:
        view = View(text, half.fault, region.first, region.last)
        advanced: List[_Half] = []
        for kind, draft in self._drafts(view, limit):
            edited = text.splice(draft.edits)
            digest = hashlib.sha256(edited.encode("utf-8", "replace")).hexdigest()
            if digest in self._seen:
                continue
            self._seen.add(digest)
            cost = half.cost + draft.cost + (ROUND_COST if half.kinds else 0.0)
            kinds = (*half.kinds, kind)
            fault = self._judge(text, region, draft, edited)
            if fault is None:
                self._keep(Mended(cost, kinds, edited), text, draft)
                if len(self._found) >= ENOUGH:
                    break
            elif _further(fault, half.fault, draft, text):
                advanced.append(_Half(cost, kinds, edited, fault))
        return advanced

    def _drafts(self, view: View, limit: int) -> Iterator[Tuple[str, Draft]]:
        """Drafts of every kind, the most natural ones first."""
        best: Dict[Tuple[Edit, ...], Tuple[float, str, Draft]] = {}
        for name, kind in self._kinds.items():
            for draft in kind.propose(view):
                edits = tuple(sorted(draft.edits))
                if edits and (edits not in best or draft.cost < best[edits][0]):
                    best[edits] = (draft.cost, name, draft._replace(edits=edits))
        ranked = sorted(best.values(), key=lambda entry: (entry[0], entry[1], entry[2].edits))[: 2 * limit]
        weighed = [(self._weigh(view, draft), name, draft) for _, name, draft in ranked]
        weighed.sort(key=lambda entry: (round(entry[0], 6), entry[1], entry[2].edits))
        for cost, name, draft in weighed[:limit]:
            yield name, draft._replace(cost=cost)

    def _weigh(self, view: View, draft: Draft) -> float:
        """The cost of a draft with how usual its tokens are here."""
        first, last = draft.edits[0], draft.edits[-1]
        if last.end - first.start > 400 or len(draft.edits) > 4:
            return draft.cost
        source = view.text
        white = all(not (e.text + source.text[e.start : e.end]).strip() for e in draft.edits)
        if white or _closes_string(draft):
            return draft.cost
        begin = source.starts[source.line_of(first.start)]
        end = source.starts[min(source.line_of(last.end) + 2, source.count)]
        growth = sum(len(e.text) - (e.end - e.start) for e in draft.edits)
        part = Text.splice(source, draft.edits)[begin : end + growth]
        surprise = self._habits.surprise(part, first.start - begin, last.end + growth - begin)
        return draft.cost + SURPRISE_WEIGHT * (surprise - 2.0)

    def _judge(self, text: Text, region: Region, draft: Draft, edited: str) -> Optional[Fault]:
        """The fault that is left; None when the whole text is fine."""
        start, end = draft.edits[0].start, draft.edits[-1].end
        if region == Region(0, text.count) or not region.holds(text, start, end):
            return self._parser.fault(edited)
        first, last = text.starts[region.first], text.starts[min(region.last, text.count)]
        length = last - first + len(edited) - len(text.text)
        fault = self._parser.fault(region.of(edited, first, length), whole=False)
        if fault is not None:
            shift = region.first - (1 if region.wrapped else 0)
            fault = fault._replace(line=fault.line + shift, end_line=fault.end_line + shift)
            # Strings turned inside out hide where blocks end: the region may have been cut inside one.
            cut = "triple" in fault.message or fault.line >= region.last - 2
            return self._parser.fault(edited) if cut and _closes_string(draft) else fault
        return self._parser.fault(edited)

    def _keep(self, mended: Mended, text: Text, draft: Draft) -> None:
        """Remember what parses, once for each meaning."""
        tree = self._parser.tree
        if tree is None:
            return
        lines = (text.line_of(draft.edits[0].start) - NEAR, text.line_of(draft.edits[-1].end) + NEAR)
        near = [node for node in tree.body if _overlaps(node, *lines)]
        holder = ast.Module(body=near, type_ignores=[])
        cost = mended.cost + oddness(holder, self._known, *lines)
        try:
            key = hashlib.sha256(ast.dump(tree).encode("utf-8", "replace")).hexdigest()
        except RecursionError:
            return
        known = self._found.get(key)
        if known is None or cost < known.cost:
            self._found[key] = mended._replace(cost=cost)


def _overlaps(node: ast.stmt, first: int, last: int) -> bool:
    return node.lineno - 1 <= last and (getattr(node, "end_lineno", None) or node.lineno) - 1 >= first


def _further(fault: Fault, before: Fault, draft: Draft, text: Text) -> bool:
    """Whether a text is read further than before, and not merely because lines were put in."""
    grown = sum(edit.text.count("\n") - text.text.count("\n", edit.start, edit.end) for edit in draft.edits)
    if not fault.in_parser and before.in_parser:
        return True
    return (fault.line - grown, fault.column) > (before.line, before.column)


def _progress(lines: int) -> float:
    """What reading so much further is worth; on the same line it is often only another word for the same fault."""
    return 0.4 + 0.05 * min(lines, 20) if lines > 0 else 0.0


def _is_cut_off(source: str, fault: Fault) -> bool:
    """Whether the file ends in the middle: what is gone cannot be made up, only taken back."""
    lines = source.count("\n")
    if source.endswith("\n") or lines < SHORT:
        return False
    return fault.line >= lines - 1 or any(word in fault.message for word in ("never closed", "EOF", "triple-quoted"))


def _closes_string(draft: Draft) -> bool:
    return any(quote in edit.text for edit in draft.edits for quote in ('"""', "'''"))
