"""Evaluate a noxfile's values without running it: literals, constants, plain paths."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from posixpath import join, normpath
from typing import Any

from sandbox.changes.syntax import unparse

MOST_STEPS = 100_000
_DEEPEST = 25
_MOST = 2000
_MOST_PARTS = 20
_LONGEST_SHOWN = 200
_SCALARS = (str, int, float, type(None))


class NotKnown(ValueError):
    """The value has to be computed."""


@dataclass
class NoxScope:
    """The values of names."""

    constants: Mapping[str, ast.expr]
    """Assignments at the top of the module."""
    names: dict[str, Any] = field(default_factory=dict)
    """Values of parameters and local variables."""
    session: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the session: `python`, `name`, `posargs`."""
    budget: list[int] = field(default_factory=lambda: [MOST_STEPS])

    def spend(self) -> bool:
        """Use one step. Return True if the budget allows it."""
        # Shared by all scopes: constants that refer to each other could take exponential time.
        self.budget[0] -= 1
        return self.budget[0] >= 0

    def value(self, node: ast.expr, depth: int = 0) -> Any:
        """Evaluate an expression.

        Raises:
            NotKnown: The value has to be computed.
        """
        if depth > _DEEPEST or not self.spend():
            raise NotKnown("too deep")
        reader = _READERS.get(type(node))
        if reader is None:
            raise NotKnown(type(node).__name__)
        found = reader(self, node, depth + 1)
        if isinstance(found, str | list | tuple) and len(found) > _MOST:
            raise NotKnown("too long")
        return found


