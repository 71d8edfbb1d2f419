"""A missing or superfluous call: `abs(x)`, `sorted(x)`, `max(x, y)`, `x.strip()`."""

from __future__ import annotations

import ast
from typing import FrozenSet, Iterator, List, Optional

from sandbox.guest.search.source.kinds import METHODS as KIND_OF_METHODS
from sandbox.guest.search.source.render import ATOM, OR
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.8
CHEAPEST = COST - 0.4
CHANGES = (
    ("def f(a, b):\n    return a - b\n", "def f(a, b):\n    return abs(a - b)\n"),
    ("def f(a):\n    return list(a)\n", "def f(a):\n    return a\n"),
    ("def f(a):\n    return a.strip()\n", "def f(a):\n    return a\n"),
    (
        "def f(a, b):\n    m = 0\n    m = a + b\n",
        "def f(a, b):\n    m = 0\n    m = max(m, a + b)\n",
    ),
    ("def f(a):\n    return sorted(a)\n", "def f(a):\n    return sorted(a, reverse=True)\n"),
    ("def f(a):\n    return a.x\n", "def f(a):\n    return a.x.lower()\n"),
    ("def f(a):\n    return g(a)\n", "def f(a):\n    return g(g(a))\n"),
    ("def f(a):\n    return g(a)\n", "def f(a):\n    return g(''.join(a))\n"),
    (
        "def f(a, exact=False):\n    return int(a)\n",
        "def f(a, exact=False):\n    return a if exact else int(a)\n",
    ),
    (
        "import os\n\n\ndef f(a):\n    return a\n\n\ndef g(b):\n    return os.fspath(b)\n",
        (
            "import os\n\n\ndef f(a):\n    return os.fspath(a)\n\n\ndef g(b):\n"
            "    return os.fspath(b)\n"
        ),
    ),
    (
        "def f(a):\n    return a\n\n\ndef g(b):\n    return b.casefold()\n",
        "def f(a):\n    return a.casefold()\n\n\ndef g(b):\n    return b.casefold()\n",
    ),
)
UNTOUCHED = ("def f():\n    return 1\n", "import os\n\n\ndef f():\n    os.x()\n")

WRAPPERS = (
    (0.0, "abs"), (0.0, "len"), (0.1, "set"), (0.1, "list"), (0.1, "sorted"), (0.1, "str"),
    (0.1, "int"), (0.4, "float"), (0.4, "tuple"), (0.6, "bool"), (0.5, "reversed"), (0.6, "sum"),
    (0.6, "max"), (0.6, "min"), (0.6, "round"), (0.6, "frozenset"),
)  # fmt: skip
METHODS = {"str": ("lower", "upper", "strip", "swapcase", "split"), "list": ("copy",),
           "dict": ("items", "keys", "values", "copy")}  # fmt: skip
