"""A wrong default argument: shared between calls, missing, superfluous, or inconsistent."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.source.outer_scope import OuterScope, end_of_argument, top_of_body
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, FunctionNode, ProposedEdits

COST = 1.3
CHEAPEST = COST - 0.5
CHANGES = (
    (
        "def f(a, b=[]):\n    b.append(a)\n    return b\n",
        "def f(a, b=None):\n    if b is None:\n        b = []\n    b.append(a)\n    return b\n",
    ),
    (
        "class A:\n    def f(self, b={}):\n        '''Says.'''\n        return b\n",
        (
            "class A:\n    def f(self, b=None):\n        '''Says.'''\n        if b is None:\n"
            "            b = {}\n        return b\n"
        ),
    ),
    ("def f(a, b):\n    return a\n", "def f(a, b=None):\n    return a\n"),
    ("def f(a, b=1):\n    return a\n", "def f(a, b):\n    return a\n"),
    ("def f(a=None):\n    return a\n", "def f(a=()):\n    return a\n"),
    ("def f(a=None):\n    return a\n", "def f(a=False):\n    return a\n"),
    ("def f(*, key: str):\n    return key\n", "def f(*, key: str = None):\n    return key\n"),
    (
        "def f(a, sep=','):\n    return a\n\n\ndef g(a, sep=';'):\n    return a\n",
        "def f(a, sep=';'):\n    return a\n\n\ndef g(a, sep=';'):\n    return a\n",
    ),
    (
        "LIMIT = 3\n\n\ndef f(a, n=2):\n    return a\n",
        "LIMIT = 3\n\n\ndef f(a, n=LIMIT):\n    return a\n",
    ),
)
UNTOUCHED = ("def f():\n    return 1\n", "x = 1\n")

MUTABLE_CALLS = (
    "list",
    "dict",
    "set",
    "OrderedDict",
    "defaultdict",
    "deque",
    "Counter",
    "bytearray",
)
NEW_DEFAULTS = ("None", "False", "True", "0", "''", "()", "1")
FOR_NONE = ("()", "''", "0", "False", "True", "{}", "1", "-1")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change, add or remove a default, or create it in every call."""
    if not isinstance(scope, OuterScope) or not isinstance(node, FunctionNode):
        return
    pairs = parameters_with_defaults(node)
    for argument, default in pairs:
        if default is None:
            continue
        if _is_mutable(default):
            yield _create_per_call(node, argument, default, scope)
            yield scope.replace(COST, default, "None")
        if isinstance(default, ast.Constant) and default.value is None:
            yield from (
                scope.replace(COST + 0.3 + 0.1 * i, default, text)
                for i, text in enumerate(FOR_NONE)
            )
        elif isinstance(default, ast.Constant):
            yield scope.replace(COST + 0.2, default, "None")
        for text in _elsewhere(argument.arg, scope):
            yield scope.replace(COST - 0.1, default, text)
        for name in _constants(scope):
            yield scope.replace(COST + 0.5, default, name)
        if isinstance(default, (ast.Name, ast.Attribute)):
            yield scope.replace(COST + 0.3, default, "None")
    yield from _added(node, pairs, scope)
    yield from _drop(node, scope)


def parameters_with_defaults(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
) -> List[Tuple[ast.arg, Optional[ast.expr]]]:
    """Return every parameter with its default, positional ones first."""
    plain = [*node.args.posonlyargs, *node.args.args]
    missing: List[Optional[ast.expr]] = [None] * (len(plain) - len(node.args.defaults))
    return [
        *zip(plain, [*missing, *node.args.defaults]),
        *zip(node.args.kwonlyargs, node.args.kw_defaults),
    ]


def _is_mutable(default: ast.expr) -> bool:
    if isinstance(default, ast.Call):
        return isinstance(default.func, ast.Name)
    return isinstance(
        default, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    )


def _create_per_call(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    argument: ast.arg,
    default: ast.expr,
    scope: CodeScope,
) -> Optional[ProposedEdits]:
    known = (
        isinstance(default, ast.Call)
        and isinstance(default.func, ast.Name)
        and default.func.id in MUTABLE_CALLS
    )
    cost = COST - 0.5 if known or not isinstance(default, ast.Call) else COST + 0.2
    name = argument.arg
    # The default is created in the body instead, once per call.
    edit = scope.source.replacement(default, "None")
    code = f"if {name} is None:\n    {name} = {scope.text(default)}"
    return (
        top_of_body(scope, cost, node, code, beside=(edit,))
        if "\n" not in scope.text(default)
        else None
    )


def _elsewhere(name: str, scope: OuterScope) -> List[str]:
    """Return defaults of parameters with this name in other functions of the file."""
    pairs = [pair for function in scope.functions() for pair in parameters_with_defaults(function)]
    return list(dict.fromkeys(scope.text(d) for a, d in pairs if a.arg == name and d is not None))[
        :4
    ]


def _constants(scope: OuterScope) -> List[str]:
    return [name for name in scope.names if name.isupper()][:6]


def _added(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    pairs: List[Tuple[ast.arg, Optional[ast.expr]]],
    scope: OuterScope,
) -> Iterator[Optional[ProposedEdits]]:
    positional = [*node.args.posonlyargs, *node.args.args]
    bare = [a for a, d in pairs if d is None and a in positional and a.arg not in ("self", "cls")]
    candidates = [*bare[-1:], *(a for a, d in pairs if d is None and a not in positional)]
    for argument in candidates:
        at = end_of_argument(scope.source, argument)
        equals = " = " if argument.annotation else "="
        for rank, text in enumerate(
            dict.fromkeys([*_elsewhere(argument.arg, scope), *NEW_DEFAULTS])
        ):
            yield ProposedEdits(COST + 0.4 + 0.1 * rank, (TextEdit(at, at, equals + text),))


def _drop(
    node: ast.FunctionDef | ast.AsyncFunctionDef, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    positional = [*node.args.posonlyargs, *node.args.args]
    first = list(zip(positional[len(positional) - len(node.args.defaults) :], node.args.defaults))[
        :1
    ]
    keyword = [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None]
    for argument, default in [*first, *keyword]:
        yield ProposedEdits(
            COST + 1.0,
            (TextEdit(end_of_argument(scope.source, argument), scope.source.span(default)[1], ""),),
        )
