"""Check that a collected test is the function that its file defines under that name, at that line.

A conftest can replace a test's function before anything else sees the first one. The source is the
reference: if a module plainly defines a test (undecorated, or with marks only), the code that runs
must be what that place compiles to.
"""

import ast
import os
import sys
import sysconfig
from typing import Any, Dict

_WRAPPERS = 20
STAR = "*"


class Origins:
    """The origins of a session's tests.

    It must be created before anything of the repository is imported.

    Args:
        compiled: The compiled code of files.
    """

    def __init__(self, compiled: Any) -> None:
        self._realpath = os.path.realpath
        self._parse = ast.parse
        self._compiled = compiled
        self._tables: Dict[str, Dict[str, int]] = {}
        self._paths: Dict[str, str] = {}
        roots = [
            sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")
        ]
        self._trusted = tuple(
            {self._realpath(root) + os.sep for root in roots} | {os.path.dirname(__file__) + os.sep}
        )

    def exchanged(self, item: Any) -> bool:
        """Return True if a pytest test differs from its file's definition."""
        path = str(getattr(item, "path", None) or getattr(item, "fspath", ""))
        names = item.nodeid.split("[")[0].split("::")[1:]
        name = "::".join(name for name in names if name != "()")
        return self.differs(getattr(item, "_obj", None) or getattr(item, "obj", None), path, name)

    def differs(self, function: Any, path: str, name: str) -> bool:
        """Return True if a file plainly defines another function under a name (`Class::name`)."""
        path = self._real(path)
        if not path.endswith(".py"):
            return False
        expected = self._table(path).get(name)
        if expected is None:
            return False
        function = self._innermost(function)
        code = getattr(function, "__code__", None)
        if code is None or (self._real(code.co_filename), code.co_firstlineno) != (path, expected):
            return True
        return not self._compiled.holds(code, path) or not self._sees_its_module(function)

    def _sees_its_module(self, function: Any) -> bool:
        """Return True if a function's globals are those of the imported module with that name."""
        names = function.__globals__
        module = sys.modules.get(names.get("__name__", ""))
        return (
            module is None
            or vars(module) is names
            or getattr(module, "__file__", None) != names.get("__file__")
        )

    def _innermost(self, function: Any) -> Any:
        """Return the function inside the wrappers of installed plugins."""
        for _ in range(_WRAPPERS):
            function = getattr(function, "__func__", function)
            code = getattr(function, "__code__", None)
            inner = getattr(function, "__wrapped__", None)
            if (
                code is None
                or inner is None
                or not self._real(code.co_filename).startswith(self._trusted)
            ):
                return function
            function = inner
        return None

    def _real(self, path: str) -> str:
        """Return the real path, cached."""
        if path not in self._paths:
            self._paths[path] = self._realpath(path)
        return self._paths[path]

    def _table(self, path: str) -> Dict[str, int]:
        if path not in self._tables:
            try:
                self._tables[path] = definitions(self._parse(self._compiled.text(path) or b""))
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                self._tables[path] = {}
        return self._tables[path]


def definitions(tree: Any, above: str = "") -> Dict[str, int]:
    """Return the functions that a module (or class) plainly defines once, with their first line."""
    lines: Dict[str, int] = {}
    seen: Dict[str, int] = {}
    for node in tree.body:
        bound = _bound_names(node)
        # An `import *` may replace everything above it.
        for name in set(seen) | bound if STAR in bound else bound:
            seen[name] = seen.get(name, 0) + 1
        if isinstance(node, ast.ClassDef):
            lines.update(definitions(node, above + node.name + "::"))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and all(
            map(_is_mark, node.decorator_list)
        ):
            lines[above + node.name] = min(
                [node.lineno] + [mark.lineno for mark in node.decorator_list]
            )
    twice = {above + name for name, count in seen.items() if count > 1}
    return {
        name: line
        for name, line in lines.items()
        if name not in twice and name.split("::")[0] not in twice
    }


def _bound_names(node: Any) -> "set[str]":
    """Return the names that a statement binds; STAR for unknown names."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    names = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            names.add(inner.id)
        elif isinstance(inner, ast.alias):
            names.add(inner.asname or inner.name.split(".")[0])
        else:
            name = getattr(inner, "name", None)  # of definitions, exception handlers, patterns
            names |= {name} if isinstance(name, str) else set()
    return names


def _is_mark(decorator: Any) -> bool:
    """Return True for `@pytest.mark.something`, which returns the function unchanged."""
    found = decorator.func if isinstance(decorator, ast.Call) else decorator
    while isinstance(found, ast.Attribute):
        if found.attr == "mark":
            return True
        found = found.value
    return False


def compiling_functions(modules: "Dict[str, Any] | None" = None) -> Dict[str, Any]:
    """Return the functions that compile a test's source.

    There is no legitimate reason to replace them.
    """
    found: Dict[str, Any] = {"compile": compile, "ast.parse": ast.parse}
    rewrite = (sys.modules if modules is None else modules).get("_pytest.assertion.rewrite")
    if rewrite is not None:
        for name in ("rewrite_asserts", "_rewrite_test"):
            found[name] = getattr(rewrite, name, None)
        hook = getattr(rewrite, "AssertionRewritingHook", None)
        for name in ("exec_module", "find_spec"):
            found["AssertionRewritingHook." + name] = (
                hook.__dict__.get(name) if hook is not None else None
            )
    return found
