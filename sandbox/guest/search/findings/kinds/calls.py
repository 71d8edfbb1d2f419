"""Calls that do not fit, and attributes that are not there: the name that was meant, an argument more or less."""

from __future__ import annotations

import ast
import difflib
import re
from typing import Iterator, List, Optional

from sandbox.guest.search.findings.model import Draft
from sandbox.guest.search.findings.place import FUNCTIONS, Function, Place
from sandbox.guest.search.source.render import Edit

CODES = frozenset({
    "call-arg", "attr-defined", "reportCallIssue", "reportAttributeAccessIssue", "E1120", "E1121", "E1123", "E1101",
    "E1124",
    "unused-coroutine", "unused-awaitable", "reportUnusedCoroutine", "missing-argument", "unknown-argument",
    "too-many-positional-arguments", "unresolved-attribute", "E0611", "reportPossiblyUnbound", "misc", "operator",
    "import-error", "union-attr", "call-overload", "RUF006", "E1125",
})  # fmt: skip
CHANGES = (
    (
        "x = a.lenght\n",
        (1, 5, "attr-defined", '"A" has no attribute "lenght"; maybe "length"?'),
        "x = a.length\n",
    ),
    (
        "def f(size):\n    return size\nf(sise=1)\n",
        (3, 1, "call-arg", 'Unexpected keyword argument "sise" for "f"; did you mean "size"?'),
        "def f(size):\n    return size\nf(size=1)\n",
    ),
    (
        "def f(a, b):\n    return a\nb = 1\nf(2)\n",
        (4, 1, "call-arg", 'Missing positional argument "b" in call to "f"'),
        "def f(a, b):\n    return a\nb = 1\nf(2, b)\n",
    ),
    (
        "def f(a, b):\n    return a\nf(2)\n",
        (3, 1, "E1120", "No value for argument 'b' in function call"),
        "def f(a, b=None):\n    return a\nf(2)\n",
    ),
    (
        "def f(a):\n    return a\nf(2, 3)\n",
        (3, 1, "call-arg", 'Too many arguments for "f"'),
        "def f(a):\n    return a\nf(2)\n",
    ),
    (
        "async def f():\n    g()\n",
        (2, 5, "unused-coroutine", 'Value of type "Coroutine[Any, Any, None]" must be used'),
        "async def f():\n    await g()\n",
    ),
    (
        "class A:\n    def run_all(self):\n        return self.runall()\n",
        (3, 16, "E1101", "Instance of 'A' has no 'runall' member"),
        "class A:\n    def run_all(self):\n        return self.run_all()\n",
    ),
)
UNTOUCHED = (("f(1)\n", (1, 1, "call-arg", "")), ("x = a.b\n", (1, 5, "attr-defined", '"A" has no attribute "zzz"')))
_WORDS = re.compile(r"[`'\"]([A-Za-z_]\w*)[`'\"]")


def propose(place: Place) -> Iterator[Draft]:
    """Spell it as it is called there; pass what is asked for; wait for what has to be waited for."""
    suggested = re.search(r"(?:maybe|did you mean|Did you mean:?|Perhaps you meant) [`'\"](\w+)[`'\"]", place.message)
    words = _WORDS.findall(place.message)
    for node in place.here(ast.Attribute, ast.Call):
        if isinstance(node, ast.Attribute) and node.attr in words:
            yield from _attribute(place, node, suggested.group(1) if suggested else "")
        elif isinstance(node, ast.Call):
            yield from _keywords(place, node, words, suggested.group(1) if suggested else "")
    for node in place.here(ast.Call):
        if isinstance(node, ast.Call):
            yield from _missing(place, node, words)
            yield from _too_many(place, node)
            yield from _awaited(place, node)


def _attribute(place: Place, node: ast.Attribute, suggested: str) -> Iterator[Draft]:
    end = place.source.span(node)[1]
    start = end - len(node.attr.encode("utf-8"))
    if suggested:
        yield Draft(0.2, (Edit(start, end, suggested),))
    known = [n.attr for n in place.nodes if isinstance(n, ast.Attribute) and n.attr != node.attr]
    known += [n.name for n in place.nodes if isinstance(n, FUNCTIONS)]
    for rank, other in enumerate(difflib.get_close_matches(node.attr, list(dict.fromkeys(known)), n=3, cutoff=0.7)):
        yield Draft(0.4 + 0.1 * rank, (Edit(start, end, other),))


