"""Sets of possible built-in types, as far as annotations, literals and calls show them."""

from __future__ import annotations

import ast
from typing import Dict, FrozenSet, Iterable, NamedTuple, Optional, Tuple


class ValueKind(NamedTuple):
    """The names of the types that a value may have.

    A value of unknown type has None in place of a Kind.
    """

    names: FrozenSet[str]
    item: Optional[ValueKind] = None
    """The type of its items."""
    value: Optional[ValueKind] = None
    """The type of a dictionary's values."""
    sure: bool = True
    """False if it is inferred from an annotation or from usage, which may both be wrong."""

    def but_unsure(self) -> ValueKind:
        """Return the same kind, marked as unsure."""
        return self._replace(sure=False)


def kind(
    *names: str,
    item: Optional[ValueKind] = None,
    value: Optional[ValueKind] = None,
    sure: bool = True,
) -> ValueKind:
    """Return a kind of these types."""
    return ValueKind(frozenset(names), item, value, sure)


INT, FLOAT, BOOL, STR, BYTES, NONE = (
    kind(n) for n in ("int", "float", "bool", "str", "bytes", "NoneType")
)
NUMBER = kind("int", "float")
NOTHING = ValueKind(frozenset())
"""No possible value yet, for a name that is being inferred."""

NUMERIC = frozenset(("int", "float", "bool", "complex"))
SEQUENCES = frozenset(("str", "bytes", "bytearray", "list", "tuple", "range"))
SETS = frozenset(("set", "frozenset", "dict_keys", "dict_items"))
ITERATORS = frozenset(("generator", "iterator", "file"))
VIEWS = frozenset(("dict_keys", "dict_items", "dict_values"))
ITERABLES = SEQUENCES | SETS | ITERATORS | VIEWS | {"dict", "deque"}
CONTAINERS = ITERABLES
SIZED = SEQUENCES | SETS | VIEWS | {"dict", "deque"}
INDEXED = SEQUENCES | {"dict", "deque"}
UNHASHABLE = frozenset(("list", "set", "dict", "bytearray", "deque"))
CALLABLE = frozenset(("function", "type"))
KNOWN = NUMERIC | ITERABLES | CALLABLE | {"NoneType", "slice"}
"""The type names that inference understands; every other type is unknown."""

ANNOTATIONS: Dict[str, Tuple[str, ...]] = {
    "int": ("int",), "float": ("int", "float"), "bool": ("bool",), "str": ("str",),
    "bytes": ("bytes",), "complex": ("int", "float", "complex"), "list": ("list",),
    "List": ("list",), "dict": ("dict",), "Dict": ("dict",), "set": ("set",), "Set": ("set",),
    "frozenset": ("frozenset",), "FrozenSet": ("frozenset",), "tuple": ("tuple",),
    "Tuple": ("tuple",), "None": ("NoneType",), "NoneType": ("NoneType",),
    "Callable": ("function", "type"), "Iterator": ("iterator", "generator"),
    "Generator": ("generator",), "bytearray": ("bytearray",), "AnyStr": ("str", "bytes"),
    "Text": ("str",), "Deque": ("deque",), "deque": ("deque",), "range": ("range",),
}  # fmt: skip


