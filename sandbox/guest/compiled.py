"""The expected code of test files, compiled with functions that no test can replace.

Assertion rewriting uses a private copy of pytest's module, which also replaces the one that pytest
would use: no file is compiled twice.
"""

import ast
import importlib.util
import marshal
import os
import sys
import sysconfig
import types
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

_REWRITER = "_pytest.assertion.rewrite"
_LARGEST = 4000000
# The test runners are no plugins, and neither are paths outside of the installed packages.
_RUNNERS = frozenset({"", "_pytest", "pytest", "pluggy", "py"})


class Compiled:
    """The compiled code of files. It must be created before anything of the repository is imported.

    Args:
        targets: Node ids or paths of files whose current text counts.
    """

    def __init__(self, targets: Iterable[str]) -> None:
        self._open, self._compile, self._realpath = open, compile, os.path.realpath
        self._dump, self._load = marshal.dumps, marshal.loads
        self._rewriter = _load_copy(sys.modules.get(_REWRITER))
        self._texts: Dict[str, bytes] = {}
        self._codes: Dict[str, List[Dict[Any, List[Any]]]] = {}
        self._whole: Set[str] = set()
        self._installed: Dict[int, Tuple[Any, bool]] = {}
        self.config: Any = None
        roots = [
            sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")
        ]
        self._roots = tuple({self._realpath(root) + os.sep for root in roots})
        self._packages = tuple(self._realpath(root) + os.sep for root in roots[2:])
        self._own = os.path.dirname(os.path.realpath(__file__)) + os.sep
        for target in targets:
            path = self._realpath(target.split("::")[0])
            text = self._read(path) if path.endswith(".py") else None
            if text is not None:
                self._texts[path] = text

    def install_rewriter(self) -> None:
        """Rewrite assertions with the private copy from now on, with pytest's result."""
        shared = sys.modules.get(_REWRITER)
        if self._rewriter is None or not hasattr(shared, "_rewrite_test"):
            return
        rewrite, remember = self._rewriter._rewrite_test, self._remember

        def _rewrite_test(fn: Any, config: Any) -> Any:
            path = self._realpath(str(fn))
            stamp, code = rewrite(fn, config)
            if path in self._texts:
                code = self._rewritten(str(fn), self._texts[path], config)
            remember(path, code)
            return stamp, code

        shared._rewrite_test = _rewrite_test  # type: ignore[union-attr]

    def text(self, path: str) -> Optional[bytes]:
        """Return the text of a file; for targets, the text at the start."""
        return self._texts[path] if path in self._texts else self._read(path)

    def holds(self, code: Any, path: str) -> bool:
        """Return True if a file compiles to this code, among other code."""
        place = (code.co_name, code.co_firstlineno)
        if self._has(path, place, code):
            return True
        if path in self._whole:
            return False
        self._whole.add(path)
        self._compile_all(path)
        return self._has(path, place, code)

    def is_installed(self, code: Any) -> bool:
        """Return True if a code object comes from a file of the environment.

        Its file name alone is no proof.
        """
        known = self._installed.get(id(code))
        if known is not None and known[0] is code:
            return known[1]
        path = self._realpath(code.co_filename)
        found = path.startswith((*self._roots, self._own)) and self.holds(code, path)
        self._installed[id(code)] = (code, found)
        return found

    def is_plugin(self, value: Any) -> bool:
        """Return True for a function of an installed package other than Python and pytest."""
        function = getattr(value, "__func__", getattr(value, "fget", value))
        code = getattr(function, "__code__", None)
        if not isinstance(code, types.CodeType):
            return False
        path = self._realpath(code.co_filename)
        package = next(
            (
                path[len(root) :].partition(os.sep)[0]
                for root in self._packages
                if path.startswith(root)
            ),
            "",
        )
        return package not in _RUNNERS and self.is_installed(code)

    def _has(self, path: str, place: Any, code: Any) -> bool:
        return any(
            code == other for codes in self._codes.get(path, ()) for other in codes.get(place, ())
        )

    def _remember(self, path: str, module: Any) -> None:
        """Store a copy, so that changes of code in memory do not change the reference."""
        found: Dict[Any, List[Any]] = {}
        waiting: List[Any] = [self._load(self._dump(module))]
        while waiting:
            code = waiting.pop()
            found.setdefault((code.co_name, code.co_firstlineno), []).append(code)
            waiting.extend(part for part in code.co_consts if isinstance(part, types.CodeType))
        self._codes.setdefault(path, []).append(found)

    def _compile_all(self, path: str) -> None:
        """Compile a file as Python does, and as pytest does."""
        text = self.text(path)
        if text is None:
            return
        try:
            self._remember(path, self._compile(text, path, "exec", dont_inherit=True))
            if self._rewriter is not None:
                self._remember(path, self._rewritten(path, text, self.config))
        except (ValueError, SyntaxError, RecursionError, MemoryError, AttributeError):
            return

    def _rewritten(self, path: str, text: bytes, config: Any) -> Any:
        tree: Any = self._compile(text, path, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        self._rewriter.rewrite_asserts(tree, text, path, config)
        return self._compile(tree, path, "exec", dont_inherit=True)

    def _read(self, path: str) -> Optional[bytes]:
        try:
            with self._open(path, "rb") as file:
                return file.read(_LARGEST)
        except OSError:
            return None


def _load_copy(module: Any) -> Any:
    """Load a module a second time, without a name in `sys.modules`."""
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    spec = importlib.util.spec_from_file_location(module.__name__, file)
    if spec is None or spec.loader is None:
        return None
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy
