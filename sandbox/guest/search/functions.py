"""Functions as units of change: compiled alone with an edit in them, and their live objects given the new code."""

from __future__ import annotations

import ast
import gc
import types
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from sandbox.guest.search.loop_guard import heads_of, with_guards
from sandbox.guest.search.render import Edit, Source, first_line, functions_of, splice

LiveKey = Tuple[str, str, int]
"""File, name and first line of a code object."""
Swap = Tuple[types.FunctionType, types.CodeType]


class Unit:
    """One outermost function of a file, and how to compile it alone.

    Args:
        source: The file.
        filename: Its absolute path, as the interpreter knows it.
        classes: The classes around the function, outermost first.
        node: The function.
    """

    def __init__(
        self,
        source: Source,
        filename: str,
        classes: Sequence[ast.ClassDef],
        node: ast.FunctionDef | ast.AsyncFunctionDef,
    ) -> None:
        self.source = source
        self.filename = filename
        self.node = node
        self.first_line = first_line(node)
        self.last_line = node.end_lineno or node.lineno
        self.names = (*(c.name for c in classes), node.name)
        self._span = source.line_span(self.first_line, self.last_line)
        self._flags = _future_flags(source.tree)
        self.loops = heads_of(source, node)
        headers = [self._header(c) for c in classes]
        self._prefix = b"\n" * (self.first_line - 1 - len(headers)) + b"".join(headers)
        original = self.compile(())
        self.originals = dict(code_paths(original)) if original else {}

    def _header(self, node: ast.ClassDef) -> bytes:
        indent = self.source.indent(node) or ""
        return f"{indent}class {node.name}:\n".encode()

    @property
    def qualified_name(self) -> str:
        """`Class.method` or `function`."""
        return ".".join(self.names)

    def compile(self, edits: Sequence[Edit]) -> Optional[types.CodeType]:
        """The function's code with these edits, or None when that is not Python."""
        start, end = self._span
        if any(edit.start < start or edit.end > end for edit in edits):
            return None
        try:
            return self.compiled(self.text(edits))
        except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError):
            return None

    def text(self, edits: Sequence[Edit]) -> bytes:
        """The function's lines with these edits, in classes of its own, at its own line."""
        start, end = self._span
        shifted = tuple(Edit(edit.start - start, edit.end - start, edit.text) for edit in edits)
        return self._prefix + splice(self.source.data[start:end], shifted)

    def compiled(self, text: bytes | ast.Module) -> Optional[types.CodeType]:
        """The function's code in such a text; raises what `compile` does."""
        code = compile(text, self.filename, "exec", self._flags, dont_inherit=True)
        return _find(code, self.names)

    def guarded(self, edits: Sequence[Edit], swaps: Sequence[Swap]) -> Sequence[Swap]:
        """The swaps of these edits, with a guard in every loop that can turn without end."""
        if not self.loops:
            return swaps
        code = self.compile(with_guards(edits, self.loops))
        return swaps if code is None else matched(swaps, code)

    def live_keys(self) -> Dict[Tuple[str, ...], LiveKey]:
        """Where the live objects of this function and of the functions inside it are to be found."""
        return {
            path: (self.filename, code.co_name, code.co_firstlineno)
            for path, code in self.originals.items()
            if not code.co_name.startswith("<")
        }


def units_of(source: Source, filename: str) -> List[Unit]:
    """Every outermost function of a file that can be compiled alone."""
    units = (Unit(source, filename, classes, node) for classes, node in functions_of(source.tree))
    return [unit for unit in units if unit.originals]


def unit_around(source: Source, edits: Sequence[Edit], units: Sequence[Unit]) -> Optional[Unit]:
    """The function in whose body all edits are."""
    for unit in units:
        if unit.source.path != source.path or unit.source.data != source.data:
            continue
        body = first_line(unit.node.body[0])
        start, end = unit.source.line_span(body, unit.last_line)
        if body > unit.node.lineno and all(start <= edit.start and edit.end <= end for edit in edits):
            return unit
    return None


def code_paths(code: types.CodeType, path: Tuple[str, ...] = ()) -> Iterator[Tuple[Tuple[str, ...], types.CodeType]]:
    """A code object and all code inside it, by the names that lead there (a number where names repeat)."""
    yield path, code
    seen: Dict[str, int] = {}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            count = seen[constant.co_name] = seen.get(constant.co_name, 0) + 1
            yield from code_paths(constant, (*path, f"{constant.co_name}#{count}"))


def matched(swaps: Sequence[Swap], code: types.CodeType) -> Sequence[Swap]:
    """The swaps, with what stands at the same places inside another version of the function."""
    outer = next((old for _, old in swaps if _same_place(old, code)), None)
    if outer is None:
        return swaps
    places = {id(old): path for path, old in code_paths(outer)}
    new = dict(code_paths(code))
    if any(places.get(id(old)) not in new for _, old in swaps):
        return swaps
    return [(function, new[places[id(old)]]) for function, old in swaps]


def _same_place(one: types.CodeType, other: types.CodeType) -> bool:
    return one.co_name == other.co_name and one.co_firstlineno == other.co_firstlineno


def _find(code: types.CodeType, names: Sequence[str]) -> Optional[types.CodeType]:
    for constant in code.co_consts:
        if not isinstance(constant, types.CodeType):
            continue
        if constant.co_name == names[0]:
            return constant if len(names) == 1 else _find(constant, names[1:])
        if constant.co_name.startswith("<generic parameters"):
            return _find(constant, names)
    return None


def _future_flags(tree: ast.Module) -> int:
    import __future__

    flags = 0
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
    return flags


def signature(code: types.CodeType) -> Tuple[Any, ...]:
    """What two equal code objects have in common; line numbers do not count."""
    constants = tuple(
        signature(c) if isinstance(c, types.CodeType) else (type(c).__name__, repr(c)) for c in code.co_consts
    )
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)


class LiveFunctions:
    """All function objects of this process, by where their code comes from."""

    def __init__(self) -> None:
        self._found: Dict[LiveKey, List[types.FunctionType]] = {}
        for thing in gc.get_objects():
            if type(thing) is types.FunctionType:
                code = thing.__code__
                key = (code.co_filename, code.co_name, code.co_firstlineno)
                self._found.setdefault(key, []).append(thing)

    def has(self, unit: Unit) -> bool:
        """Whether this process holds a function made from this unit."""
        return any(key in self._found for key in unit.live_keys().values())

    def outer(self, unit: Unit) -> List[types.FunctionType]:
        """The live objects of the function itself."""
        keys = unit.live_keys()
        return self._found.get(keys[()], []) if () in keys else []

    def swaps(self, unit: Unit, code: types.CodeType, base: Optional[Unit] = None) -> List[Swap]:
        """Which function gets which code; functions whose closure has another size keep theirs.

        Args:
            unit: The edited function.
            code: Its new code.
            base: The unit of the file as it was imported, when `unit` comes from an edited copy.
        """
        new = dict(code_paths(code))
        swaps: List[Swap] = []
        for path, key in (base or unit).live_keys().items():
            if path not in new:
                continue
            size = len(new[path].co_freevars)
            found = self._found.get(key, ())
            swaps += [(function, new[path]) for function in found if len(function.__code__.co_freevars) == size]
        return swaps
