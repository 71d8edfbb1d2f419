"""A wrong signature: `self` missing, a parameter missing, misspelt, misplaced or wrong in kind."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional

from sandbox.guest.search.source.outer_scope import OuterScope, end_of_argument
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, FunctionNode, ProposedEdits
from sandbox.guest.search.source.texts import close_names, distance

COST = 1.6
CHEAPEST = COST - 0.8
CHANGES = (
    (
        "class A:\n    def f():\n        return 1\n",
        "class A:\n    def f(self):\n        return 1\n",
    ),
    (
        "class A:\n    def f(x):\n        return x\n",
        "class A:\n    def f(self, x):\n        return x\n",
    ),
    (
        "class A:\n    @classmethod\n    def f(x):\n        return x\n",
        "class A:\n    @classmethod\n    def f(cls, x):\n        return x\n",
    ),
    ("def f(a, b):\n    return a\n", "def f(b, a):\n    return a\n"),
    ("def f(vlaue):\n    return value\n", "def f(value):\n    return value\n"),
    ("def f(a):\n    return a + size\n", "def f(a, size):\n    return a + size\n"),
    ("def f(a):\n    return a + size\n", "def f(a, size=None):\n    return a + size\n"),
    (
        "def f(a):\n    return a\n\n\nf(1, key=2)\n",
        "def f(a, key=None):\n    return a\n\n\nf(1, key=2)\n",
    ),
    ("def f(a):\n    return a\n", "def f(*a):\n    return a\n"),
    ("def f(a, b=1):\n    return a\n", "def f(a, *, b=1):\n    return a\n"),
    ("def f(a, *, b=1):\n    return a\n", "def f(a, b=1):\n    return a\n"),
    ("def f(a):\n    return a\n", "def f(a, **kwargs):\n    return a\n"),
    (
        "class A:\n    def __int__(self, n):\n        self.n = n\n",
        "class A:\n    def __init__(self, n):\n        self.n = n\n",
    ),
    (
        (
            "class A:\n    def f(self):\n        pass\n\n    def gett(self):\n"
            "        return self.get()\n"
        ),
        (
            "class A:\n    def f(self):\n        pass\n\n    def get(self):\n"
            "        return self.get()\n"
        ),
    ),
    ("async def f(a):\n    return a\n", "def f(a):\n    return a\n"),
    ("def f(a, b):\n    return a\n", "def f(a):\n    return a\n"),
)
UNTOUCHED = ("x = 1\n", "class A:\n    y = 2\n")

SPECIAL = (
    "__init__", "__new__", "__repr__", "__str__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__",
    "__ge__", "__hash__", "__bool__", "__len__", "__iter__", "__next__", "__contains__",
    "__getitem__", "__setitem__", "__delitem__", "__getattr__", "__setattr__", "__call__",
    "__enter__", "__exit__", "__aenter__", "__aexit__", "__add__", "__radd__", "__iadd__",
    "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__floordiv__", "__mod__",
    "__pow__", "__and__", "__or__", "__xor__", "__neg__", "__abs__", "__int__", "__float__",
    "__index__", "__format__", "__reversed__", "__missing__", "__post_init__", "__init_subclass__",
    "__class_getitem__", "__copy__", "__deepcopy__", "__set_name__", "__get__", "__set__",
    "__fspath__", "__await__", "__aiter__", "__anext__",
)  # fmt: skip
DEFAULTS = ("", "=None")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Match the parameters with the body and the callers, and the name with its uses."""
    if not isinstance(scope, OuterScope) or not isinstance(node, FunctionNode):
        return
    yield from _first_parameter(node, scope)
    yield from _order_and_number(node, scope)
    yield from _missing(node, scope)
    yield from _kinds(node, scope)
    yield from _name(node, scope)
    yield _asynchronous(node, scope)


def _positional(node: ast.FunctionDef | ast.AsyncFunctionDef) -> List[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args]


def _is_method(node: ast.AST, scope: CodeScope) -> bool:
    return isinstance(scope.parent(node), ast.ClassDef)


def _opening(node: ast.FunctionDef | ast.AsyncFunctionDef, scope: CodeScope) -> int:
    """Return the offset after the opening parenthesis of the parameters."""
    start = scope.source.offset(node.lineno, node.col_offset)
    name = scope.source.data.index(
        node.name.encode("utf-8"), start + (4 if isinstance(node, ast.FunctionDef) else 10)
    )
    return scope.source.data.index(b"(", name + len(node.name.encode("utf-8"))) + 1


