"""NameError: a name that is misspelt, not imported, missing `self.`, or defined too late."""

from __future__ import annotations

import ast
import sys
from typing import Iterator, List, Set

from sandbox.guest.search.candidates.known_names import import_lines
from sandbox.guest.search.candidates.lookups import Lookups
from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.candidates.successors import BUILTINS as OTHER_TONGUES
from sandbox.guest.search.source.outer_scope import (
    BUILTINS,
    end_of_argument,
    outer_names,
    with_import,
)
from sandbox.guest.search.source.render import SourceFile, TextEdit, first_line
from sandbox.guest.search.source.texts import close_names

COST = 0.3
CHANGES = (
    (
        "NameError: name 'cuont' is not defined",
        2,
        "def f(count):\n    return cuont + 1\n",
        "def f(count):\n    return count + 1\n",
    ),
    (
        "NameError: name 'Path' is not defined",
        2,
        "def f(p):\n    return Path(p)\n",
        "from pathlib import Path\ndef f(p):\n    return Path(p)\n",
    ),
    (
        "NameError: name 'json' is not defined",
        5,
        "'''Doc.'''\nimport os\n\ndef f(p):\n    return json.loads(p)\n",
        "'''Doc.'''\nimport os\nimport json\n\ndef f(p):\n    return json.loads(p)\n",
    ),
    (
        "NameError: name 'size' is not defined",
        6,
        (
            "class A:\n    def __init__(self):\n        self.size = 1\n\n    def f(self):\n"
            "        return size\n"
        ),
        (
            "class A:\n    def __init__(self):\n        self.size = 1\n\n    def f(self):\n"
            "        return self.size\n"
        ),
    ),
    (
        "NameError: name 'xrange' is not defined",
        2,
        "def f(n):\n    return xrange(n)\n",
        "def f(n):\n    return range(n)\n",
    ),
    (
        "NameError: name 'true' is not defined",
        2,
        "def f(n):\n    return true\n",
        "def f(n):\n    return True\n",
    ),
    (
        "NameError: name 'tag' is not defined",
        2,
        "def f(n):\n    x = tag\n    return tag\n\ndef tags():\n    pass\n",
        "def f(n):\n    x = tags\n    return tags\n\ndef tags():\n    pass\n",
    ),
    (
        "NameError: name 'B' is not defined",
        2,
        "class A:\n    def f(self, b: B) -> int:\n        return 1\n\n\nclass B:\n    pass\n",
        "class A:\n    def f(self, b: 'B') -> int:\n        return 1\n\n\nclass B:\n    pass\n",
    ),
    (
        "NameError: name 'Path' is not defined",
        7,
        (
            "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n"
            "    from pathlib import Path\n\ndef f(p):\n    return Path(p)\n"
        ),
        (
            "from typing import TYPE_CHECKING\nfrom pathlib import Path\n\nif TYPE_CHECKING:\n"
            "    from pathlib import Path\n\ndef f(p):\n    return Path(p)\n"
        ),
    ),
    (
        "NameError: name 'LIMIT' is not defined",
        1,
        "TOP = LIMIT + 1\nLIMIT = 3\n",
        "LIMIT = 3\nTOP = LIMIT + 1\n",
    ),
    (
        "NameError: name 'key' is not defined",
        2,
        "def f(a):\n    return a[key]\n",
        "def f(a):\n    return a['key']\n",
    ),
    (
        "NameError: name 'key' is not defined",
        2,
        "def f(a):\n    return a[key]\n",
        "def f(a, key):\n    return a[key]\n",
    ),
)
UNTOUCHED = (
    ("TypeError: unhashable type: 'list'", 2, "def f(a):\n    return {a: 1}\n"),
    ("NameError: name 'q' is not defined", 2, "def f(a):\n    return 1\n"),
)


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Yield replacements and imports for the name, cheap ones first."""
    name = view.failure.extra.get("name") or _named(view.failure.message)
    if view.failure.kind != "NameError" or not name:
        return
    for depth, spot in enumerate(view.spots[:2]):
        nodes = spot.find(ast.Name, lambda n: n.id == name)
        if not nodes:
            nodes = [n for n in _all_uses(spot, name) if n.lineno == spot.line]
        if nodes:
            for change in _at(spot, name, nodes, view):
                yield change._replace(cost=change.cost + 0.4 * depth)


def _named(message: str) -> str:
    parts = message.split("'")
    return parts[1] if len(parts) > 2 and "is not defined" in message else ""


def _all_uses(spot: Spot, name: str) -> List[ast.Name]:
    root = spot.function or spot.source.tree
    return [
        n
        for n in ast.walk(root)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
    ]


def _at(
    spot: Spot, name: str, nodes: List[ast.Name], view: FailureContext
) -> Iterator[GuidedProposal]:
    uses = _all_uses(spot, name)
    yield from _imported(spot, name, view)
    for text in OTHER_TONGUES.get(name, ()):
        yield _everywhere(spot, COST - 0.2, uses or nodes, text)
    for rank, other in enumerate(
        close_names(name, [*spot.names, *_parameters(spot), *sorted(BUILTINS)])
    ):
        yield spot.replace(COST + 0.1 + 0.1 * rank, nodes[0], other)
        if len(uses) > 1:
            yield _everywhere(spot, COST + 0.05 + 0.1 * rank, uses, other)
    yield from _of_object(spot, name, nodes, uses)
    # Annotations need not be evaluated at run time.
    if any(spot.in_annotation(n) for n in nodes):
        yield spot.replace(COST - 0.1, nodes[0], repr(name))
        yield spot.edit(COST, *with_import(spot.source, "from __future__ import annotations"))
    yield from _too_late(spot, name)
    yield from _as_parameter(spot, name)
    yield spot.replace(COST + 0.9, nodes[0], repr(name))
    yield spot.replace(COST + 1.2, nodes[0], "None")


def _everywhere(spot: Spot, cost: float, nodes: List[ast.Name], text: str) -> GuidedProposal:
    return spot.edit(cost, *(spot.source.replacement(n, text) for n in nodes))


def _parameters(spot: Spot) -> List[str]:
    inside = ast.walk(spot.function) if spot.function else iter(())
    return [n.arg for n in inside if isinstance(n, ast.arg)]


def _imported(spot: Spot, name: str, view: FailureContext) -> Iterator[GuidedProposal]:
    """Import the name from the standard library, the checkout, or packages this file uses."""
    for line in _conditional_imports(spot.source.tree, name):
        yield spot.edit(COST - 0.2, *with_import(spot.source, line))
    for rank, line in enumerate(import_lines(name)):
        yield spot.edit(COST - 0.1 + 0.1 * rank, *with_import(spot.source, line))
    own = view.module_name(spot.source.path)
    homes = [m for m in view.lookups.homes_in_checkout(name) if m != own]
    for rank, home in enumerate(homes[:4]):
        line = _import_line(home, name, own, spot.source)
        yield spot.edit(COST + 0.1 * rank, *with_import(spot.source, line))
    packages = imported_packages(spot.source)
    for rank, home in enumerate(view.lookups.homes_alive(name, packages)):
        yield spot.edit(
            COST + 0.3 + 0.1 * rank, *with_import(spot.source, f"from {home} import {name}")
        )
    if view.lookups.exists(name) and not import_lines(name):
        yield spot.edit(COST + 0.1, *with_import(spot.source, f"import {name}"))
    for module, alias in _imported_modules(spot.source):
        if name in _live_names(view.lookups, module):
            nodes = spot.find(ast.Name, lambda n: n.id == name)
            if nodes:
                yield spot.replace(COST + 0.2, nodes[0], f"{alias}.{name}")


def _conditional_imports(tree: ast.Module, name: str) -> Iterator[str]:
    """Return imports under `if TYPE_CHECKING:` or another top-level condition."""
    blocks = [s for s in tree.body if isinstance(s, ast.If)]
    for inner in [n for block in blocks for n in ast.walk(block)]:
        if isinstance(inner, (ast.Import, ast.ImportFrom)):
            aliases = [a for a in inner.names if (a.asname or a.name).split(".")[0] == name]
            head = (
                f"from {'.' * inner.level}{inner.module or ''} "
                if isinstance(inner, ast.ImportFrom)
                else ""
            )
            yield from (
                f"{head}import {a.name}{f' as {a.asname}' if a.asname else ''}" for a in aliases
            )


def _import_line(home: str, name: str, own: str, source: SourceFile) -> str:
    """Return an import line in the style of the file, relative if it uses relative imports."""
    relative = any(isinstance(s, ast.ImportFrom) and s.level for s in source.tree.body)
    package, _, last = home.rpartition(".")
    mine = own.rpartition(".")[0]
    if relative and package == mine and last:
        return f"from .{last} import {name}"
    return f"from {home} import {name}"


def imported_packages(source: SourceFile) -> List[str]:
    """Return the top-level packages that a file imports from."""
    found: List[str] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module.split(".")[0])
        elif isinstance(node, ast.Import):
            found += [alias.name.split(".")[0] for alias in node.names]
    return list(dict.fromkeys(found))


def _imported_modules(source: SourceFile) -> Iterator[List[str]]:
    for node in source.tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield [alias.name, alias.asname or alias.name]


def _live_names(lookups: Lookups, module: str) -> Set[str]:
    return set(lookups.defined_names(module)) if module in sys.modules else set()


def _of_object(
    spot: Spot, name: str, nodes: List[ast.Name], uses: List[ast.Name]
) -> Iterator[GuidedProposal]:
    """Qualify the name: `self.size`, `cls.size` or `Class.size` for `size`."""
    if not spot.classes:
        return
    owner = spot.classes[-1]
    inside = list(ast.walk(owner))
    known = {
        n.attr for n in inside if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
    }
    known |= {getattr(s, "name", "") for s in owner.body}
    known |= {
        n.id
        for s in owner.body
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    prefix = spot.own or owner.name
    cost = COST - 0.15 if name in known else COST + 0.7
    yield spot.replace(cost, nodes[0], f"{prefix}.{name}")
    if len(uses) > 1:
        yield _everywhere(spot, cost + 0.05, uses, f"{prefix}.{name}")
    if prefix == "self" and name in known:
        yield spot.replace(cost + 0.2, nodes[0], f"{owner.name}.{name}")
    attributes = [k for k in sorted(known) if k]
    for rank, other in enumerate(close_names(name, attributes, 2)):
        yield spot.replace(COST + 0.3 + 0.1 * rank, nodes[0], f"{prefix}.{other}")


def _too_late(spot: Spot, name: str) -> Iterator[GuidedProposal]:
    """Move a use below its definition, or the definition above its use."""
    if spot.function is not None or name not in outer_names(spot.source.tree.body):
        return
    body = spot.source.tree.body
    users = [s for s in body if first_line(s) <= spot.line <= (s.end_lineno or s.lineno)]
    makers = [s for s in body if name in outer_names([s]) and users and s.lineno > users[0].lineno]
    if not users or not makers:
        return
    data, use, make = (
        spot.source.data,
        spot.source.whole_lines(users[0]),
        spot.source.whole_lines(makers[0]),
    )
    if use is None or make is None or not data[: make[1]].endswith(b"\n"):
        return
    moved = data[slice(*make)].decode("utf-8")
    yield spot.edit(COST + 0.2, TextEdit(use[0], use[0], moved), TextEdit(make[0], make[1], ""))
    moved = data[slice(*use)].decode("utf-8")
    yield spot.edit(COST + 0.3, TextEdit(use[0], use[1], ""), TextEdit(make[1], make[1], moved))


def _as_parameter(spot: Spot, name: str) -> Iterator[GuidedProposal]:
    arguments = getattr(spot.function, "args", None)
    if not isinstance(arguments, ast.arguments):
        return
    plain = [*arguments.posonlyargs, *arguments.args]
    for rank, parameter in enumerate(close_names(name, [a.arg for a in plain], 2)):
        span = spot.source.span(next(a for a in plain if a.arg == parameter))
        end = span[0] + len(parameter.encode("utf-8"))
        yield spot.edit(COST + 0.6 + 0.1 * rank, TextEdit(span[0], end, name))
    if plain:
        last = arguments.defaults[-1] if arguments.defaults else None
        at = spot.source.span(last)[1] if last else end_of_argument(spot.source, plain[-1])
        if not arguments.defaults:
            yield spot.edit(COST + 0.9, TextEdit(at, at, f", {name}"))
        yield spot.edit(COST + 0.8, TextEdit(at, at, f", {name}=None"))
