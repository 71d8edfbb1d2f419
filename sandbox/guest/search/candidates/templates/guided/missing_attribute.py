"""AttributeError: an attribute that is misspelt, renamed, moved, never set, or elsewhere."""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, Iterator, List, Tuple

from sandbox.guest.search.candidates.edits.restored_names import restore_name
from sandbox.guest.search.candidates.moved_names import apply_advice, apply_rewrites
from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.candidates.successors import ATTRIBUTES, find_successors
from sandbox.guest.search.source.outer_scope import top_of_body, with_import
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, FunctionNode
from sandbox.guest.search.source.texts import close_names

COST = 0.3
_LIST = {
    "owner": {"type": "list", "kind": "object", "names": dir(list), "bases": ["list"]},
    "name": "add",
}
_OWN = {
    "owner": {
        "type": "A",
        "kind": "object",
        "file": "module.py",
        "names": ["size", "f"],
        "bases": ["A"],
    },
    "name": "sise",
}
_MODULE = {
    "owner": {"type": "module", "kind": "module", "module": "os", "names": ["path", "sep"]},
    "name": "getcwdu",
}
CHANGES = (
    (
        "AttributeError: 'A' object has no attribute 'sise'",
        3,
        "class A:\n    def f(self):\n        return self.sise\n",
        "class A:\n    def f(self):\n        return self.size\n",
        _OWN,
    ),
    (
        "AttributeError: 'A' object has no attribute 'sise'",
        6,
        (
            "class A:\n    def __init__(self):\n        self.size = 1\n\n    def f(self):\n"
            "        return self.sise\n"
        ),
        (
            "class A:\n    def __init__(self):\n        self.sise = None\n        self.size = 1\n\n"
            "    def f(self):\n        return self.sise\n"
        ),
        _OWN,
    ),
    (
        "AttributeError: 'list' object has no attribute 'add'",
        2,
        "def f(a):\n    a.add(1)\n",
        "def f(a):\n    a.append(1)\n",
        _LIST,
    ),
    (
        "AttributeError: module 'os' has no attribute 'getcwdu'",
        4,
        "import os\n\ndef f():\n    return os.getcwdu()\n",
        "import os\n\ndef f():\n    return os.getcwd()\n",
        _MODULE,
    ),
    (
        "AttributeError: module 'collections' has no attribute 'Mapping'",
        4,
        "import collections\n\ndef f(a):\n    return isinstance(a, collections.Mapping)\n",
        (
            "import collections\nimport collections.abc\n\ndef f(a):\n"
            "    return isinstance(a, collections.abc.Mapping)\n"
        ),
        {
            "owner": {
                "type": "module",
                "kind": "module",
                "module": "collections",
                "names": ["abc"],
            },
            "name": "Mapping",
        },
    ),
    (
        "AttributeError: module 'numpy' has no attribute 'float'. Use `float` instead.",
        4,
        "import numpy as np\n\ndef f(a):\n    return a.astype(np.float)\n",
        "import numpy as np\n\ndef f(a):\n    return a.astype(float)\n",
        {
            "owner": {"type": "module", "kind": "module", "module": "numpy", "names": []},
            "name": "float",
        },
    ),
    (
        "AttributeError: 'function' object has no attribute 'name'",
        2,
        "def f(a):\n    return a.get.name\n",
        "def f(a):\n    return a.get().name\n",
        {"owner": {"type": "function", "kind": "object", "names": []}, "name": "name"},
    ),
    (
        "AttributeError: 'dict' object has no attribute 'name'",
        2,
        "def f(a):\n    return a.name\n",
        "def f(a):\n    return a['name']\n",
        {
            "owner": {"type": "dict", "kind": "object", "names": ["get"], "bases": ["dict"]},
            "name": "name",
        },
    ),
    (
        "AttributeError: type object 'datetime.datetime' has no attribute 'datetime'",
        4,
        "from datetime import datetime\n\ndef f():\n    return datetime.datetime.now()\n",
        "from datetime import datetime\n\ndef f():\n    return datetime.now()\n",
        {"owner": {"type": "datetime", "kind": "class", "names": ["now"]}, "name": "datetime"},
    ),
    (
        "AttributeError: 'A' object has no attribute 'old'",
        None,
        "class A:\n    def olds(self):\n        return 1\n",
        "class A:\n    def old(self):\n        return 1\n",
        {
            "owner": {
                "type": "A",
                "kind": "object",
                "file": "module.py",
                "names": ["olds"],
                "bases": ["A"],
            },
            "name": "old",
        },
    ),
)
UNTOUCHED = (("NameError: name 'x' is not defined", 2, "def f(a):\n    return a.x\n"),)

