"""The context of a function: its class, enclosing loops and handlers, signatures, exceptions."""

from __future__ import annotations

import ast
import builtins
from functools import cached_property
from typing import Dict, List, Optional, Sequence, Tuple

from sandbox.guest.search.source.render import SourceFile

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)

EXCEPTION_KIN: Sequence[Tuple[str, ...]] = (
    ("KeyError", "IndexError", "LookupError"),
    ("ValueError", "TypeError"),
    ("AttributeError", "TypeError"),
    ("AttributeError", "KeyError"),
    ("KeyError", "ValueError"),
    ("IndexError", "ValueError"),
    ("ImportError", "ModuleNotFoundError"),
    ("OSError", "FileNotFoundError", "PermissionError", "IOError"),
    ("UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError", "ValueError"),
    ("RuntimeError", "NotImplementedError", "RecursionError", "ValueError"),
    ("ArithmeticError", "ZeroDivisionError", "OverflowError", "ValueError"),
    ("StopIteration", "StopAsyncIteration", "RuntimeError"),
    ("AssertionError", "ValueError"),
    ("Exception", "BaseException"),
)
"""Groups of built-in exceptions that are often confused."""


class FunctionContext:
    """The context of one outermost function.

    Args:
        source: The file.
        root: The function or the module.
        expected: Names of exceptions that the failing tests expect.
    """

    def __init__(self, source: SourceFile, root: ast.AST, expected: Sequence[str]) -> None:
        self._source = source
        self._root = root
        place = source.places.get(root)
        self.owner: Optional[ast.ClassDef] = None
        """The class of the method."""
        if place is not None and isinstance(place.parent, ast.ClassDef):
            self.owner = place.parent
        self.self_name = self._self_name()
        self.members = self._members()
        self.exceptions = self._exceptions(expected)
        if "raised" not in source.notes:
            raised = [n.exc for n in self._raises() if n.exc is not None]
            source.notes["raised"] = (
                [ast.unparse(e) for e in raised] if hasattr(ast, "unparse") else []
            )
        self.raised: List[str] = source.notes["raised"]

    def around(self, node: ast.AST, kinds: Tuple[type, ...]) -> Optional[ast.AST]:
        """Return the innermost node of these types around a node, within the same function."""
        while node is not self._root and node in self._source.places:
            node = self._source.places[node].parent
            if isinstance(node, kinds):
                return node
            if isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                return None
        return None

    def function_around(self, node: ast.AST) -> ast.AST:
        """Return the innermost function around a node."""
        while node in self._source.places and node is not self._root:
            node = self._source.places[node].parent
            if isinstance(node, FUNCTIONS):
                return node
        return self._root

    def find_signature(self, call: ast.Call) -> List[str]:
        """Return the parameters of a called function of this file, or method of this class."""
        function = call.func
        if isinstance(function, ast.Name):
            return self._signature(function.id, self._source.tree.body, skip=0)
        if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
            return []
        if function.value.id == self.self_name and self.owner is not None:
            return self._signature(function.attr, self.owner.body, skip=1)
        return []

    def attributes_read(self, name: str) -> Tuple[List[str], List[str]]:
        """Return the attributes that the file reads from this name, and from other names."""
        near = self._attributes.get(name, {})
        far = {a: n for a, n in self._all_attributes.items() if a not in near and n > 0}
        by_use = [sorted(found, key=lambda a: (-found[a], a)) for found in (near, far)]
        return by_use[0], by_use[1]

    @cached_property
    def _attributes(self) -> Dict[str, Dict[str, int]]:
        """The number of reads of each attribute, without calls, by the name before it."""
        found: Dict[str, Dict[str, int]] = {}
        for node in self._source.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                place = self._source.places[node]
                called = isinstance(place.parent, ast.Call) and place.field == "func"
                owner = getattr(node.value, "attr", getattr(node.value, "id", ""))
                counts = found.setdefault(owner, {})
                counts[node.attr] = counts.get(node.attr, 0) + (0 if called else 1)
        return found

    @cached_property
    def _all_attributes(self) -> Dict[str, int]:
        total: Dict[str, int] = {}
        for counts in self._attributes.values():
            for name, count in counts.items():
                total[name] = total.get(name, 0) + count
        return total

    def _signature(self, name: str, body: Sequence[ast.stmt], skip: int) -> List[str]:
        for node in body:
            if isinstance(node, FUNCTIONS) and node.name == name:
                static = any(getattr(d, "id", "") == "staticmethod" for d in node.decorator_list)
                plain = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
                return plain[0 if static else skip :] + [a.arg for a in node.args.kwonlyargs]
            if isinstance(node, ast.ClassDef) and node.name == name:
                return self._signature("__init__", node.body, skip=1) or _fields(node)
        return []

    def _self_name(self) -> str:
        if self.owner is None or not isinstance(self._root, FUNCTIONS):
            return ""
        plain = [*self._root.args.posonlyargs, *self._root.args.args]
        static = any(getattr(d, "id", "") == "staticmethod" for d in self._root.decorator_list)
        return plain[0].arg if plain and not static else ""

    def _members(self) -> List[str]:
        """Return attributes and methods of the enclosing class, in source order."""
        if self.owner is None:
            return []
        found: List[str] = []
        for node in self.owner.body:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                found.append(node.name)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found += [t.id for t in targets if isinstance(t, ast.Name)]
        for inner in ast.walk(self.owner):
            if (
                isinstance(inner, ast.Attribute)
                and isinstance(inner.value, ast.Name)
                and inner.value.id == "self"
            ):
                found.append(inner.attr)
        return [name for name in dict.fromkeys(found) if not name.startswith("__")]

    def _raises(self) -> List[ast.Raise]:
        return [n for n in self._source.nodes if isinstance(n, ast.Raise) and n.exc is not None]

    def _exceptions(self, expected: Sequence[str]) -> List[str]:
        """Return names of exceptions in the failing tests, then of those in the file."""
        found = list(expected)
        for node in self._source.nodes:
            if isinstance(node, ast.Raise) and node.exc is not None:
                found += _names(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
            elif isinstance(node, ast.ExceptHandler) and node.type is not None:
                found += _names(node.type)
            elif isinstance(node, ast.ClassDef) and node.name.endswith(
                ("Error", "Exception", "Warning")
            ):
                found.append(node.name)
        return list(dict.fromkeys(found))[:14]


def _names(node: ast.AST) -> List[str]:
    if isinstance(node, ast.Tuple):
        return [name for element in node.elts for name in _names(element)]
    if isinstance(node, ast.Name):
        return [node.id] if node.id[:1].isupper() else []
    if (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.attr[:1].isupper()
    ):
        return [f"{node.value.id}.{node.attr}"]
    return []


def _fields(node: ast.ClassDef) -> List[str]:
    """Return the fields of a dataclass or named tuple."""
    return [
        s.target.id
        for s in node.body
        if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    ]


def kin_of_exception(name: str) -> List[str]:
    """Return built-in exceptions that are confused with this one, and its parents."""
    found = [other for group in EXCEPTION_KIN if name in group for other in group if other != name]
    known = getattr(builtins, name, None)
    if isinstance(known, type) and issubclass(known, Exception):
        found += [parent.__name__ for parent in known.__mro__[1:-2] if parent is not BaseException]
    return list(dict.fromkeys(found))
