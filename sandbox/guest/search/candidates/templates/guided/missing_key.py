"""KeyError: a key that is misspelt, of another type, missing from a table, or optional."""

from __future__ import annotations

import ast
from itertools import zip_longest
from typing import Any, Iterator, List

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.outer_scope import with_import
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.texts import close_names, quoted

COST = 0.4
CHANGES = (
    (
        "KeyError: 'nmae'",
        2,
        "def f(d):\n    return d['nmae']\n",
        "def f(d):\n    return d['name']\n",
        {"key": "'nmae'", "keys": ["'name'", "'size'"]},
    ),
    (
        "KeyError: 'name'",
        2,
        "def f(d, k):\n    return d[k]\n",
        "def f(d, k):\n    return d.get(k)\n",
    ),
    (
        "KeyError: 'Name'",
        2,
        "def f(d, k):\n    return d[k]\n",
        "def f(d, k):\n    return d[k.lower()]\n",
        {"key": "'Name'", "keys": ["'name'"]},
    ),
    (
        "KeyError: 1",
        2,
        "def f(d, k):\n    return d[k]\n",
        "def f(d, k):\n    return d[str(k)]\n",
        {"key": "1", "keys": ["'1'", "'2'"]},
    ),
    (
        "KeyError: 'c'",
        5,
        "T = {'a': 1, 'b': 2}\n\n\ndef f(k):\n    return T[k]\n",
        "T = {'a': 1, 'b': 2, 'c': 2}\n\n\ndef f(k):\n    return T[k]\n",
        {"key": "'c'", "keys": ["'a'", "'b'"]},
    ),
    (
        "KeyError: 'a'",
        4,
        "def f(w):\n    d = {}\n    for k in w:\n        d[k] += 1\n    return d\n",
        (
            "from collections import defaultdict\ndef f(w):\n    d = defaultdict(int)\n"
            "    for k in w:\n        d[k] += 1\n    return d\n"
        ),
    ),
    (
        "KeyError: 'a'",
        4,
        "def f(w):\n    d = {}\n    for k in w:\n        d[k].append(1)\n    return d\n",
        (
            "def f(w):\n    d = {}\n    for k in w:\n        d.setdefault(k, []).append(1)\n"
            "    return d\n"
        ),
    ),
    (
        "KeyError: 'a'",
        2,
        "def f(d):\n    return d.pop('a')\n",
        "def f(d):\n    return d.pop('a', None)\n",
    ),
    ("KeyError: 'a'", 2, "def f(d):\n    del d['a']\n", "def f(d):\n    d.pop('a', None)\n"),
    (
        "KeyError: 'a'",
        2,
        "def f(d, k):\n    return d[k]\n",
        "def f(d, k):\n    if k not in d:\n        return None\n    return d[k]\n",
    ),
)
UNTOUCHED = (("IndexError: list index out of range", 2, "def f(d, k):\n    return d[k]\n"),)

DEFAULTS = ("", "0", "[]", "''", "{}", "False")
EXITS = ("return None", "continue", "return False", "return []", "return ''", "return 0", "return")


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair each subscript and call that may have missed the key."""
    if not view.failure.is_a("KeyError"):
        return
    key = _value(str(view.failure.extra.get("key") or view.failure.message))
    keys = [_value(k) for k in view.failure.extra.get("keys") or ()]
    for depth, spot in enumerate(view.spots[:2]):
        for change in _at(spot, key, keys, view):
            yield change._replace(cost=change.cost + 0.4 * depth)


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _at(spot: Spot, key: Any, keys: List[Any], view: FailureContext) -> Iterator[GuidedProposal]:
    subscripts = [n for n in spot.find(ast.Subscript) if not isinstance(_key(n), ast.Slice)]
    matching = [
        n
        for n in subscripts
        if isinstance(_key(n), ast.Constant) and getattr(_key(n), "value", None) == key
    ]
    dynamic = [n for n in subscripts if not isinstance(_key(n), ast.Constant)]
    for node in (matching or dynamic or subscripts)[:3]:
        yield from _other_key(spot, _key(node), key, keys)
        yield from _soften(spot, node)
        yield from _guard(spot, node)
        yield from _with_default(spot, node)
        yield from _entry_added(spot, node.value, key, view)
    for call in spot.find(ast.Call)[:3]:
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr in ("pop", "remove")
            and len(call.args) == 1
        ):
            at = spot.source.span(call.args[0])[1]
            if call.func.attr == "pop":
                yield spot.edit(COST, TextEdit(at, at, ", None"))
            else:
                yield spot.edit(COST, TextEdit(*spot.attribute_span(call.func), "discard"))
        for argument in call.args:
            if isinstance(argument, ast.Constant) and argument.value == key:
                yield from _other_key(spot, argument, key, keys)


def _key(node: ast.Subscript) -> ast.expr:
    value = getattr(node.slice, "value", None)
    return (
        value
        if type(node.slice).__name__ == "Index" and isinstance(value, ast.expr)
        else node.slice
    )


def _other_key(spot: Spot, node: ast.expr, key: Any, keys: List[Any]) -> Iterator[GuidedProposal]:
    """Use a similar key for a literal; convert a computed key like the existing ones."""
    if isinstance(node, ast.Constant) and isinstance(key, str):
        words = [k for k in keys if isinstance(k, str)]
        words += [
            n.value
            for n in ast.walk(spot.source.tree)
            if isinstance(n, ast.Constant) and isinstance(n.value, str)
        ]
        for rank, other in enumerate(close_names(key, words, 4)):
            yield spot.replace(COST - 0.2 + 0.08 * rank, node, quoted(other, spot.text(node)))
        return
    text, part = spot.text(node), spot.source.part(node, 16)
    kinds = {type(k) for k in keys}
    forms = [
        (str, f"str({text})"),
        (int, f"int({text})"),
        (float, f"float({text})"),
        (bytes, f"{part}.encode()"),
    ]
    for kind, form in forms:
        if kind in kinds and type(key) is not kind:
            yield spot.replace(COST - 0.2, node, form)
    for form in _spellings(key, keys, text, part):
        yield spot.replace(COST - 0.2, node, form)


def _spellings(key: Any, keys: List[Any], text: str, part: str) -> Iterator[str]:
    """Yield conversions that turn the key into an existing one."""
    if isinstance(key, str):
        for method in ("lower", "upper", "strip", "title", "capitalize", "casefold"):
            if getattr(key, method)() in keys:
                yield f"{part}.{method}()"
        for old, new in (("-", "_"), ("_", "-"), (" ", "_"), (" ", "")):
            if key.replace(old, new) in keys and old in key:
                yield f"{part}.replace({old!r}, {new!r})"
    elif isinstance(key, int) and not isinstance(key, bool):
        yield from (
            f"{text} {'+' if step > 0 else '-'} 1" for step in (1, -1) if key + step in keys
        )


def _soften(spot: Spot, node: ast.Subscript) -> Iterator[GuidedProposal]:
    value, key = spot.source.part(node.value, 16), spot.text(_key(node))
    if (
        isinstance(node.ctx, ast.Del)
        and isinstance(spot.statement, ast.Delete)
        and len(spot.statement.targets) == 1
    ):
        yield from spot.take(spot.scope.restate(COST, spot.statement, f"{value}.pop({key}, None)"))
    if not isinstance(node.ctx, ast.Load):
        target = spot.source.places[node].parent
        if isinstance(target, ast.AugAssign):
            sign = {ast.Add: "+", ast.Sub: "-", ast.BitOr: "|", ast.Mult: "*"}.get(type(target.op))
            for rank, default in enumerate(("0", "''", "[]", "1", "set()")):
                if sign:
                    added = spot.source.part(target.value, 13)
                    code = f"{value}[{key}] = {value}.get({key}, {default}) {sign} {added}"
                    yield from spot.take(spot.scope.restate(COST + 0.05 * rank, target, code))
        return
    for rank, default in enumerate(DEFAULTS):
        more = f", {default}" if default else ""
        yield spot.replace(COST + 0.1 + 0.08 * rank, node, f"{value}.get({key}{more})")
    if not isinstance(_key(node), ast.Constant):
        yield spot.replace(COST + 0.4, node, f"{value}.get({key}, {key})")
    place = spot.source.places[node]
    if isinstance(place.parent, ast.Attribute):
        makers = {
            "append": "[]",
            "extend": "[]",
            "add": "set()",
            "update": "{}",
            "appendleft": "deque()",
        }
        maker = makers.get(place.parent.attr)
        if maker:
            yield spot.replace(COST - 0.1, node, f"{value}.setdefault({key}, {maker})")


def _guard(spot: Spot, node: ast.Subscript) -> Iterator[GuidedProposal]:
    value, key = spot.text(node.value), spot.text(_key(node))
    if "\n" in value + key or spot.statement is None:
        return
    for rank, leave in enumerate(EXITS):
        yield from spot.before(COST + 0.2 + 0.06 * rank, f"if {key} not in {value}:\n    {leave}")
    code = spot.scope.dedented(spot.statement) if spot.function is not None else None
    if code and isinstance(
        spot.statement, (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete, ast.Return)
    ):
        body = "\n".join("    " + line if line else "" for line in code.split("\n"))
        yield from spot.take(
            spot.scope.restate(COST + 0.2, spot.statement, f"if {key} in {value}:\n{body}")
        )
    if isinstance(spot.statement, (ast.If, ast.While)):
        test = spot.statement.test
        yield spot.replace(COST + 0.2, test, f"{key} in {value} and {spot.source.part(test, 5)}")


def _with_default(spot: Spot, node: ast.Subscript) -> Iterator[GuidedProposal]:
    """Replace an empty dictionary by a `defaultdict`."""
    if not isinstance(node.value, (ast.Name, ast.Attribute)):
        return
    name = ast.dump(node.value).replace("Load()", "Store()")
    bound = b"import defaultdict" in spot.source.data
    usual = "int" if isinstance(spot.statement, ast.AugAssign) else "list"
    for statement in ast.walk(spot.source.tree):
        if not isinstance(statement, ast.Assign) or not isinstance(
            statement.value, (ast.Dict, ast.Call)
        ):
            continue
        if (
            spot.text(statement.value) not in ("{}", "dict()")
            or ast.dump(statement.targets[0]) != name
        ):
            continue
        for rank, kind in enumerate(dict.fromkeys([usual, "int", "list", "set", "dict"])):
            edit = spot.source.replacement(statement.value, f"defaultdict({kind})")
            edits = (
                (edit,)
                if bound
                else with_import(spot.source, "from collections import defaultdict", (edit,))
            )
            yield spot.edit(COST + 0.1 + 0.1 * rank, *edits)


def _entry_added(
    spot: Spot, holder: ast.expr, key: Any, view: FailureContext
) -> Iterator[GuidedProposal]:
    """Add the entry to a table of this file, with a value like the others."""
    name = holder.id if isinstance(holder, ast.Name) else getattr(holder, "attr", "")
    for statement in ast.walk(spot.source.tree):
        value = getattr(statement, "value", None)
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        names = [getattr(t, "id", getattr(t, "attr", "")) for t in targets]
        if not isinstance(value, ast.Dict) or not value.values or name not in names or not name:
            continue
        at = spot.source.span(value.values[-1])[1]
        shown = list(dict.fromkeys(spot.text(v) for v in reversed(value.values)))[:5]
        kinds = tuple({type(v.value) for v in value.values if isinstance(v, ast.Constant)})
        seen = [
            repr(s)
            for s in [*view.literals.numbers, *view.literals.strings]
            if isinstance(s, kinds)
        ]
        texts = [text for pair in zip_longest(seen[:8], shown) for text in pair if text]
        first = spot.source.span(value.keys[-1])[0] if value.keys[-1] is not None else at
        before = spot.source.data[spot.source.offset(value.values[-1].lineno, 0) : first]
        gap = " " if before.strip() else spot.source.newline + before.decode("utf-8")
        sample = next((spot.text(k) for k in value.keys if k is not None), "")
        shown_key = quoted(key, sample) if isinstance(key, str) else repr(key)
        # Values of the failing tests and of other entries alternate.
        for rank, text in enumerate(dict.fromkeys([*texts, repr(key), "None"])):
            yield spot.insert(COST + 0.1 + 0.06 * rank, at, f",{gap}{shown_key}: {text}")
