"""None where another value was needed: a guard, a default, a missing `return` of the callee."""

from __future__ import annotations

import ast
from typing import Iterator, List, Set

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.render import OR, TextEdit, parenthesize
from sandbox.guest.search.source.scope import CodeScope, FunctionNode

COST = 0.6
CHANGES = (
    (
        "AttributeError: 'NoneType' object has no attribute 'strip'",
        2,
        "def f(a):\n    return a.strip()\n",
        "def f(a):\n    if a is None:\n        return None\n    return a.strip()\n",
    ),
    (
        "AttributeError: 'NoneType' object has no attribute 'strip'",
        2,
        "def f(a):\n    return a.strip()\n",
        "def f(a):\n    return (a or '').strip()\n",
    ),
    (
        "AttributeError: 'NoneType' object has no attribute 'strip'",
        2,
        "def f(a):\n    return a.strip()\n",
        "def f(a):\n    return a.strip() if a is not None else None\n",
    ),
    (
        "TypeError: 'NoneType' object is not iterable",
        2,
        "def f(a):\n    for x in a.items:\n        g(x)\n",
        "def f(a):\n    for x in a.items or ():\n        g(x)\n",
    ),
    (
        "TypeError: 'NoneType' object is not subscriptable",
        7,
        "def g(a):\n    b = [a]\n    b.append(1)\n\n\ndef f(a):\n    return g(a)[0]\n",
        (
            "def g(a):\n    b = [a]\n    b.append(1)\n    return b\n\n\ndef f(a):\n"
            "    return g(a)[0]\n"
        ),
    ),
    (
        "TypeError: 'NoneType' object is not subscriptable",
        6,
        "def g(a):\n    a + 1\n\n\ndef f(a):\n    return g(a)[0]\n",
        "def g(a):\n    return a + 1\n\n\ndef f(a):\n    return g(a)[0]\n",
    ),
    (
        "TypeError: 'NoneType' object is not iterable",
        3,
        "def f(a):\n    a = a.sort()\n    return [x for x in a]\n",
        "def f(a):\n    a.sort()\n    return [x for x in a]\n",
    ),
    (
        "TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'",
        2,
        "def f(d, k):\n    return d.get(k) + 1\n",
        "def f(d, k):\n    return d.get(k, 0) + 1\n",
    ),
    (
        "TypeError: 'NoneType' object is not callable",
        2,
        "def f(a):\n    a()\n",
        "def f(a):\n    if a is not None:\n        a()\n",
    ),
)
UNTOUCHED = (
    ("TypeError: 'int' object is not iterable", 2, "def f(a):\n    return list(a)\n"),
    ("KeyError: 'NoneType'", 2, "def f(a):\n    return a['NoneType']\n"),
)

