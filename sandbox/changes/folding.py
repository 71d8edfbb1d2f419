"""Constant folding: compute the value of constant expressions without running the program.

Names that are concatenated (`'sy' + 'stem'`), reversed, built from numbers or encoded are read as
their result. Only operations on strings, bytes and small numbers are supported, with limits, so
that hostile input stays cheap.
"""

import ast
import base64
import binascii
import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

Value = str | bytes | int | list["Value"]

MAX_LENGTH = 2000
MAX_BITS = 4096
MAX_EXPANSIONS = 5_000
_METHODS = frozenset(
    {
        *(
            "join",
            "replace",
            "lower",
            "upper",
            "strip",
            "lstrip",
            "rstrip",
            "title",
            "capitalize",
            "swapcase",
        ),
        *("casefold", "removeprefix", "removesuffix", "split", "hex", "fromhex"),
    }
)
_ENCODINGS = frozenset(
    {"ascii", "utf8", "utf16", "utf32", "latin1", "iso88591", "rot13", "hex", "base64"}
)
_WIDE = re.compile(r"\d{4}|\{[^}]*[.\[]|\*")
"""Format templates with a large result or access to an object's attributes."""

_NONE: Mapping[str, Value] = {}


class ConstantFolder:
    """Evaluator for the expressions of one program.

    Args:
        nodes: All nodes of the program. A name that is bound once, to a constant, has that value.
    """

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self._bound = _bound_once(nodes)
        self._open: set[str] = set()
        self._known: dict[str, Value | None] = {}
        self._folded: dict[ast.AST, Value | None] = {}
        self.expansions = 0
        """Number of evaluated items of comprehensions and `map`."""

    @property
    def is_exhausted(self) -> bool:
        """Return True if the program exceeds the evaluation limit."""
        return self.expansions > MAX_EXPANSIONS

    def text(self, node: ast.AST) -> str | None:
        """Return the string value of an expression, None if it is not constant.

        Bytes count as string.
        """
        value = self.value(node)
        if isinstance(value, bytes):
            return value.decode("latin-1")
        return value if isinstance(value, str) else None

    def value(self, node: ast.AST, local: Mapping[str, Value] = _NONE) -> Value | None:
        """Return the value of an expression, or None."""
        if not local and node in self._folded:
            return self._folded[node]
        try:
            found = self._value(node, local)
        except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
            found = None
        if found is not None and not _is_small(found):
            found = None
        if not local:
            self._folded[node] = found
        return found

    def _value(self, node: ast.AST, local: Mapping[str, Value]) -> Value | None:
        found: Value | None = None
        match node:
            case ast.Constant(value=str() | bytes() | int() as value):
                found = value
            case ast.Name(id=name):
                found = local[name] if name in local else self._look_up(name)
            case ast.Attribute(attr=name):
                found = self._look_up(name)
            case ast.JoinedStr(values=parts):
                found = self._join([self.value(_plain(part), local) for part in parts])
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                found = _all([self.value(part, local) for part in parts])
            case ast.BinOp(left=left, op=operator, right=right):
                one, other = self.value(left, local), self.value(right, local)
                found = (
                    None if one is None or other is None else _apply_operator(operator, one, other)
                )
            case ast.Subscript(value=whole, slice=index):
                found = self._part(self.value(whole, local), index)
            case ast.GeneratorExp() | ast.ListComp():
                found = self._evaluate_comprehension(node, local)
            case ast.Call(func=function, args=arguments, keywords=[]):
                found = self._call(function, arguments, local)
            case _:
                pass
        return found

    def _look_up(self, name: str) -> Value | None:
        if name not in self._known and name in self._bound and name not in self._open:
            self._open.add(name)
            self._known[name] = self.value(self._bound[name])
            self._open.discard(name)
        return self._known.get(name)

    @staticmethod
    def _join(parts: list[Value | None]) -> Value | None:
        return None if any(part is None for part in parts) else "".join(str(part) for part in parts)

    def _part(self, whole: Value | None, index: ast.expr) -> Value | None:
        if not isinstance(whole, str | bytes | list):
            return None
        if isinstance(index, ast.Slice):
            ends = (index.lower, index.upper, index.step)
            low, high, step = (None if end is None else _number(self._sign(end)) for end in ends)
            return whole[low:high:step]
        return whole[_number(self._sign(index))]

    def _sign(self, node: ast.expr) -> Value | None:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -_number(self.value(node.operand))
        return self.value(node)

    def _evaluate_comprehension(
        self, node: ast.GeneratorExp | ast.ListComp, local: Mapping[str, Value]
    ) -> Value | None:
        """Evaluate a comprehension over constants."""
        (loop, *more) = node.generators
        items = self.value(loop.iter, local)
        if (
            more
            or loop.ifs
            or not isinstance(loop.target, ast.Name)
            or not isinstance(items, str | bytes | list)
        ):
            return None
        name = loop.target.id
        self.expansions += len(items)
        if self.is_exhausted:
            return None
        return _all([self.value(node.elt, {**local, name: item}) for item in items])

    def _call(
        self, function: ast.expr, arguments: list[ast.expr], local: Mapping[str, Value]
    ) -> Value | None:
        values = _all([self.value(argument, local) for argument in arguments])
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name == "map" and len(arguments) > 1:
            items = self.value(arguments[1], local)
            plain = [item for item in _items(items) if not isinstance(item, list)]
            self.expansions += len(plain)
            called = (
                []
                if self.is_exhausted
                else [ast.Call(arguments[0], [ast.Constant(i)], []) for i in plain]
            )
            return _all([self.value(call) for call in called])
        if values is None:
            return None
        if (
            isinstance(function, ast.Attribute)
            and (owner := self.value(function.value, local)) is not None
        ):
            return _method(owner, name, values)
        return _FUNCTIONS[name](*values) if name in _FUNCTIONS else None


