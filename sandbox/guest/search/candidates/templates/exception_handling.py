"""Wrong exception handling: an exception re-raised, swallowed, replaced by a value, or chained."""

from __future__ import annotations

import ast
import builtins
from typing import Dict, Iterator, List, Optional, Set, Tuple

from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.4
CHANGES = (
    (
        "def f(a):\n    try:\n        return g(a)\n    except KeyError:\n        pass\n",
        "def f(a):\n    try:\n        return g(a)\n    except KeyError:\n        raise\n",
    ),
    (
        "def f(a):\n    try:\n        return g(a)\n    except KeyError:\n        raise\n",
        "def f(a):\n    try:\n        return g(a)\n    except KeyError:\n        return None\n",
    ),
    (
        (
            "def f(a):\n    try:\n        g(a)\n    except KeyError as e:\n"
            "        raise ValueError(a)\n"
        ),
        (
            "def f(a):\n    try:\n        g(a)\n    except KeyError as e:\n"
            "        raise ValueError(a) from e\n"
        ),
    ),
    (
        "def f(a):\n    try:\n        g(a)\n    except KeyError:\n        return\n",
        "def f(a):\n    try:\n        g(a)\n    except KeyError:\n        return a\n",
    ),
    ("def f(a):\n    return NotImplementedError\n", "def f(a):\n    raise NotImplementedError\n"),
    ("def f(a):\n    raise NotImplementedError\n", "def f(a):\n    return NotImplemented\n"),
    (
        "def f(a):\n    b = int(a)\n    return b\n",
        (
            "def f(a):\n    try:\n        b = int(a)\n    except ValueError:\n"
            "        return None\n    return b\n"
        ),
    ),
    (
        (
            "def f(a):\n    b = g(a)\n    return b\n\n\ndef h(a):\n    try:\n        return g(a)\n"
            "    except OSError as e:\n        raise ValueError(a) from e\n"
        ),
        (
            "def f(a):\n    try:\n        b = g(a)\n    except OSError as e:\n"
            "        raise ValueError(a) from e\n    return b\n\n\ndef h(a):\n    try:\n"
            "        return g(a)\n    except OSError as e:\n        raise ValueError(a) from e\n"
        ),
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)

RISKS = {
    "int": ("ValueError", "TypeError"), "float": ("ValueError", "TypeError"),
    "index": ("ValueError",), "remove": ("ValueError",), "next": ("StopIteration",),
    "decode": ("UnicodeDecodeError",), "encode": ("UnicodeEncodeError",),
    "pop": ("IndexError", "KeyError"),
}  # fmt: skip
"""Calls that commonly fail, with the exceptions they raise."""


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Exchange the action of a handler, or catch the exceptions of a risky statement."""
    if isinstance(node, ast.Return) and isinstance(node.value, (ast.Name, ast.Call)):
        name = scope.text(node.value.func if isinstance(node.value, ast.Call) else node.value)
        if name.endswith(("Error", "Exception")):
            yield scope.restate(COST - 0.2, node, f"raise {scope.text(node.value)}")
    if isinstance(node, ast.Raise):
        yield from _raise(node, scope)
    if isinstance(node, ast.stmt) and scope.is_inside(node):
        handler = scope.surroundings.around(node, (ast.ExceptHandler,))
        if isinstance(handler, ast.ExceptHandler) and scope.parent(node) is handler:
            yield from _in_handler(node, scope)
        if isinstance(node, (ast.Assign, ast.Return, ast.Expr, ast.AugAssign)):
            yield from _caught(node, scope)


def _raise(node: ast.Raise, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    handler = scope.surroundings.around(node, (ast.ExceptHandler,))
    if isinstance(handler, ast.ExceptHandler) and node.exc is not None and node.cause is None:
        if handler.name:
            yield scope.restate(COST, node, f"{scope.text(node)} from {handler.name}")
        yield scope.restate(COST, node, f"{scope.text(node)} from None")
        yield scope.restate(COST, node, "raise")
    if node.exc is not None and scope.text(node.exc).startswith("NotImplementedError"):
        yield scope.restate(COST - 0.2, node, "return NotImplemented")
    for value in ("None", "False", "[]", "''"):
        yield scope.restate(COST + 0.2, node, f"return {value}")


def _in_handler(node: ast.stmt, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    if isinstance(node, ast.Pass) or (isinstance(node, ast.Return) and node.value is None):
        yield scope.restate(COST, node, "raise")
        for text in ("None", "False", "True", "0", "''", "[]", *scope.names_at(node)[:8]):
            yield scope.restate(COST + 0.1, node, f"return {text}")
        if scope.surroundings.around(node, (ast.For, ast.While)):
            yield scope.restate(COST + 0.1, node, "continue")
            yield scope.restate(COST + 0.2, node, "break")
    block, index = scope.block(node)
    if index == len(block) - 1 and not isinstance(node, (ast.Raise, ast.Return)):
        yield scope.after(COST + 0.1, node, "raise")


def _caught(node: ast.stmt, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Enclose a statement with a risky call in `try`."""
    code = scope.dedented(node)
    if code is None or "\n" in code:
        return
    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
    names = [getattr(c.func, "attr", getattr(c.func, "id", "")) for c in calls]
    looks_up = any(
        isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load) for n in ast.walk(node)
    )
    risks = [risk for name in names for risk in RISKS.get(name, ())]
    risks += ["KeyError", "IndexError"] if looks_up else []
    for rank, (kind, ending) in enumerate(_handlers(node, scope) if calls else ()):
        yield scope.restate(
            COST + 0.5 + 0.05 * rank, node, f"try:\n    {code}\nexcept {kind}:\n    {ending}"
        )
    endings = ["return None", "pass", "return False"]
    if scope.surroundings.around(node, (ast.For, ast.While)):
        # In a loop, the item can be skipped.
        endings.insert(0, "continue")
    for risk in dict.fromkeys([*risks, *scope.surroundings.exceptions[:2]] if calls else risks):
        for ending in endings:
            yield scope.restate(COST + 0.9, node, f"try:\n    {code}\nexcept {risk}:\n    {ending}")


def _handlers(node: ast.stmt, scope: CodeScope) -> List[Tuple[str, str]]:
    """Return the handlers used elsewhere in the file that work here and have one statement."""
    # The handlers are the same for all nodes of a file, so they are listed once.
    if "handlers" not in scope.source.notes:
        found: Dict[Tuple[str, str], Set[str]] = {}
        dangerous = scope.dangers.around(scope.source.places)
        for handler in scope.source.nodes:
            if (
                isinstance(handler, ast.ExceptHandler)
                and handler.type is not None
                and len(handler.body) == 1
            ):
                kind, ending = scope.text(handler.type), scope.dedented(handler.body[0])
                if (
                    ending is not None
                    and "\n" not in kind + ending
                    and handler.body[0] not in dangerous
                ):
                    names = {n.id for n in ast.walk(handler.body[0]) if isinstance(n, ast.Name)} - {
                        handler.name
                    }
                    found[kind + (f" as {handler.name}" if handler.name else ""), ending] = names
        scope.source.notes["handlers"] = found
    known = {*scope.names_at(node), *scope.outer_names}
    handlers: Dict[Tuple[str, str], Set[str]] = scope.source.notes["handlers"]
    in_loop = scope.surroundings.around(node, (ast.For, ast.While)) is not None
    fitting = [
        key
        for key, names in handlers.items()
        if all(n in known or hasattr(builtins, n) for n in names)
    ]
    # Outside a loop, these are syntax errors.
    return [key for key in fitting if in_loop or key[1] not in ("continue", "break")][:8]