def _first_parameter(
    node: ast.FunctionDef | ast.AsyncFunctionDef, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    if not _is_method(node, scope):
        return
    names = [a.arg for a in _positional(node)]
    decorators = [scope.text(d) for d in node.decorator_list]
    word = (
        "cls"
        if "classmethod" in decorators or node.name in ("__new__", "__init_subclass__")
        else "self"
    )
    if names[:1] == [word]:
        return
    at = _opening(node, scope)
    everything = [
        *names,
        *(a.arg for a in node.args.kwonlyargs),
        *filter(None, (node.args.vararg, node.args.kwarg)),
    ]
    cost = COST - 0.8 if "staticmethod" not in decorators else COST + 0.3
    yield ProposedEdits(cost, (TextEdit(at, at, f"{word}, " if everything else word),))
    if names and names[0] in ("self", "cls"):
        first = _positional(node)[0]
        start = scope.source.span(first)[0]
        yield ProposedEdits(cost + 0.2, (TextEdit(start, start + len(first.arg), word),))


def _order_and_number(
    node: ast.FunctionDef | ast.AsyncFunctionDef, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    plain = _positional(node)
    if _is_method(node, scope) and plain and plain[0].arg in ("self", "cls"):
        plain = plain[1:]
    bare = len(plain) - len(node.args.defaults)
    for index, (one, other) in enumerate(zip(plain, plain[1:])):
        if index + 1 < bare:
            yield _swap(one, other, scope)
        elif index >= bare:
            yield _defaults_swapped(node, index - bare, scope, (one, other))
    # A parameter that the body never reads may be superfluous or misspelt.
    read = {n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name)}
    every = _positional(node)
    for index, argument in enumerate(every):
        following = every[index + 1] if index + 1 < len(every) else None
        if argument.arg in read or argument not in plain or plain.index(argument) >= bare:
            continue
        start, end = scope.source.span(argument)
        if following is not None:
            yield ProposedEdits(COST + 0.6, (TextEdit(start, scope.source.span(following)[0], ""),))
        elif not (node.args.vararg or node.args.kwonlyargs or node.args.kwarg):
            begin = scope.source.span(every[index - 1])[1] if index else start
            yield ProposedEdits(COST + 0.6, (TextEdit(begin, end, ""),))


def _swap(one: ast.arg, other: ast.arg, scope: CodeScope) -> ProposedEdits:
    spans = [(scope.source.span(a)[0], end_of_argument(scope.source, a)) for a in (one, other)]
    texts = [scope.source.data[slice(*span)].decode("utf-8") for span in spans]
    return ProposedEdits(COST + 0.2, (TextEdit(*spans[0], texts[1]), TextEdit(*spans[1], texts[0])))


def _defaults_swapped(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    index: int,
    scope: CodeScope,
    pair: tuple,  # type: ignore[type-arg]
) -> Optional[ProposedEdits]:
    defaults = node.args.defaults[max(0, index) : index + 2]
    if len(defaults) < 2:
        return None
    spans = [(scope.source.span(a)[0], scope.source.span(d)[1]) for a, d in zip(pair, defaults)]
    texts = [scope.source.data[slice(*span)].decode("utf-8") for span in spans]
    return ProposedEdits(COST + 0.3, (TextEdit(*spans[0], texts[1]), TextEdit(*spans[1], texts[0])))


def _missing(
    node: ast.FunctionDef | ast.AsyncFunctionDef, scope: OuterScope
) -> Iterator[Optional[ProposedEdits]]:
    """Add parameters for unbound names of the body and for keywords of callers in this file."""
    every = [*_positional(node), *node.args.kwonlyargs]
    names = [a.arg for a in every]
    read = {n.id for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name)}
    wanted = [n for n in scope.unbound if n in read]
    given = [k for k in _keywords_given(node.name, scope.source.tree) if k not in names]
    for argument in every:
        start = scope.source.span(argument)[0]
        if argument.arg not in read:
            for name in dict.fromkeys([*close_names(argument.arg, wanted, 2), *given]):
                yield ProposedEdits(
                    COST - 0.6, (TextEdit(start, start + len(argument.arg.encode("utf-8")), name),)
                )
    for name in dict.fromkeys([*wanted, *given]):
        for rank, default in enumerate(DEFAULTS):
            if default or name in wanted:
                yield _added(node, name + default, COST + 0.1 + 0.2 * rank, scope)


def _keywords_given(name: str, tree: ast.Module) -> List[str]:
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.keywords]
    mine = [c for c in calls if getattr(c.func, "id", getattr(c.func, "attr", "")) == name]
    return list(dict.fromkeys(k.arg for c in mine for k in c.keywords if k.arg))