def _bound_once(nodes: Iterable[ast.AST]) -> dict[str, ast.expr]:
    counts: Counter[str] = Counter()
    found: dict[str, ast.expr] = {}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts[node.id] += 1
        elif isinstance(node, ast.arg):
            counts[node.arg] += 1
        if (
            isinstance(node, ast.AugAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id in found
        ):
            name = node.target.id
            found[name] = ast.BinOp(found[name], node.op, node.value)
            # `name += value` extends the binding and is no second one.
            counts[name] -= 1
        if (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        ):
            found[node.targets[0].id] = node.value
        elif (
            isinstance(node, ast.AnnAssign | ast.NamedExpr)
            and isinstance(node.target, ast.Name)
            and node.value
        ):
            found[node.target.id] = node.value
    return {name: value for name, value in found.items() if counts[name] == 1}


def _plain(part: ast.expr) -> ast.expr:
    """Return the value of an f-string's part. A part with a format spec is not constant."""
    return part.value if isinstance(part, ast.FormattedValue) and part.format_spec is None else part


def _is_small(value: Value) -> bool:
    return value.bit_length() <= MAX_BITS if isinstance(value, int) else len(value) <= MAX_LENGTH


def _all(values: list[Value | None]) -> list[Value] | None:
    kept = [value for value in values if value is not None]
    return kept if len(kept) == len(values) else None


def _number(value: Value | None) -> int:
    if not isinstance(value, int):
        raise TypeError
    return value


def _items(value: Value | None) -> list[Value]:
    return list(value) if isinstance(value, str | bytes | list) else []


def _apply_operator(operator: ast.operator, one: Value, other: Value) -> Value | None:
    match operator, one, other:
        case ast.Add(), str() as a, str() as b:
            return a + b
        case ast.Add(), bytes() as a, bytes() as b:
            return a + b
        case ast.Add(), list() as a, list() as b:
            return a + b
        # Check the size of the result before it is computed.
        case ast.Mult(), str() | bytes() as a, int() as b:
            return a * b if len(a) * b <= MAX_LENGTH else None
        # A width such as `%10000000s` would create a huge string.
        case ast.Mod(), str() as a, _ if not _WIDE.search(a):
            return a % (tuple(other) if isinstance(other, list) else other)
        case _, int() as a, int() as b if (
            type(operator) in _ARITHMETIC and max(a, b).bit_length() <= MAX_BITS
        ):
            return _ARITHMETIC[type(operator)](a, b)
    return None


def _method(owner: Value, name: str, values: list[Value]) -> Value | None:
    if name == "to_bytes" and isinstance(owner, int):
        return owner.to_bytes(_number(values[0]), "little" if values[1:2] == ["little"] else "big")
    if name in {"encode", "decode"} and isinstance(owner, str | bytes):
        return _recode(owner, *values)
    if name == "format" and isinstance(owner, str) and not _WIDE.search(owner):
        return owner.format(*values)
    if name in _METHODS and isinstance(owner, str | bytes):
        found: Value = getattr(owner, name)(*values)
        return found
    return None


def _recode(text: Value, encoding: Value = "utf-8", *_: Value) -> Value | None:
    plain = str(encoding).lower().replace("-", "").replace("_", "")
    if plain not in _ENCODINGS:
        return None
    if plain in {"rot13", "hex", "base64"}:
        return _decode(text, plain)
    return (
        text.encode(str(encoding))
        if isinstance(text, str)
        else bytes(_numbers(text)).decode(str(encoding))
    )


def _decode(text: Value, encoding: str) -> Value:
    # A wrong type raises an error that the caller handles.
    found: Value = codecs.decode(text, encoding)  # type: ignore[arg-type]
    return found


def _numbers(value: Value) -> list[int]:
    return [_number(item) for item in _items(value)]


def _reverse(value: Value) -> Value:
    return _items(value)[::-1]


_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitAnd: lambda a, b: a & b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_FUNCTIONS: dict[str, Callable[..., Value | None]] = {
    "chr": lambda number: chr(_number(number)),
    "ord": ord,
    "str": lambda value, *encoding: _recode(value, *encoding) if encoding else str(value),
    "bytes": lambda value, *encoding: (
        _recode(value, *encoding) if encoding else bytes(_numbers(value))
    ),
    "bytearray": lambda value: bytes(_numbers(value)),
    "int": lambda text, base=10: int(text, base) if isinstance(text, str) else text,
    "list": _items,
    "tuple": _items,
    "iter": _items,
    "reversed": _reverse,
    "intern": lambda text: text,
    "fromhex": bytes.fromhex,
    "unhexlify": binascii.unhexlify,
    "a2b_hex": binascii.unhexlify,
    "a2b_base64": binascii.a2b_base64,
    "b64decode": base64.b64decode,
    "urlsafe_b64decode": base64.urlsafe_b64decode,
    "standard_b64decode": base64.b64decode,
    "b32decode": base64.b32decode,
    "b16decode": base64.b16decode,
    "b85decode": base64.b85decode,
    "decode": _recode,
    "encode": _recode,
}
