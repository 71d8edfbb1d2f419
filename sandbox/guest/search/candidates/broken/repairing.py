"""Repair a text that does not parse by a beam search over edits, for up to three errors."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import warnings
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Set, Tuple

from sandbox.guest.nesting import measure_nesting
from sandbox.guest.search.candidates.broken.checking import (
    MAX_NESTING,
    Parser,
    Region,
    TooMuchError,
    region_around,
)
from sandbox.guest.search.candidates.broken.model import Draft, SyntaxFault
from sandbox.guest.search.candidates.broken.plausibility import oddness, plausible_names
from sandbox.guest.search.candidates.broken.text import SourceText, SyntaxContext
from sandbox.guest.search.candidates.broken.token_model import TokenModel
from sandbox.guest.search.source.render import TextEdit

MAX_CHARACTERS = 400_000
"""Maximum length of a text to repair."""
ALLOWANCE = 12_000_000
"""Maximum characters parsed in total; some seconds of work."""
ROUNDS = 3
"""Maximum errors repaired in one text."""
BEAM = 5
"""Partly repaired texts kept for the next round."""
DRAFTS = (900, 350, 250)
"""Maximum drafts tried in the first round, and per partly repaired text in later rounds."""
ENOUGH = 60
"""Number of repaired texts after which no further drafts of a region are tried."""
MAX_COST, FURTHER_COST = 6.0, 2.0
"""Maximum cost of a proposal, absolute and relative to the best one; the larger applies.

