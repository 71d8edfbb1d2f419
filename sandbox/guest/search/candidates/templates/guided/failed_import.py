"""ImportError: a name or module that was moved or renamed, a circular or optional import."""

from __future__ import annotations

import ast
import re
from typing import Any, Iterator, Optional, Tuple

from sandbox.guest.search.candidates.edits.circular_imports import postpone_import
from sandbox.guest.search.candidates.edits.other_modules import shift_levels, similar_modules
from sandbox.guest.search.candidates.edits.restored_names import restore_name
from sandbox.guest.search.candidates.known_names import HOMES
from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.candidates.successors import find_module_successors, find_successors
from sandbox.guest.search.source.render import SourceFile, TextEdit
from sandbox.guest.search.source.texts import close_names

COST = 0.2
CHANGES = (
    (
        "ImportError: cannot import name 'Mapping' from 'collections' (unknown location)",
        1,
        "from collections import Mapping\n",
        "from collections.abc import Mapping\n",
        {"module": "collections", "name": "Mapping"},
    ),
    (
        "ImportError: cannot import name 'Mapping' from 'collections' (unknown location)",
        1,
        "from collections import Mapping, OrderedDict\n",
        "from collections.abc import Mapping\nfrom collections import OrderedDict\n",
        {"module": "collections", "name": "Mapping"},
    ),
    (
        "ImportError: cannot import name 'getargspec' from 'inspect' (unknown location)",
        1,
        "from inspect import getargspec\n",
        "from inspect import getfullargspec as getargspec\n",
        {"module": "inspect", "name": "getargspec"},
    ),
    (
        "ImportError: cannot import name 'joni' from 'os.path' (unknown location)",
        1,
        "from os.path import joni\n",
        "from os.path import join as joni\n",
        {
            "module": "os.path",
            "name": "joni",
            "owner": {"kind": "module", "module": "os.path", "names": ["join", "split"]},
        },
    ),
    (
        "ModuleNotFoundError: No module named 'ConfigParser'",
        1,
        "import ConfigParser\n",
        "import configparser as ConfigParser\n",
        {"module": "ConfigParser"},
    ),
    (
        "ModuleNotFoundError: No module named 'StringIO'",
        1,
        "from StringIO import StringIO\n",
        "from io import StringIO\n",
        {"module": "StringIO"},
    ),
    (
        "ModuleNotFoundError: No module named 'helper'",
        1,
        "from helper import x\n",
        "from .helper import x\n",
        {"module": "helper"},
    ),
    (
        "ModuleNotFoundError: No module named 'fastjson'",
        1,
        "import fastjson\n",
        "try:\n    import fastjson\nexcept ImportError:\n    fastjson = None\n",
        {"module": "fastjson"},
    ),
    (
        "ImportError: attempted relative import with no known parent package",
        1,
        "from .helper import x\n",
        "from helper import x\n",
        {"module": ""},
    ),
    (
        (
            "ImportError: cannot import name 'y' from partially initialized "
            "module 'b' (most likely due to a circular import)"
        ),
        1,
        "from b import y\n\n\ndef f():\n    return y()\n",
        "\n\ndef f():\n    from b import y\n    return y()\n",
        {"module": "b", "name": "y"},
    ),
    (
        "ImportError: cannot import name 'gone' from 'm' (unknown location)",
        1,
        "from m import gone, x\nprint(x)\n",
        "from m import x\nprint(x)\n",
        {"module": "m", "name": "gone"},
    ),
)
UNTOUCHED = (
    ("NameError: name 'x' is not defined", 1, "from a import x\n"),
    ("ImportError: cannot import name 'q' from 'm' (unknown location)", 1, "from a import x\n"),
)


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Repair the import, or the module of the checkout that no longer provides the name."""
    if not view.failure.is_a("ImportError", "ModuleNotFoundError"):
        return
    extra, message = view.failure.extra, view.failure.message
    module, name = str(extra.get("module") or ""), str(extra.get("name") or "")
    missing = re.match(r"No module named '?([\w.]+)'?", message)
    for depth, spot in enumerate(view.spots[:2]):
        for node in [*spot.find(ast.ImportFrom), *spot.find(ast.Import)]:
            for change in _at(
                spot, node, name, missing=missing.group(1) if missing else "", view=view
            ):
                yield change._replace(cost=change.cost + 0.4 * depth)
    if name and module:
        source = view.open(str(extra.get("path") or "")) or _open_module(module, view)
        if source is not None:
            yield from restore_name(name, source, view, COST + (0.1 if not view.spots else 0.4))


def _open_module(module: str, view: FailureContext) -> Optional[SourceFile]:
    stem = module.replace(".", "/")
    for path in (f"{stem}.py", f"{stem}/__init__.py", f"src/{stem}.py", f"src/{stem}/__init__.py"):
        source = view.open(path)
        if source is not None:
            return source
    return None


def _at(
    spot: Spot, node: Any, name: str, *, missing: str, view: FailureContext
) -> Iterator[GuidedProposal]:
    relative = "relative import" in view.failure.message
    circular = (
        "partially initialized" in view.failure.message or "circular import" in view.failure.message
    )
    if isinstance(node, ast.ImportFrom):
        if name and any(alias.name == name for alias in node.names):
            yield from _moved_name(spot, node, name, view)
            yield from _drop(spot, node, name)
        if missing or relative:
            yield from _other_module(spot, node, missing, view)
    elif missing and any(a.name == missing or a.name.startswith(missing + ".") for a in node.names):
        yield from _other_plain(spot, node, missing, view)
    if circular:
        yield from postpone_import(spot, node, COST)
    if missing or name:
        yield from _optional(spot, node, name)


def _bound_as(alias: ast.alias) -> str:
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name


def _restate(
    spot: Spot, node: ast.ImportFrom, name: str, *, module: str, new: str
) -> Tuple[TextEdit, ...]:
    """Import one name from another module or under another name; keep the others."""
    alias = next(a for a in node.names if a.name == name)
    used = alias.asname or alias.name
    first = f"from {module} import {new if new == used else f'{new} as {used}'}"
    start, end = spot.source.span(node)
    others = [_bound_as(a) for a in node.names if a is not alias]
    own = "." * node.level + (node.module or "")
    if not others:
        return (TextEdit(start, end, first),)
    indent = spot.source.indent(node) or ""
    if module == own:
        kept = [
            (new if new == used else f"{new} as {used}") if a is alias else _bound_as(a)
            for a in node.names
        ]
        return (TextEdit(start, end, f"from {own} import {', '.join(kept)}"),)
    return (
        TextEdit(
            start, end, f"{first}{spot.source.newline}{indent}from {own} import {', '.join(others)}"
        ),
    )


def _moved_name(
    spot: Spot, node: ast.ImportFrom, name: str, view: FailureContext
) -> Iterator[GuidedProposal]:
    own = "." * node.level + (node.module or "")
    full = str(view.failure.extra.get("module") or node.module or "")
    for rank, new in enumerate(n for n in find_successors(f"{full}.{name}")):
        module, _, last = new.rpartition(".")
        if module and last.isidentifier() and view.lookups.exists(module):
            yield spot.edit(
                COST - 0.1 + 0.05 * rank, *_restate(spot, node, name, module=module, new=last)
            )
        elif not module and len(node.names) == 1:
            start, end = spot.source.span(node)
            yield spot.edit(
                COST + 0.05 * rank, TextEdit(start, end, f"{node.names[0].asname or name} = {new}")
            )
    owner = view.failure.extra.get("owner") or {}
    names = list(owner.get("names") or ()) or view.lookups.defined_names(full)
    for rank, near in enumerate(close_names(name, [n for n in names if not n.startswith("__")], 4)):
        yield spot.edit(COST + 0.1 * rank, *_restate(spot, node, name, module=own, new=near))
        yield from _renamed_everywhere(spot, node, name, near=near, cost=COST + 0.1 + 0.1 * rank)
    package = full.partition(".")[0]
    homes = (
        [h for h in view.lookups.homes_in_package(name, package) if h != full] if package else []
    )
    homes += [
        h
        for h in view.lookups.homes_in_checkout(name)
        if h not in (full, view.module_name(spot.source.path))
    ]
    homes += [h for h in HOMES.get(name, ()) if h != full]
    for rank, home in enumerate(dict.fromkeys(homes)):
        yield spot.edit(
            COST + 0.1 + 0.05 * rank, *_restate(spot, node, name, module=home, new=name)
        )
    # Some projects keep their previous interface in a `v1` package.
    if view.lookups.exists(f"{full}.v1"):
        yield spot.edit(COST + 0.4, *_restate(spot, node, name, module=f"{full}.v1", new=name))


def _renamed_everywhere(
    spot: Spot, node: ast.ImportFrom, name: str, *, near: str, cost: float
) -> Iterator[GuidedProposal]:
    """Rename the import and all its uses."""
    alias = next(a for a in node.names if a.name == name)
    uses = [n for n in ast.walk(spot.source.tree) if isinstance(n, ast.Name) and n.id == name]
    if alias.asname or not uses:
        return
    kept = [near if a is alias else _bound_as(a) for a in node.names]
    start, end = spot.source.span(node)
    head = TextEdit(
        start, end, f"from {'.' * node.level}{node.module or ''} import {', '.join(kept)}"
    )
    yield spot.edit(cost, head, *(spot.source.replacement(n, near) for n in uses))


def _drop(spot: Spot, node: ast.ImportFrom, name: str) -> Iterator[GuidedProposal]:
    """Remove a name from an import; the cost is lower if the name is unused."""
    used = any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(spot.source.tree))
    cost = COST + (1.2 if used else 0.2)
    others = [_bound_as(a) for a in node.names if a.name != name]
    start, end = spot.source.span(node)
    if others:
        yield spot.edit(
            cost,
            TextEdit(
                start, end, f"from {'.' * node.level}{node.module or ''} import {', '.join(others)}"
            ),
        )
    else:
        yield from spot.take(spot.scope.delete(cost, node))


def _other_module(
    spot: Spot, node: ast.ImportFrom, missing: str, view: FailureContext
) -> Iterator[GuidedProposal]:
    """Import the same names from another module."""
    names = ", ".join(_bound_as(a) for a in node.names)
    own = "." * node.level + (node.module or "")
    start, end = spot.source.span(node)

    def imported(cost: float, module: str) -> GuidedProposal:
        return spot.edit(cost, TextEdit(start, end, f"from {module} import {names}"))

    for rank, module in enumerate(find_module_successors(node.module or "")):
        if view.lookups.exists(module):
            yield imported(COST - 0.1 + 0.05 * rank, module)
    for rank, module in enumerate(similar_modules(node, missing, spot, view)):
        yield imported(COST + 0.05 * rank, module)
    for cost, module in shift_levels(node, spot, view, COST):
        if module and module != own:
            yield imported(cost, module)
    for alias in node.names[:1]:
        homes = [*view.lookups.homes_in_checkout(alias.name), *HOMES.get(alias.name, ())]
        for rank, home in enumerate(h for h in homes if h != node.module):
            yield imported(COST + 0.1 + 0.1 * rank, home)


def _other_plain(
    spot: Spot, node: ast.Import, missing: str, view: FailureContext
) -> Iterator[GuidedProposal]:
    start, end = spot.source.span(node)
    if len(node.names) != 1:
        return
    alias = node.names[0]
    parent, _, last = missing.rpartition(".")
    news = [m for m in find_module_successors(alias.name) if view.lookups.exists(m)]
    near = close_names(last, view.lookups.submodules(parent), 3)
    news += [f"{parent}.{n}" if parent else n for n in near]
    used = alias.asname or alias.name
    for rank, new in enumerate(dict.fromkeys(news)):
        text = f"import {new}" if new == used else f"import {new} as {used}"
        if "." not in used:
            yield spot.edit(COST - 0.1 + 0.1 * rank, TextEdit(start, end, text))
    if "." not in alias.name:
        bound = f" as {alias.asname}" if alias.asname else ""
        yield spot.edit(COST + 0.2, TextEdit(start, end, f"from . import {alias.name}{bound}"))
    uses = any(
        isinstance(n, ast.Name) and n.id == used.split(".")[0] for n in ast.walk(spot.source.tree)
    )
    if not uses:
        yield from spot.take(spot.scope.delete(COST + 0.2, node))


def _optional(spot: Spot, node: Any, name: str) -> Iterator[GuidedProposal]:
    """Make an import optional: fall back to None, or to the current location of the name."""
    indent = spot.source.indent(node)
    if indent is None or isinstance(spot.source.places[node].parent, ast.Try):
        return
    bound = [(a.asname or a.name).split(".")[0] for a in node.names]
    lines = [f"{one} = None" for one in bound]
    text = spot.text(node)
    if "\n" in text or len(bound) > 6:
        return
    code = f"try:\n    {text}\nexcept ImportError:\n    " + "\n    ".join(lines)
    yield from spot.take(spot.scope.restate(COST + 1.0, node, code))
    if name and isinstance(node, ast.ImportFrom) and len(node.names) == 1:
        for rank, new in enumerate(find_successors(f"{node.module}.{name}")):
            module, _, last = new.rpartition(".")
            if module:
                other = (
                    f"from {module} import {last if last == bound[0] else f'{last} as {bound[0]}'}"
                )
                code = f"try:\n    {text}\nexcept ImportError:\n    {other}"
                yield from spot.take(spot.scope.restate(COST + 0.3 + 0.1 * rank, node, code))
