"""Wrong calls and missing attributes: correct a name, or add or remove an argument."""

from __future__ import annotations

import ast
import difflib
import re
from typing import Iterator, List, Optional

from sandbox.guest.search.findings.model import FixDraft
from sandbox.guest.search.findings.place import FUNCTIONS, FindingPlace, Function
from sandbox.guest.search.source.render import TextEdit

CODES = frozenset({
    "call-arg", "attr-defined", "reportCallIssue", "reportAttributeAccessIssue", "E1120", "E1121",
    "E1123", "E1101", "E1124", "unused-coroutine", "unused-awaitable", "reportUnusedCoroutine",
    "missing-argument", "unknown-argument", "too-many-positional-arguments", "unresolved-attribute",
    "E0611", "reportPossiblyUnbound", "misc", "operator", "import-error", "union-attr",
    "call-overload", "RUF006", "E1125",
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
UNTOUCHED = (
    ("f(1)\n", (1, 1, "call-arg", "")),
    ("x = a.b\n", (1, 5, "attr-defined", '"A" has no attribute "zzz"')),
)
_WORDS = re.compile(r"[`'\"]([A-Za-z_]\w*)[`'\"]")


def propose(place: FindingPlace) -> Iterator[FixDraft]:
    """Use the suggested name, pass the missing argument, or await the coroutine."""
    suggested = re.search(
        r"(?:maybe|did you mean|Did you mean:?|Perhaps you meant) [`'\"](\w+)[`'\"]", place.message
    )
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
            yield from _add_await(place, node)


def _attribute(place: FindingPlace, node: ast.Attribute, suggested: str) -> Iterator[FixDraft]:
    end = place.source.span(node)[1]
    start = end - len(node.attr.encode("utf-8"))
    if suggested:
        yield FixDraft(0.2, (TextEdit(start, end, suggested),))
    known = [n.attr for n in place.nodes if isinstance(n, ast.Attribute) and n.attr != node.attr]
    known += [n.name for n in place.nodes if isinstance(n, FUNCTIONS)]
    for rank, other in enumerate(
        difflib.get_close_matches(node.attr, list(dict.fromkeys(known)), n=3, cutoff=0.7)
    ):
        yield FixDraft(0.4 + 0.1 * rank, (TextEdit(start, end, other),))


def _keywords(
    place: FindingPlace, node: ast.Call, words: List[str], suggested: str
) -> Iterator[FixDraft]:
    """Rename or remove a keyword that the function does not accept."""
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
                yield FixDraft(0.2 + 0.2 * rank, (TextEdit(start, end, other),))
        before = place.source.data[:start].rstrip()
        if before.endswith(b","):
            yield FixDraft(1.0, (TextEdit(len(before) - 1, value_end, ""),))
        elif before.endswith(b"("):
            rest = place.source.data[value_end:]
            comma = len(rest) - len(rest.lstrip()) if rest.lstrip().startswith(b",") else None
            stop = value_end + (comma + 1 if comma is not None else 0)
            yield FixDraft(1.0, (TextEdit(start, stop, ""),))


def _named(place: FindingPlace, node: ast.Call) -> List[Function]:
    """Return the functions of this file that a call may refer to."""
    name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
    found = [n for n in place.nodes if isinstance(n, FUNCTIONS) and n.name == name]
    for owner in place.nodes:
        if isinstance(owner, ast.ClassDef) and owner.name == name:
            found += [
                step
                for step in owner.body
                if isinstance(step, FUNCTIONS) and step.name == "__init__"
            ]
    return found


def _missing(place: FindingPlace, node: ast.Call, words: List[str]) -> Iterator[FixDraft]:
    """Pass a value for a missing argument, or give the parameter a default."""
    if not re.search(
        r"[Mm]issing|No value for|No argument provided|Argument missing", place.message
    ):
        return
    end = place.source.span(node)[1] - 1
    given = bool(node.args or node.keywords)
    trailing = place.source.data[:end].rstrip().endswith(b",")
    comma = "" if not given or trailing else ", "
    functions = _named(place, node)
    for name in [word for word in words if word != getattr(node.func, "id", "")][:3]:
        if name in place.names():
            yield FixDraft(
                0.4,
                (
                    TextEdit(
                        end, end, f"{comma}{name}" if not node.keywords else f"{comma}{name}={name}"
                    ),
                ),
            )
            yield FixDraft(0.5, (TextEdit(end, end, f"{comma}{name}={name}"),))
        if any(isinstance(n, ast.Attribute) and n.attr == name for n in place.nodes):
            yield FixDraft(0.7, (TextEdit(end, end, f"{comma}{name}=self.{name}"),))
        for function in functions:
            yield from _add_default(place, function, name)
        for cost, value in (
            (1.2, "None"),
            (1.5, "''"),
            (1.5, "0"),
            (1.5, "False"),
            (1.6, "[]"),
            (1.6, "{}"),
        ):
            yield FixDraft(cost, (TextEdit(end, end, f"{comma}{name}={value}"),))


def _add_default(place: FindingPlace, function: Function, name: str) -> Iterator[FixDraft]:
    plain = function.args.args
    without = len(plain) - len(function.args.defaults)
    for index, argument in enumerate(plain):
        if argument.arg == name and index == without - 1:
            at = place.source.span(argument)[1]
            space = " " if argument.annotation is not None else ""
            yield FixDraft(1.0, (TextEdit(at, at, f"{space}={space}None"),))


def _too_many(place: FindingPlace, node: ast.Call) -> Iterator[FixDraft]:
    if not re.search(r"[Tt]oo many|Expected \d+ positional", place.message) or not node.args:
        return
    last: Optional[ast.expr] = node.args[-2] if len(node.args) > 1 else None
    end = place.source.span(node.args[-1])[1]
    if last is not None:
        yield FixDraft(0.6, (TextEdit(place.source.span(last)[1], end, ""),))
    else:
        yield FixDraft(0.6, (TextEdit(place.source.span(node.args[-1])[0], end, ""),))


def _add_await(place: FindingPlace, node: ast.Call) -> Iterator[FixDraft]:
    if not re.search(r"await|[Cc]oroutine", place.message):
        return
    function = place.function(node)
    if isinstance(function, ast.AsyncFunctionDef) and not isinstance(
        place.source.places[node].parent, ast.Await
    ):
        yield place.replace(0.2, node, f"await {place.source.text(node)}")
