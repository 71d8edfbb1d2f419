"""Static detection of capabilities: processes, network, frames, test runner, environment.

Names are resolved through imports, aliases, `getattr` and folded strings, so that their spelling
does not matter. The analysis is conservative: a capability counts if the program could use it.
"""

import ast
import sys
from collections.abc import Iterator
from typing import NamedTuple

from sandbox.changes.folding import ConstantFolder
from sandbox.changes.reachable import (
    ATTRIBUTES,
    BUILTINS,
    CALLERS,
    CI_NAMES,
    HIDDEN,
    MODULES,
    NAMED,
    PLACES,
    RULES,
    SAME_MODULES,
    TEST_WORDS,
    UIDS,
    CapabilityKind,
)
from sandbox.changes.syntax import parse

_LONGEST_NAME = 60
_LOOKING = frozenset({"getattr", "hasattr", "vars", "setattr", "delattr"})
_GETTERS = frozenset({"operator.attrgetter", "operator.methodcaller"})
_LISTING = frozenset({"os.listdir", "os.scandir", "os.stat", "os.lstat", "os.walk"})
_LOADING = frozenset({"pickle.loads", "_pickle.loads", "dill.loads", "cloudpickle.loads"})
_BY_NAME = frozenset(
    {CapabilityKind.PROCESS, CapabilityKind.SHELL, CapabilityKind.EXECUTION, CapabilityKind.FRAMES}
)
"""Kinds that a text can name for code that resolves it, such as a logging configuration."""


class Reach(NamedTuple):
    """One capability of a program."""

    kind: CapabilityKind
    detail: str
    """Distinguishes capabilities of one kind, if a file with one of them need not have the others.
    """


def find_capabilities(tree: ast.AST) -> dict[Reach, int]:
    """Return all capabilities of a program, each with its first line.

    Args:
        tree: The program.
    """
    found: dict[Reach, int] = {}
    for reach, line in _Reader(tree).read():
        found[reach] = min(line, found.get(reach, line))
    return found


