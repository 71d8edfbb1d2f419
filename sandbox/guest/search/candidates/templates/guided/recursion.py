"""RecursionError: no base case, `self` in place of `super()`, an attribute that reads itself."""

from __future__ import annotations

import ast
from typing import Any, Iterator, List

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.outer_scope import top_of_body
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, FunctionNode

COST = 0.5
CHANGES = (
    (
        "RecursionError: maximum recursion depth exceeded",
        2,
        "def f(n):\n    return n * f(n - 1)\n",
        "def f(n):\n    if n <= 1:\n        return 1\n    return n * f(n - 1)\n",
    ),
    (
        "RecursionError: maximum recursion depth exceeded",
        2,
        "def f(a):\n    return a[0] + f(a[1:])\n",
        "def f(a):\n    if not a:\n        return 0\n    return a[0] + f(a[1:])\n",
    ),
    (
        "RecursionError: maximum recursion depth exceeded",
        4,
        "class A:\n    @property\n    def size(self):\n        return self.size\n",
        "class A:\n    @property\n    def size(self):\n        return self._size\n",
    ),
    (
        "RecursionError: maximum recursion depth exceeded",
        3,
        "class A(B):\n    def save(self, x):\n        return self.save(x)\n",
        "class A(B):\n    def save(self, x):\n        return super().save(x)\n",
    ),
    (
        "RecursionError: maximum recursion depth exceeded",
        3,
        "class A:\n    def __setattr__(self, k, v):\n        self.x = v\n",
        "class A:\n    def __setattr__(self, k, v):\n        super().__setattr__('x', v)\n",
    ),
    (
        "RecursionError: maximum recursion depth exceeded",
        2,
        "def f(n):\n    return f(n)\n",
        "def f(n):\n    return f(n - 1)\n",
    ),
)
UNTOUCHED = (("ValueError: no", 2, "def f(n):\n    return f(n - 1)\n"),)

ENDS = ("0", "1", "[]", "None", "''", "True", "False", "{}")


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair each function of the recursion."""
    if not view.failure.is_a("RecursionError"):
        return
    seen: List[Any] = []
    for spot in view.spots:
        function = spot.function
        if function in seen or not isinstance(function, FunctionNode):
            continue
        seen.append(function)
        for change in _in(spot, function):
            yield change._replace(cost=change.cost + 0.2 * (len(seen) - 1))


def _in(spot: Spot, function: Any) -> Iterator[GuidedProposal]:
    parameters = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and _name(n) == function.name]
    scope = CodeScope(spot.source, function)
    for number, parameter in enumerate(_changing(calls, parameters)[:3]):
        for rank, condition in enumerate(
            (f"{parameter} <= 1", f"not {parameter}", f"{parameter} <= 0", f"{parameter} is None")
        ):
            for step, result in enumerate((*ENDS, parameter)):
                cost = COST + 0.1 * number + 0.05 * rank + 0.05 * step
                yield from spot.take(
                    top_of_body(scope, cost, function, f"if {condition}:\n    return {result}")
                )
    for call in calls[:3]:
        for argument in call.args:
            if isinstance(argument, ast.Name) and argument.id in parameters:
                for form in (
                    f"{argument.id} - 1",
                    f"{argument.id}[1:]",
                    f"{argument.id}[:-1]",
                    f"{argument.id} // 2",
                ):
                    yield spot.replace(COST + 0.1, argument, form)
        if isinstance(call.func, ast.Attribute) and spot.text(call.func.value) in ("self", "cls"):
            yield spot.replace(COST - 0.2, call.func.value, "super()")
    yield from _attributes(spot, function)


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _changing(calls: List[ast.Call], parameters: List[str]) -> List[str]:
    """Return the parameters, those that change in the recursive call first."""
    inside = [
        n.id
        for c in calls
        for a in c.args
        if not isinstance(a, ast.Name)
        for n in ast.walk(a)
        if isinstance(n, ast.Name)
    ]
    return list(dict.fromkeys([*(n for n in inside if n in parameters), *parameters]))


def _attributes(spot: Spot, function: Any) -> Iterator[GuidedProposal]:
    own = function.args.args[0].arg if function.args.args else ""
    for node in ast.walk(function):
        if not isinstance(node, ast.Attribute) or spot.text(node.value) != own or not own:
            continue
        if node.attr == function.name:
            yield spot.edit(COST - 0.2, TextEdit(*spot.attribute_span(node), "_" + node.attr))
            if node.attr.startswith("_"):
                yield spot.edit(
                    COST - 0.1, TextEdit(*spot.attribute_span(node), node.attr.lstrip("_"))
                )
        # Reading a missing attribute of `self` here calls `__getattr__` again.
        if function.name == "__getattr__" and isinstance(node.ctx, ast.Load):
            yield spot.replace(COST - 0.1, node, f"{own}.__dict__[{node.attr!r}]")
        if function.name == "__getattribute__" and isinstance(node.ctx, ast.Load):
            yield spot.replace(COST - 0.1, node, f"object.__getattribute__({own}, {node.attr!r})")
        parent = spot.source.places[node].parent
        if (
            function.name == "__setattr__"
            and isinstance(parent, ast.Assign)
            and len(parent.targets) == 1
        ):
            text = f"super().__setattr__({node.attr!r}, {spot.text(parent.value)})"
            yield from spot.take(CodeScope(spot.source, function).restate(COST - 0.1, parent, text))
