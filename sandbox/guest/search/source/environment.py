"""What is known about the names of a function: where they are bound, what they hold, what may be called how."""

from __future__ import annotations

import ast
from typing import Dict, List, Mapping, Optional, Sequence, Set, Tuple

from sandbox.guest.search.source import kinds
from sandbox.guest.search.source.bindings import BUILTINS, Binding, Bindings, Point
from sandbox.guest.search.source.inference import Inference, targets
from sandbox.guest.search.source.kinds import NOTHING, Kind, kind, union
from sandbox.guest.search.source.render import Source
from sandbox.guest.search.source.usage import usage_of
from sandbox.guest.search.source.world import Arity, World

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.AST


class Environment:
    """The names of one outermost function.

    Args:
        source: The file.
        root: The function.
        observed: What names held while tests ran: type names such as `int` or `list[str]`.
    """

    def __init__(self, source: Source, root: ast.AST, observed: Mapping[str, Tuple[str, ...]]) -> None:
        self.bindings = Bindings(root, source.tree)
        self._source = source
        self._observed = {name: kinds.of_observed(names) for name, names in observed.items()}
        self._usage = usage_of(root)
        self._kinds: Dict[Tuple[str, Tuple[Binding, ...]], Optional[Kind]] = {}
        self._at: Dict[Tuple[str, Point], Optional[Kind]] = {}
        self._bound: Dict[Tuple[str, Point], bool] = {}
        self._locals = frozenset(self.bindings.names)
        self._busy: Set[Binding] = set()
        self._known: Dict[Binding, Optional[Kind]] = {}
        self._defaults = _defaults(root)
        self._signatures = _signatures(source, root)
        self.world = World(self.kind_of, self.is_bound, self._is_local, self.arity_of)

    def names_at(self, point: Point) -> List[str]:
        """Names bound at a point."""
        return self.bindings.at(point)

    def kind_of(self, name: str, point: Point) -> Optional[Kind]:
        """What a name holds at a point."""
        at = (name, point)
        if at not in self._at:
            found = self._work_out_name(name, point)
            if self._busy:
                return found
            self._at[at] = found
        return self._at[at]

    def is_bound(self, name: str, point: Point) -> bool:
        """Whether reading a name at a point may work."""
        at = (name, point)
        if at not in self._bound:
            self._bound[at] = self.bindings.is_bound(name, point)
        return self._bound[at]

    def _work_out_name(self, name: str, point: Point) -> Optional[Kind]:
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

    def arity_of(self, function: ast.expr) -> Optional[Arity]:
        """How many arguments a function of this file takes."""
        if isinstance(function, ast.Name) and function.id not in self._locals:
            return self._signatures.get(function.id)
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return self._signatures.get(f"{function.value.id}.{function.attr}")
        return None

    def _is_local(self, name: str) -> bool:
        return name in self.bindings.globals or name in self._locals

    def _kind_of_binding(self, binding: Binding) -> Optional[Kind]:
        if binding in self._busy:
            return NOTHING
        if binding not in self._known:
            self._busy.add(binding)
            try:
                self._known[binding] = self._work_out(binding)
            finally:
                self._busy.discard(binding)
        return self._known[binding]

    def _work_out(self, binding: Binding) -> Optional[Kind]:
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
        inference = Inference(self.world, binding.start)
        if binding.how == "assigned":
            return _part(inference.of(binding.value), binding.path, binding.value)
        if binding.how in ("looped", "comprehended"):
            return self._of_loop(binding, inference)
        return None

    def _of_parameter(self, binding: Binding) -> Optional[Kind]:
        argument = binding.value
        promised = kinds.of_annotation(getattr(argument, "annotation", None))
        if promised is not None:
            return promised
        default = self._defaults.get(binding.name)
        if isinstance(default, ast.Constant) and isinstance(default.value, (bool, str, bytes)):
            return kinds.union([kinds.of_value(default.value)] * 2).but_unsure()  # type: ignore[union-attr]
        return None

    def _of_loop(self, binding: Binding, inference: Inference) -> Optional[Kind]:
        over = binding.value
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.args and len(binding.path) == 1:
            if over.func.id == "enumerate":
                return kinds.INT if binding.path == (0,) else _item(inference.of(over.args[0]))
            if over.func.id == "zip" and binding.path[0] < len(over.args):
                return _item(inference.of(over.args[binding.path[0]]))
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr == "items":
            base = inference.of(over.func.value)
            if base is not None and base.names == {"dict"} and binding.path in ((0,), (1,)):
                return base.item if binding.path == (0,) else base.value
        return _part(_item(inference.of(over)), binding.path, None)


def _item(found: Optional[Kind]) -> Optional[Kind]:
    return found.item if found is not None and found is not NOTHING else found


def _part(found: Optional[Kind], path: Sequence[int], value: Optional[ast.AST]) -> Optional[Kind]:
    """The kind of a part of what is unpacked."""
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
    found = dict(zip([a.arg for a in plain][len(plain) - len(arguments.defaults) :], arguments.defaults))
    found.update({a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None})
    return found


def _signatures(source: Source, root: ast.AST) -> Dict[str, Arity]:
    """Functions of the file by name, methods of the class around as `self.name`."""
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
    """Fewest and most positional arguments of a function; anything goes for a decorated one."""
    if node.decorator_list:
        return (0, 999)
    arguments = node.args
    plain = len(arguments.posonlyargs) + len(arguments.args)
    needed = plain - len(arguments.defaults) + sum(1 for default in arguments.kw_defaults if default is None)
    return (needed, 999 if arguments.vararg else plain)
