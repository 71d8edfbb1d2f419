"""Expressions that may be evaluated speculatively: free of side effects by syntax and operands."""

from __future__ import annotations

import ast
import collections
import types
from typing import Any, Callable, Dict, List, Set, Tuple

from sandbox.guest.search.process.peek import is_a

OPERAND, GET, METHOD, PURE_CALL = (
    "__metaagent_operand__",
    "__metaagent_get__",
    "__metaagent_method__",
    "__metaagent_function__",
)
"""Names, among the builtins of a child, of the checks that are compiled into alternatives."""

PURE_FUNCTIONS = frozenset((
    "abs", "all", "any", "bool", "bytes", "chr", "complex", "dict", "divmod", "float", "frozenset",
    "hex", "int", "isinstance", "len", "list", "max", "min", "oct", "ord", "repr", "round", "set",
    "sorted", "str", "sum", "tuple", "range", "type",
))  # fmt: skip
PURE_METHODS = frozenset((
    "bit_length", "capitalize", "casefold", "ceil", "copysign", "count", "encode", "decode",
    "endswith", "expandtabs", "fabs", "factorial", "find", "floor", "fmod", "format", "gcd", "get",
    "hypot", "index", "isalnum", "isalpha", "isascii", "isclose", "isdecimal", "isdigit",
    "isdisjoint", "isidentifier", "islower", "isnumeric", "isspace", "issubset", "issuperset",
    "istitle", "isupper", "join", "ljust", "log", "lower", "lstrip", "partition", "replace",
    "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "sqrt",
    "startswith", "strip", "swapcase", "title", "trunc", "upper", "zfill", "center", "intersection",
    "union", "difference", "copy", "keys", "values", "items", "is_integer", "conjugate",
    "removeprefix", "removesuffix",
))  # fmt: skip
PURE_MODULES = ("math", "cmath")
PLAIN = frozenset((
    type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset,
    range, slice, type(Ellipsis), type(NotImplemented), collections.deque, collections.OrderedDict,
    type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType,
))  # fmt: skip
"""Types whose operators run no repository code, except through their elements."""
WITH_METHODS = frozenset(
    (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range)
)
OPERATORS = frozenset((
    "__bool__", "__len__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__",
    "__contains__", "__getitem__", "__iter__", "__next__", "__index__", "__int__", "__float__",
    "__complex__", "__round__", "__abs__", "__neg__", "__pos__", "__invert__", "__add__", "__sub__",
    "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__", "__matmul__", "__and__",
    "__or__", "__xor__", "__lshift__", "__rshift__", "__radd__", "__rsub__", "__rmul__",
    "__rtruediv__", "__rfloordiv__", "__rmod__",
))  # fmt: skip
"""Methods by which a class runs code on an operator."""
FRESH = (ast.Constant, ast.BinOp, ast.Compare, ast.JoinedStr)
"""Expressions whose results are plain if their operands are."""


class Impure(Exception):
    """The expression may have a side effect, or may be too expensive to evaluate speculatively."""


class Unsafe(BaseException):
    """An operand may run repository code."""


class Checks:
    """The checks that run inside alternatives, with a cache of checked types."""

    def __init__(self) -> None:
        self._fine: Set[type] = set(PLAIN)
        self._attributes: Dict[Tuple[type, str], bool] = {}
        self._functions = {name: _builtin(name) for name in PURE_FUNCTIONS}

    def names(self) -> Dict[str, Callable[..., Any]]:
        """Return the checks by name."""
        return {OPERAND: self.operand, GET: self.get, METHOD: self.method, PURE_CALL: self.function}

    def operand(self, value: Any) -> Any:
        """Return a value whose operators are safe to use."""
        kind = type(value)
        if kind in self._fine:
            return value
        if not _has_no_operators(kind):
            raise Unsafe
        self._fine.add(kind)
        return value

    def get(self, value: Any, name: str) -> Any:
        """Return an attribute whose look-up runs no code."""
        key = (type(value), name)
        if is_a(value, (type, types.ModuleType)):
            known = _plainly_held(value, name)
        elif key in self._attributes:
            known = self._attributes[key]
        else:
            known = self._attributes[key] = _plain_attribute(key[0], name)
        if not known:
            raise Unsafe
        return getattr(value, name)

    def method(self, value: Any, name: str) -> Any:
        """Return a method that changes nothing."""
        if type(value) in WITH_METHODS or (
            type(value) is types.ModuleType and value.__name__ in PURE_MODULES
        ):
            return getattr(value, name)
        raise Unsafe

    def function(self, value: Any, name: str) -> Any:
        """Return a builtin function that changes nothing."""
        if value is not self._functions[name]:
            raise Unsafe
        return value


