"""Facts about the names of a function: bindings, inferred types and arities."""

from __future__ import annotations

import ast
from typing import Dict, List, Mapping, Optional, Sequence, Set, Tuple

from sandbox.guest.search.source import kinds
from sandbox.guest.search.source.bindings import BUILTINS, Binding, Bindings, Point
from sandbox.guest.search.source.inference import Inference, targets
from sandbox.guest.search.source.kinds import NOTHING, ValueKind, kind, union
from sandbox.guest.search.source.name_facts import Arity, NameFacts
from sandbox.guest.search.source.render import SourceFile
from sandbox.guest.search.source.usage import infer_usage

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.AST


class FunctionEnvironment:
    """The names of one outermost function.

    Args:
        source: The file.
        root: The function.
        observed: Type names of values while tests ran, such as `int` or `list[str]`.
    """

    def __init__(
        self, source: SourceFile, root: ast.AST, observed: Mapping[str, Tuple[str, ...]]
    ) -> None:
        self.bindings = Bindings(root, source.tree)
        self._source = source
        self._observed = {name: kinds.of_observed(names) for name, names in observed.items()}
        self._usage = infer_usage(root)
        self._kinds: Dict[Tuple[str, Tuple[Binding, ...]], Optional[ValueKind]] = {}
        self._at: Dict[Tuple[str, Point], Optional[ValueKind]] = {}
        self._bound: Dict[Tuple[str, Point], bool] = {}
        self._locals = frozenset(self.bindings.names)
        self._busy: Set[Binding] = set()
        self._known: Dict[Binding, Optional[ValueKind]] = {}
        self._defaults = _defaults(root)
        self._signatures = _signatures(source, root)
        self.name_facts = NameFacts(self.infer_kind, self.is_bound, self._is_local, self.find_arity)

    def names_at(self, point: Point) -> List[str]:
        """Return the names bound at a point."""
        return self.bindings.at(point)

    def infer_kind(self, name: str, point: Point) -> Optional[ValueKind]:
        """Return the type of a name at a point."""
        at = (name, point)
        if at not in self._at:
            found = self._work_out_name(name, point)
            if self._busy:
                return found
            self._at[at] = found
        return self._at[at]

    def is_bound(self, name: str, point: Point) -> bool:
        """Return True if reading a name at a point may succeed."""
        at = (name, point)
        if at not in self._bound:
            self._bound[at] = self.bindings.is_bound(name, point)
        return self._bound[at]

    def _work_out_name(self, name: str, point: Point) -> Optional[ValueKind]:
        if name in self._observed:
            return self._observed[name]
        found = tuple(self.bindings.of(name, point))
        if not found:
            unshadowed = name in BUILTINS and name not in self.bindings.globals
            return kind("type", "function") if unshadowed else None
        key = (name, found)
        if key not in self._kinds:
            made = union([self._kind_of_binding(binding) for binding in found])
            if any(binding in self._busy for binding in found):
                return made
            self._kinds[key] = self._usage.get(name) if made is None else made
        return self._kinds[key]

    def find_arity(self, function: ast.expr) -> Optional[Arity]:
        """Return the number of arguments that a function of this file accepts."""
        if isinstance(function, ast.Name) and function.id not in self._locals:
            return self._signatures.get(function.id)
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return self._signatures.get(f"{function.value.id}.{function.attr}")
        return None

    def _is_local(self, name: str) -> bool:
        return name in self.bindings.globals or name in self._locals

    def _kind_of_binding(self, binding: Binding) -> Optional[ValueKind]:
        if binding in self._busy:
            return NOTHING
        if binding not in self._known:
            self._busy.add(binding)
            try:
                self._known[binding] = self._work_out(binding)
            finally:
                self._busy.discard(binding)
        return self._known[binding]

    def _work_out(self, binding: Binding) -> Optional[ValueKind]:
        if binding.how == "parameter":
            return self._of_parameter(binding)
        if binding.how == "rest":
            return kind("tuple")
        if binding.how == "keywords":
            return kind("dict", item=kinds.STR)
        if binding.how == "defined":
            return kind("type" if isinstance(binding.value, ast.ClassDef) else "function")
        if binding.value is None or not isinstance(binding.value, ast.expr):
            return None
        inference = Inference(self.name_facts, binding.start)
        if binding.how == "assigned":
            return _part(inference.of(binding.value), binding.path, binding.value)
        if binding.how in ("looped", "comprehended"):
            return self._of_loop(binding, inference)
        return None

    def _of_parameter(self, binding: Binding) -> Optional[ValueKind]:
        argument = binding.value
        promised = kinds.of_annotation(getattr(argument, "annotation", None))
        if promised is not None:
            return promised
        default = self._defaults.get(binding.name)
        if isinstance(default, ast.Constant) and isinstance(default.value, (bool, str, bytes)):
            guessed = kinds.union([kinds.of_value(default.value)] * 2)
            return guessed.but_unsure() if guessed is not None else None
        return None

    def _of_loop(self, binding: Binding, inference: Inference) -> Optional[ValueKind]:
        over = binding.value
        if (
            isinstance(over, ast.Call)
            and isinstance(over.func, ast.Name)
            and over.args
            and len(binding.path) == 1
        ):
            if over.func.id == "enumerate":
                return kinds.INT if binding.path == (0,) else _item(inference.of(over.args[0]))
            if over.func.id == "zip" and binding.path[0] < len(over.args):
                return _item(inference.of(over.args[binding.path[0]]))
        if (
            isinstance(over, ast.Call)
            and isinstance(over.func, ast.Attribute)
            and over.func.attr == "items"
        ):
            base = inference.of(over.func.value)
            if base is not None and base.names == {"dict"} and binding.path in ((0,), (1,)):
                return base.item if binding.path == (0,) else base.value
        return _part(_item(inference.of(over)), binding.path, None)