IN_PLACE = {
    "sort",
    "append",
    "extend",
    "reverse",
    "update",
    "add",
    "insert",
    "remove",
    "clear",
    "appendleft",
    "shuffle",
}
INSTEAD = ("''", "[]", "{}", "0", "()")
EXITS = (
    "return None",
    "return",
    "continue",
    "return False",
    "return []",
    "return ''",
    "return {}",
    "return 0",
    "break",
)


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair each expression that may have been None."""
    if "NoneType" not in view.failure.message or not view.failure.is_a(
        "TypeError", "AttributeError"
    ):
        return
    for depth, spot in enumerate(view.spots[:2]):
        for rank, node in enumerate(_suspects(spot)[:4]):
            for change in _at(spot, node, view):
                yield change._replace(cost=change.cost + 0.5 * depth + 0.15 * rank)


def _suspects(spot: Spot) -> List[ast.expr]:
    """Return expressions whose use does not allow None.

    If some are known to have been None, only those are returned.
    """
    found: List[ast.expr] = []
    for node in spot.nodes:
        place = spot.source.places.get(node)
        if place is None or not isinstance(node, ast.expr) or isinstance(node, ast.Constant):
            continue
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            continue
        if _is_used(place.parent, place.field):
            found.append(node)
    at_work: Set[ast.AST] = {child for n in spot.at_work for child in ast.iter_child_nodes(n)}
    # Recorded values identify the expression; otherwise all uses are suspects.
    known = [n for n in found if spot.text(n) in spot.none]
    return known or [n for n in found if n in at_work] or found


def _is_used(parent: ast.AST, field: str) -> bool:
    if isinstance(parent, (ast.Attribute, ast.Subscript, ast.Starred, ast.Await)):
        return field == "value"
    if isinstance(parent, (ast.For, ast.comprehension, ast.AsyncFor)):
        return field == "iter"
    if isinstance(parent, ast.Call):
        return field in ("func", "args")
    if isinstance(parent, ast.withitem):
        return field == "context_expr"
    return (
        isinstance(parent, (ast.BinOp, ast.Compare, ast.AugAssign, ast.Assign, ast.UnaryOp))
        and field != "targets"
    )


def _at(spot: Spot, node: ast.expr, view: FailureContext) -> Iterator[GuidedProposal]:
    text = spot.text(node)
    if "\n" not in text and len(text) <= 80:
        yield from _guards(spot, node, text)
        yield from _instead(spot, node, text)
    yield from _defaults(spot, node)
    if isinstance(node, ast.Call):
        yield from _returned(node, view)
    if isinstance(node, ast.Name):
        yield from _where_it_came_from(spot, node, view)


def _guards(spot: Spot, node: ast.expr, text: str) -> Iterator[GuidedProposal]:
    # A guard evaluates the expression twice, and a call may have effects.
    simple = not any(isinstance(n, (ast.Call, ast.Await, ast.Yield)) for n in ast.walk(node))
    if not simple or spot.statement is None:
        return
    for rank, leave in enumerate(EXITS):
        yield from spot.before(COST + 0.05 * rank, f"if {text} is None:\n    {leave}")
    for rank, value in enumerate(INSTEAD):
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield from spot.before(
                COST + 0.1 + 0.05 * rank, f"if {text} is None:\n    {text} = {value}"
            )
    code = spot.scope.dedented(spot.statement) if spot.function is not None else None
    if code and isinstance(
        spot.statement, (ast.Expr, ast.Assign, ast.AugAssign, ast.Return, ast.For)
    ):
        body = "\n".join("    " + line if line else "" for line in code.split("\n"))
        yield from spot.take(
            spot.scope.restate(COST, spot.statement, f"if {text} is not None:\n{body}")
        )
    given = getattr(spot.statement, "value", None)
    if isinstance(spot.statement, (ast.Return, ast.Assign)) and isinstance(given, ast.expr):
        whole = parenthesize(spot.text(given), OR)
        for rank, other in enumerate(("None", *INSTEAD)):
            if "\n" not in whole:
                yield spot.replace(
                    COST + 0.05 + 0.05 * rank, given, f"{whole} if {text} is not None else {other}"
                )
    if isinstance(spot.statement, (ast.If, ast.While)):
        test = spot.statement.test
        yield spot.replace(COST, test, f"{text} is not None and {spot.source.part(test, 5)}")
        yield spot.replace(COST + 0.1, test, f"{text} is None or {spot.source.part(test, 4)}")


def _instead(spot: Spot, node: ast.expr, text: str) -> Iterator[GuidedProposal]:
    place = spot.source.places[node]
    usual = (
        ["()"]
        if place.field == "iter"
        else ["0"]
        if isinstance(place.parent, (ast.BinOp, ast.Compare))
        else []
    )
    for rank, value in enumerate(dict.fromkeys([*usual, *INSTEAD])):
        if isinstance(place.parent, ast.Call) and place.field == "func":
            return
        yield spot.replace(COST + 0.1 + 0.06 * rank, node, f"{parenthesize(text, OR)} or {value}")


def _defaults(spot: Spot, node: ast.expr) -> Iterator[GuidedProposal]:
    """Add a default to `.get(key)`, or replace it by `[key]`."""
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr not in ("get", "pop")
    ):
        return
    if len(node.args) == 1 and not node.keywords:
        at = spot.source.span(node.args[0])[1]
        for rank, value in enumerate(("0", *INSTEAD)):
            yield spot.edit(COST - 0.1 + 0.06 * rank, TextEdit(at, at, f", {value}"))
        yield spot.replace(
            COST + 0.3, node, f"{spot.text(node.func.value)}[{spot.text(node.args[0])}]"
        )
    elif (
        len(node.args) == 2
        and isinstance(node.args[1], ast.Constant)
        and node.args[1].value is None
    ):
        for rank, value in enumerate(INSTEAD):
            yield spot.replace(COST - 0.1 + 0.06 * rank, node.args[1], value)


def _returned(call: ast.Call, view: FailureContext) -> Iterator[GuidedProposal]:
    """Add a missing `return` to the called function, if it is in a file of the traceback."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    sources = list({s.source.path: s.source for s in view.spots}.values())
    for source in sources:
        for node in ast.walk(source.tree):
            if not isinstance(node, FunctionNode) or node.name != name:
                continue
            last = node.body[-1]
            scope = CodeScope(source, node)
            place = Spot(source, last.lineno, None, {})
            if isinstance(last, ast.Expr):
                at = source.span(last)[0]
                yield place.edit(COST - 0.2, TextEdit(at, at, "return "))
            stored = [
                n.id
                for s in node.body
                for n in ast.walk(s)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            ]
            parameters = [a.arg for a in node.args.args]
            for rank, value in enumerate(list(dict.fromkeys([*reversed(stored), *parameters]))[:5]):
                if not isinstance(last, (ast.Return, ast.Raise)):
                    yield from place.take(
                        scope.after(COST - 0.1 + 0.06 * rank, last, f"return {value}")
                    )
            for bare in [n for n in ast.walk(node) if isinstance(n, ast.Return) and _is_none(n)]:
                for rank, value in enumerate(INSTEAD):
                    yield from place.take(
                        scope.restate(COST + 0.2 + 0.06 * rank, bare, f"return {value}")
                    )


def _is_none(node: ast.Return) -> bool:
    return node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)


def _where_it_came_from(
    spot: Spot, name: ast.Name, view: FailureContext
) -> Iterator[GuidedProposal]:
    """Repair the assignment that gave a name its None: an in-place method, a call, a default."""
    if spot.function is None:
        return
    assigned = [
        n for n in ast.walk(spot.function) if isinstance(n, ast.Assign) and n.lineno <= spot.line
    ]
    mine = [
        n for n in assigned if any(isinstance(t, ast.Name) and t.id == name.id for t in n.targets)
    ]
    for node in mine[-2:]:
        call = node.value
        if not isinstance(call, ast.Call):
            continue
        if isinstance(call.func, ast.Attribute) and call.func.attr in IN_PLACE:
            yield from spot.take(spot.scope.restate(COST - 0.3, node, spot.text(call)))
            if call.func.attr in ("sort", "reverse"):
                maker = "sorted" if call.func.attr == "sort" else "list(reversed"
                more = ", ".join(
                    [spot.text(call.func.value), *(spot.text_of_keyword(k) for k in call.keywords)]
                )
                text = f"{maker}({more})" + (")" if maker.count("(") else "")
                yield spot.replace(COST - 0.25, call, text)
        yield from _defaults(spot, call)
        yield from _returned(call, view)
