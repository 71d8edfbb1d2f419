"""Functions as units of change: compiled alone with an edit in them, and their live objects given the new code."""

from __future__ import annotations

import ast
import gc
import types
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from sandbox.guest.search.source.loop_guard import heads_of, with_guards
from sandbox.guest.search.source.render import Edit, Source, first_line, functions_of, splice

LiveKey = Tuple[str, str, int]
"""File, name and first line of a code object."""
CodePath = Tuple[str, ...]
"""The names that lead to a code object inside a unit's."""
Swap = Tuple[types.FunctionType, types.CodeType]
LAMBDA = "<lambda>"


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
        if self.source.indent(classes[0] if classes else node):
            headers.insert(0, b"if 1:\n")  # it stands in an `if` or a `try` of the module, whose head takes a line too
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

    def live_keys(self) -> Dict[CodePath, LiveKey]:
        """Where the live objects of this function and of the functions inside it are to be found."""
        return {
            path: (self.filename, code.co_name, code.co_firstlineno)
            for path, code in self.originals.items()
            if code.co_name == LAMBDA or not code.co_name.startswith("<")
        }


def units_of(source: Source, filename: str) -> List[Unit]:
    """Every outermost function of a file that can be compiled alone."""
    units = (Unit(source, filename, classes, node) for classes, node in functions_of(source.tree))
    return [unit for unit in units if unit.originals]


def twin_in(source: Source, unit: Unit) -> Optional[Unit]:
    """The same function in another text of its file; of several with its name the one nearest to where it stood."""
    alike = (other for other in units_of(source, unit.filename) if other.names == unit.names)
    return min(alike, key=lambda other: abs(other.first_line - unit.first_line), default=None)


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


def code_paths(code: types.CodeType, path: CodePath = ()) -> Iterator[Tuple[CodePath, types.CodeType]]:
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


def signature(code: types.CodeType, *, instructions: bool = True) -> Tuple[Any, ...]:
    """What two equal code objects have in common; line numbers do not count.

    Args:
        code: One of them.
        instructions: Whether the bytecode counts.
    """
    constants = tuple(
        signature(c, instructions=instructions) if isinstance(c, types.CodeType) else (type(c).__name__, repr(c))
        for c in code.co_consts
    )
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    # The same instructions may belong to other parameters: `lambda a: a` and `lambda *a: a` differ in nothing else.
    taken = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return (code.co_code if instructions else b"", constants, names, taken)


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

    def takes(self, unit: Unit, code: types.CodeType, base: Optional[Unit] = None) -> bool:
        """Whether new code can be put into the function and into everything it made that is still alive.

        What was made while modules were imported holds cells of its own: its new code has to ask for the same ones,
        and there must be no doubt which part of the new code belongs to it. Only an import makes it anew otherwise.

        Args:
            unit: The edited function.
            code: Its new code.
            base: The unit of the file as it was imported, when `unit` comes from an edited copy.
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
        """Which function gets which code; functions whose closure holds other names keep theirs.

        So do those without a name that stay as they are; trials that change the outer function alone may share runs.

        Args:
            unit: The edited function.
            code: Its new code.
            base: The unit of the file as it was imported, when `unit` comes from an edited copy.
        """
        base = base or unit
        new = dict(code_paths(code))
        return [
            (function, new[path])
            for path, functions in self._living(base)[0].items()
            if path in new and (new[path].co_name != LAMBDA or signature(new[path]) != signature(base.originals[path]))
            for function in functions
            if _fits([function], new[path])
        ]

    def _living(self, unit: Unit) -> Tuple[Dict[CodePath, List[types.FunctionType]], Set[CodePath]]:
        """The live functions of each part of a unit, and the parts that may have some which cannot be told apart.

        Only functions without a name begin on the line of another: those of one line are told by their code.
        """
        living: Dict[CodePath, List[types.FunctionType]] = {}
        untold: Set[CodePath] = set()
        by_key: Dict[LiveKey, List[CodePath]] = {}
        for path, key in unit.live_keys().items():
            if key in self._found:
                by_key.setdefault(key, []).append(path)
        for key, paths in by_key.items():
            for function in self._found[key]:
                mine = paths if key[1] != LAMBDA else [p for p in paths if _same(function.__code__, unit.originals[p])]
                if len(mine) == 1:
                    living.setdefault(mine[0], []).append(function)
                else:
                    untold.update(paths)
        return living, untold


def _same(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether two code objects of one line come from the same place of it.

    Bytecode does not tell: calls of what the module imports become other instructions when a unit is compiled alone.
    """
    return signature(one, instructions=False) == signature(other, instructions=False) and ends_of(one) == ends_of(other)


def ends_of(code: types.CodeType) -> Tuple[Any, ...]:
    """Where the text of a function begins and ends; nothing before Python 3.11, or where that is not kept."""
    positions: Iterable[Any] = getattr(code, "co_positions", tuple)()
    known = [p for p in positions if None not in p and p[3]]  # the first instruction stands at column 0 of the line
    return (min((p[0], p[2]) for p in known), max((p[1], p[3]) for p in known)) if known else ()


def _fits(functions: Iterable[types.FunctionType], code: types.CodeType) -> bool:
    """Whether the cells of these functions are those that the code asks for, in its order."""
    return all(function.__code__.co_freevars == code.co_freevars for function in functions)


def _moved(old: Mapping[CodePath, types.CodeType], new: Mapping[CodePath, types.CodeType]) -> Set[CodePath]:
    """Places that may hold what stood at another: some of the same name came, went, or changed together."""
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
