"""A missing argument: `g(a)` for `g(a, key=key)`, or a common option of a built-in function."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Dict, Iterator, List, Optional, Set, Tuple

from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.9
CHANGES = (
    (
        "def g(a, key=None):\n    return a\n\n\ndef f(a, key):\n    return g(a)\n",
        "def g(a, key=None):\n    return a\n\n\ndef f(a, key):\n    return g(a, key=key)\n",
    ),
    (
        "def g(a, deep=False):\n    return a\n\n\ndef f(a):\n    return g(a)\n",
        "def g(a, deep=False):\n    return a\n\n\ndef f(a):\n    return g(a, deep=True)\n",
    ),
    (
        "def f(a, sep):\n    return a.join_with(a)\n",
        "def f(a, sep):\n    return a.join_with(a, sep=sep)\n",
    ),
    (
        "def g(a, key):\n    return a\n\n\ndef f(a, key):\n    return g(a)\n",
        "def g(a, key):\n    return a\n\n\ndef f(a, key):\n    return g(a, key)\n",
    ),
    (
        "def f(a):\n    return a.g(1)\n\n\ndef h(a):\n    return a.g(2, deep=3)\n",
        "def f(a):\n    return a.g(1, deep=3)\n\n\ndef h(a):\n    return a.g(2, deep=3)\n",
    ),
    (
        "def f(a, b, c, d):\n    return h(a, b, c)\n",
        "def f(a, b, c, d):\n    return h(a, b, c, d)\n",
    ),
    ("def f(a, **k):\n    return g(a)\n", "def f(a, **k):\n    return g(a, **k)\n"),
    (
        "def f(a):\n    return sorted(a)\n",
        "def f(a):\n    return sorted(a, key=lambda item: item[0])\n",
    ),
    ("def f(a):\n    return enumerate(a)\n", "def f(a):\n    return enumerate(a, 1)\n"),
    ("def f(a):\n    return a.split(',')\n", "def f(a):\n    return a.split(',', 1)\n"),
    (
        "def f(a):\n    return json.dumps(a)\n",
        "def f(a):\n    return json.dumps(a, sort_keys=True)\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)

OPTIONS: Dict[str, Tuple[str, ...]] = {
    "enumerate": ("1", "start=1"), "split": ("1", "maxsplit=1"), "rsplit": ("1",),
    "replace": ("1",), "sum": ("[]",),
    "dumps": ("sort_keys=True", "ensure_ascii=False", "default=str", "indent=2",
              "separators=(',', ':')"),
    "dump": ("sort_keys=True", "ensure_ascii=False", "default=str", "indent=2"),
    "sorted": ("reverse=True", "key=len", "key=str", "key=str.lower",
               "key=lambda item: item[0]", "key=lambda item: item[1]", "key=abs"),
    "sort": ("reverse=True", "key=len", "key=str",
             "key=lambda item: item[0]", "key=lambda item: item[1]"),
    "max": ("key=len", "default=0", "default=None", "key=lambda item: item[1]", "key=abs"),
    "min": ("key=len", "default=0", "default=None", "key=lambda item: item[1]", "key=abs"),
    "round": ("2", "1", "0"), "int": ("2", "16", "10"), "pow": ("2",),
    "splitlines": ("True", "keepends=True"), "print": ("end=''", "flush=True", "file=sys.stderr"),
    "strip": ("' '", "'\\n'", "'/'"), "rstrip": ("'\\n'", "'/'", "' '"),
    "lstrip": ("'/'", "' '", "'0'"), "zip": ("strict=True",),
    "warn": ("stacklevel=2", "DeprecationWarning", "DeprecationWarning, stacklevel=2"),
    "encode": ("'utf-8'",), "decode": ("'utf-8'", "errors='replace'", "'utf-8', errors='replace'"),
    "quote": ("safe=''",), "compile": ("re.IGNORECASE", "re.MULTILINE", "re.DOTALL"),
    "pop": ("0", "-1", "None"), "field": ("default=None",), "match": ("re.IGNORECASE",),
    "search": ("re.IGNORECASE", "re.MULTILINE"), "sub": ("count=1",),
    "parse_qs": ("keep_blank_values=True",), "parse_qsl": ("keep_blank_values=True",),
    "index": ("1",), "find": ("1",), "lru_cache": ("maxsize=None",), "getattr": ("None",),
    "groupby": ("key=lambda item: item[0]",), "hexdigest": (), "shuffle": (),
    "accumulate": ("initial=0",), "islice": ("None",), "range": (),
}  # fmt: skip
"""Options that are often forgotten, by function name."""


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Pass on a parameter of the same name, set a flag, or add a common option."""
    if not isinstance(node, ast.Call) or not scope.is_function:
        return
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = {k.arg for k in node.keywords}
    signature = scope.surroundings.find_signature(node)
    free = [p for p in signature[len(node.args) :] if p not in given]
    here = scope.names_at(node)
    for rank, option in enumerate(_used_elsewhere(node, name, given, scope)):
        yield _with(node, COST - 0.1 + 0.05 * rank, option, scope)
    yield from _add_parameters(node, free, here, scope)
    for option in OPTIONS.get(name, ()):
        if option.partition("=")[0] not in given:
            yield _with(node, COST, option, scope)
    if not signature:
        yield from _passed_on(node, here, scope)


