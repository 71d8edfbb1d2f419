"""TypeError of a call: a renamed, missing or surplus argument, or an uncallable object."""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, Iterator, List

from sandbox.guest.search.candidates.edits.arguments import (
    STAND_INS,
    add_parameter,
    all_arguments,
    append_arguments,
    change_self,
    make_positional,
    remove_argument,
    rename_parameter,
    values_for,
)
from sandbox.guest.search.candidates.moved_names import apply_advice, rename_keyword
from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.candidates.successors import KEYWORDS
from sandbox.guest.search.source.outer_scope import end_of_argument
from sandbox.guest.search.source.render import SourceFile, TextEdit
from sandbox.guest.search.source.scope import FunctionNode
from sandbox.guest.search.source.texts import close_names

COST = 0.3
_CALLEE = {
    "name": "g",
    "parameters": ["data", "size"],
    "required": ["data"],
    "keyword_only": [],
    "file": "module.py",
    "line": 1,
}
_METHOD = {"name": "f", "parameters": ["x"], "required": ["x"], "file": "module.py", "line": 2}
CHANGES = (
    (
        "TypeError: g() got an unexpected keyword argument 'sise'",
        6,
        "def g(data, size=1):\n    return data\n\n\ndef f(a):\n    return g(a, sise=2)\n",
        "def g(data, size=1):\n    return data\n\n\ndef f(a):\n    return g(a, size=2)\n",
        {"callee": _CALLEE},
    ),
    (
        "TypeError: g() got an unexpected keyword argument 'loop'",
        6,
        "def g(data, size=1):\n    return data\n\n\ndef f(a):\n    return g(a, loop=None)\n",
        "def g(data, size=1):\n    return data\n\n\ndef f(a):\n    return g(a)\n",
        {"callee": _CALLEE},
    ),
    (
        "TypeError: g() got an unexpected keyword argument 'loop'",
        None,
        "def g(data, size=1):\n    return data\n",
        "def g(data, size=1, loop=None):\n    return data\n",
        {"callee": _CALLEE},
    ),
    (
        "TypeError: g() missing 1 required positional argument: 'data'",
        6,
        "def g(data, size=1):\n    return data\n\n\ndef f(data):\n    return g()\n",
        "def g(data, size=1):\n    return data\n\n\ndef f(data):\n    return g(data)\n",
        {"callee": _CALLEE},
    ),
    (
        "TypeError: g() missing 1 required keyword-only argument: 'key'",
        2,
        "def f(data):\n    return g(data)\n",
        "def f(data):\n    return g(data, key=None)\n",
    ),
    (
        "TypeError: g() takes from 1 to 2 positional arguments but 3 were given",
        6,
        "def g(data, size=1):\n    return data\n\n\ndef f(a):\n    return g(a, 1, 2)\n",
        "def g(data, size=1):\n    return data\n\n\ndef f(a):\n    return g(a, 1)\n",
        {"callee": _CALLEE},
    ),
    (
        "TypeError: f() takes 1 positional argument but 2 were given",
        None,
        "class A:\n    def f(x):\n        return x\n",
        "class A:\n    def f(self, x):\n        return x\n",
        {"callee": _METHOD},
    ),
    (
        "TypeError: g() takes 1 positional argument but 2 were given",
        2,
        "def f(a):\n    return g(a, 1)\n",
        "def f(a):\n    return g(a, size=1)\n",
        {
            "callee": {
                "name": "g",
                "parameters": ["data"],
                "keyword_only": ["size"],
                "required": ["data"],
            }
        },
    ),
    (
        "TypeError: g() got multiple values for argument 'data'",
        2,
        "def f(a):\n    return g(a, data=1)\n",
        "def f(a):\n    return g(a)\n",
    ),
    (
        "TypeError: 'int' object is not callable",
        2,
        "def f(a):\n    return a.size()\n",
        "def f(a):\n    return a.size\n",
    ),
    (
        "TypeError: 'dict' object is not callable",
        2,
        "def f(a):\n    return a(1)\n",
        "def f(a):\n    return a[1]\n",
    ),
    (
        "TypeError: 'module' object is not callable",
        4,
        "import pprint\n\ndef f(a):\n    return pprint(a)\n",
        "import pprint\n\ndef f(a):\n    return pprint.pprint(a)\n",
    ),
)
UNTOUCHED = (
    ("ValueError: no", 2, "def f(a):\n    return g(a)\n"),
    ("TypeError: unhashable type: 'list'", 2, "def f(a):\n    return {a: 1}\n"),
)