OTHER_METHODS: Dict[str, Dict[str, Tuple[str, ...]]] = {
    "list": {
        "add": ("append",),
        "push": ("append",),
        "update": ("extend",),
        "size": (),
        "discard": ("remove",),
    },
    "set": {"append": ("add",), "extend": ("update",), "push": ("add",), "sort": ()},
    "frozenset": {"add": ("union",), "append": ("union",)},
    "dict": {
        "append": ("update",),
        "add": ("update",),
        "iteritems": ("items",),
        "get_or": ("get",),
    },
    "deque": {"add": ("append",), "push": ("append",), "get": ("popleft",)},
    "tuple": {"append": (), "add": ()},
    "str": {
        "append": ("join",),
        "trim": ("strip",),
        "contains": ("__contains__",),
        "startWith": ("startswith",),
    },
}
WRAPPERS: Tuple[Tuple[str, Any], ...] = (("str", str), ("list", list), ("dict", dict), ("set", set))
CALLABLES = ("function", "method", "builtin_function_or_method", "method-wrapper", "partial")
VALUES = ("None", "[]", "{}", "0", "''", "False", "set()")


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair the access, then the class or module that lacks the attribute."""
    name = view.failure.extra.get("name")
    if not view.failure.is_a("AttributeError") or not name or not isinstance(name, str):
        return
    owner: Dict[str, Any] = view.failure.extra.get("owner") or {}
    yield from apply_advice(view, COST - 0.2)
    if owner.get("type") == "NoneType":
        return  # the template for None has better candidates
    for depth, spot in enumerate(view.spots[:2]):
        for node in spot.find(ast.Attribute, lambda n: n.attr == name)[:2]:
            for change in _at(spot, node, owner, view):
                yield change._replace(cost=change.cost + 0.5 * depth)
    yield from _in_class(name, owner, view)
    yield from _in_module(name, owner, view)


def _at(
    spot: Spot, node: ast.Attribute, owner: Dict[str, Any], view: FailureContext
) -> Iterator[GuidedProposal]:
    names: List[str] = list(owner.get("names") or ())
    if not names and owner.get("kind") == "module":
        names = view.lookups.defined_names(str(owner.get("module")))
    public = [n for n in names if not n.startswith("__") or node.attr.startswith("__")]
    renamed = [n for n in ATTRIBUTES.get(node.attr, ()) if n in names]
    family = OTHER_METHODS.get(str(owner.get("type")), {}).get(node.attr, ())
    for rank, other in enumerate(dict.fromkeys([*family, *renamed])):
        yield from _named(spot, node, other, COST - 0.2 + 0.1 * rank)
    for rank, other in enumerate(close_names(node.attr, public)):
        yield from _named(spot, node, other, COST + 0.1 * rank)
    yield from apply_rewrites(spot, node, COST)
    if owner.get("kind") == "module":
        yield from _of_module(spot, node, owner, view)
    else:
        yield from _of_object(spot, node, owner)


def _named(spot: Spot, node: ast.Attribute, other: str, cost: float) -> Iterator[GuidedProposal]:
    """Rename the attribute here, and everywhere in the file on the same object."""
    yield spot.edit(cost, TextEdit(*spot.attribute_span(node), other))
    base = ast.dump(node.value)
    alike = [
        n
        for n in ast.walk(spot.source.tree)
        if isinstance(n, ast.Attribute) and n.attr == node.attr and ast.dump(n.value) == base
    ]
    if len(alike) > 1:
        yield spot.edit(cost + 0.05, *(TextEdit(*spot.attribute_span(n), other) for n in alike))


def _of_module(
    spot: Spot, node: ast.Attribute, owner: Dict[str, Any], view: FailureContext
) -> Iterator[GuidedProposal]:
    """Use the new module of a name, import a submodule, or qualify the name by a class."""
    module = str(owner.get("module") or "")
    dotted = f"{module}.{node.attr}"
    for rank, new in enumerate(find_successors(dotted)):
        yield from _dotted(spot, node, new, cost=COST - 0.2 + 0.1 * rank, view=view)
    if view.lookups.exists(dotted):
        yield spot.edit(COST - 0.2, *with_import(spot.source, f"import {dotted}"))
    package = module.partition(".")[0]
    homes = [h for h in view.lookups.homes_in_package(node.attr, package) if h != module]
    for rank, home in enumerate(homes):
        yield from _dotted(
            spot, node, f"{home}.{node.attr}", cost=COST + 0.1 + 0.1 * rank, view=view
        )
    for inner, attributes in (owner.get("inner") or {}).items():
        if node.attr in attributes:
            start = spot.attribute_span(node)[0]
            yield spot.edit(COST + 0.1, TextEdit(start, start, f"{inner}."))


def _dotted(
    spot: Spot, node: ast.Attribute, new: str, *, cost: float, view: FailureContext
) -> Iterator[GuidedProposal]:
    """Replace an attribute by a dotted name and add its import."""
    module, _, name = new.rpartition(".")
    if not re.fullmatch(r"[\w.]+", new) or not module:
        yield spot.replace(cost, node, new)
        return
    if view.lookups.exists(module):
        edit = spot.source.replacement(node, new)
        yield spot.edit(cost, *with_import(spot.source, f"import {module}", (edit,)))
        alike = [
            n
            for n in ast.walk(spot.source.tree)
            if isinstance(n, ast.Attribute) and ast.dump(n) == ast.dump(node)
        ]
        if len(alike) > 1:
            edits = [spot.source.replacement(n, new) for n in alike]
            yield spot.edit(cost + 0.05, *with_import(spot.source, f"import {module}", edits))
    elif name and view.lookups.exists(module.rpartition(".")[0]) and "." in module:
        edit = spot.source.replacement(node, new)
        yield spot.edit(
            cost + 0.1, *with_import(spot.source, f"import {module.rpartition('.')[0]}", (edit,))
        )


def _of_object(spot: Spot, node: ast.Attribute, owner: Dict[str, Any]) -> Iterator[GuidedProposal]:
    value, kind = spot.source.part(node.value, 16), str(owner.get("type"))
    # The attribute belongs to the result of a call that is missing.
    if kind in CALLABLES:
        end = spot.source.span(node.value)[1]
        yield spot.edit(COST - 0.2, TextEdit(end, end, "()"))
    if kind == "coroutine":
        yield spot.replace(COST - 0.2, node.value, f"(await {spot.text(node.value)})")
    call = spot.source.places[node].parent
    called = isinstance(call, ast.Call) and call.func is node
    if "dict" in owner.get("bases", ()) and not called:
        yield spot.replace(COST - 0.1, node, f"{value}[{node.attr!r}]")
        yield spot.replace(COST, node, f"{value}.get({node.attr!r})")
    if owner.get("kind") == "class" or node.attr == kind:
        yield spot.replace(COST, node, spot.text(node.value))
    for rank, (wrapper, known) in enumerate(WRAPPERS):
        if hasattr(known, node.attr) and kind != wrapper and not node.attr.startswith("__"):
            yield spot.replace(
                COST + 0.3 + 0.1 * rank, node.value, f"{wrapper}({spot.text(node.value)})"
            )
    if kind in ("list", "tuple"):
        yield spot.insert(COST + 0.4, spot.source.span(node.value)[1], "[0]")
    if (
        kind in ("list", "tuple", "str", "bytes", "int")
        and called
        and isinstance(call, ast.Call)
        and not call.args
    ):
        yield spot.replace(COST + 0.2, call, spot.text(node.value))
    yield from _of_another(spot, node, called=called)


def _of_another(spot: Spot, node: ast.Attribute, *, called: bool) -> Iterator[GuidedProposal]:
    """Use the surrounding object, the bare name, the parent class, or a default."""
    if isinstance(node.value, ast.Attribute):
        yield spot.replace(COST + 0.5, node.value, spot.text(node.value.value))
    if spot.own and isinstance(node.value, ast.Name):
        yield spot.replace(COST + 0.6, node, node.attr)
        if isinstance(spot.source.places[node].parent, ast.Call) and node.value.id == spot.own:
            yield spot.replace(COST + 0.6, node.value, "super()")
    if not called and isinstance(node.ctx, ast.Load):
        for rank, default in enumerate(("None", "''", "()", "False", "0")):
            text = f"getattr({spot.text(node.value)}, {node.attr!r}, {default})"
            yield spot.replace(COST + 0.7 + 0.1 * rank, node, text)


def _in_class(name: str, owner: Dict[str, Any], view: FailureContext) -> Iterator[GuidedProposal]:
    """Define the attribute in the class: an initial value, or a rename or alias of a method."""
    kind = str(owner.get("type") or "")
    sources = [str(owner.get("file") or ""), *(spot.source.path for spot in view.spots)]
    for path in dict.fromkeys(sources):
        for source, node in view.class_named(path, kind):
            spot = Spot(source, node.lineno, None, {})
            defined = {s.name: s for s in node.body if isinstance(s, FunctionNode)}
            for rank, near in enumerate(close_names(name, defined, 3)):
                function = defined[near]
                start = source.offset(function.lineno, function.col_offset)
                at = source.data.index(near.encode("utf-8"), start + 4)
                cost = COST + (0.0 if not view.spots else 0.4) + 0.1 * rank
                yield spot.edit(cost, TextEdit(at, at + len(near.encode("utf-8")), name))
                yield from spot.take(spot.scope.after(cost + 0.3, function, f"\n{name} = {near}"))
            makers = [f for f in defined.values() if f.name == "__init__" and f.args.args]
            scope = CodeScope(source, makers[0]) if makers else spot.scope
            for rank, value in enumerate([*_parameter(makers, name), *VALUES]):
                if makers:
                    own = makers[0].args.args[0].arg
                    yield from spot.take(
                        top_of_body(
                            scope, COST + 0.5 + 0.08 * rank, makers[0], f"{own}.{name} = {value}"
                        )
                    )
                elif node.body:
                    yield from spot.take(
                        top_of_body(scope, COST + 0.6 + 0.08 * rank, node, f"{name} = {value}")
                    )
            return


def _parameter(makers: List[Any], name: str) -> List[str]:
    names = [a.arg for maker in makers for a in [*maker.args.args, *maker.args.kwonlyargs]]
    return [n for n in names if n in (name, name.lstrip("_"))] + close_names(name, names[1:], 1)


def _in_module(name: str, owner: Dict[str, Any], view: FailureContext) -> Iterator[GuidedProposal]:
    """Let a module of the checkout provide a removed name again."""
    if owner.get("kind") != "module" or view.spots:
        return
    source = view.open(str(owner.get("file") or ""))
    if source is not None:
        yield from restore_name(name, source, view, COST)
