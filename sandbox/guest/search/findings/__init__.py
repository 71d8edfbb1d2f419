"""Fix findings of linters and type checkers.

A finding yields edits, cheapest first. Only the tool itself judges them.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from sandbox.guest.search.candidates.broken import propose as propose_text_fixes
from sandbox.guest.search.candidates.broken.model import Broken, TextProposal
from sandbox.guest.search.findings.kinds import load_kinds
from sandbox.guest.search.findings.model import SourceFinding
from sandbox.guest.search.findings.place import FindingPlace
from sandbox.guest.search.findings.ruff_fixes import Ruff
from sandbox.guest.search.source.render import SourceFile, TextEdit, splice

MAX_BYTES = 400_000
MAX_PROPOSALS = 40
UNPARSED = frozenset({
    "E999", "invalid-syntax", "syntax", "E0001", "E902", "syntax-error", "SyntaxError",
    "IndentationError", "TabError",
})  # fmt: skip
SILENCED = re.compile(
    r"#\s*(?:type:\s*ignore|noqa|pyright:|pylint:|mypy:|ruff:|pragma)|\bcast\(\s*(?:typing\.)?Any\b"
    r"|(?::|->|\[|, )\s*(?:typing\.)?Any\b|no_type_check"
)
"""Comments and types that hide a finding; no proposal may add one."""


class _Choice(NamedTuple):
    """Why edits are proposed. Choices are in the order in which they are tried."""

    cost: float
    template: str
    doubt: str = ""


def propose(
    source: bytes, finding: SourceFinding, ruff: Optional[Ruff] = None
) -> Iterator[TextProposal]:
    """Yield edits that may remove a finding, cheapest first. Each parses and changes the file.

    Args:
        source: The file.
        finding: The finding to remove.
        ruff: A linter whose own fixes are proposed, too.
    """
    if len(source) > MAX_BYTES:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parsed = SourceFile(finding.path, source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            if finding.code in UNPARSED or finding.code.startswith("E9"):
                yield from propose_text_fixes(
                    source, Broken(finding.path, finding.line, finding.column, finding.message)
                )
            return
        place = FindingPlace(parsed, finding)
        if not 1 <= finding.line <= place.count:
            return
        found = _drafts(place)
        for offer in ruff.offer(source, finding) if ruff is not None else ():
            edits = tuple(sorted(set(offer.draft.edits)))
            if edits:
                found.setdefault(edits, _Choice(offer.draft.cost, "ruff_fix", offer.doubt))
        for edits, (cost, template, doubt) in sorted(
            found.items(), key=lambda item: (round(item[1].cost, 6), item[1].template, item[0])
        ):
            if _is_fine(source, edits):
                shown = _description(source, edits)
                yield TextProposal(template, round(cost, 4), edits, shown, doubt)


def _drafts(place: FindingPlace) -> Dict[Tuple[TextEdit, ...], _Choice]:
    found: Dict[Tuple[TextEdit, ...], _Choice] = {}
    for name, kind in load_kinds().items():
        if place.finding.code not in kind.CODES:
            continue
        for draft in kind.propose(place):
            edits = tuple(sorted(set(draft.edits)))
            if (
                edits
                and (edits not in found or draft.cost < found[edits].cost)
                and len(found) < 10 * MAX_PROPOSALS
            ):
                found[edits] = _Choice(draft.cost, name)
    return found


def _is_fine(source: bytes, edits: Tuple[TextEdit, ...]) -> bool:
    try:
        new = splice(source, edits)
        compile(new, "<text>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return False
    text, before = new.decode("utf-8", "replace"), source.decode("utf-8", "replace")
    # An edit must not hide the finding by a comment or by `Any`.
    return new != source and len(SILENCED.findall(text)) <= len(SILENCED.findall(before))


def _description(source: bytes, edits: Tuple[TextEdit, ...]) -> str:
    edit = max(edits, key=lambda e: len(e.text))
    line = source.count(b"\n", 0, edits[0].start) + 1
    old = source[edit.start : edit.end].decode("utf-8", "replace")
    words: List[str] = [" ".join(text.split())[:60] for text in (old, edit.text)]
    if not words[0]:
        return f"line {line}: `{words[1]}` added"
    if not words[1]:
        return f"line {line}: `{words[0]}` removed"
    return f"line {line}: `{words[0]}` became `{words[1]}`"
