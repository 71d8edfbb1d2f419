"""Detect comparison methods that ignore content: assertions about their objects prove nothing."""

import ast
from collections.abc import Iterable, Iterator

COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
"""Methods that must read both objects."""
ASKED = frozenset({"__contains__"})
"""Methods that must read the other object."""
ALONE = frozenset({"__bool__"})
"""Methods that must read their own object."""
KINDS_ASKED = frozenset({"__instancecheck__", "__subclasscheck__"})
"""Methods that check types by design: only a constant result is careless."""
DIFFERENCES = frozenset({"__sub__", "__rsub__"})
"""Methods that comparisons with a tolerance use; both objects count."""
LOOKUPS = frozenset({"__getattr__", "__getattribute__"})
"""Methods that must read the name; an object that has every attribute passes any check of one."""
EVERY = COMPARISONS | ASKED | ALONE | KINDS_ASKED | DIFFERENCES | LOOKUPS
_TRANSPARENT = frozenset(
    {"abstractmethod", "cache", "deprecated", "final", "lru_cache", "overload", "override"}
)
"""Decorators that leave a method's results alone."""

_NO_CONTENT = frozenset(
    {
        "isinstance",
        "issubclass",
        "type",
        "hasattr",
        "callable",
        "id",
        "hash",
        "bool",
        "super",
        "dir",
    }
)
_KINDS = frozenset({"__class__", "__module__", "__doc__", "__name__", "__qualname__", "__slots__"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def find_careless(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of comparisons that ignore content, and of classes that fake their type.

    Args:
        tree: A program.
    """
    nodes = list(ast.walk(tree))
    functions = _named_functions(nodes)
    for node in nodes:
        for name, value in _defined_methods(node):
            careless = name in EVERY and _is_careless(name, _function(value, functions))
            if name == "__class__" or careless:
                yield getattr(node, "lineno", 1)


def _named_functions(nodes: Iterable[ast.AST]) -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as value):
                found[name] = value
            case _:
                pass
    return found


def _defined_methods(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """Yield the names that a node binds, with their values; None for an unknown value."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, node
        case ast.Assign(targets=targets, value=value):
            yield from ((_target(target), value) for target in targets)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            yield _target(target), value
        case ast.Dict(keys=keys, values=values):
            yield from ((_text(key), value) for key, value in zip(keys, values, strict=True))
        case ast.Call(func=ast.Name(id="setattr"), args=[_, key, value]):
            yield _text(key), value
        case ast.Call(func=ast.Name(id="type" | "dict"), keywords=keywords):
            yield from ((keyword.arg or "", keyword.value) for keyword in keywords)
        case _:
            yield from ((name, None) for name in _bound_otherwise(node))


def _bound_otherwise(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds to values that this module does not follow."""
    match node:
        case ast.alias(name=name, asname=other):
            yield other or name
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield _target(target)
        case ast.withitem(optional_vars=ast.expr() as target):
            yield _target(target)
        case ast.Tuple(elts=parts, ctx=ast.Store()) | ast.List(elts=parts, ctx=ast.Store()):
            yield from map(_target, parts)
        case _:
            pass


def _target(node: ast.expr) -> str:
    """Return the bound name: a variable's, an attribute's, or a key's."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=key):
            return _text(key)
        case _:
            return ""


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _function(value: ast.AST | None, functions: dict[str, _Function]) -> ast.AST | None:
    """Resolve a name to the function of the program with that name."""
    return functions.get(value.id, value) if isinstance(value, ast.Name) else value


def _is_careless(name: str, value: ast.AST | None) -> bool:
    """Return True if a method's result does not depend on content."""
    match value:
        case ast.Constant(value=None):
            return False  # the class does not support it
        case ast.Attribute(attr=other) | ast.Name(id=other):
            return other not in EVERY  # `__ne__ = Base.__ne__` inherits a base class's method
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            return _is_decorated(value) or _answers_carelessly(name, value)
        case _:
            return True  # a mock, a partial, a method of another object


def _is_decorated(function: _Function) -> bool:
    """Return True if a decorator may replace the function."""
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    called = [each.func if isinstance(each, ast.Call) else each for each in decorators]
    names = {getattr(each, "attr", getattr(each, "id", "")) for each in called}
    return not names <= _TRANSPARENT


def _answers_carelessly(name: str, value: _Function) -> bool:
    answers = list(_returned_values(value))
    given = [answer for answer in answers if answer is not None]
    if any(_is_constant(answer) for answer in given) and not _has_conditions(value):
        return True
    if name not in DIFFERENCES | LOOKUPS and (
        _is_always_true(value)
        or _writes(value)
        or any(_is_hidden_constant(answer) for answer in given)
        or _accepts_by_type(value)
    ):
        return True
    if name in KINDS_ASKED or all(_is_refusal(answer) for answer in answers):
        return False
    return not _looks_at_content(name, value)


def _looks_at_content(name: str, function: _Function) -> bool:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    wanted = {names[at] for at in _PARTS.get(name, (0, 1)) if at < len(names)}
    looked = _names_read(function)
    return len(wanted) == len(_PARTS.get(name, (0, 1))) and wanted <= looked


_PARTS = {**dict.fromkeys(ASKED | LOOKUPS, (1,)), **dict.fromkeys(ALONE, (0,))}
"""Indexes of the parameters that a method must read; both for all other methods."""


def _is_always_true(function: _Function) -> bool:
    """Return True if every result is true: a coroutine, a generator or a non-empty container."""
    if isinstance(function, ast.AsyncFunctionDef):
        return True
    inner = [] if isinstance(function, ast.Lambda) else list(ast.walk(function))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in inner):
        return True
    containers = ast.Tuple | ast.List | ast.Dict | ast.Set | ast.GeneratorExp | ast.Lambda
    return any(isinstance(answer, containers) for answer in _returned_values(function))


def _writes(function: _Function) -> bool:
    """Return True if a comparison modifies its objects."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return True
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "setattr"
        ):
            return True
    return False


def _accepts_by_type(function: _Function) -> bool:
    """Return True for `if isinstance(other, A): return True`, also in an exception handler."""
    if isinstance(function, ast.Lambda):
        return False
    for node in ast.walk(function):
        by_kind = isinstance(node, ast.ExceptHandler) or (
            isinstance(node, ast.If) and _checks_only_type(node.test)
        )
        if by_kind and any(_returns_true(step) for step in node.body):  # type: ignore[attr-defined]
            return True
    return False


def _returns_true(step: ast.stmt) -> bool:
    return (
        isinstance(step, ast.Return)
        and isinstance(step.value, ast.Constant)
        and bool(step.value.value)
    )


def _checks_only_type(test: ast.expr) -> bool:
    """Return True if a condition ignores content.

    Comparing two objects by identity counts as content.
    """
    found: set[str] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and all(isinstance(one, ast.Is) for one in node.ops):
            sides = [node.left, *node.comparators]
            if (
                all(isinstance(side, ast.Name) for side in sides)
                and len({ast.dump(side) for side in sides}) > 1
            ):
                return False
        _collect(node, found)
    return not found


def _returned_values(function: _Function) -> Iterator[ast.expr | None]:
    if isinstance(function, ast.Lambda):
        yield function.body
        return
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            yield node.value


def _has_conditions(function: _Function) -> bool:
    """Return True if a function has branches."""
    return any(
        isinstance(n, ast.If | ast.IfExp | ast.For | ast.While | ast.Match | ast.Try)
        for n in ast.walk(function)
    )


def _is_constant(answer: ast.expr) -> bool:
    return (
        isinstance(answer, ast.Constant)
        and answer.value is not NotImplemented
        and answer.value is not None
    )


def _is_not_implemented(answer: ast.expr | None) -> bool:
    return isinstance(answer, ast.Name) and answer.id == "NotImplemented"


def _is_refusal(answer: ast.expr | None) -> bool:
    """Return True for a result without information on content: False, None, NotImplemented."""
    return (
        answer is None
        or _is_not_implemented(answer)
        or (isinstance(answer, ast.Constant) and not answer.value)
    )


def _is_hidden_constant(answer: ast.expr) -> bool:
    """Return True for hidden constants: `... or True`, `... and False`, `x if True else y`."""
    for node in ast.walk(answer):
        if isinstance(node, ast.BoolOp):
            decides = isinstance(node.op, ast.Or)
            if any(isinstance(v, ast.Constant) and bool(v.value) is decides for v in node.values):
                return True
            if decides and any(_checks_only_type(v) for v in node.values):
                return True
        if _is_any_kind(node) or (
            isinstance(node, ast.IfExp) and isinstance(node.test, ast.Constant)
        ):
            return True
        if isinstance(node, ast.Compare) and ast.dump(node.left) in {
            ast.dump(side) for side in node.comparators
        }:
            return True
    return False


def _is_any_kind(node: ast.AST) -> bool:
    """Return True for `any([isinstance(other, A), ...])`."""
    match node:
        case ast.Call(func=ast.Name(id="any"), args=[ast.List(elts=parts) | ast.Tuple(elts=parts)]):
            return any(_checks_only_type(part) for part in parts)
        case _:
            return False


def _names_read(function: _Function) -> set[str]:
    """Return the names whose content may influence the result."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    found: set[str] = set()
    for step in body:
        for node in ast.walk(step):
            if isinstance(node, ast.Expr):
                continue
            _collect(node, found)
    return found


def _collect(node: ast.AST, found: set[str]) -> None:
    """Add the names in a node that are read for their content."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and not _reads_only_type(node, child):
            found.add(child.id)


def _reads_only_type(parent: ast.AST, name: ast.Name) -> bool:
    """Return True if a name is only read for its type or identity."""
    match parent:
        case ast.Call(func=ast.Name(id=function)) if function in _NO_CONTENT:
            return True
        case ast.Attribute(attr=attribute) if attribute in _KINDS:
            return True
        case ast.Compare(ops=operators) if all(
            isinstance(one, ast.Is | ast.IsNot) for one in operators
        ):
            return True
        case ast.Compare(left=left, comparators=others):
            # A comparison with itself or a constant does not read the other object.
            sides = [left, *others]
            return all(
                isinstance(s, ast.Constant) or (isinstance(s, ast.Name) and s.id == name.id)
                for s in sides
            )
        case ast.Return() | ast.Expr():
            return True
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp():
            return True
        case _:
            return False