def dotted_name(node: ast.expr) -> str:
    """Return a name such as `nox.session`; of other expressions only what follows, as `.run`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < _MOST_PARTS:
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))


def show(node: ast.expr) -> str:
    """Return the source of an expression; of a long one only its place, because loops repeat it."""
    is_one_line = node.end_lineno == node.lineno
    if is_one_line and (node.end_col_offset or 0) - node.col_offset <= _LONGEST_SHOWN:
        return unparse(node)
    return f"… (line {node.lineno})"


def plain_texts(values: object) -> list[str]:
    """Return the plain values of a list as texts.

    A list in a list may share its parts, so that its text could be endless.
    """
    items = values if isinstance(values, list | tuple) else ()
    return [str(one) for one in items if one is None or isinstance(one, str | int | float)]


def _constant(_scope: NoxScope, node: Any, _depth: int) -> Any:
    return node.value


def _name(scope: NoxScope, node: Any, depth: int) -> Any:
    if node.id in scope.names:
        found = scope.names[node.id]
        if found is NotKnown:
            raise NotKnown(node.id)
        return found
    if node.id in scope.constants:
        # a constant cannot use a function's local names
        return NoxScope(scope.constants, {}, {}, scope.budget).value(
            scope.constants[node.id], depth
        )
    # Paths are relative to the noxfile's folder.
    if node.id == "__file__":
        return "noxfile.py"
    raise NotKnown(node.id)


def _sequence(scope: NoxScope, node: Any, depth: int) -> Any:
    items: list[Any] = []
    for element in node.elts[:_MOST]:
        if isinstance(element, ast.Starred):
            inner = scope.value(element.value, depth)
            items += list(inner) if isinstance(inner, list | tuple) else []
        else:
            items.append(scope.value(element, depth))
        if len(items) > _MOST:
            raise NotKnown("too long")
    return items


def _mapping(scope: NoxScope, node: Any, depth: int) -> Any:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = scope.value(value, depth)
            found.update(inner if isinstance(inner, dict) else {})
        else:
            name = scope.value(key, depth)
            if not isinstance(name, str | int | float):
                raise NotKnown("a key")
            found[name] = scope.value(value, depth)
    return found


def _joined_string(scope: NoxScope, node: Any, depth: int) -> Any:
    text = ""
    for part in node.values:
        value = scope.value(part.value if isinstance(part, ast.FormattedValue) else part, depth)
        if not isinstance(value, str | int | float):
            raise NotKnown("a part of a text")
        text += str(value)
        if len(text) > _MOST:
            raise NotKnown("too long")
    return text


def _binary(scope: NoxScope, node: Any, depth: int) -> Any:
    left, right = scope.value(node.left, depth), scope.value(node.right, depth)
    if isinstance(node.op, ast.Add):
        if isinstance(left, str) and isinstance(right, str):
            return left + right
        if isinstance(left, list | tuple) and isinstance(right, list | tuple):
            return [*left, *right]
    # Paths of pathlib are text here, and `/` joins them.
    if isinstance(node.op, ast.Div) and isinstance(left, str) and isinstance(right, str):
        return normpath(join(left, right))
    raise NotKnown("computed")


def _either(scope: NoxScope, node: Any, depth: int) -> Any:
    found: Any = None
    for part in node.values:
        found = scope.value(part, depth)
        if bool(found) is isinstance(node.op, ast.Or):
            return found
    return found


def _choice(scope: NoxScope, node: Any, depth: int) -> Any:
    return scope.value(node.body if scope.value(node.test, depth) else node.orelse, depth)


def _not(scope: NoxScope, node: Any, depth: int) -> Any:
    if isinstance(node.op, ast.Not):
        return not scope.value(node.operand, depth)
    raise NotKnown("computed")


def _compare(scope: NoxScope, node: Any, depth: int) -> Any:
    if len(node.ops) != 1:
        raise NotKnown("computed")
    left, right = scope.value(node.left, depth), scope.value(node.comparators[0], depth)
    # Lists in lists may share their parts, so that a comparison could take exponential time.
    if not isinstance(left, _SCALARS) and not isinstance(right, _SCALARS):
        raise NotKnown("computed")
    match node.ops[0]:
        case ast.Eq():
            return left == right
        case ast.NotEq():
            return left != right
        case ast.In() if _may_contain(right, left):
            return left in right
        case ast.NotIn() if _may_contain(right, left):
            return left not in right
        case ast.Is() | ast.IsNot() if right is None:
            return (left is None) is isinstance(node.ops[0], ast.Is)
    raise NotKnown("computed")


def _may_contain(values: Any, value: Any) -> bool:
    if isinstance(values, str):
        return isinstance(value, str)
    return isinstance(values, list | tuple | dict)


def _attribute(scope: NoxScope, node: Any, depth: int) -> Any:
    if (
        isinstance(node.value, ast.Name)
        and node.value.id == "session"
        and node.attr in scope.session
    ):
        return scope.session[node.attr]
    if (
        isinstance(node.value, ast.Name)
        and scope.names.get(node.value.id) == "<session>"
        and node.attr in scope.session
    ):
        return scope.session[node.attr]
    if node.attr == "parent":
        inner = scope.value(node.value, depth)
        return normpath(join(inner, "..")) if isinstance(inner, str) else inner
    written = dotted_name(node)
    if written in {"nox.options.sessions", "sys.argv"}:
        raise NotKnown(written)
    if written == "sys.platform":
        return "linux"
    if written == "os.sep":
        return "/"
    raise NotKnown(written)


def _item(scope: NoxScope, node: Any, depth: int) -> Any:
    value, key = scope.value(node.value, depth), None
    if isinstance(node.slice, ast.Slice):
        bounds = [
            None if part is None else scope.value(part, depth)
            for part in (node.slice.lower, node.slice.upper)
        ]
        if isinstance(value, str | list) and all(
            bound is None or isinstance(bound, int) for bound in bounds
        ):
            return value[bounds[0] : bounds[1]]
        raise NotKnown("a slice")
    key = scope.value(node.slice, depth)
    if isinstance(value, dict) and isinstance(key, str | int | float) and key in value:
        return value[key]
    if isinstance(value, list | str) and isinstance(key, int) and -len(value) <= key < len(value):
        return value[key]
    raise NotKnown("an item")


def _call(scope: NoxScope, node: Any, depth: int) -> Any:
    name = dotted_name(node.func)
    last = name.rpartition(".")[2]
    if name in {"os.environ.get", "os.getenv", "environ.get", "getenv"}:
        return scope.value(node.args[1], depth) if len(node.args) > 1 else None
    if (
        name
        in {
            "str",
            "Path",
            "pathlib.Path",
            "os.fspath",
            "tuple",
            "list",
            "sorted",
            "nox.param",
            "os.path.abspath",
        }
        and node.args
    ):
        first = scope.value(node.args[0], depth)
        return (
            list(first)
            if name in {"tuple", "list", "sorted"} and isinstance(first, list | tuple)
            else first
        )
    if name in {"Path.cwd", "pathlib.Path.cwd", "os.getcwd"}:
        return "."
    if name == "os.path.join":
        return _join_paths(scope, node.args[:10], depth)
    if name == "os.path.dirname" and node.args:
        return normpath(join(_join_paths(scope, node.args[:1], depth), ".."))
    if last in {"resolve", "absolute", "as_posix", "copy"} and isinstance(node.func, ast.Attribute):
        return scope.value(node.func.value, depth)
    if last == "joinpath" and isinstance(node.func, ast.Attribute):
        return _join_paths(scope, [node.func.value, *node.args], depth)
    return _call_method(scope, node, depth)


def _join_paths(scope: NoxScope, nodes: list[ast.expr], depth: int) -> str:
    parts = plain_texts([scope.value(node, depth) for node in nodes])
    if not parts or len(parts) < len(nodes):
        raise NotKnown("a path")
    return normpath(join(*parts))


def _call_method(scope: NoxScope, node: Any, depth: int) -> Any:
    """Evaluate `text.split()` and `nox.project.dependency_groups(PYPROJECT, "test")`."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "split" and not node.args:
        text = scope.value(node.func.value, depth)
        return text.split() if isinstance(text, str) else []
    if isinstance(node.func, ast.Attribute) and node.func.attr == "dependency_groups":
        names = plain_texts([scope.value(argument, depth) for argument in node.args[1:20]])
        return [f"--group={name}" for name in names]
    raise NotKnown(dotted_name(node.func))


_READERS: dict[type, Any] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _mapping,
    ast.JoinedStr: _joined_string,
    ast.BinOp: _binary,
    ast.BoolOp: _either,
    ast.IfExp: _choice,
    ast.UnaryOp: _not,
    ast.Compare: _compare,
    ast.Attribute: _attribute,
    ast.Subscript: _item,
    ast.Call: _call,
}
