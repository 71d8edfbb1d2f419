"""Prove that two texts of a Python test differ in layout and imports only, and do the same.

Imports of one block may be sorted, and imports that nothing uses may be removed. What looks unused
may be a fixture, a test or a plugin, so that only modules without effect on tests may go.
"""

import ast
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sandbox.changes.syntax import parse

_EFFECTS = frozenset(
    {
        "__main__", "antigravity", "idlelib", "lib2to3", "readline", "rlcompleter", "site", "test",
        "this", "turtledemo",
    }
)  # fmt: skip
_HARMLESS = (sys.stdlib_module_names | {"pytest"}) - _EFFECTS
"""Top-level modules whose import has no effect and which have no tests or fixtures."""
_TESTS = frozenset({"test", "tests"})
"""Packages with the tests of the standard library."""
_COLLECTED = ("test", "setup", "teardown", "pytest_", "pytestmark", "load_tests")
"""Beginnings, in lower case, of names that pytest or unittest use if a module has them."""
_BY_NAME = frozenset({"__dict__", "dir", "eval", "exec", "getmembers", "globals", "locals", "vars"})
"""Names with which code reads variables that it does not name."""
_SORTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.If)
"""Statements whose imports may be sorted. In `try`, the first failing import ends the block."""
_KEPT_FILES = frozenset({"conftest.py", "__init__.py"})
"""Files from which others import."""
_NOT_VARIABLES = frozenset({(ast.Attribute, "attr"), (ast.keyword, "arg"), (ast.Constant, "value")})
_READ_IN_TEXT = re.compile(r"(?<![\w.])\w+(?=\s*[.(\[])")
_EXPRESSION = re.compile(r"[\w.,|\[\]]+")
_WORD = re.compile(r"\w+")
_LINE_END = re.compile(r"\r\n|\r|\n")


class _Name(NamedTuple):
    """One imported name."""

    level: int
    module: str
    name: str
    """Empty for `import module`."""
    alias: str

    @property
    def bound(self) -> str:
        """Return the variable that it sets."""
        return self.alias or self.name or self.module.partition(".")[0]

    @property
    def target(self) -> tuple[int, str, str]:
        """Return the object to which it sets the variable."""
        is_package = not self.alias and not self.name
        return self.level, self.bound if is_package else self.module, self.name


_Place = tuple[int, str, int]
"""The number of a statement with a body, the body's name, and the count of statements before."""


class _Block(NamedTuple):
    """Imports without another statement between them."""

    owner: ast.AST
    statements: list[ast.Import | ast.ImportFrom]

    @property
    def names(self) -> list[_Name]:
        """Return all imported names."""
        return [name for statement in self.statements for name in _names(statement)]


def same_but_imports(path: str, old: str, new: str) -> bool:
    """Return True if two texts differ in layout, comments and harmless changes of imports only.

    Args:
        path: Path of the file.
        old: The text before; hostile.
        new: The text after; hostile.
    """
    before, after = parse(old), parse(new)
    if before is None or after is None:
        return False
    blocks, new_blocks = _take_blocks(before), _take_blocks(after)
    try:
        if ast.dump(before) != ast.dump(after):
            return False
    except RecursionError:
        return False
    removed: list[_Name] = []
    for place in blocks.keys() | new_blocks.keys():
        found = _removed(blocks.get(place), new_blocks.get(place))
        if found is None:
            return False
        removed += found
    if not removed:
        return True
    if posixpath.basename(path) in _KEPT_FILES or not path.endswith(".py"):
        return False
    used = _Used(after)
    kept = [n for b in new_blocks.values() if isinstance(b.owner, ast.Module) for n in b.names]
    modules = {prefix for name in kept if not name.level for prefix in _prefixes(name.module)}
    noted = _noted(old, blocks.values())
    return not used.by_name and all(
        name not in noted and name.bound not in used.names and _is_harmless(name, modules)
        for name in removed
    )


def _names(statement: ast.Import | ast.ImportFrom) -> Iterator[_Name]:
    for one in statement.names:
        if isinstance(statement, ast.Import):
            yield _Name(0, one.name, "", one.asname or "")
        else:
            yield _Name(statement.level, statement.module or "", one.name, one.asname or "")


def _take_blocks(tree: ast.Module) -> dict[_Place, _Block]:
    """Remove all imports from a tree and return them.

    Those of `__future__` stay: their place is fixed.
    """
    blocks: dict[_Place, _Block] = {}
    number = 0
    for node in list(ast.walk(tree)):
        for field, body in list(ast.iter_fields(node)):
            if not (isinstance(body, list) and body and isinstance(body[0], ast.stmt)):
                continue
            number += 1
            kept: list[ast.stmt] = []
            for statement in body:
                if _is_movable(statement):
                    place = number, field, len(kept)
                    blocks.setdefault(place, _Block(node, [])).statements.append(statement)
                else:
                    kept.append(statement)
            setattr(node, field, kept)
    return blocks


def _is_movable(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return statement.module != "__future__"
    return isinstance(statement, ast.Import)


def _removed(old: _Block | None, new: _Block | None) -> list[_Name] | None:
    """Return the names that a block loses; None if it changes in another way than by order."""
    if old is None:
        return None
    before, after = old.names, new.names if new is not None else []
    if before == after:
        return []
    targets: dict[str, tuple[int, str, str]] = {}
    for name in before:
        # The last import of a variable counts.
        if name.name == "*" or targets.setdefault(name.bound, name.target) != name.target:
            return None
    left = set(after)
    removed = [name for name in before if name not in left]
    # In a function, an import may be what is tested.
    may_lose = not removed or isinstance(old.owner, ast.Module)
    is_sorted = isinstance(old.owner, _SORTED) and left <= set(before)
    return removed if is_sorted and may_lose else None


def _noted(text: str, blocks: Iterable[_Block]) -> set[_Name]:
    """Return the names whose import has a comment, which may say why it is there."""
    lines = _LINE_END.split(text)
    return {
        name
        for block in blocks
        for statement in block.statements
        if any("#" in line for line in lines[statement.lineno - 1 : statement.end_lineno])
        for name in _names(statement)
    }


def _is_harmless(name: _Name, modules: set[str]) -> bool:
    """Return True if nothing but the variable is gone without an import."""
    if name.level or name.bound.lower().startswith(_COLLECTED):
        return False
    parts = name.module.split(".")
    if parts[0] in _HARMLESS:
        return _TESTS.isdisjoint(parts)
    # Of another module, a name may be a fixture or a test, and a module may be a plugin.
    return not name.name and name.module in modules


def _prefixes(module: str) -> Iterator[str]:
    parts = module.split(".")
    return (".".join(parts[: count + 1]) for count in range(len(parts)))


class _Used:
    """The variables that a program may read."""

    def __init__(self, tree: ast.Module) -> None:
        self.names: set[str] = set()
        attributes: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                attributes.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._add_text(node.value)
            for field, value in ast.iter_fields(node):
                if (type(node), field) in _NOT_VARIABLES:
                    continue
                values = value if isinstance(value, list) else [value]
                self.names.update(one for one in values if isinstance(one, str))
        self.by_name = not _BY_NAME.isdisjoint(self.names | attributes)
        """True if it may read variables that it does not name."""

    def _add_text(self, text: str) -> None:
        # As annotations, conditions and examples have them; the name of a variable alone, too.
        self.names.update(_READ_IN_TEXT.findall(text))
        if _EXPRESSION.fullmatch(text):
            self.names.update(_WORD.findall(text))