def _item(found: Optional[ValueKind]) -> Optional[ValueKind]:
    return found.item if found is not None and found is not NOTHING else found


def _part(
    found: Optional[ValueKind], path: Sequence[int], value: Optional[ast.AST]
) -> Optional[ValueKind]:
    """Return the type of an unpacked part."""
    for _ in path:
        found = _item(found)
    if len(path) == 1 and isinstance(value, ast.Tuple) and path[0] < len(value.elts):
        constant = value.elts[path[0]]
        return kinds.of_value(constant.value) if isinstance(constant, ast.Constant) else None
    return found


def _defaults(root: ast.AST) -> Dict[str, ast.expr]:
    arguments = getattr(root, "args", None)
    if arguments is None:
        return {}
    plain = [*arguments.posonlyargs, *arguments.args]
    found = dict(
        zip([a.arg for a in plain][len(plain) - len(arguments.defaults) :], arguments.defaults)
    )
    found.update(
        {a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None}
    )
    return found


def _signatures(source: SourceFile, root: ast.AST) -> Dict[str, Arity]:
    """Return the arities of functions in the file, and of methods as `self.name`."""
    found: Dict[str, List[Arity]] = {}
    for node in source.tree.body:
        if isinstance(node, FUNCTIONS):
            found.setdefault(node.name, []).append(arity(node))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for name in targets(target, None):
                    found.setdefault(name, []).append((0, 999))
    place = source.places.get(root)
    around = place.parent if place else None
    if isinstance(around, ast.ClassDef):
        for node in around.body:
            if isinstance(node, FUNCTIONS):
                least, most = arity(node)
                bound = (0, 999) if node.decorator_list else (max(0, least - 1), most - 1)
                found.setdefault(f"self.{node.name}", []).append(bound)
    return {name: all_of[0] for name, all_of in found.items() if len(all_of) == 1}


def arity(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Arity:
    """Return the minimum and maximum of positional arguments; a decorated function accepts any."""
    if node.decorator_list:
        return (0, 999)
    arguments = node.args
    plain = len(arguments.posonlyargs) + len(arguments.args)
    needed = (
        plain
        - len(arguments.defaults)
        + sum(1 for default in arguments.kw_defaults if default is None)
    )
    return (needed, 999 if arguments.vararg else plain)