def of_annotation(node: Optional[ast.AST], depth: int = 0) -> Optional[ValueKind]:
    """Return the kind of an annotation, or None if it is unknown."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = _parse(node.value)
    if node is None or depth > 6:
        return None
    if isinstance(node, ast.Constant):
        return NONE.but_unsure() if node.value is None else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return union([of_annotation(node.left, depth + 1), of_annotation(node.right, depth + 1)])
    if isinstance(node, ast.Subscript):
        return _of_generic(node, depth)
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    names = ANNOTATIONS.get(name)
    return kind(*names, item=STR if names == ("str",) else None, sure=False) if names else None


def _of_generic(node: ast.Subscript, depth: int) -> Optional[ValueKind]:
    name = (
        node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    )
    inner = (
        getattr(node.slice, "value", node.slice)
        if type(node.slice).__name__ == "Index"
        else node.slice
    )
    parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
    kinds = [of_annotation(part, depth + 1) for part in parts]
    # `Optional[X]` is `X | None`.
    if name == "Optional":
        return union([*kinds, NONE.but_unsure()])
    if name == "Union":
        return union(kinds)
    names = ANNOTATIONS.get(name)
    if not names:
        return None
    if names == ("dict",):
        return kind("dict", item=kinds[0], value=kinds[-1], sure=False)
    if names == ("tuple",):
        kinds = kinds[:1] if len(parts) == 2 and isinstance(parts[1], ast.Constant) else kinds
        return kind("tuple", item=union(kinds), sure=False)
    return kind(*names, item=None if "function" in names else kinds[0], sure=False)


def _parse(text: str) -> Optional[ast.AST]:
    if len(text) > 200:
        return None
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def of_observed(names: Iterable[str]) -> Optional[ValueKind]:
    """Return the kind of a name from the types of its values during tests."""
    found = union([of_annotation(_parse(name)) for name in names])
    # Observed types are exact, while annotations are not: an observed float is no int.
    return found._replace(sure=True) if found and found.names else None


def of_value(value: object) -> Optional[ValueKind]:
    """Return the kind of a literal."""
    name = type(value).__name__
    if name not in KNOWN:
        return None
    return kind(name, item={"str": STR, "bytes": INT}.get(name))


def union(kinds: Iterable[Optional[ValueKind]]) -> Optional[ValueKind]:
    """Return the union of kinds, or None if one is unknown."""
    names: FrozenSet[str] = frozenset()
    sure, items, values = True, [], []
    for one in kinds:
        if one is None:
            return None
        names |= one.names
        sure = sure and one.sure
        if one.names - {"NoneType"}:
            items.append(one.item)
            values.append(one.value)
    return ValueKind(
        names, union(items) if items else None, union(values) if values else None, sure
    )


def may_be(one: Optional[ValueKind], names: FrozenSet[str]) -> bool:
    """Return True if a value of this kind may have one of these types."""
    return one is None or not one.names or bool(one.names & names)


BUILTIN_TYPES = (
    int,
    float,
    bool,
    complex,
    str,
    bytes,
    bytearray,
    list,
    tuple,
    range,
    dict,
    set,
    frozenset,
)
MEMBERS: Dict[str, FrozenSet[str]] = {t.__name__: frozenset(dir(t)) for t in BUILTIN_TYPES}
MEMBERS["NoneType"] = frozenset(dir(None))
MEMBERS["generator"] = frozenset(dir(_ for _ in "")) | {"close"}

CALLS: Dict[str, ValueKind] = {
    **dict.fromkeys(("len", "ord", "hash", "id"), INT),
    **dict.fromkeys(
        ("str", "repr", "chr", "input", "format", "bin", "hex", "oct", "ascii"),
        STR._replace(item=STR),
    ),
    **dict.fromkeys(
        ("any", "all", "isinstance", "issubclass", "callable", "hasattr", "bool"), BOOL
    ),
    **dict.fromkeys(("map", "filter", "zip", "reversed", "iter"), kind("iterator")),
    "int": INT,
    "float": FLOAT,
    "range": kind("range", item=INT),
    "print": NONE,
    "bytes": kind("bytes", item=INT),
    "dict": kind("dict"),
    "type": kind("type"),
    "frozenset": kind("frozenset"),
}
"""Result types of built-in functions, for any arguments."""

METHODS: Dict[str, Dict[str, ValueKind]] = {
    "str": {
        **dict.fromkeys(
            (
                "lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "swapcase",
                "replace", "join", "format", "ljust", "rjust", "center", "zfill", "expandtabs",
                "casefold", "translate", "removeprefix", "removesuffix",
            ),
            STR._replace(item=STR),
        ),
        **dict.fromkeys(("find", "rfind", "index", "rindex", "count"), INT),
        **dict.fromkeys(
            ("split", "rsplit", "splitlines"), kind("list", item=STR._replace(item=STR))
        ),
        **dict.fromkeys(("partition", "rpartition"), kind("tuple", item=STR._replace(item=STR))),
        **dict.fromkeys(
            (
                "startswith", "endswith", "isdigit", "isalpha", "isupper", "islower", "isspace",
                "isalnum", "isdecimal", "isnumeric", "istitle", "isidentifier", "isprintable",
            ),
            BOOL,
        ),
        "encode": BYTES,
    },
    "list": {
        **dict.fromkeys(
            ("append", "extend", "insert", "sort", "reverse", "clear", "remove"), NONE
        ),
        **dict.fromkeys(("index", "count"), INT),
    },
    "dict": {"keys": kind("dict_keys"), "values": kind("dict_values"), "items": kind("dict_items"),
             **dict.fromkeys(("update", "clear"), NONE)},
    "set": {**dict.fromkeys(("add", "update", "discard", "remove", "clear"), NONE),
            **dict.fromkeys(("issubset", "issuperset", "isdisjoint"), BOOL)},
    "tuple": dict.fromkeys(("index", "count"), INT),
    "bytes": {"decode": STR._replace(item=STR)},
}  # fmt: skip
"""Result types of methods of built-in types."""

ARITIES: Dict[str, Tuple[int, int]] = {
    "len": (1, 1), "abs": (1, 1), "ord": (1, 1), "chr": (1, 1), "any": (1, 1), "all": (1, 1),
    "sorted": (1, 1), "reversed": (1, 1), "range": (1, 3), "sum": (1, 2), "list": (0, 1),
    "set": (0, 1), "tuple": (0, 1), "int": (0, 2), "float": (0, 1), "bool": (0, 1),
    "isinstance": (2, 2), "issubclass": (2, 2), "hasattr": (2, 2), "getattr": (2, 3),
    "setattr": (3, 3), "enumerate": (1, 2), "repr": (1, 1), "iter": (1, 2), "next": (1, 2),
    "round": (1, 2), "divmod": (2, 2), "min": (1, 99), "max": (1, 99), "filter": (2, 2),
    "map": (2, 99), "callable": (1, 1), "pow": (2, 3), "hash": (1, 1), "id": (1, 1), "str": (0, 3),
    "bin": (1, 1), "hex": (1, 1), "frozenset": (0, 1),
}  # fmt: skip
"""Minimum and maximum number of positional arguments of built-in functions."""

METHOD_ARITIES: Dict[str, Tuple[int, int]] = {
    "append": (1, 1), "extend": (1, 1), "insert": (2, 2), "remove": (1, 1), "reverse": (0, 0),
    "sort": (0, 0), "clear": (0, 0), "copy": (0, 0), "index": (1, 3), "count": (1, 3),
    "keys": (0, 0), "values": (0, 0), "items": (0, 0), "get": (1, 2), "setdefault": (1, 2),
    "add": (1, 1), "discard": (1, 1), "lower": (0, 0), "upper": (0, 0), "strip": (0, 1),
    "lstrip": (0, 1), "rstrip": (0, 1), "startswith": (1, 3), "endswith": (1, 3), "join": (1, 1),
    "replace": (2, 3), "find": (1, 3), "swapcase": (0, 0), "title": (0, 0), "isdigit": (0, 0),
    "isalpha": (0, 0), "isupper": (0, 0), "islower": (0, 0), "popitem": (0, 0),
    "capitalize": (0, 0), "isspace": (0, 0), "isalnum": (0, 0), "splitlines": (0, 1),
    "zfill": (1, 1), "union": (0, 99),
}  # fmt: skip
"""The same for methods of built-in types."""

TAKES: Dict[str, FrozenSet[str]] = {
    **dict.fromkeys(("len",), SIZED),
    **dict.fromkeys(
        ("sum", "sorted", "list", "set", "tuple", "iter", "enumerate", "any", "all", "frozenset"),
        ITERABLES,
    ),
    "reversed": SEQUENCES | VIEWS | {"dict", "deque"},
    **dict.fromkeys(("abs", "round"), NUMERIC),
    **dict.fromkeys(("range", "chr", "bin", "hex"), frozenset(("int", "bool"))),
    "ord": frozenset(("str", "bytes")),
    **dict.fromkeys(("int", "float"), NUMERIC | {"str", "bytes"}),
    **dict.fromkeys(("next",), ITERATORS),
}
"""Accepted types of the first argument of built-in functions."""

METHOD_TAKES: Dict[str, FrozenSet[str]] = {
    **dict.fromkeys(("extend", "join"), ITERABLES),
    **dict.fromkeys(("startswith", "endswith"), frozenset(("str", "bytes", "tuple"))),
    **dict.fromkeys(
        ("strip", "lstrip", "rstrip", "split", "rsplit"), frozenset(("str", "bytes", "NoneType"))
    ),
    **dict.fromkeys(
        ("find", "rfind", "replace", "partition", "rpartition"), frozenset(("str", "bytes", "int"))
    ),
}
"""Accepted types of the first argument of methods of built-in types."""

BUILTIN_NAMES: FrozenSet[str] = frozenset((*ARITIES, *CALLS, *TAKES))
"""Built-in functions with known types."""
