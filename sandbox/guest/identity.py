"""Whether a collected test is what its file says: the function that stands there under that name, at that line.

A conftest can put another function in a test's place before anybody sees the first one. The source tells: where a
module plainly defines a test (undecorated, or with marks only), the code that runs must begin there.
"""

import ast
import os
import sys
import sysconfig
from typing import Any, Dict, Optional, Tuple

_LARGEST = 2000000
_WRAPPERS = 20
STAR = "*"


class Origins:
    """Where the tests of a session come from. Made before anything of the repository is imported."""

    def __init__(self) -> None:
        self._realpath = os.path.realpath
        self._parse = ast.parse
        self._tables: Dict[str, Dict[str, int]] = {}
        roots = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
        self._trusted = tuple({self._realpath(root) + os.sep for root in roots} | {os.path.dirname(__file__) + os.sep})

    def exchanged(self, item: Any) -> bool:
        """Whether something else stands in the place of a test."""
        path = self._realpath(str(getattr(item, "path", None) or getattr(item, "fspath", "")))
        if not path.endswith(".py"):
            return False
        names = item.nodeid.split("[")[0].split("::")[1:]
        expected = self._table(path).get("::".join(name for name in names if name != "()"))
        if expected is None:
            return False
        code = self._code(getattr(item, "_obj", None) or getattr(item, "obj", None))
        return code is None or (self._realpath(code[0]), code[1]) != (path, expected)

    def _code(self, function: Any) -> Optional[Tuple[str, int]]:
        """Where the code begins, below wrappers of installed plugins, which say what they wrap."""
        for _ in range(_WRAPPERS):
            function = getattr(function, "__func__", function)
            code = getattr(function, "__code__", None)
            if code is None:
                return None
            inner = getattr(function, "__wrapped__", None)
            if inner is None or not self._realpath(code.co_filename).startswith(self._trusted):
                return code.co_filename, code.co_firstlineno
            function = inner
        return None

    def _table(self, path: str) -> Dict[str, int]:
        if path not in self._tables:
            try:
                with open(path, "rb") as file:
                    self._tables[path] = definitions(self._parse(file.read(_LARGEST)))
            except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
                self._tables[path] = {}
        return self._tables[path]


def definitions(tree: Any, above: str = "") -> Dict[str, int]:
    """The functions a module (or class) plainly defines once, with the line their code begins at."""
    lines: Dict[str, int] = {}
    seen: Dict[str, int] = {}
    for node in tree.body:
        bound = _bound(node)
        # What `import *` brings may stand in the place of everything above it.
        for name in set(seen) | bound if STAR in bound else bound:
            seen[name] = seen.get(name, 0) + 1
        if isinstance(node, ast.ClassDef):
            lines.update(definitions(node, above + node.name + "::"))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and all(map(_is_mark, node.decorator_list)):
            lines[above + node.name] = min([node.lineno] + [mark.lineno for mark in node.decorator_list])
    twice = {above + name for name, count in seen.items() if count > 1}
    return {name: line for name, line in lines.items() if name not in twice and name.split("::")[0] not in twice}


def _bound(node: Any) -> "set[str]":
    """The names a statement gives a meaning to; STAR for names that are not told."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    names = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            names.add(inner.id)
        elif isinstance(inner, ast.alias):
            names.add(inner.asname or inner.name.split(".")[0])
        else:
            name = getattr(inner, "name", None)  # of definitions, handlers of exceptions, patterns
            names |= {name} if isinstance(name, str) else set()
    return names


def _is_mark(decorator: Any) -> bool:
    """Whether it is `@pytest.mark.something`, which leaves the function as it is."""
    found = decorator.func if isinstance(decorator, ast.Call) else decorator
    while isinstance(found, ast.Attribute):
        if found.attr == "mark":
            return True
        found = found.value
    return False


def rewriting(modules: "Dict[str, Any] | None" = None) -> Dict[str, Any]:
    """The functions that turn a test's source into code; nobody has a reason to replace them."""
    found: Dict[str, Any] = {"compile": compile, "ast.parse": ast.parse}
    rewrite = (sys.modules if modules is None else modules).get("_pytest.assertion.rewrite")
    if rewrite is not None:
        found["rewrite_asserts"] = getattr(rewrite, "rewrite_asserts", None)
        hook = getattr(rewrite, "AssertionRewritingHook", None)
        for name in ("exec_module", "find_spec"):
            found["AssertionRewritingHook." + name] = hook.__dict__.get(name) if hook is not None else None
    return found