def _keywords(place: Place, node: ast.Call, words: List[str], suggested: str) -> Iterator[Draft]:
    """A keyword nobody takes."""
    if not re.search(r"[Uu]nexpected keyword|No parameter named|does not match any", place.message):
        return
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in words:
            continue
        value_start, value_end = place.source.span(keyword.value)
        head = place.source.data[:value_start].decode("utf-8").rstrip()
        match = re.search(rf"({keyword.arg})\s*=$", head)
        if match is None:
            continue
        start = len(head[: match.start(1)].encode("utf-8"))
        end = start + len(keyword.arg.encode("utf-8"))
        known = [a.arg for f in _named(place, node) for a in [*f.args.args, *f.args.kwonlyargs]]
        close = difflib.get_close_matches(keyword.arg, known, n=3, cutoff=0.4)
        for rank, other in enumerate(dict.fromkeys([suggested, *close])):
            if other and other != keyword.arg:
                yield Draft(0.2 + 0.2 * rank, (Edit(start, end, other),))
        before = place.source.data[:start].rstrip()
        if before.endswith(b","):
            yield Draft(1.0, (Edit(len(before) - 1, value_end, ""),))
        elif before.endswith(b"("):
            rest = place.source.data[value_end:]
            comma = len(rest) - len(rest.lstrip()) if rest.lstrip().startswith(b",") else None
            stop = value_end + (comma + 1 if comma is not None else 0)
            yield Draft(1.0, (Edit(start, stop, ""),))


def _named(place: Place, node: ast.Call) -> List[Function]:
    """Functions of this file that the call may mean."""
    name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
    found = [n for n in place.nodes if isinstance(n, FUNCTIONS) and n.name == name]
    for owner in place.nodes:
        if isinstance(owner, ast.ClassDef) and owner.name == name:
            found += [step for step in owner.body if isinstance(step, FUNCTIONS) and step.name == "__init__"]
    return found


def _missing(place: Place, node: ast.Call, words: List[str]) -> Iterator[Draft]:
    """An argument that is not passed: something of its name, or nothing, or a default where the function stands."""
    if not re.search(r"[Mm]issing|No value for|No argument provided|Argument missing", place.message):
        return
    end = place.source.span(node)[1] - 1
    given = bool(node.args or node.keywords)
    trailing = place.source.data[:end].rstrip().endswith(b",")
    comma = "" if not given or trailing else ", "
    functions = _named(place, node)
    for name in [word for word in words if word != getattr(node.func, "id", "")][:3]:
        if name in place.names():
            yield Draft(0.4, (Edit(end, end, f"{comma}{name}" if not node.keywords else f"{comma}{name}={name}"),))
            yield Draft(0.5, (Edit(end, end, f"{comma}{name}={name}"),))
        if any(isinstance(n, ast.Attribute) and n.attr == name for n in place.nodes):
            yield Draft(0.7, (Edit(end, end, f"{comma}{name}=self.{name}"),))
        for function in functions:
            yield from _defaulted(place, function, name)
        for cost, value in ((1.2, "None"), (1.5, "''"), (1.5, "0"), (1.5, "False"), (1.6, "[]"), (1.6, "{}")):
            yield Draft(cost, (Edit(end, end, f"{comma}{name}={value}"),))


def _defaulted(place: Place, function: Function, name: str) -> Iterator[Draft]:
    plain = function.args.args
    without = len(plain) - len(function.args.defaults)
    for index, argument in enumerate(plain):
        if argument.arg == name and index == without - 1:
            at = place.source.span(argument)[1]
            space = " " if argument.annotation is not None else ""
            yield Draft(1.0, (Edit(at, at, f"{space}={space}None"),))


def _too_many(place: Place, node: ast.Call) -> Iterator[Draft]:
    if not re.search(r"[Tt]oo many|Expected \d+ positional", place.message) or not node.args:
        return
    last: Optional[ast.expr] = node.args[-2] if len(node.args) > 1 else None
    end = place.source.span(node.args[-1])[1]
    if last is not None:
        yield Draft(0.6, (Edit(place.source.span(last)[1], end, ""),))
    else:
        yield Draft(0.6, (Edit(place.source.span(node.args[-1])[0], end, ""),))


def _awaited(place: Place, node: ast.Call) -> Iterator[Draft]:
    if not re.search(r"await|[Cc]oroutine", place.message):
        return
    function = place.function(node)
    if isinstance(function, ast.AsyncFunctionDef) and not isinstance(place.source.places[node].parent, ast.Await):
        yield place.replace(0.2, node, f"await {place.source.text(node)}")