def _added(
    node: ast.FunctionDef | ast.AsyncFunctionDef, text: str, cost: float, scope: CodeScope
) -> Optional[ProposedEdits]:
    """Append a positional parameter."""
    plain = _positional(node)
    if text.startswith("*") and not node.args.args:
        return None  # nothing may stand between the last parameter and a `/`
    if not plain:
        at = _opening(node, scope)
        more = node.args.vararg or node.args.kwonlyargs or node.args.kwarg
        return ProposedEdits(cost, (TextEdit(at, at, f"{text}, " if more else text),))
    last: List[ast.expr] = node.args.defaults
    if last and "=" not in text and not text.startswith("*"):
        before = plain[len(plain) - len(last)]
        at = scope.source.span(before)[0]
        return ProposedEdits(cost, (TextEdit(at, at, f"{text}, "),))
    at = scope.source.span(last[-1])[1] if last else end_of_argument(scope.source, plain[-1])
    return ProposedEdits(cost, (TextEdit(at, at, f", {text}"),))


def _kinds(
    node: ast.FunctionDef | ast.AsyncFunctionDef, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    """Add and remove `*` and `**`; exchange keyword-only and positional parameters."""
    plain = [a for a in _positional(node) if a.arg not in ("self", "cls")]
    arguments, span = node.args, scope.source.span
    rest = arguments.vararg or arguments.kwonlyargs or arguments.kwarg
    for starred, stars in ((arguments.vararg, 1), (arguments.kwarg, 2)):
        if starred is not None:
            start = span(starred)[0]
            if scope.source.data[start - stars : start] == b"*" * stars:
                yield ProposedEdits(COST + 0.6, (TextEdit(start - stars, start, ""),))
    if plain and not rest and not arguments.defaults and not plain[-1].annotation:
        at = span(plain[-1])[0]
        yield ProposedEdits(COST + 0.6, (TextEdit(at, at, "*"),))
    if not arguments.kwarg and (plain or not rest):
        proposal = _added(node, "**kwargs", COST + 0.7, scope) if not rest else None
        yield proposal
        yield (
            _added(node, "*args", COST + 0.9, scope)
            if not rest and not arguments.defaults
            else None
        )
    if arguments.defaults and not rest:
        first = _positional(node)[-len(arguments.defaults)]
        if first in arguments.args:
            yield ProposedEdits(COST + 0.5, (TextEdit(span(first)[0], span(first)[0], "*, "),))
    if arguments.kwonlyargs and not arguments.vararg:
        start = span(arguments.kwonlyargs[0])[0]
        before = scope.source.data[:start].rstrip().rstrip(b",").rstrip()
        if before.endswith(b"*"):
            yield ProposedEdits(COST + 0.5, (TextEdit(len(before) - 1, start, ""),))


def _name(
    node: ast.FunctionDef | ast.AsyncFunctionDef, scope: OuterScope
) -> Iterator[Optional[ProposedEdits]]:
    """Rename to a similar special method, or to a name that is used but undefined."""
    at = scope.source.data.index(
        node.name.encode("utf-8"), scope.source.offset(node.lineno, node.col_offset) + 4
    )
    edit_end = at + len(node.name.encode("utf-8"))
    if _is_method(node, scope):
        # Python ignores a misspelt special method silently.
        if node.name.startswith("_") and (node.name.startswith("__") or node.name.endswith("_")):
            near = [s for s in SPECIAL if s != node.name and distance(s, node.name, 2) <= 2]
            for name in near:
                yield ProposedEdits(
                    COST - 0.3 if node.name not in SPECIAL else COST + 0.4,
                    (TextEdit(at, edit_end, name),),
                )
        owner = scope.parent(node)
        defined = {getattr(s, "name", "") for s in getattr(owner, "body", [])}
        inside = [
            n
            for n in ast.walk(owner)
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
        ]
        wanted = [
            n.attr
            for n in inside
            if isinstance(n.value, ast.Name) and n.value.id in ("self", "cls")
        ]
        for name in close_names(node.name, [w for w in wanted if w not in defined], 2):
            yield ProposedEdits(COST, (TextEdit(at, edit_end, name),))
    else:
        for name in close_names(node.name, scope.unbound, 2):
            yield ProposedEdits(COST - 0.2, (TextEdit(at, edit_end, name),))


def _asynchronous(
    node: ast.FunctionDef | ast.AsyncFunctionDef, scope: CodeScope
) -> Optional[ProposedEdits]:
    start = scope.source.offset(node.lineno, node.col_offset)
    kinds = {type(n) for n in ast.walk(node)}
    if isinstance(node, ast.AsyncFunctionDef):
        if kinds & {ast.Await, ast.AsyncFor, ast.AsyncWith}:
            return None
        end = scope.source.data.index(b"def", start)
        return ProposedEdits(COST + 0.8, (TextEdit(start, end, ""),))
    awaits = bool(kinds & {ast.Await, ast.AsyncFor, ast.AsyncWith})
    return ProposedEdits(COST - 0.6 if awaits else COST + 1.4, (TextEdit(start, start, "async "),))