More expensive repairs parse, but rarely say what was meant.
"""
SHORT = 20
"""Minimum lines of a file that may count as truncated."""
NEAR = 8
"""Lines around an edit in which oddities add to its cost."""
SURPRISE_WEIGHT = 0.3
"""Cost per nat by which the mean surprise exceeds 2; below 2, a reduction."""
ROUND_COST = 1.2
"""Cost added by every further edit."""


class RepairedText(NamedTuple):
    """A repaired text; it parses."""

    cost: float
    kinds: Tuple[str, ...]
    text: str


class _PartialRepair(NamedTuple):
    """A partly repaired text; it parses further than its predecessor."""

    cost: float
    kinds: Tuple[str, ...]
    text: str
    fault: SyntaxFault


class SyntaxRepairer:
    """Repairs one text.

    Args:
        kinds: Modules for kinds of syntax errors, by name.
        allowance: Maximum characters to parse.
    """

    def __init__(self, kinds: Mapping[str, Any], allowance: int = ALLOWANCE) -> None:
        self._kinds = kinds
        self._parser = Parser(allowance)
        self._found: Dict[str, RepairedText] = {}
        self._seen: Set[str] = set()
        self._known: FrozenSet[str] = frozenset()

    def repair(self, source: str) -> List[RepairedText]:
        """Return all repairs found, best first.

        The result is empty if the text is valid or no repair was found.
        """
        if len(source) > MAX_CHARACTERS or measure_nesting(source) > MAX_NESTING:
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(TooMuchError):
                self._work(source)
        most = max(
            MAX_COST, min((m.cost for m in self._found.values()), default=0.0) + FURTHER_COST
        )
        fitting = [repaired for repaired in self._found.values() if repaired.cost <= most]
        return sorted(fitting, key=lambda m: (round(m.cost, 6), m.kinds, m.text))

    def _work(self, source: str) -> None:
        fault = self._parser.fault(source)
        if fault is None or _is_cut_off(source, fault):
            return
        text = SourceText(source)
        self._model = TokenModel(text.tokens)
        self._known = plausible_names(source)
        partials = [_PartialRepair(0.0, (), source, fault)]
        for number in range(ROUNDS):
            advanced: List[_PartialRepair] = []
            for partial in partials:
                advanced += self._round(partial, DRAFTS[number])
            if self._found and number >= 1:
                return
            # A cheap repair with one edit makes further rounds unnecessary.
            if self._found and min(m.cost for m in self._found.values()) < 2.5:
                return
            advanced.sort(
                key=lambda h: (
                    round(h.cost - _progress(h.fault.line - fault.line), 6),
                    h.kinds,
                    h.text,
                )
            )
            partials = advanced[:BEAM]

    def _round(self, partial: _PartialRepair, limit: int) -> List[_PartialRepair]:
        """Try the drafts for one error."""
        text = SourceText(partial.text)
        region = region_around(text, partial.fault, self._parser)
        advanced = self._region(partial, text, region, limit)
        whole = Region(0, text.count)
        if not self._found and region != whole:
            advanced += self._region(partial, text, whole, limit // 3)
        return advanced

    def _region(
        self, partial: _PartialRepair, text: SourceText, region: Region, limit: int
    ) -> List[_PartialRepair]:
        view = SyntaxContext(text, partial.fault, region.first, region.last)
        advanced: List[_PartialRepair] = []
        for kind, draft in self._drafts(view, limit):
            edited = text.splice(draft.edits)
            digest = hashlib.sha256(edited.encode("utf-8", "replace")).hexdigest()
            # Different drafts often lead to the same text.
            if digest in self._seen:
                continue
            self._seen.add(digest)
            cost = partial.cost + draft.cost + (ROUND_COST if partial.kinds else 0.0)
            kinds = (*partial.kinds, kind)
            fault = self._judge(text, region, draft, edited)
            if fault is None:
                self._keep(RepairedText(cost, kinds, edited), text, draft)
                if len(self._found) >= ENOUGH:
                    break
            elif _further(fault, partial.fault, draft, text):
                advanced.append(_PartialRepair(cost, kinds, edited, fault))
        return advanced

    def _drafts(self, view: SyntaxContext, limit: int) -> Iterator[Tuple[str, Draft]]:
        """Yield the drafts of every kind, the most natural ones first."""
        best: Dict[Tuple[TextEdit, ...], Tuple[float, str, Draft]] = {}
        for name, kind in self._kinds.items():
            for draft in kind.propose(view):
                edits = tuple(sorted(draft.edits))
                if edits and (edits not in best or draft.cost < best[edits][0]):
                    best[edits] = (draft.cost, name, draft._replace(edits=edits))
        ranked = sorted(best.values(), key=lambda entry: (entry[0], entry[1], entry[2].edits))[
            : 2 * limit
        ]
        weighed = [(self._weigh(view, draft), name, draft) for _, name, draft in ranked]
        weighed.sort(key=lambda entry: (round(entry[0], 6), entry[1], entry[2].edits))
        for cost, name, draft in weighed[:limit]:
            yield name, draft._replace(cost=cost)

    def _weigh(self, view: SyntaxContext, draft: Draft) -> float:
        """Return the cost of a draft, adjusted by how common its tokens are in this file."""
        first, last = draft.edits[0], draft.edits[-1]
        # The model compares short edits; for large ones its mean says little.
        if last.end - first.start > 400 or len(draft.edits) > 4:
            return draft.cost
        source = view.text
        white = all(not (e.text + source.text[e.start : e.end]).strip() for e in draft.edits)
        # White space and string ends change the meaning of tokens far away.
        if white or _closes_string(draft):
            return draft.cost
        begin = source.starts[source.line_at(first.start)]
        end = source.starts[min(source.line_at(last.end) + 2, source.count)]
        growth = sum(len(e.text) - (e.end - e.start) for e in draft.edits)
        part = SourceText.splice(source, draft.edits)[begin : end + growth]
        surprise = self._model.surprise(part, first.start - begin, last.end + growth - begin)
        return draft.cost + SURPRISE_WEIGHT * (surprise - 2.0)

    def _judge(
        self, text: SourceText, region: Region, draft: Draft, edited: str
    ) -> Optional[SyntaxFault]:
        """Return the remaining error, or None if the whole text is valid."""
        start, end = draft.edits[0].start, draft.edits[-1].end
        if region == Region(0, text.count) or not region.holds(text, start, end):
            return self._parser.fault(edited)
        first, last = text.starts[region.first], text.starts[min(region.last, text.count)]
        length = last - first + len(edited) - len(text.text)
        fault = self._parser.fault(region.of(edited, first, length), whole=False)
        if fault is not None:
            shift = region.first - (1 if region.wrapped else 0)
            fault = fault._replace(line=fault.line + shift, end_line=fault.end_line + shift)
            # Inverted strings hide where blocks end, so the region may have been cut inside one.
            cut = "triple" in fault.message or fault.line >= region.last - 2
            return self._parser.fault(edited) if cut and _closes_string(draft) else fault
        return self._parser.fault(edited)

    def _keep(self, repaired: RepairedText, text: SourceText, draft: Draft) -> None:
        """Record a repaired text, keeping the cheapest for each syntax tree."""
        tree = self._parser.tree
        if tree is None:
            return
        lines = (
            text.line_at(draft.edits[0].start) - NEAR,
            text.line_at(draft.edits[-1].end) + NEAR,
        )
        near = [node for node in tree.body if _overlaps(node, *lines)]
        holder = ast.Module(body=near, type_ignores=[])
        # A nearby oddity suggests that the text parses by accident.
        cost = repaired.cost + oddness(holder, self._known, *lines)
        try:
            key = hashlib.sha256(ast.dump(tree).encode("utf-8", "replace")).hexdigest()
        except RecursionError:
            return
        known = self._found.get(key)
        if known is None or cost < known.cost:
            self._found[key] = repaired._replace(cost=cost)


def _overlaps(node: ast.stmt, first: int, last: int) -> bool:
    return (
        node.lineno - 1 <= last and (getattr(node, "end_lineno", None) or node.lineno) - 1 >= first
    )


def _further(fault: SyntaxFault, before: SyntaxFault, draft: Draft, text: SourceText) -> bool:
    """Return True if the error moved further down, beyond any lines that were inserted."""
    grown = sum(
        edit.text.count("\n") - text.text.count("\n", edit.start, edit.end) for edit in draft.edits
    )
    if not fault.in_parser and before.in_parser:
        return True
    return (fault.line - grown, fault.column) > (before.line, before.column)


def _progress(lines: int) -> float:
    """Return the cost reduction for errors that moved down by a number of lines.

    On the same line, it is often only another message for the same error.
    """
    return 0.4 + 0.05 * min(lines, 20) if lines > 0 else 0.0


def _is_cut_off(source: str, fault: SyntaxFault) -> bool:
    """Return True if the file was truncated; missing text cannot be repaired, only restored."""
    lines = source.count("\n")
    if source.endswith("\n") or lines < SHORT:
        return False
    return fault.line >= lines - 1 or any(
        word in fault.message for word in ("never closed", "EOF", "triple-quoted")
    )


def _closes_string(draft: Draft) -> bool:
    return any(quote in edit.text for edit in draft.edits for quote in ('"""', "'''"))