UNEXPECTED = re.compile(
    r"got an unexpected keyword argument '(\w+)'|^'(\w+)' is an invalid keyword argument"
)
MISSING = re.compile(r"missing \d+ required (positional|keyword-only) arguments?: (.+)$")
TOO_MANY = re.compile(
    r"takes (?:from \d+ to |at most |exactly )?(\d+|no) (?:positional )?arguments? "
    r"(?:but \d+ (?:was|were) given|\()"
)
MULTIPLE = re.compile(r"got multiple values for (?:keyword )?argument '(\w+)'")
NOT_CALLABLE = re.compile(r"'([\w.]+)' object is not callable")


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair the arguments that the message names, in the call or in the called function."""
    if not view.failure.is_a("TypeError"):
        return
    message = view.failure.message
    callee: Dict[str, Any] = view.failure.extra.get("callee") or {}
    yield from apply_advice(view, COST - 0.2)
    found = UNEXPECTED.search(message)
    if found:
        yield from _unexpected(found.group(1) or found.group(2), callee, view)
    found = MISSING.search(message)
    if found:
        names = re.findall(r"'(\w+)'", found.group(2))
        yield from _missing(names, callee, view, keyword_only=found.group(1) == "keyword-only")
    if TOO_MANY.search(message):
        yield from _too_many(callee, view)
    found = MULTIPLE.search(message)
    if found:
        yield from _multiple(found.group(1), callee, view)
    found = NOT_CALLABLE.search(message)
    if found:
        yield from _not_callable(found.group(1), view)


def _calls(spot: Spot, callee: Dict[str, Any]) -> List[ast.Call]:
    """Return the calls of the function in the message; all calls if it cannot be identified."""
    calls = spot.find(ast.Call)
    name = str(callee.get("name") or "")
    qualified = str(callee.get("qualname") or name).split(".")
    named = [c for c in calls if _called(c) == name or _called(c) in qualified]
    return (named or calls)[:3]


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _everything(callee: Dict[str, Any]) -> List[str]:
    return [*callee.get("parameters", ()), *callee.get("keyword_only", ())]


def _unexpected(
    keyword: str, callee: Dict[str, Any], view: FailureContext
) -> Iterator[GuidedProposal]:
    parameters = [p for p in _everything(callee) if p not in ("self", "cls")]
    for depth, spot in enumerate(view.spots[:2]):
        for call in _calls(spot, callee):
            given = [k for k in call.keywords if k.arg == keyword]
            used = {k.arg for k in call.keywords}
            if given:
                news = [n for n in KEYWORDS.get(keyword, ()) if n in parameters or not parameters]
                free = [p for p in parameters if p not in used]
                news += [*close_names(keyword, free), *free[len(call.args) :]]
                for rank, new in enumerate(list(dict.fromkeys(news))[:6]):
                    yield from rename_keyword(
                        spot, given[0], new, COST - 0.1 + 0.1 * rank + 0.4 * depth
                    )
                yield from remove_argument(spot, call, given[0], COST + 0.2 + 0.4 * depth)
                yield from make_positional(spot, call, given[0], COST + 0.4 + 0.4 * depth)
        yield from _in_a_dictionary(spot, keyword, parameters, COST + 0.3 + 0.4 * depth)
    # Without an editable caller, only the callee can be repaired.
    cost = COST + (0.1 if not view.spots else 0.5)
    for source, node in _find_callee(callee, view):
        spot = Spot(source, node.lineno, None, {})
        for rank, name in enumerate(
            close_names(keyword, [p for p in parameters if p not in ("self", "cls")], 2)
        ):
            yield from rename_parameter(spot, node, old=name, new=keyword, cost=cost + 0.1 * rank)
        yield from add_parameter(spot, node, f"{keyword}=None", cost + 0.1)
        yield from add_parameter(spot, node, "**kwargs", cost + 0.3)


def _in_a_dictionary(
    spot: Spot, keyword: str, parameters: List[str], cost: float
) -> Iterator[GuidedProposal]:
    """Rename a key of a dictionary that is passed as `**options`."""
    root = spot.function or spot.source.tree
    for node in ast.walk(root):
        if isinstance(node, ast.Constant) and node.value == keyword and node in spot.source.places:
            for rank, name in enumerate(
                [*KEYWORDS.get(keyword, ()), *close_names(keyword, parameters, 3)]
            ):
                yield spot.replace(cost + 0.1 * rank, node, repr(name))


def _find_callee(callee: Dict[str, Any], view: FailureContext) -> Iterator[Any]:
    yield from view.function_at(str(callee.get("file") or ""), int(callee.get("line") or 0))


def _missing(
    names: List[str], callee: Dict[str, Any], view: FailureContext, *, keyword_only: bool
) -> Iterator[GuidedProposal]:
    for depth, spot in enumerate(view.spots[:2]):
        for call in _calls(spot, callee):
            choices = [values_for(name, spot) for name in names]
            for rank in range(max((len(c) for c in choices), default=0)):
                picked = [(n, c[min(rank, len(c) - 1)]) for n, c in zip(names, choices)]
                cost = COST + 0.08 * rank + 0.4 * depth
                if not keyword_only and not call.keywords:
                    yield append_arguments(spot, call, [v for _, v in picked], cost)
                yield append_arguments(
                    spot,
                    call,
                    [f"{n}={v}" for n, v in picked],
                    cost + (0 if keyword_only else 0.05),
                )
            if isinstance(call.func, ast.Attribute) and names == ["self"]:
                end = spot.source.span(call.func.value)[1]
                yield spot.edit(COST, TextEdit(end, end, "()"))
    cost = COST + (0.1 if not view.spots else 0.5)
    for source, node in _find_callee(callee, view):
        spot = Spot(source, node.lineno, None, {})
        for rank, value in enumerate(STAND_INS[:6]):
            ends = [end_of_argument(source, a) for a in all_arguments(node) if a.arg in names]
            edits = [TextEdit(end, end, f"={value}") for end in ends]
            if edits:
                yield spot.edit(cost + 0.1 * rank, *edits)
        yield from change_self(spot, node, cost)


def _too_many(callee: Dict[str, Any], view: FailureContext) -> Iterator[GuidedProposal]:
    only = [n for n in callee.get("keyword_only", ()) if isinstance(n, str)]
    for depth, spot in enumerate(view.spots[:2]):
        for call in _calls(spot, callee):
            for rank, argument in enumerate(reversed(call.args)):
                yield from remove_argument(
                    spot, call, argument, COST + 0.2 + 0.1 * rank + 0.4 * depth
                )
            if call.args:
                at = spot.source.span(call.args[-1])[0]
                given = {k.arg for k in call.keywords}
                for rank, name in enumerate(n for n in only if n not in given):
                    yield spot.edit(COST + 0.05 * rank + 0.4 * depth, TextEdit(at, at, f"{name}="))
            if len(call.args) > 1:
                span = (spot.source.span(call.args[0])[0], spot.source.span(call.args[-1])[1])
                text = spot.source.data[slice(*span)].decode("utf-8")
                yield spot.edit(COST + 0.5 + 0.4 * depth, TextEdit(*span, f"({text})"))
    for source, node in _find_callee(callee, view):
        spot = Spot(source, node.lineno, None, {})
        cost = COST + (0.0 if not view.spots else 0.4)
        yield from change_self(spot, node, cost - 0.1)
        for rank, text in enumerate(("*args", "value=None")):
            if not node.args.vararg and not node.args.kwonlyargs:
                yield from add_parameter(spot, node, text, cost + 0.3 + 0.2 * rank)


def _multiple(name: str, callee: Dict[str, Any], view: FailureContext) -> Iterator[GuidedProposal]:
    for spot in view.spots[:2]:
        for call in _calls(spot, callee):
            for keyword in [k for k in call.keywords if k.arg == name]:
                yield from remove_argument(spot, call, keyword, COST)
            for argument in call.args[:2]:
                yield from remove_argument(spot, call, argument, COST + 0.1)
    for source, node in _find_callee(callee, view):
        yield from change_self(Spot(source, node.lineno, None, {}), node, COST)


def _not_callable(kind: str, view: FailureContext) -> Iterator[GuidedProposal]:
    """Remove or replace a call of a property, a container, a module or a text."""
    for spot in view.spots[:2]:
        for call in spot.find(ast.Call)[:3]:
            text = spot.source.part(call.func, 16)
            if not call.args and not call.keywords:
                yield spot.replace(COST - 0.1, call, text)
            elif len(call.args) == 1 and not call.keywords:
                yield spot.replace(
                    COST + (0.3 if kind == "str" else 0.0),
                    call,
                    f"{text}[{spot.text(call.args[0])}]",
                )
            yield from _called_otherwise(spot, call, kind, view)
        for node in spot.classes[-1:]:
            for method in node.body:
                called = {_called(c) for c in spot.find(ast.Call)}
                if isinstance(method, FunctionNode) and method.name in called:
                    yield from _without_property(spot.source, method)


def _called_otherwise(
    spot: Spot, call: ast.Call, kind: str, view: FailureContext
) -> Iterator[GuidedProposal]:
    text, end = spot.source.part(call.func, 16), spot.source.span(call.func)[1]
    if kind == "module":
        last = text.rpartition(".")[2]
        names = [last, last.capitalize(), last.title().replace("_", "")]
        names += close_names(last, view.lookups.defined_names(text), 2)
        for rank, name in enumerate(dict.fromkeys(names)):
            yield spot.insert(COST - 0.1 + 0.1 * rank, end, f".{name}")
    if kind in ("tuple", "list", "str", "int"):
        yield spot.insert(COST + 0.2, end, ", ")
    if isinstance(call.func, ast.Call):
        yield spot.replace(COST + 0.2, call, text)


def _without_property(source: SourceFile, method: Any) -> Iterator[GuidedProposal]:
    for decorator in method.decorator_list:
        if source.text(decorator).split(".")[-1] in ("property", "cached_property"):
            span = source.line_span(decorator.lineno, decorator.lineno)
            yield GuidedProposal(COST + 0.3, source, (TextEdit(*span, ""),), method.lineno)
