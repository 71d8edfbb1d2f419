"""Functions as units of change: compile one alone, and swap the code of live objects."""

from __future__ import annotations

import ast
import gc
import types
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from sandbox.guest.search.source.loop_guard import find_heads, with_guards
from sandbox.guest.search.source.render import (
    SourceFile,
    TextEdit,
    first_line,
    iterate_functions,
    splice,
)

LiveKey = Tuple[str, str, int]
"""File, name and first line of a code object."""
CodePath = Tuple[str, ...]
"""The path of names to a code object inside a unit."""
Swap = Tuple[types.FunctionType, types.CodeType]
LAMBDA = "<lambda>"


class Unit:
    """One outermost function of a file, which can be compiled alone.

    Args:
        source: The file.
        filename: Its absolute path as the interpreter knows it.
        classes: The classes around the function, outermost first.
        node: The function.
    """

    def __init__(
        self,
        source: SourceFile,
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
        self.loops = find_heads(source, node)
        headers = [self._header(c) for c in classes]
        if self.source.indent(classes[0] if classes else node):
            headers.insert(0, b"if 1:\n")  # the line of the `if` or `try` around it
        # Empty lines before the code keep its line numbers.
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

    def compile(self, edits: Sequence[TextEdit]) -> Optional[types.CodeType]:
        """Return the function's code with these edits, or None if it does not compile."""
        start, end = self._span
        if any(edit.start < start or edit.end > end for edit in edits):
            return None
        try:
            return self.compiled(self.text(edits))
        except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError):
            return None

    def text(self, edits: Sequence[TextEdit]) -> bytes:
        """Return the function's source with these edits.

        Copies of its classes are around it, and its line number is unchanged.
        """
        start, end = self._span
        shifted = tuple(TextEdit(edit.start - start, edit.end - start, edit.text) for edit in edits)
        return self._prefix + splice(self.source.data[start:end], shifted)

    def compiled(self, text: bytes | ast.Module) -> Optional[types.CodeType]:
        """Return the function's code in a source text; raises what `compile` raises."""
        code = compile(text, self.filename, "exec", self._flags, dont_inherit=True)
        return _find(code, self.names)

    def guarded(self, edits: Sequence[TextEdit], swaps: Sequence[Swap]) -> Sequence[Swap]:
        """Return the swaps of these edits, with a guard in every loop that may be endless."""
        if not self.loops:
            return swaps
        code = self.compile(with_guards(edits, self.loops))
        return swaps if code is None else match_swaps(swaps, code)

    def live_keys(self) -> Dict[CodePath, LiveKey]:
        """Return the keys of the live objects of this function and of its nested functions."""
        return {
            path: (self.filename, code.co_name, code.co_firstlineno)
            for path, code in self.originals.items()
            if code.co_name == LAMBDA or not code.co_name.startswith("<")
        }


def list_units(source: SourceFile, filename: str) -> List[Unit]:
    """Return every outermost function of a file that can be compiled alone."""
    units = (
        Unit(source, filename, classes, node) for classes, node in iterate_functions(source.tree)
    )
    return [unit for unit in units if unit.originals]


def find_twin(source: SourceFile, unit: Unit) -> Optional[Unit]:
    """Return the same function in another version of its file."""
    return nearest_twin(list_units(source, unit.filename), unit)


def nearest_twin(units: Sequence[Unit], unit: Unit) -> Optional[Unit]:
    """Return the unit with a function's name; of several, the one at the nearest line."""
    alike = (other for other in units if other.names == unit.names)
    return min(alike, key=lambda other: abs(other.first_line - unit.first_line), default=None)


def unit_around(
    source: SourceFile, edits: Sequence[TextEdit], units: Sequence[Unit]
) -> Optional[Unit]:
    """Return the function whose body contains all edits, or None."""
    for unit in units:
        if unit.source.path != source.path or unit.source.data != source.data:
            continue
        body = first_line(unit.node.body[0])
        start, end = unit.source.line_span(body, unit.last_line)
        if body > unit.node.lineno and all(
            start <= edit.start and edit.end <= end for edit in edits
        ):
            return unit
    return None


def code_paths(
    code: types.CodeType, path: CodePath = ()
) -> Iterator[Tuple[CodePath, types.CodeType]]:
    """Yield a code object and all nested code with its path; repeated names are numbered."""
    yield path, code
    seen: Dict[str, int] = {}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            count = seen[constant.co_name] = seen.get(constant.co_name, 0) + 1
            yield from code_paths(constant, (*path, f"{constant.co_name}#{count}"))


def match_swaps(swaps: Sequence[Swap], code: types.CodeType) -> Sequence[Swap]:
    """Return the swaps with the corresponding code objects of another version of the function."""
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
        # Python 3.12 wraps functions with type parameters in such a scope (PEP 695).
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


def signature(code: types.CodeType, *, instructions: bool = True) -> Tuple[Any, ...]:
    """Return a key that is equal for equal code objects; line numbers are ignored.

    Args:
        code: The code object.
        instructions: Include the bytecode.
    """
    constants = tuple(
        signature(c, instructions=instructions)
        if isinstance(c, types.CodeType)
        else (type(c).__name__, repr(c))
        for c in code.co_consts
    )
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    # Equal bytecode may have other parameters: `lambda a: a` and `lambda *a: a` differ only there.
    taken = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return (code.co_code if instructions else b"", constants, names, taken)