def _builtin(name: str) -> Any:
    import builtins

    return getattr(builtins, name)


def _has_no_operators(kind: type) -> bool:
    return type(kind) is type and not any(
        name in OPERATORS
        for parent in kind.__mro__
        if parent is not object
        for name in vars(parent)
    )


def _plain_attribute(kind: type, name: str) -> bool:
    """Return True if the look-up on an instance of this type runs no code."""
    if kind not in PLAIN and any(
        "__getattribute__" in vars(parent) for parent in kind.__mro__[:-1]
    ):
        return False
    for parent in kind.__mro__:
        if name in vars(parent):
            found = type(vars(parent)[name])
            return not hasattr(found, "__get__") or found in HARMLESS_DESCRIPTORS
    return not hasattr(kind, "__getattr__")


HARMLESS_DESCRIPTORS = (
    types.FunctionType, types.MemberDescriptorType, types.GetSetDescriptorType,
    types.MethodDescriptorType, types.WrapperDescriptorType, staticmethod, classmethod,
)  # fmt: skip


def _plainly_held(value: Any, name: str) -> bool:
    if is_a(value, types.ModuleType):
        return name in vars(value)
    if type(value) is not type:
        return False
    for parent in value.__mro__:
        if name in vars(parent):
            found = type(vars(parent)[name])
            return not hasattr(found, "__get__") or found in HARMLESS_DESCRIPTORS
    return False


def checked(node: ast.expr) -> ast.expr:
    """Return the expression with its operands checked.

    Raises:
        Impure: It may have a side effect.
    """
    rule = RULES.get(type(node))
    if rule is None:
        raise Impure
    return rule(node)


def _operand(node: ast.expr) -> ast.expr:
    result = checked(node)
    if isinstance(node, FRESH):
        return result
    return _call(OPERAND, result)


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(arguments), keywords=[])


def _leaf(node: Any) -> ast.expr:
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        raise Impure
    return node  # type: ignore[no-any-return]


def _attribute(node: Any) -> ast.expr:
    # A private name is mangled inside its class, so the check would look up another one.
    if not isinstance(node.ctx, ast.Load) or (
        node.attr.startswith("__") and not node.attr.endswith("__")
    ):
        raise Impure
    return _call(GET, checked(node.value), ast.Constant(value=node.attr, kind=None))


def _binary(node: Any) -> ast.expr:
    if isinstance(node.op, (ast.Pow, ast.LShift)):
        right = node.right
        if not (
            isinstance(right, ast.Constant) and isinstance(right.value, int) and right.value <= 8
        ):
            raise Impure  # the result may be too large to compute
    return ast.BinOp(left=_operand(node.left), op=node.op, right=_operand(node.right))


def _compare(node: Any) -> ast.expr:
    if all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
        values = [checked(v) for v in (node.left, *node.comparators)]
    else:
        values = [_operand(v) for v in (node.left, *node.comparators)]
    return ast.Compare(left=values[0], ops=node.ops, comparators=values[1:])


def _subscript(node: Any) -> ast.expr:
    if not isinstance(node.ctx, ast.Load):
        raise Impure
    return ast.Subscript(value=_operand(node.value), slice=_slice(node.slice), ctx=ast.Load())


