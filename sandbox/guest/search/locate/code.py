"""Source files for fault localization, each read once."""

from __future__ import annotations

import ast
import os
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.source.functions import Unit, list_units
from sandbox.guest.search.source.outer_scope import OuterStatement, iterate_statements
from sandbox.guest.search.source.render import SourceFile

MOST_BYTES = 1_500_000
MOST_IMPORTED = 60
HOPS = 2
SIMPLE = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr, ast.Raise, ast.Assert,
    ast.Delete, ast.Import, ast.ImportFrom, ast.Pass, ast.Break, ast.Continue, ast.Global,
    ast.Nonlocal,
)  # fmt: skip


class CodeFile:
    """A source file with its functions, its statements outside them, and its nodes by line.

    Args:
        source: Its text and syntax tree.
        filename: Its absolute path.
    """

    def __init__(self, source: SourceFile, filename: str) -> None:
        self.source = source
        self._filename = filename
        self._units: Optional[List[Unit]] = None
        self.pieces: List[OuterStatement] = list(iterate_statements(source.tree.body))
        self._by_line: Dict[int, List[ast.AST]] = {}
        for node in ast.walk(source.tree):
            if hasattr(node, "lineno"):
                self._by_line.setdefault(node.lineno, []).append(node)

    @property
    def units(self) -> List[Unit]:
        """The outermost functions. Each is compiled, so they are computed at first use."""
        if self._units is None:
            self._units = list_units(self.source, self._filename)
        return self._units

    def on(self, line: int) -> Sequence[ast.AST]:
        """Return the nodes that start on a line."""
        return self._by_line.get(line, ())

    def unit_at(self, line: int) -> Optional[Unit]:
        """Return the outermost function around a line, or None."""
        return next((u for u in self.units if u.first_line <= line <= u.last_line), None)

    def statement_at(self, line: int) -> Optional[ast.stmt]:
        """Return the innermost statement around a line, or None."""
        best: Optional[ast.stmt] = None
        unit = self.unit_at(line)
        for node in ast.walk(unit.node) if unit else ():
            if isinstance(node, ast.stmt) and node.lineno <= line <= (
                node.end_lineno or node.lineno
            ):
                best = node if best is None or node.lineno >= best.lineno else best
        return best

    def imports(self) -> Iterator[Tuple[str, int, Sequence[str]]]:
        """Yield all imported modules of the file: name, leading dots, imported names."""
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.ImportFrom):
                yield node.module or "", node.level, [alias.name for alias in node.names]
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name, 0, ()


def read_files(root: str, hit: Iterable[str], known: Iterable[str]) -> Dict[str, CodeFile]:
    """Read the files that failing tests run, and the files of the checkout that these import.

    Args:
        root: The checkout.
        hit: Paths of files that failing tests run.
        known: Paths of all editable files that are imported in this process.
    """
    modules = Modules(known)
    files: Dict[str, CodeFile] = {}
    waiting = [(path, 0) for path in sorted(set(hit))]
    done: Set[str] = set()
    while waiting and len(done) < 400:
        path, hops = waiting.pop(0)
        if path in done or (hops and len(files) >= MOST_IMPORTED):
            continue
        done.add(path)
        file = read_file(root, path)
        if file is None:
            continue
        files[path] = file
        if hops < HOPS:
            waiting += [(found, hops + 1) for found in modules.imported_by(file)]
    return files


def read_file(root: str, path: str) -> Optional[CodeFile]:
    """Return a file, or None if it cannot be read or parsed."""
    filename = os.path.join(root, path)
    try:
        with open(filename, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        return CodeFile(SourceFile(path, data), filename) if len(data) <= MOST_BYTES else None
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def module_name(path: str) -> str:
    """Return the dotted path of a file from the root of the checkout.

    `src/pkg/mod.py` becomes `src.pkg.mod`, and `src/pkg/__init__.py` becomes `src.pkg`.
    """
    dotted = path[:-3].replace("/", ".")
    return dotted[: -len(".__init__")] if dotted.endswith(".__init__") else dotted


class Modules:
    """Files of the checkout by their import names.

    Args:
        paths: The paths of all files.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._places: Dict[str, str] = {module_name(path): path for path in sorted(paths)}
        self._by_last: Dict[str, List[str]] = {}
        for dotted in self._places:
            self._by_last.setdefault(dotted.rpartition(".")[2], []).append(dotted)

    def imported_by(self, file: CodeFile) -> List[str]:
        """Return the paths of the files that a file imports."""
        found: List[str] = []
        for name, level, taken in file.imports():
            for module in [name, *(f"{name}.{one}".strip(".") for one in taken)]:
                path = self.find(module, level, file.source.path)
                if path is not None:
                    found.append(path)
        return list(dict.fromkeys(found))

    def find(self, name: str, level: int, path: str) -> Optional[str]:
        """Return the path of a module that the file at `path` imports, or None."""
        if level:
            base = module_name(path).split(".")
            base = base[: len(base) - level + (1 if path.endswith("__init__.py") else 0)]
            return self._places.get(".".join([*base, *([name] if name else [])]))
        if name in self._places:
            return self._places[name]
        # The package root may be a folder of the checkout (`src`).
        ends = [
            dotted
            for dotted in self._by_last.get(name.rpartition(".")[2], ())
            if dotted.endswith("." + name)
        ]
        return (
            self._places[min(ends, key=lambda place: (place.count("."), place))] if ends else None
        )


def names_read(node: ast.AST) -> Dict[str, List[int]]:
    """Return the names that code reads and does not bind, with their lines.

    Attributes have a leading dot.
    """
    inside = list(ast.walk(node))
    stored = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    stored |= {n.arg for n in inside if isinstance(n, ast.arg)}
    names: Dict[str, List[int]] = {}
    for n in inside:
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id not in stored:
            names.setdefault(n.id, []).append(n.lineno)
        elif isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load):
            names.setdefault("." + n.attr, []).append(n.lineno)
    return names
