"""What a program can reach beyond its own values: processes, the network, frames, its runner, the place it runs in.

Names are followed through imports, aliases, `getattr` and folded texts, so their spelling does not matter.
Nothing here understands a program: what it could reach counts, whether it does or not.
"""

import ast
import sys
from collections.abc import Iterator
from typing import NamedTuple

from sandbox.changes.folding import Folder
from sandbox.changes.reachable import (
    ATTRIBUTES,
    BUILTINS,
    CI_NAMES,
    HIDDEN,
    MODULES,
    PLACES,
    RULES,
    SAME_MODULES,
    TEST_WORDS,
    UIDS,
    Kind,
)
from sandbox.changes.syntax import parse

_LONGEST_NAME = 60
_LOOKING = frozenset({"getattr", "hasattr", "vars", "setattr", "delattr"})
_GETTERS = frozenset({"operator.attrgetter", "operator.methodcaller"})


class Reach(NamedTuple):
    """One thing a program can reach."""

    kind: Kind
    detail: str
    """Tells things of one kind apart where a file that has one need not have the others."""


def reached(tree: ast.AST) -> dict[Reach, int]:
    """Everything a program can reach, each with the first line where it does.

    Args:
        tree: The program.
    """
    found: dict[Reach, int] = {}
    for reach, line in _Reader(tree).read():
        found[reach] = min(line, found.get(reach, line))
    return found


class _Reader:
    """Reads one program.

    Args:
        tree: The program.
    """

    def __init__(self, tree: ast.AST) -> None:
        self._tree = tree
        self._folder = Folder(tree)
        self._aliases: dict[str, str] = {}
        for node in ast.walk(tree):
            self._take_import(node)
        for _ in range(2):  # an alias of an alias
            for node in ast.walk(tree):
                self._take_alias(node)

    def read(self) -> Iterator[tuple[Reach, int]]:
        """Every reach, with its line."""
        dotted: set[str] = set()
        for node in ast.walk(self._tree):
            line = getattr(node, "lineno", 1)
            for name in self._names(node):
                dotted.add(name)
                yield from ((reach, line) for reach in _reaches(name))
            yield from ((reach, line) for reach in self._shapes(node))
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value in UIDS:
                yield Reach(Kind.PLACE, ""), line
        asks = any(name.startswith(("os.environ", "os.getenv", "os.path.expandvars")) for name in dotted)
        for text, line, is_computed in self._folded(self._tree):
            yield from ((reach, line) for reach in _of_text(text, asks=asks, is_computed=is_computed))
        yield from self._handed_on()
        if self._folder.is_exhausted:
            yield Reach(Kind.HIDDEN, ""), 1

    # --- names --------------------------------------------------------------------------------------

    def _take_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._aliases[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                whole = alias.name if alias.name in MODULES else f"{node.module}.{alias.name}"
                self._aliases[alias.asname or alias.name] = whole

    def _take_alias(self, node: ast.AST) -> None:
        """`run = os.system`: another name for the same."""
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                if name not in self._aliases and (whole := self._dotted(value)) is not None:
                    self._aliases[name] = whole
            case _:
                pass

    def _names(self, node: ast.AST) -> Iterator[str]:
        """The dotted names that a node stands for."""
        match node:
            case ast.Import(names=names):
                yield from (_same(alias.name) for alias in names)
            case ast.ImportFrom(level=0, module=str() as module, names=names):
                yield _same(module)
                yield from (_same(f"{module}.{alias.name}") for alias in names)
            case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
                name = self._dotted(node)
                if name is not None:
                    yield name
            case _:
                pass

    def _dotted(self, node: ast.AST) -> str | None:
        """What an expression stands for, as `os.system`; None when that cannot be seen."""
        match node:
            case ast.Name(id=name):
                return _same(self._aliases[name]) if name in self._aliases else BUILTINS.get(name)
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(owner, name)
            case ast.NamedExpr(value=value):
                return self._dotted(value)
            case ast.Call(func=function, args=[first, *others]):
                return self._called(function, first, others)
            case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[owner]), slice=key):
                return self._attribute(owner, self._folder.text(key) or "__dict__")
            case ast.Subscript(value=ast.Attribute(value=owner, attr="__dict__"), slice=key):
                return self._attribute(owner, self._folder.text(key) or "__dict__")
            case _:
                return None

    def _called(self, function: ast.expr, first: ast.expr, others: list[ast.expr]) -> str | None:
        """What a call gives: an attribute by its name, a module by its name, a module's names."""
        if self._is(function, "vars"):
            return self._attribute(first, "__dict__")
        if self._is(function, "type") and not others:
            return self._attribute(first, "__class__")
        if isinstance(function, ast.Attribute) and function.attr == "__getattribute__":
            first, others = (first, others) if others else (function.value, [first])
            return self._looked_up(first, others[0])
        if others and (self._is(function, "getattr") or self._dotted(function) == "inspect.getattr_static"):
            return self._looked_up(first, others[0])
        if self._dotted(function) in {"__import__", "importlib.import_module", "importlib.__import__"}:
            name = self._folder.text(first)
            return _same(name) if name is not None else "a computed program"
        return None

    def _looked_up(self, owner: ast.expr, key: ast.expr) -> str | None:
        """An attribute by a text."""
        name = self._folder.text(key)
        if name is not None:
            return self._attribute(owner, name)
        return "a computed attribute" if self._dotted(owner) in MODULES else None

    def _attribute(self, owner: ast.expr, name: str) -> str | None:
        if name in MODULES and not isinstance(owner, ast.Name):
            return name  # `logging.os` is os
        whole = self._dotted(owner)
        if whole is not None and name in MODULES:
            return name
        return f"{whole}.{name}" if whole is not None else ATTRIBUTES.get(name)

    @staticmethod
    def _is(function: ast.expr, name: str) -> bool:
        return isinstance(function, ast.Name) and function.id == name

    # --- shapes and texts -----------------------------------------------------------------------------

    def _shapes(self, node: ast.AST) -> Iterator[Reach]:
        """What is seen by its form alone."""
        match node:
            case ast.keyword(arg="shell", value=value):
                if not (isinstance(value, ast.Constant) and not value.value):
                    yield Reach(Kind.SHELL, "")
            case ast.ImportFrom(level=0, module=str() as module, names=[ast.alias(name="*")]):
                if _same(module) in MODULES:
                    yield Reach(Kind.REFLECTION, "*")
            case ast.Dict(keys=keys):
                if any(key is not None and self._folder.text(key) == "shell" for key in keys):
                    yield Reach(Kind.SHELL, "")
            case ast.Call(func=function, args=[name, *_]) if self._dotted(function) in _GETTERS:
                yield from self._got(self._folder.text(name) or "")
            case ast.Call(func=ast.Name(id="eval" | "exec" | "compile"), args=[program, *_]):
                yield from self._program(program)
            case _:
                yield from self._attributes(node)

    def _attributes(self, node: ast.AST) -> Iterator[Reach]:
        """Attributes that are set, or taken by a pattern."""
        match node:
            case ast.MatchClass(kwd_attrs=names):
                yield from (reach for name in names for reach in self._got(name))
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[owner, *_]):
                yield from self._patched(owner)
            case ast.Attribute(value=owner, ctx=ast.Store() | ast.Del()):
                yield from self._patched(owner)
            case _:
                pass

    def _handed_on(self) -> Iterator[tuple[Reach, int]]:
        """Modules that are used as values: nobody can follow what is asked of them then."""
        plain: set[ast.AST] = set()
        for node in ast.walk(self._tree):
            match node:
                case ast.Attribute(value=ast.Name() as owner):
                    plain.add(owner)
                case ast.Call(func=ast.Name(id=name), args=[ast.Name() as owner, *_]) if name in _LOOKING:
                    plain.add(owner)
                case _:
                    pass
        for node in ast.walk(self._tree):
            if not isinstance(node, ast.Name) or node in plain or not isinstance(node.ctx, ast.Load):
                continue
            if self._dotted(node) in MODULES:
                yield Reach(Kind.REFLECTION, "value"), node.lineno

    def _patched(self, owner: ast.expr) -> Iterator[Reach]:
        """A module of the standard library, or a class of one, that is given another attribute."""
        name = self._dotted(owner) or ""
        if name.split(".")[0] in sys.stdlib_module_names:
            yield Reach(Kind.PATCH, "")

    @staticmethod
    def _got(name: str) -> Iterator[Reach]:
        """What a getter of attributes reaches, whatever object it is given."""
        for part in name.split("."):
            yield from _reaches(f"os.{part}")
            yield from _reaches(ATTRIBUTES.get(part, ""))

    def _program(self, node: ast.expr) -> Iterator[Reach]:
        """What a text that is run as code can reach."""
        text = self._folder.text(node)
        inner = parse(text) if text is not None else None
        if inner is None:
            yield Reach(Kind.EXECUTION, "")
        else:
            yield from reached(inner)

    def _folded(self, node: ast.AST) -> Iterator[tuple[str, int, bool]]:
        """Every text that the program holds or comes to, outermost expressions only."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue  # documentation
            if isinstance(child, ast.Compare) and _asks_for_main(child):
                continue
            if isinstance(child, ast.AugAssign) and (grown := self._folder.text(child.target)) is not None:
                yield grown, child.lineno, True
            text = self._folder.text(child) if isinstance(child, ast.expr) and not isinstance(child, ast.Name) else None
            if text is None:
                yield from self._folded(child)
            else:
                yield text, getattr(child, "lineno", 1), not isinstance(child, ast.Constant)


def _asks_for_main(node: ast.Compare) -> bool:
    """`__name__ == "__main__"`."""
    sides = [node.left, *node.comparators]
    names = [side for side in sides if isinstance(side, ast.Name) and side.id == "__name__"]
    texts = [side for side in sides if isinstance(side, ast.Constant) and side.value == "__main__"]
    return len(sides) == len(names) + len(texts)


def _same(name: str) -> str:
    """A name with the module that people know it by."""
    first, dot, rest = name.partition(".")
    return f"{SAME_MODULES.get(first, first)}{dot}{rest}"


def _reaches(name: str) -> Iterator[Reach]:
    for rule in RULES:
        if match := rule.pattern.match(name):
            yield Reach(rule.kind, match.group() if rule.is_fine else "")


def _of_text(text: str, *, asks: bool, is_computed: bool) -> Iterator[Reach]:
    plain = text.strip()
    if len(plain) <= _LONGEST_NAME and (TEST_WORDS.fullmatch(plain) or (is_computed and TEST_WORDS.search(plain))):
        yield Reach(Kind.RUNNER, "test")
    if PLACES.search(plain):
        yield Reach(Kind.PLACE, "")
    if asks and CI_NAMES.fullmatch(plain.strip("${}")):
        yield Reach(Kind.CI, "")
    if plain == "__main__":
        yield Reach(Kind.MAIN, "")
    if is_computed and HIDDEN.fullmatch(plain):
        yield Reach(Kind.HIDDEN, plain)
