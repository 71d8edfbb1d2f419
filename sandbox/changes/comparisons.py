"""Comparison methods that answer the same for everything of a kind: assertions about such objects prove nothing."""

import ast
from collections.abc import Iterator

COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
"""They look at both objects."""
ASKED = frozenset({"__contains__"})
"""They look at the other one."""
ALONE = frozenset({"__bool__"})
"""They look at their own object."""
KINDS_ASKED = frozenset({"__instancecheck__", "__subclasscheck__"})
"""They ask for a kind by nature: only a constant answer is careless."""
EVERY = COMPARISONS | ASKED | ALONE | KINDS_ASKED

_NO_CONTENT = frozenset(
    {"isinstance", "issubclass", "type", "hasattr", "callable", "id", "hash", "bool", "super", "dir"}
)
_KINDS = frozenset({"__class__", "__module__", "__doc__", "__name__", "__qualname__", "__slots__"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def careless(tree: ast.AST) -> Iterator[int]:
    """The lines of comparisons that do not look at what they compare, and of classes that lie about their kind.

    Args:
        tree: A program.
    """
    functions = _named_functions(tree)
    for node in ast.walk(tree):
        for name, value in _given(node):
            if name == "__class__":
                yield node.lineno  # type: ignore[attr-defined] # every node that binds has a line
            elif name in EVERY and _is_careless(name, _function(value, functions)):
                yield node.lineno  # type: ignore[attr-defined]


def _named_functions(tree: ast.AST) -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found[name] = node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as value):
                found[name] = value
            case _:
                pass
    return found


def _given(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """The special methods that a node gives to a class, and what they are."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, node
        case ast.Assign(targets=targets, value=value):
            yield from ((_target(target), value) for target in targets)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield _target(target), value
        case ast.Dict(keys=keys, values=values):
            yield from ((_text(key), value) for key, value in zip(keys, values, strict=True))
        case ast.Call(func=ast.Name(id="setattr"), args=[_, key, value]):
            yield _text(key), value
        case ast.Call(func=ast.Name(id="type" | "dict"), keywords=keywords):
            yield from ((keyword.arg or "", keyword.value) for keyword in keywords)
        case _:
            pass


def _target(node: ast.expr) -> str:
    """The name that is bound: a variable's, an attribute's, or a key's."""
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
    """The function behind a value; a name is the function of the program that is called so."""
    return functions.get(value.id, value) if isinstance(value, ast.Name) else value


def _is_careless(name: str, value: ast.AST | None) -> bool:
    """Whether a method gives the same answer whatever the content."""
    if isinstance(value, ast.Attribute):
        return value.attr not in EVERY  # `__ne__ = Base.__ne__` is what a base class says
    if not isinstance(value, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return isinstance(value, ast.Call)  # a mock, a partial, a method of another object
    answers = list(_answers(value))
    given = [answer for answer in answers if answer is not None]
    if any(_is_constant(answer) for answer in given) and not _has_conditions(value):
        return True
    if (
        _is_always_true(value)
        or _writes(value)
        or any(_is_decided(answer) for answer in given)
        or _passes_by_kind(value)
    ):
        return True
    if name in KINDS_ASKED or all(_is_refusal(answer) for answer in answers):
        return False
    return not _looks_at_content(name, value)


def _looks_at_content(name: str, function: _Function) -> bool:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    wanted = {names[at] for at in _PARTS.get(name, (0, 1)) if at < len(names)}
    looked = _looked_at(function)
    return len(wanted) == len(_PARTS.get(name, (0, 1))) and wanted <= looked


_PARTS = {**dict.fromkeys(ASKED, (1,)), **dict.fromkeys(ALONE, (0,))}
"""Which parameters a method has to look at; of others both."""


def _is_always_true(function: _Function) -> bool:
    """A coroutine, a generator or a non-empty container is true, whatever is in it."""
    if isinstance(function, ast.AsyncFunctionDef):
        return True
    inner = [] if isinstance(function, ast.Lambda) else list(ast.walk(function))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in inner):
        return True
    containers = ast.Tuple | ast.List | ast.Dict | ast.Set | ast.GeneratorExp | ast.Lambda
    return any(isinstance(answer, containers) for answer in _answers(function))


def _writes(function: _Function) -> bool:
    """Whether a comparison changes what it compares."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
            return True
    return False


def _passes_by_kind(function: _Function) -> bool:
    """`if isinstance(other, A): return True`, or the same where an error was caught."""
    if isinstance(function, ast.Lambda):
        return False
    for node in ast.walk(function):
        by_kind = isinstance(node, ast.ExceptHandler) or (isinstance(node, ast.If) and _asks_kind(node.test))
        if by_kind and any(_is_yes(step) for step in node.body):  # type: ignore[attr-defined] # both have one
            return True
    return False


def _is_yes(step: ast.stmt) -> bool:
    return isinstance(step, ast.Return) and isinstance(step.value, ast.Constant) and bool(step.value.value)


def _asks_kind(test: ast.expr) -> bool:
    """Whether a condition looks at no content; the identity of two objects is as good as their content."""
    found: set[str] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and all(isinstance(one, ast.Is) for one in node.ops):
            sides = [node.left, *node.comparators]
            if all(isinstance(side, ast.Name) for side in sides) and len({ast.dump(side) for side in sides}) > 1:
                return False
        _collect(node, found)
    return not found


def _answers(function: _Function) -> Iterator[ast.expr | None]:
    if isinstance(function, ast.Lambda):
        yield function.body
        return
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            yield node.value


def _has_conditions(function: _Function) -> bool:
    """Whether anything decides between answers."""
    return any(
        isinstance(n, ast.If | ast.IfExp | ast.For | ast.While | ast.Match | ast.Try) for n in ast.walk(function)
    )


def _is_constant(answer: ast.expr) -> bool:
    return isinstance(answer, ast.Constant) and answer.value is not NotImplemented and answer.value is not None


def _is_not_implemented(answer: ast.expr | None) -> bool:
    return isinstance(answer, ast.Name) and answer.id == "NotImplemented"


def _is_refusal(answer: ast.expr | None) -> bool:
    """An answer that says nothing about content: False, None, NotImplemented."""
    return answer is None or _is_not_implemented(answer) or (isinstance(answer, ast.Constant) and not answer.value)


def _is_decided(answer: ast.expr) -> bool:
    """`... or True`, `... and False`, `not False`, `x if True else y`: constant in disguise."""
    for node in ast.walk(answer):
        if isinstance(node, ast.BoolOp):
            decides = isinstance(node.op, ast.Or)
            if any(isinstance(v, ast.Constant) and bool(v.value) is decides for v in node.values):
                return True
            if decides and any(_asks_kind(v) for v in node.values):
                return True
        if _is_any_kind(node) or (isinstance(node, ast.IfExp) and isinstance(node.test, ast.Constant)):
            return True
        if isinstance(node, ast.Compare) and ast.dump(node.left) in {ast.dump(side) for side in node.comparators}:
            return True
    return False


def _is_any_kind(node: ast.AST) -> bool:
    """`any([isinstance(other, A), ...])`."""
    match node:
        case ast.Call(func=ast.Name(id="any"), args=[ast.List(elts=parts) | ast.Tuple(elts=parts)]):
            return any(_asks_kind(part) for part in parts)
        case _:
            return False


def _looked_at(function: _Function) -> set[str]:
    """The names whose content has a part in an answer: in a condition, a loop, an assignment or a returned value."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    found: set[str] = set()
    for step in body:
        for node in ast.walk(step):
            if isinstance(node, ast.Expr):
                continue
            _collect(node, found)
    return found


def _collect(node: ast.AST, found: set[str]) -> None:
    """Add the names that stand in a node for their content."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and not _says_kind_only(node, child):
            found.add(child.id)


def _says_kind_only(parent: ast.AST, name: ast.Name) -> bool:
    """Whether a name stands where only its kind or its identity is asked for."""
    match parent:
        case ast.Call(func=ast.Name(id=function)) if function in _NO_CONTENT:
            return True
        case ast.Attribute(attr=attribute) if attribute in _KINDS:
            return True
        case ast.Compare(ops=operators) if all(isinstance(one, ast.Is | ast.IsNot) for one in operators):
            return True
        case ast.Compare(left=left, comparators=others):
            # With itself, or with a constant: that is no look at the other one.
            sides = [left, *others]
            return all(isinstance(s, ast.Constant) or (isinstance(s, ast.Name) and s.id == name.id) for s in sides)
        case ast.Return() | ast.Expr():
            return True
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp():
            return True
        case _:
            return False