def _add_parameters(
    node: ast.Call, free: List[str], here: List[str], scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    """Add parameters that the called function accepts and the call omits."""
    # The next positional parameter may be passed by position.
    if free and free[0] in here and not node.keywords:
        yield _with(node, COST - 0.25, free[0], scope)
    for parameter in free:
        if parameter in here:
            yield _with(node, COST - 0.3, f"{parameter}={parameter}", scope)
        for value in ("True", "False", "None"):
            yield _with(node, COST + 0.3, f"{parameter}={value}", scope)
        for other in here[:8]:
            yield _with(node, COST + 0.7, f"{parameter}={other}", scope)


def _used_elsewhere(
    node: ast.Call, name: str, given: Set[Optional[str]], scope: CodeScope
) -> List[str]:
    """Return keywords of other calls of the function in this file with values known here."""
    if "keywords" not in scope.source.notes:
        found: Dict[str, Counter[Tuple[str, str]]] = {}
        for call in scope.source.nodes:
            called = (
                getattr(call.func, "attr", getattr(call.func, "id", ""))
                if isinstance(call, ast.Call)
                else ""
            )
            for keyword in call.keywords if isinstance(call, ast.Call) and called else ():
                if keyword.arg and isinstance(
                    keyword.value, (ast.Constant, ast.Name, ast.Attribute)
                ):
                    pair = (keyword.arg, scope.text(keyword.value))
                    found.setdefault(called, Counter())[pair] += 1
        scope.source.notes["keywords"] = found
    pairs: Counter[Tuple[str, str]] = scope.source.notes["keywords"].get(name, Counter())
    known = {*scope.names_at(node), *scope.outer_names}
    # The most frequent value in the file comes first.
    usual = sorted(pairs, key=lambda pair: (-pairs[pair], pair))
    fitting = [pair for pair in usual if pair[0] not in given and _is_known(pair[1], known)]
    return [f"{key}={value}" for key, value in fitting if "\n" not in value][:6]


def _is_known(value: str, known: Set[str]) -> bool:
    base = value.partition(".")[0]
    return not base.isidentifier() or base in known or base in ("True", "False", "None")


def _passed_on(
    node: ast.Call, here: List[str], scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    arguments = getattr(scope.root, "args", None)
    if arguments is None:
        return
    for star, rest in (("*", arguments.vararg), ("**", arguments.kwarg)):
        if rest is not None and rest.arg not in used:
            yield _with(node, COST - 0.1, f"{star}{rest.arg}", scope)
    for name in scope.parameters:
        if name not in used and name in here and name not in ("self", "cls"):
            yield _with(node, COST + 0.7, f"{name}={name}", scope)
            if len(node.args) > 2:
                yield _with(node, COST + 0.9, name, scope)


CHEAPEST = COST - 0.3


def _with(node: ast.Call, cost: float, argument: str, scope: CodeScope) -> Optional[ProposedEdits]:
    """Append an argument to a call."""
    pieces: List[ast.AST] = [*node.args, *(k.value for k in node.keywords)]
    if any(isinstance(piece, ast.GeneratorExp) for piece in pieces) or (
        pieces and "=" not in argument and node.keywords
    ):
        return None
    if not pieces:
        at = scope.source.span(node)[1] - 1
        return ProposedEdits(cost, (TextEdit(at, at, argument),))
    at = max(_end(piece, scope) for piece in pieces)
    return ProposedEdits(cost, (TextEdit(at, at, f", {argument}"),))


def _end(piece: ast.AST, scope: CodeScope) -> int:
    """Return the end of an argument, including parentheses around it."""
    end = scope.source.span(piece)[1]
    start = scope.source.span(piece)[0]
    data = scope.source.data
    while (
        data[:start].rstrip()[-1:] == b"("
        and data[end:].lstrip()[:1] == b")"
        and data[end:].lstrip()[1:2] in b",)"
    ):
        if data[end:].lstrip()[1:2] == b"":
            break
        inner = len(data[end:]) - len(data[end:].lstrip())
        if end + inner + 1 >= scope.source.span(scope.parent(piece))[1]:
            break
        end += inner + 1
        start = len(data[:start].rstrip()) - 1
    return end