class LiveFunctions:
    """All function objects of this process by the origin of their code."""

    def __init__(self) -> None:
        self._found: Dict[LiveKey, List[types.FunctionType]] = {}
        self.add_new()

    def add_new(self) -> None:
        """Add the functions that are not frozen: those made since the last `gc.freeze`."""
        # The only way to find functions that closures, decorators and instances hold.
        for thing in gc.get_objects():
            if type(thing) is types.FunctionType:
                code = thing.__code__
                key = (code.co_filename, code.co_name, code.co_firstlineno)
                self._found.setdefault(key, []).append(thing)

    def has(self, unit: Unit) -> bool:
        """Return True if this process has a function made from this unit."""
        return any(key in self._found for key in unit.live_keys().values())

    def takes(self, unit: Unit, code: types.CodeType, base: Optional[Unit] = None) -> bool:
        """Return True if new code fits the function and all its live inner functions.

        Inner functions made during imports have cells of their own. Their new code must use the
        same cells, and must be identified without doubt. Otherwise only a new import can apply the
        edit.

        Args:
            unit: The edited function.
            code: Its new code.
            base: The unit as it was imported, if `unit` comes from an edited copy.
        """
        base = base or unit
        living, untold = self._living(base)
        if () not in living:
            return False
        if len(living) == 1 and not untold:
            return _fits(living[()], code)
        old, new = base.originals, dict(code_paths(code))
        if any(path not in new or signature(new[path]) != signature(old[path]) for path in untold):
            return False
        moved = _moved(old, new)
        return not any(
            path not in new
            or not _fits(functions, new[path])
            or any(path[:end] in moved for end in range(len(path) + 1))
            for path, functions in living.items()
        )

    def swaps(self, unit: Unit, code: types.CodeType, base: Optional[Unit] = None) -> List[Swap]:
        """Return the swaps for new code; functions with other closure names keep their code.

        Unchanged lambdas are left out too, so that trials that only change the outer function can
        share runs.

        Args:
            unit: The edited function.
            code: Its new code.
            base: The unit as it was imported, if `unit` comes from an edited copy.
        """
        base = base or unit
        new = dict(code_paths(code))
        return [
            (function, new[path])
            for path, functions in self._living(base)[0].items()
            if path in new
            and (
                new[path].co_name != LAMBDA
                or signature(new[path]) != signature(base.originals[path])
            )
            for function in functions
            if _fits([function], new[path])
        ]

    def _living(self, unit: Unit) -> Tuple[Dict[CodePath, List[types.FunctionType]], Set[CodePath]]:
        """Return the live functions of each part of a unit, and the unidentified parts.

        Only lambdas can start on the same line as another function; their code distinguishes them.
        """
        living: Dict[CodePath, List[types.FunctionType]] = {}
        untold: Set[CodePath] = set()
        by_key: Dict[LiveKey, List[CodePath]] = {}
        for path, key in unit.live_keys().items():
            if key in self._found:
                by_key.setdefault(key, []).append(path)
        for key, paths in by_key.items():
            for function in self._found[key]:
                mine = (
                    paths
                    if key[1] != LAMBDA
                    else [p for p in paths if _same(function.__code__, unit.originals[p])]
                )
                if len(mine) == 1:
                    living.setdefault(mine[0], []).append(function)
                else:
                    untold.update(paths)
        return living, untold


def _same(one: types.CodeType, other: types.CodeType) -> bool:
    """Return True if two code objects of one line come from the same place.

    Bytecode cannot tell: calls of imported names compile differently when a unit is compiled alone.
    """
    return signature(one, instructions=False) == signature(
        other, instructions=False
    ) and text_bounds(one) == text_bounds(other)


def text_bounds(code: types.CodeType) -> Tuple[Any, ...]:
    """Return the start and end of a function's text; empty before Python 3.11."""
    positions: Iterable[Any] = getattr(code, "co_positions", tuple)()
    known = [p for p in positions if None not in p and p[3]]  # the first instruction is at column 0
    return (min((p[0], p[2]) for p in known), max((p[1], p[3]) for p in known)) if known else ()


def _fits(functions: Iterable[types.FunctionType], code: types.CodeType) -> bool:
    """Return True if the functions' cells are those that the code uses, in its order."""
    return all(function.__code__.co_freevars == code.co_freevars for function in functions)


def _moved(
    old: Mapping[CodePath, types.CodeType], new: Mapping[CodePath, types.CodeType]
) -> Set[CodePath]:
    """Return paths that may refer to another function than before.

    Some functions of the same name were added, removed, or changed together.
    """
    rows: Dict[Tuple[CodePath, str], List[List[CodePath]]] = {}
    for at, codes in enumerate((old, new)):
        for path in codes:
            if path:
                row = rows.setdefault((path[:-1], path[-1].rpartition("#")[0]), [[], []])
                row[at].append(path)
    moved: Set[CodePath] = set()
    for before, after in rows.values():
        if len(before) != len(after):
            moved.update(before)
        elif len(before) > 1:
            changed = [path for path in before if signature(old[path]) != signature(new[path])]
            moved.update(changed if len(changed) > 1 else ())
    return moved