class _Reader:
    """Analysis of one program.

    Args:
        tree: The program.
    """

    def __init__(self, tree: ast.AST) -> None:
        self._tree = tree
        self._nodes = list(ast.walk(tree))
        self._folder = ConstantFolder(self._nodes)
        self._aliases: dict[str, str] = {}
        for node in self._nodes:
            self._take_import(node)
        for _ in range(2):  # twice, to resolve an alias of an alias
            for node in self._nodes:
                self._take_alias(node)

    def read(self) -> Iterator[tuple[Reach, int]]:
        """Yield every capability with its line."""
        dotted: set[str] = set()
        for node in self._nodes:
            line = getattr(node, "lineno", 1)
            for name in self._names(node):
                dotted.add(name)
                yield from ((reach, line) for reach in _match_rules(name))
            yield from ((reach, line) for reach in self._shapes(node))
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, int)
                and node.value in UIDS
            ):
                yield Reach(CapabilityKind.PLACE, ""), line
        asks = any(
            name.startswith(("os.environ", "os.getenv", "os.path.expandvars")) for name in dotted
        )
        for text, line, is_computed in self._folded_texts(self._tree):
            yield from (
                (reach, line) for reach in _check_text(text, asks=asks, is_computed=is_computed)
            )
        yield from self._find_module_values()
        # A program beyond the evaluation limit may hide any name.
        if self._folder.is_exhausted:
            yield Reach(CapabilityKind.HIDDEN, ""), 1

    # --- names ------------------------------------------------------------------------------------

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
        """Record an alias such as `run = os.system`."""
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
        """Yield the dotted names that a node refers to."""
        match node:
            case ast.Import(names=names):
                yield from (_canonical_name(alias.name) for alias in names)
            case ast.ImportFrom(level=0, module=str() as module, names=names):
                yield _canonical_name(module)
                yield from (_canonical_name(f"{module}.{alias.name}") for alias in names)
            case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
                name = self._dotted(node)
                if name is not None:
                    yield name
            case _:
                pass

    def _dotted(self, node: ast.AST) -> str | None:
        """Return the dotted name of an expression, such as `os.system`; None if it is unknown."""
        match node:
            case ast.Name(id=name):
                return (
                    _canonical_name(self._aliases[name])
                    if name in self._aliases
                    else BUILTINS.get(name)
                )
            case ast.Attribute(value=owner, attr=name):
                return self._resolve_attribute(owner, name)
            case ast.NamedExpr(value=value):
                return self._dotted(value)
            case ast.Call(func=function, args=[first, *others]):
                return self._resolve_call(function, first, others)
            case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[owner]), slice=key):
                return self._resolve_attribute(owner, self._folder.text(key) or "__dict__")
            case ast.Subscript(value=ast.Attribute(value=owner, attr="__dict__"), slice=key):
                return self._resolve_attribute(owner, self._folder.text(key) or "__dict__")
            case _:
                return None

    def _resolve_call(
        self, function: ast.expr, first: ast.expr, others: list[ast.expr]
    ) -> str | None:
        """Resolve a call that returns an attribute or module by name, or a module's dictionary."""
        if self._is(function, "vars"):
            return self._resolve_attribute(first, "__dict__")
        if self._is(function, "type") and not others:
            return self._resolve_attribute(first, "__class__")
        if isinstance(function, ast.Attribute) and function.attr == "__getattribute__":
            first, others = (first, others) if others else (function.value, [first])
            return self._resolve_lookup(first, others[0])
        if others and (
            self._is(function, "getattr") or self._dotted(function) == "inspect.getattr_static"
        ):
            return self._resolve_lookup(first, others[0])
        if self._dotted(function) in {
            "__import__",
            "importlib.import_module",
            "importlib.__import__",
        }:
            name = self._folder.text(first)
            return _canonical_name(name) if name is not None else "a computed program"
        return None

    def _resolve_lookup(self, owner: ast.expr, key: ast.expr) -> str | None:
        """Resolve an attribute by a string."""
        name = self._folder.text(key)
        if name is not None:
            return self._resolve_attribute(owner, name)
        # An unknown attribute of a sensitive module may be any of its attributes.
        return "a computed attribute" if self._dotted(owner) in MODULES else None

    def _resolve_attribute(self, owner: ast.expr, name: str) -> str | None:
        if name in MODULES and not isinstance(owner, ast.Name):
            return name  # `logging.os` is os
        whole = self._dotted(owner)
        if whole is not None and name in MODULES:
            return name
        return f"{whole}.{name}" if whole is not None else ATTRIBUTES.get(name)

    @staticmethod
    def _is(function: ast.expr, name: str) -> bool:
        return isinstance(function, ast.Name) and function.id == name

    # --- shapes and texts -------------------------------------------------------------------------

    def _shapes(self, node: ast.AST) -> Iterator[Reach]:
        """Yield capabilities that the form of a node reveals."""
        match node:
            case ast.keyword(arg="shell", value=value):
                if not (isinstance(value, ast.Constant) and not value.value):
                    yield Reach(CapabilityKind.SHELL, "")
            case ast.ImportFrom(level=0, module=str() as module, names=[ast.alias(name="*")]):
                if _canonical_name(module) in MODULES:
                    yield Reach(CapabilityKind.REFLECTION, "*")
            case ast.Dict(keys=keys):
                if any(key is not None and self._folder.text(key) == "shell" for key in keys):
                    yield Reach(CapabilityKind.SHELL, "")
            case ast.Call(func=function, args=[name, *_]) if self._dotted(function) in _GETTERS:
                yield from self._check_getter(self._folder.text(name) or "")
            case ast.Call(func=ast.Name(id="eval" | "exec" | "compile"), args=[program, *_]):
                yield from self._program(program)
            case ast.Call():
                yield from self._call(node)
                yield from self._attributes(node)
            case _:
                yield from self._attributes(node)

    def _call(self, node: ast.Call) -> Iterator[Reach]:
        """Yield capabilities of a call that its arguments give it."""
        name = self._dotted(node.func)
        first = node.args[0] if node.args else None
        text = self._folder.text(first) if first is not None else None
        is_bytes = isinstance(first, ast.Constant) and isinstance(first.value, bytes)
        if name in _LISTING and text == "/":
            yield Reach(CapabilityKind.PLACE, "")
        if name in _LOADING and (is_bytes or text is not None):
            yield Reach(CapabilityKind.EXECUTION, "")
        if name == "os.fstat" and isinstance(first, ast.Constant):
            yield from _match_rules("a standard stream")
        # A caught warning names the file and the line of a caller.
        if name == "warnings.catch_warnings" and (first is not None or node.keywords):
            yield Reach(CapabilityKind.FRAMES, "")
        # It depends on the hash seed, and the seeds of a verdict's runs are known.
        if self._is(node.func, "hash") and (is_bytes or text is not None):
            yield from _match_rules("hash of a constant")

    def _attributes(self, node: ast.AST) -> Iterator[Reach]:
        """Yield capabilities of attributes that are assigned or matched by a pattern."""
        match node:
            case ast.MatchClass(kwd_attrs=names):
                yield from (reach for name in names for reach in self._check_getter(name))
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[owner, *_]):
                yield from self._check_patch(owner)
            case ast.Attribute(value=owner, ctx=ast.Store() | ast.Del()):
                yield from self._check_patch(owner)
            case _:
                pass

    def _find_module_values(self) -> Iterator[tuple[Reach, int]]:
        """Yield modules that are used as values, because their later uses cannot be followed."""
        plain: set[ast.AST] = set()
        for node in self._nodes:
            match node:
                case ast.Attribute(value=ast.Name() as owner):
                    plain.add(owner)
                case ast.Call(func=ast.Name(id=name), args=[ast.Name() as owner, *_]) if (
                    name in _LOOKING
                ):
                    plain.add(owner)
                case _:
                    pass
        for node in self._nodes:
            if (
                not isinstance(node, ast.Name)
                or node in plain
                or not isinstance(node.ctx, ast.Load)
            ):
                continue
            if self._dotted(node) in MODULES:
                yield Reach(CapabilityKind.REFLECTION, "value"), node.lineno

    def _check_patch(self, owner: ast.expr) -> Iterator[Reach]:
        """Yield an assignment to an attribute of a standard library module or class."""
        name = self._dotted(owner) or ""
        if name.split(".")[0] in sys.stdlib_module_names:
            yield Reach(CapabilityKind.PATCH, "")

    @staticmethod
    def _check_getter(name: str) -> Iterator[Reach]:
        """Yield what an attribute getter reaches on any object."""
        for part in name.split("."):
            yield from _match_rules(f"os.{part}")
            yield from _match_rules(ATTRIBUTES.get(part, ""))

    def _program(self, node: ast.expr) -> Iterator[Reach]:
        """Yield the capabilities of a string that runs as code."""
        text = self._folder.text(node)
        inner = parse(text) if text is not None else None
        if inner is None:
            yield Reach(CapabilityKind.EXECUTION, "")
        else:
            yield from find_capabilities(inner)

    def _folded_texts(self, node: ast.AST) -> Iterator[tuple[str, int, bool]]:
        """Yield every string constant or folded string expression, outermost expressions only."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue  # documentation
            # The usual `if __name__ == "__main__"` is no capability.
            if isinstance(child, ast.Compare) and _is_main_check(child):
                continue
            if (
                isinstance(child, ast.AugAssign)
                and (grown := self._folder.text(child.target)) is not None
            ):
                yield grown, child.lineno, True
            text = (
                self._folder.text(child)
                if isinstance(child, ast.expr) and not isinstance(child, ast.Name)
                else None
            )
            if text is None:
                yield from self._folded_texts(child)
            else:
                yield text, getattr(child, "lineno", 1), not isinstance(child, ast.Constant)


def _is_main_check(node: ast.Compare) -> bool:
    """Return True for the comparison `__name__ == "__main__"`."""
    sides = [node.left, *node.comparators]
    names = [side for side in sides if isinstance(side, ast.Name) and side.id == "__name__"]
    texts = [side for side in sides if isinstance(side, ast.Constant) and side.value == "__main__"]
    return len(sides) == len(names) + len(texts)


def _canonical_name(name: str) -> str:
    """Return a dotted name with its common module name."""
    first, dot, rest = name.partition(".")
    return f"{SAME_MODULES.get(first, first)}{dot}{rest}"


def _match_rules(name: str) -> Iterator[Reach]:
    for rule in RULES:
        if match := rule.pattern.match(name):
            yield Reach(rule.kind, match.group() if rule.is_fine else "")


def _check_text(text: str, *, asks: bool, is_computed: bool) -> Iterator[Reach]:
    plain = text.strip()
    if len(plain) <= _LONGEST_NAME and (
        TEST_WORDS.fullmatch(plain) or (is_computed and TEST_WORDS.search(plain))
    ):
        yield Reach(CapabilityKind.RUNNER, "test")
    if PLACES.search(plain):
        yield Reach(CapabilityKind.PLACE, "")
    if asks and CI_NAMES.fullmatch(plain.strip("${}")):
        yield Reach(CapabilityKind.CI, "")
    if plain == "__main__":
        yield Reach(CapabilityKind.MAIN, "")
    if is_computed and HIDDEN.fullmatch(plain):
        yield Reach(CapabilityKind.HIDDEN, plain)
    if CALLERS.search(plain):
        yield Reach(CapabilityKind.FRAMES, "")
    if NAMED.fullmatch(plain):
        meant = _match_rules(_canonical_name(plain.replace(":", ".")))
        yield from (reach for reach in meant if reach.kind in _BY_NAME)
