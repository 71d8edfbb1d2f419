"""A class that cannot be created: a mutable default, a wrong field order, an abstract method."""

from __future__ import annotations

import ast
import re
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.candidates.templates.outer import base_classes, dataclass_fields
from sandbox.guest.search.source.outer_scope import OuterScope
from sandbox.guest.search.source.render import SourceFile, TextEdit
from sandbox.guest.search.source.scope import FunctionNode
from sandbox.guest.search.source.texts import close_names

COST = 0.3
_ABSTRACT = {"owner": {"type": "B", "kind": "class", "file": "module.py", "names": ["read"]}}
CHANGES = (
    (
        (
            "ValueError: mutable default <class 'list'> for field x is not allowed: use "
            "default_factory"
        ),
        3,
        "from dataclasses import dataclass, field\n\n@dataclass\nclass A:\n    x: list = []\n",
        (
            "from dataclasses import dataclass, field\n\n@dataclass\nclass A:\n"
            "    x: list = field(default_factory=list)\n"
        ),
    ),
    (
        "TypeError: non-default argument 'y' follows default argument",
        1,
        "@dataclass\nclass A:\n    x: int = 1\n    y: int\n",
        "@dataclass\nclass A:\n    x: int = 1\n    y: int = 0\n",
    ),
    (
        "TypeError: non-default argument 'y' follows default argument",
        1,
        "@dataclass\nclass A:\n    x: int = 1\n    y: int\n",
        "@dataclass\nclass A:\n    y: int\n    x: int = 1\n",
    ),
    (
        "TypeError: Can't instantiate abstract class B with abstract method reed",
        None,
        "class B(A):\n    def read(self):\n        return 1\n",
        "class B(A):\n    def reed(self):\n        return 1\n",
        _ABSTRACT,
    ),
    (
        (
            "TypeError: Can't instantiate abstract class B without an implementation for "
            "abstract method 'close'"
        ),
        None,
        "class B(A):\n    def read(self):\n        return 1\n",
        (
            "class B(A):\n    def read(self):\n        return 1\n\n"
            "    def close(self, *args, **kwargs):\n        pass\n"
        ),
        _ABSTRACT,
    ),
    (
        "TypeError: Cannot create a consistent method resolution order (MRO) for bases A, B",
        1,
        "class C(A, B):\n    pass\n",
        "class C(B, A):\n    pass\n",
    ),
)
UNTOUCHED = (("TypeError: no", 1, "class C(A, B):\n    x: list = []\n"),)

ABSTRACT = re.compile(
    r"Can't instantiate abstract class \w+ "
    r"with(?:out an implementation for)? abstract methods? (.+)"
)


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair the fields or bases of a class, or implement its abstract methods, by the message."""
    message = view.failure.message
    if not view.failure.is_a("TypeError", "ValueError"):
        return
    field = re.search(r"for field (\w+) is not allowed|argument '(\w+)' follows default", message)
    for spot in view.spots[:3]:
        owner = _class_at(spot)
        if owner is not None and field:
            yield from _fields(spot.source, owner, field.group(1) or field.group(2))
        if owner is not None and ("resolution order" in message or "metaclass conflict" in message):
            scope = OuterScope(spot.source)
            yield from (
                c
                for p in base_classes.propose(owner, scope)
                for c in _as_changes(spot, p, COST - 1.6)
            )
    abstract = ABSTRACT.match(message)
    if abstract:
        recorded = view.failure.extra.get("owner") or {}
        names = re.findall(r"\w+", abstract.group(1))
        for source, node in view.class_named(
            str(recorded.get("file") or ""), str(recorded.get("type") or "")
        ):
            yield from _implement(source, node, [n for n in names if n != "and"])


def _class_at(spot: Spot) -> Optional[ast.ClassDef]:
    """Return the class whose creation failed."""
    if spot.classes:
        return spot.classes[-1]
    return spot.statement if isinstance(spot.statement, ast.ClassDef) else None


def _fields(source: SourceFile, owner: ast.ClassDef, name: str) -> Iterator[GuidedProposal]:
    spot, scope = Spot(source, owner.lineno, None, {}), OuterScope(source)
    fields = [s for s in owner.body if isinstance(s, ast.AnnAssign)]
    mine = [s for s in fields if isinstance(s.target, ast.Name) and s.target.id == name]
    for statement in mine or fields:
        for proposal in dataclass_fields.propose(statement, scope):
            yield from _as_changes(spot, proposal, COST - 1.2)
    # Fields without defaults must precede those with defaults.
    bare = [s for s in fields if s.value is None]
    given = [s for s in fields if s.value is not None]
    if mine and bare and given:
        texts = [source.text(s) for s in [*bare, *given]]
        spans: List[Tuple[int, int]] = [source.span(s) for s in fields]
        yield spot.edit(COST + 0.2, *(TextEdit(*span, text) for span, text in zip(spans, texts)))


def _as_changes(spot: Spot, proposal: object, shift: float) -> Iterator[GuidedProposal]:
    edits = getattr(proposal, "edits", ())
    if edits:
        yield spot.edit(max(0.1, float(getattr(proposal, "cost", 1.0)) + shift), *edits)


def _implement(
    source: SourceFile, node: ast.ClassDef, names: List[str]
) -> Iterator[GuidedProposal]:
    """Implement missing methods by renaming others, or with an empty body."""
    spot = Spot(source, node.lineno, None, {})
    methods = {s.name: s for s in node.body if isinstance(s, FunctionNode)}
    for name in names:
        own = [m for m in methods if not m.startswith("__")]
        for rank, near in enumerate(list(dict.fromkeys([*close_names(name, own, 2), *own]))[:5]):
            method = methods[near]
            at = source.data.index(
                near.encode("utf-8"), source.offset(method.lineno, method.col_offset) + 4
            )
            yield spot.edit(
                COST - 0.1 + 0.1 * rank, TextEdit(at, at + len(near.encode("utf-8")), name)
            )
    for rank, body in enumerate(("pass", "raise NotImplementedError")):
        code = "\n".join(f"\ndef {name}(self, *args, **kwargs):\n    {body}" for name in names)
        yield from spot.take(spot.scope.after(COST + 0.3 + 0.2 * rank, node.body[-1], code))
