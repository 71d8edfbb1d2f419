"""Facts about one file that all its functions share, computed once per file."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any, List, Mapping, NamedTuple, Sequence, Set, Tuple

from sandbox.guest.search.source.dangers import Dangers
from sandbox.guest.search.source.render import SourceFile

FunctionNode = (ast.FunctionDef, ast.AsyncFunctionDef)


class FileFacts(NamedTuple):
    """Code of the whole file that templates may reuse."""

    dangers: Dangers
    helpers: List[str]
    strings: List[str]
    numbers: List[Any]
    attributes: List[str]
    types_asked: List[str]
    """Types in `isinstance` checks, most frequent first."""
    wrappers: List[str]
    """Functions called with exactly one argument, most frequent first."""
    methods: List[str]
    """Methods called without arguments, most frequent first."""
    normalisers: List[str]
    """Functions `f` in at least two statements `x = f(x)`, most frequent first."""
    outer_names: Set[str]
    """Names that the file imports or defines outside functions."""


def file_facts(source: SourceFile) -> FileFacts:
    """Return the facts about one file."""
    if "file" not in source.notes:
        nodes = list(ast.walk(source.tree))
        functions = [
            n.name for n in nodes if isinstance(n, FunctionNode) and not n.name.startswith("__")
        ]
        values = [
            n.value for n in nodes if isinstance(n, ast.Constant) and not is_docstring(n, source)
        ]
        strings = {value for value in values if isinstance(value, str) and len(value) <= 60}
        numbers = {
            value
            for value in values
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        dangers, outside = Dangers(source.tree), _outer_names(source.tree)
        source.notes["file"] = FileFacts(
            dangers,
            list(dict.fromkeys(functions))[:12],
            sorted(strings),
            sorted(numbers, key=lambda value: (abs(value), str(value))),
            sorted({n.attr for n in nodes if isinstance(n, ast.Attribute)}),
            *_habits(nodes, dangers, outside),
            _normalisers(nodes, outside),
            outside,
        )
    found: FileFacts = source.notes["file"]
    return found


def _outer_names(tree: ast.Module) -> Set[str]:
    found = {
        (a.asname or a.name)
        for n in ast.walk(tree)
        if isinstance(n, (ast.Import, ast.ImportFrom))
        for a in n.names
    }
    found |= {n.name for n in tree.body if isinstance(n, (*FunctionNode, ast.ClassDef))}
    stored = (
        n for s in tree.body if isinstance(s, (ast.Assign, ast.AnnAssign)) for n in ast.walk(s)
    )
    return found | {
        n.id for n in stored if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _habits(
    nodes: Sequence[ast.AST], dangers: Dangers, outside: Set[str]
) -> Tuple[List[str], List[str], List[str]]:
    """Return checked types, functions called with one argument, and methods called without any."""
    types: Counter[str] = Counter()
    wrappers: Counter[str] = Counter()
    methods: Counter[str] = Counter()
    for call in nodes:
        if not isinstance(call, ast.Call) or call.keywords or dangers.is_dangerous(call):
            continue
        name = _dotted(call.func)
        if name == "isinstance" and len(call.args) == 2:
            kinds = call.args[1].elts if isinstance(call.args[1], ast.Tuple) else [call.args[1]]
            types.update(filter(None, map(_dotted, kinds)))
        elif len(call.args) == 1 and name.partition(".")[0] in outside:
            wrappers[name] += not isinstance(call.args[0], (ast.Starred, ast.GeneratorExp))
        elif not call.args and isinstance(call.func, ast.Attribute):
            methods[call.func.attr] += 1
    return _most(types, 6), _most(wrappers, 8), _most(methods, 8)


def _normalisers(nodes: Sequence[ast.AST], outside: Set[str]) -> List[str]:
    found: Counter[str] = Counter()
    for node in nodes:
        call = node.value if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords:
            target, given = node.targets[0], call.args[0]  # type: ignore[attr-defined]
            same = (
                isinstance(target, ast.Name)
                and isinstance(given, ast.Name)
                and target.id == given.id
            )
            found[_dotted(call.func)] += same and _dotted(call.func).partition(".")[0] in outside
    return _most({name: count for name, count in found.items() if count > 1}, 3)


def _most(counts: Mapping[str, int], most: int) -> List[str]:
    return sorted(
        (name for name in counts if counts[name]), key=lambda name: (-counts[name], name)
    )[:most]


def _dotted(node: ast.AST) -> str:
    """Return `name` or `owner.name`, else an empty string."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def is_docstring(node: ast.AST, source: SourceFile) -> bool:
    """Return True for a string that is a statement, or for that statement."""
    if isinstance(node, ast.Constant) and node in source.places:
        node = source.places[node].parent
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
