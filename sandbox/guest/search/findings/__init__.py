"""Findings of linters and type checkers: source and finding in, edits out, best first; only the tool judges."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Dict, Iterator, List, Tuple

from sandbox.guest.search.candidates.broken import propose as mend
from sandbox.guest.search.candidates.broken.model import Broken, TextProposal
from sandbox.guest.search.findings.kinds import load_kinds
from sandbox.guest.search.findings.model import Finding
from sandbox.guest.search.findings.place import Place
from sandbox.guest.search.source.render import Edit, Source, splice

MAX_BYTES = 400_000
MAX_PROPOSALS = 40
UNPARSED = frozenset({
    "E999", "invalid-syntax", "syntax", "E0001", "E902", "syntax-error", "SyntaxError", "IndentationError", "TabError",
})  # fmt: skip
SILENCED = re.compile(
    r"#\s*(?:type:\s*ignore|noqa|pyright:|pylint:|mypy:|ruff:|pragma)|\bcast\(\s*(?:typing\.)?Any\b"
    r"|(?::|->|\[|, )\s*(?:typing\.)?Any\b|no_type_check"
)
"""What hides a finding instead of mending it; no proposal adds any of it."""


def propose(source: bytes, finding: Finding) -> Iterator[TextProposal]:
    """Edits that may make a finding go away, cheapest first; every one parses and says something else than before.

    Args:
        source: The file.
        finding: What a tool says of it.
    """
    if len(source) > MAX_BYTES:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parsed = Source(finding.path, source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            if finding.code in UNPARSED or finding.code.startswith("E9"):
                yield from mend(source, Broken(finding.path, finding.line, finding.column, finding.message))
            return
        place = Place(parsed, finding)
        if not 1 <= finding.line <= place.count:
            return
        found = _drafts(place)
        for edits, (cost, kind) in sorted(found.items(), key=lambda item: (round(item[1][0], 6), item[1][1], item[0])):
            if not _is_fine(source, edits):
                continue
            yield TextProposal(kind, round(cost, 4), edits, _description(source, edits))


def _drafts(place: Place) -> Dict[Tuple[Edit, ...], Tuple[float, str]]:
    found: Dict[Tuple[Edit, ...], Tuple[float, str]] = {}
    for name, kind in load_kinds().items():
        if place.finding.code not in kind.CODES:
            continue
        for draft in kind.propose(place):
            edits = tuple(sorted(set(draft.edits)))
            if edits and (edits not in found or draft.cost < found[edits][0]) and len(found) < 10 * MAX_PROPOSALS:
                found[edits] = (draft.cost, name)
    return found


def _is_fine(source: bytes, edits: Tuple[Edit, ...]) -> bool:
    try:
        new = splice(source, edits)
        compile(new, "<text>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return False
    text, before = new.decode("utf-8", "replace"), source.decode("utf-8", "replace")
    return new != source and len(SILENCED.findall(text)) <= len(SILENCED.findall(before))


def _description(source: bytes, edits: Tuple[Edit, ...]) -> str:
    edit = max(edits, key=lambda e: len(e.text))
    line = source.count(b"\n", 0, edits[0].start) + 1
    old = source[edit.start : edit.end].decode("utf-8", "replace")
    words: List[str] = [" ".join(text.split())[:60] for text in (old, edit.text)]
    if not words[0]:
        return f"line {line}: `{words[1]}` added"
    return f"line {line}: `{words[0]}` became `{words[1]}`" if words[1] else f"line {line}: `{words[0]}` removed"