def _slice(node: Any) -> Any:
    if isinstance(node, ast.Slice):
        lower, upper, step = (
            None if v is None else _operand(v) for v in (node.lower, node.upper, node.step)
        )
        return ast.Slice(lower=lower, upper=upper, step=step)
    if type(node).__name__ == "Index":  # Python 3.8
        return type(node)(value=_operand(node.value))
    if type(node).__name__ == "ExtSlice":
        raise Impure
    return _operand(node)


def _items(node: Any) -> ast.expr:
    if not isinstance(node.ctx, ast.Load):
        raise Impure
    kind: Callable[..., ast.expr] = type(node)
    return kind(elts=[checked(e) for e in node.elts], ctx=ast.Load())


def _pure_call(node: Any) -> ast.expr:
    lone = len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.GeneratorExp)
    arguments = [_generator(node.args[0])] if lone else [_operand(a) for a in node.args]
    if any(k.arg is None or k.arg == "key" for k in node.keywords):
        raise Impure
    keywords = [ast.keyword(arg=k.arg, value=_operand(k.value)) for k in node.keywords]
    if isinstance(node.func, ast.Name) and node.func.id in PURE_FUNCTIONS:
        function = _call(PURE_CALL, node.func, ast.Constant(value=node.func.id, kind=None))
    elif isinstance(node.func, ast.Attribute) and node.func.attr in PURE_METHODS:
        function = _call(
            METHOD, checked(node.func.value), ast.Constant(value=node.func.attr, kind=None)
        )
    else:
        raise Impure
    return ast.Call(func=function, args=arguments, keywords=keywords)


def _generator(node: Any) -> Any:
    generators: List[ast.comprehension] = []
    for part in node.generators:
        names = part.target.elts if isinstance(part.target, ast.Tuple) else [part.target]
        if part.is_async or not all(isinstance(name, ast.Name) for name in names):
            raise Impure
        ifs = [_operand(condition) for condition in part.ifs]
        generators.append(
            ast.comprehension(target=part.target, iter=_operand(part.iter), ifs=ifs, is_async=0)
        )
    if isinstance(node, ast.DictComp):
        return ast.DictComp(
            key=_operand(node.key), value=checked(node.value), generators=generators
        )
    return type(node)(elt=checked(node.elt), generators=generators)


def _format(node: Any) -> ast.expr:
    if node.format_spec is not None and not isinstance(node.format_spec, ast.JoinedStr):
        raise Impure
    spec = _text(node.format_spec) if node.format_spec is not None else None
    return ast.FormattedValue(
        value=_operand(node.value), conversion=node.conversion, format_spec=spec
    )


def _text(node: Any) -> ast.expr:
    return ast.JoinedStr(values=[checked(v) for v in node.values])


def _dictionary(node: Any) -> ast.expr:
    if any(key is None for key in node.keys):
        raise Impure
    return ast.Dict(keys=[_operand(k) for k in node.keys], values=[checked(v) for v in node.values])


RULES: Dict[type, Callable[[Any], ast.expr]] = {
    ast.Constant: _leaf,
    ast.Name: _leaf,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: lambda node: ast.UnaryOp(op=node.op, operand=_operand(node.operand)),
    ast.BoolOp: lambda node: ast.BoolOp(op=node.op, values=[_operand(v) for v in node.values]),
    ast.Compare: _compare,
    ast.IfExp: lambda node: ast.IfExp(
        test=_operand(node.test), body=checked(node.body), orelse=checked(node.orelse)
    ),
    ast.Subscript: _subscript,
    ast.Tuple: _items,
    ast.List: _items,
    ast.Set: lambda node: ast.Set(elts=[_operand(e) for e in node.elts]),
    ast.Dict: _dictionary,
    ast.Call: _pure_call,
    ast.ListComp: _generator,
    ast.SetComp: _generator,
    ast.DictComp: _generator,
    ast.JoinedStr: _text,
    ast.FormattedValue: _format,
}


def is_pure(node: ast.AST) -> bool:
    """Return True if an expression is free of side effects by its syntax."""
    try:
        checked(node)  # type: ignore[arg-type]
    except Impure:
        return False
    return True