METHODS_OF_TEXT = {
    name: result.names for name, result in KIND_OF_METHODS["str"].items() if result.names == {"str"}
}
SORT_KEYS = ("reverse=True", "key=len", "key=abs", "key=str", "key=str.lower")
NEVER = (
    ast.Compare,
    ast.BoolOp,
    ast.Dict,
    ast.Constant,
    ast.SetComp,
    ast.DictComp,
    ast.Lambda,
    ast.Set,
)
COLLECTIONS = (ast.ListComp, ast.GeneratorExp, ast.Tuple, ast.List)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Add or remove a call, take a maximum or minimum, or change a sort key."""
    if isinstance(node, ast.Call):
        yield from _unwrap(node, scope)
        yield from _sort_keys(node, scope)
    if not isinstance(node, ast.expr) or not scope.is_operand(node) or isinstance(node, NEVER):
        return
    text = scope.text(node)
    bare = text[1:-1] if isinstance(node, ast.GeneratorExp) else text
    kind = scope.infer_kind(node)
    # The name of a method of `str` that returns text implies the type of an unknown call.
    method = (
        node.func.attr
        if kind is None and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        else ""
    )
    names: FrozenSet[str] = (
        kind.names if kind is not None else METHODS_OF_TEXT.get(method, frozenset())
    )
    for extra, wrapper in WRAPPERS:
        # `list` on a list only makes a copy.
        again = names == {wrapper} or (wrapper == "float" and "float" in names)
        yield scope.replace(COST + extra + 0.8 * again, node, f"{wrapper}({bare})")
    yield from _as_elsewhere(node, bare, names, scope)
    if isinstance(node, (ast.Name, ast.Call, ast.ListComp, ast.GeneratorExp, ast.Attribute)):
        keys = [*SORT_KEYS[:4], *(f"key={name}.get" for name in scope.donors.dictionaries)]
        for key in keys:
            yield scope.replace(COST + 0.8, node, f"sorted({text}, {key})")
    yield from _extremes(node, text, scope)


def _as_elsewhere(
    node: ast.expr, bare: str, names: FrozenSet[str], scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    """Apply methods and functions that other code of the file calls on its values."""
    if not isinstance(node, COLLECTIONS):
        value = scope.part(node, ATOM)
        for owner, methods in METHODS.items():
            extra = 0.1 if owner in names else 0.5
            for method in methods:
                yield scope.replace(COST + extra, node, f"{value}.{method}()")
        for rank, method in enumerate(scope.methods):
            yield scope.replace(COST + 0.6 + 0.04 * rank, node, f"{value}.{method}()")
        for helper in scope.helpers:
            yield scope.replace(COST + 0.4, node, f"{helper}({bare})")
        if "str" not in names or isinstance(scope.parent(node), ast.Call):
            for rank, separator in enumerate(("''", "', '", "' '", r"'\n'")):
                yield scope.replace(COST + 0.7 + 0.1 * rank, node, f"{separator}.join({bare})")
    for rank, function in enumerate(scope.wrappers):
        yield scope.replace(COST + 0.3 + 0.04 * rank, node, f"{function}({bare})")


def _unwrap(node: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    if not scope.is_value(node):
        return
    for argument in node.args:
        if not isinstance(argument, ast.Starred):
            yield scope.replace(COST - 0.4, node, scope.text(argument))
    if isinstance(node.func, ast.Attribute):
        yield scope.replace(COST - 0.3, node, scope.text(node.func.value))
    yield from _only_if(node, scope)
    if len(node.args) == 1 and not isinstance(node.args[0], (ast.Starred, ast.GeneratorExp)):
        argument = node.args[0]
        yield scope.replace(
            COST + 0.4, argument, f"{scope.text(node.func)}({scope.text(argument)})"
        )


def _only_if(node: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Apply `f(a)` only if a flag of the function is set, or only if it is not."""
    inner = (
        node.func.value
        if isinstance(node.func, ast.Attribute)
        else node.args[0]
        if len(node.args) == 1
        else None
    )
    if inner is None or isinstance(inner, (ast.Starred, ast.GeneratorExp, ast.Constant)):
        return
    bare, whole = scope.part(inner, OR), scope.text(node)
    for flag in _flags(scope):
        yield scope.replace(COST + 0.8, node, f"{bare} if {flag} else {whole}")
        yield scope.replace(COST + 0.8, node, f"{whole} if {flag} else {bare}")


def _flags(scope: CodeScope) -> List[str]:
    """Return parameters with a boolean default."""
    arguments = getattr(scope.root, "args", None)
    if arguments is None:
        return []
    plain = [*arguments.posonlyargs, *arguments.args]
    given = [*zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults)]
    given += zip(arguments.kwonlyargs, arguments.kw_defaults)
    return [
        a.arg
        for a, value in given
        if isinstance(value, ast.Constant) and isinstance(value.value, bool)
    ][:4]


def _sort_keys(node: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if name not in ("sorted", "sort", "max", "min") or node.keywords or not scope.is_value(node):
        return
    if any(isinstance(a, ast.GeneratorExp) for a in node.args):
        return
    given = [scope.text(a) for a in node.args]
    for key in SORT_KEYS:
        yield scope.replace(COST, node, f"{scope.text(node.func)}({', '.join([*given, key])})")


def _extremes(node: ast.expr, text: str, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    place = scope.place(node)
    if (
        not isinstance(place.parent, ast.Assign)
        or place.field != "value"
        or len(place.parent.targets) != 1
    ):
        return
    target = place.parent.targets[0]
    if not isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
        return
    name = scope.text(target)
    # A running maximum or minimum often forgets its previous value.
    for function in ("max", "min"):
        yield scope.replace(COST - 0.1, node, f"{function}({name}, {text})")
        yield scope.replace(COST - 0.1, node, f"{function}(0, {text})")
    yield scope.replace(COST + 0.8, node, f"{text} or {name}")
    if isinstance(node, ast.Call) and scope.text(node.func) in ("max", "min"):
        for other in scope.names_at(node):
            if other != name:
                yield scope.replace(COST + 0.2, node, f"{scope.text(node.func)}({name}, {other})")
