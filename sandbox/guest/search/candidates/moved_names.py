"""Replacements for renamed names, from the error message and from tables of known renames."""

from __future__ import annotations

import ast
import re
from typing import Iterator, List

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.candidates.successors import REWRITES
from sandbox.guest.search.source.outer_scope import with_import
from sandbox.guest.search.source.render import ATOM, TextEdit
from sandbox.guest.search.source.texts import quoted

# Phrases in which deprecation warnings and errors name a replacement.
ADVICE = re.compile(
    r"(?:\b[Uu]se|\b[Tt]ry|[Rr]eplaced (?:by|with)|[Rr]enamed (?:to|as)|"
    r"[Mm]oved to|[Ii]n favou?r of|[Dd]id you mean|"
    r"[Ss]witch to|[Mm]igrate to|[Pp]lease call|[Pp]refer|[Ii]nstead use|[Cc]alled)"
    r":?\s+(?:the\s+|a\s+|to\s+)?(?:new\s+|builtin\s+)?"
    r"(?:function\s+|method\s+|attribute\s+|class\s+)?[`'\"]*"
    r"([A-Za-z_][\w.]*)"
)
ADVISED_TEXT = re.compile(
    r"(?:\b[Uu]se|[Dd]id you mean|[Rr]eplaced (?:by|with)|[Rr]enamed to|[Ii]n favou?r of)"
    r"[^'\"`]{0,25}['\"`]([^'\"`\s]{1,40})['\"`]"
)
LITTLE_WORDS = {
    "the", "a", "an", "it", "this", "that", "instead", "only", "either", "one", "of", "with",
    "explicit", "keyword", "for", "as", "in", "at", "your", "is", "by", "argument", "parameter",
    "without", "timezone", "strict", "and",
}  # fmt: skip


def recommended_names(message: str) -> List[str]:
    """Return the names that a message recommends."""
    found = [name.rstrip(".") for name in ADVICE.findall(message)]
    return list(dict.fromkeys(n for n in found if n.lower() not in LITTLE_WORDS and len(n) > 1))[:5]


def apply_advice(view: FailureContext, cost: float) -> Iterator[GuidedProposal]:
    """Replace the name that a message complains about by the one it recommends."""
    message = view.failure.message
    names = recommended_names(message)
    for spot in view.spots[:2]:
        yield from _texts(spot, message, names, cost)
    # Only the two innermost frames can be expected to use the name directly.
    for spot in view.spots[:2] if names else ():
        for node in spot.find(ast.Attribute)[:6]:
            if not re.search(rf"\b{re.escape(node.attr)}\b", message):
                continue
            for rank, new in enumerate(names):
                last = new.rpartition(".")[2]
                if last == node.attr and "." not in new:
                    yield spot.replace(cost + 0.1 * rank, node, new)
                elif last != node.attr:
                    yield spot.edit(cost + 0.1 * rank, TextEdit(*spot.attribute_span(node), last))
                yield from _whole(spot, node, new, cost + 0.05 + 0.1 * rank)
        yield from _plain_names(spot, message, names, cost)


def _texts(spot: Spot, message: str, names: List[str], cost: float) -> Iterator[GuidedProposal]:
    """Replace a renamed text value, as in `freq='M'`."""
    quoted_names = [n for n in ADVISED_TEXT.findall(message) if n]
    for node in spot.find(
        ast.Constant, lambda n: isinstance(n.value, str) and 0 < len(n.value) <= 40
    )[:6]:
        if not re.search(rf"(?<!\w){re.escape(str(node.value))}(?!\w)", message):
            continue
        for rank, new in enumerate(
            dict.fromkeys(n for n in [*quoted_names, *names] if n != node.value)
        ):
            yield spot.replace(cost + 0.1 * rank, node, quoted(new, spot.text(node)))


def _plain_names(
    spot: Spot, message: str, names: List[str], cost: float
) -> Iterator[GuidedProposal]:
    for name in spot.find(
        ast.Name, lambda n: re.search(rf"\b{re.escape(n.id)}\b", message) is not None
    )[:3]:
        for rank, new in enumerate(n for n in names if n != name.id):
            yield spot.replace(cost + 0.2 + 0.1 * rank, name, new.rpartition(".")[2])
    for keyword in spot.find(
        ast.keyword, lambda n: bool(n.arg) and re.search(rf"\b{n.arg}\b", message) is not None
    ):
        for rank, new in enumerate(n for n in names if n != keyword.arg and "." not in n):
            yield from rename_keyword(spot, keyword, new, cost + 0.1 * rank)


def _whole(spot: Spot, node: ast.Attribute, new: str, cost: float) -> Iterator[GuidedProposal]:
    module = new.rpartition(".")[0]
    if module:
        edit = spot.source.replacement(node, new)
        yield spot.edit(cost, edit)
        yield spot.edit(cost + 0.1, *with_import(spot.source, f"import {module}", (edit,)))
    else:
        yield spot.replace(cost + 0.3, node, new)


def rename_keyword(
    spot: Spot, keyword: ast.keyword, new: str, cost: float
) -> Iterator[GuidedProposal]:
    """Replace `old=value` by `new=value`."""
    start = keyword_start(spot, keyword)
    if start is not None and keyword.arg:
        yield spot.edit(cost, TextEdit(start, start + len(keyword.arg.encode("utf-8")), new))


def keyword_start(spot: Spot, keyword: ast.keyword) -> int | None:
    """Return the byte offset of a keyword's name, or None."""
    if not keyword.arg:
        return None
    # Python 3.8 gives keywords no position, so the text before the value is searched.
    value = spot.source.span(keyword.value)[0]
    match = re.search(
        rb"\b" + keyword.arg.encode("utf-8") + rb"\s*=\s*\(*\s*$",
        spot.source.data[max(0, value - 200) : value],
    )
    return max(0, value - 200) + match.start() if match else None


def apply_rewrites(spot: Spot, node: ast.Attribute, cost: float) -> Iterator[GuidedProposal]:
    """Yield the current spelling of an attribute, or of a call of it, from the table of renames."""
    parent = spot.source.places[node].parent
    call = parent if isinstance(parent, ast.Call) and parent.func is node else None
    value = spot.source.part(node.value, ATOM)
    args = (
        [spot.text(a) for a in call.args] + [spot.text_of_keyword(k) for k in call.keywords]
        if call
        else []
    )
    for rank, rewrite in enumerate(r for r in REWRITES if r.attribute == node.attr):
        # The rewrite needs an argument that this use does not have.
        if "{arg" in rewrite.text and not args:
            continue
        text = rewrite.text.format(
            value=value,
            args=", ".join(args),
            first=args[0] if args else "",
            rest=", ".join(args[1:]),
            module=value,
        )
        target: ast.AST = call or node
        # An assignment can only replace a whole expression statement.
        if " = " in text and not isinstance(spot.source.places[target].parent, ast.Expr):
            continue
        edit = spot.source.replacement(target, text)
        bound = not rewrite.needs or rewrite.needs.encode() in spot.source.data
        edits = (edit,) if bound else with_import(spot.source, rewrite.needs, (edit,))
        yield spot.edit(cost + 0.1 * rank, *edits)
