"""Expressions with a shorter form that means the same for every value."""

import ast
from collections.abc import Iterator

from bot.improve.rules.source import (
    Function,
    PythonFile,
    Rule,
    SpliceEdit,
    bound_by,
    is_plain,
    own_nodes,
)

_OPPOSITE: dict[type[ast.cmpop], tuple[bytes, bytes]] = {
    ast.In: (b"in", b"not in"),
    ast.NotIn: (b"not in", b"in"),
    ast.Is: (b"is", b"is not"),
    ast.IsNot: (b"is not", b"is"),
}
_BOOLEAN_CALLS = ("isinstance", "issubclass", "callable", "hasattr", "bool")
_EMPTY = {"dict": b"{}", "list": b"[]", "tuple": b"()"}


def _negations(source: PythonFile) -> Iterator[SpliceEdit]:
    for node in source.outside_strings:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            new = _opposite(node.operand, source)
            if new is not None and is_plain(source.text(node)):
                yield replaced(node, new, source)


def _opposite(node: ast.expr, source: PythonFile) -> bytes | None:
    """Return the negation of `a in b`, `a is b` or their opposites; all give a boolean."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    words = _OPPOSITE.get(type(node.ops[0]))
    text = source.text(node)
    left = source.text(node.left)
    # An operand in brackets has them outside of its own span.
    if words is None or not text.startswith(left):
        return None
    middle = text[len(left) :].lstrip()
    if not middle.startswith(words[0]):
        return None
    return left + b" " + words[1] + middle.removeprefix(words[0])


def _boolean_returns(source: PythonFile) -> Iterator[SpliceEdit]:
    for block in source.blocks():
        for index, statement in enumerate(block):
            if not isinstance(statement, ast.If) or len(statement.body) != 1:
                continue
            after = statement.orelse or block[index + 1 : index + 2]
            if len(after) != 1 or not is_boolean(statement.test, source):
                continue
            yes, no = _returned(statement.body[0]), _returned(after[0])
            start, end = source.span(statement)[0], source.span(after[0])[1]
            part = source.content[start:end]
            # `elif` begins inside of another statement.
            if not part.startswith(b"if") or b"#" in part or None in {yes, no} or yes == no:
                continue
            test = source.text(statement.test) if yes else _negated(statement.test, source)
            if test is not None and is_plain(test):
                yield SpliceEdit(start=start, end=end, text=b"return " + test)


def _negated(test: ast.expr, source: PythonFile) -> bytes | None:
    """Return the shortest negation of a boolean expression; None if it would be no shorter."""
    if isinstance(test, ast.Call):
        return b"not " + source.text(test)
    return _opposite(test, source)


def _returned(statement: ast.stmt) -> bool | None:
    """Return the boolean that a statement returns; None if it is another statement."""
    value = statement.value if isinstance(statement, ast.Return) else None
    found = value.value if isinstance(value, ast.Constant) else None
    return found if isinstance(found, bool) else None


def is_boolean(node: ast.expr, source: PythonFile) -> bool:
    """Return True if an expression gives True or False, and never another value.

    Args:
        node: The expression.
        source: Its file.
    """
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Compare):
        always = ast.In | ast.NotIn | ast.Is | ast.IsNot
        return len(node.ops) == 1 and isinstance(node.ops[0], always)
    return isinstance(node, ast.Call) and source.is_builtin(node.func, *_BOOLEAN_CALLS)


def _boolean_choices(source: PythonFile) -> Iterator[SpliceEdit]:
    for node in source.outside_strings:
        if not isinstance(node, ast.IfExp) or not is_boolean(node.test, source):
            continue
        values = [
            n.value if isinstance(n, ast.Constant) else None for n in (node.body, node.orelse)
        ]
        if values[0] is True and values[1] is False:
            new: bytes | None = source.text(node.test)
        elif values[0] is False and values[1] is True:
            new = _negated(node.test, source)
        else:
            continue
        if new is not None and is_plain(source.text(node)):
            # A negation or a comparison binds less tightly than the choice's neighbours may do.
            is_tight = isinstance(node.test, ast.Call) and values[0] is True
            yield replaced(node, new if is_tight else b"(" + new + b")", source)


def _calls(source: PythonFile) -> Iterator[SpliceEdit]:
    for node in source.outside_strings:
        if not isinstance(node, ast.Call) or node.keywords or not is_plain(source.text(node)):
            continue
        new = _shorter_call(node, source)
        if new is not None:
            yield replaced(node, new, source)


def _shorter_call(node: ast.Call, source: PythonFile) -> bytes | None:
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    count = len(node.args)
    if count == 0 and source.is_builtin(node.func, *_EMPTY):
        return _EMPTY[source.text(node.func).decode()]
    two = 2
    if count == two and source.is_builtin(node.func, "range") and _is_number(node.args[0], 0):
        return b"range(" + source.text(node.args[1]) + b")"
    if count == two + 1 and source.is_builtin(node.func, "range") and _is_number(node.args[2], 1):
        return b"range(" + b", ".join(source.text(one) for one in node.args[:2]) + b")"
    inner = node.args[0] if count == 1 else None
    if isinstance(inner, ast.Call) and is_plain(source.text(inner)):
        if source.is_builtin(node.func, "list") and source.is_builtin(inner.func, "sorted"):
            return source.text(inner)
        is_copy = source.is_builtin(inner.func, "list") and len(inner.args) == 1
        starred = is_copy and isinstance(inner.args[0], ast.Starred)
        if is_copy and not starred and source.is_builtin(node.func, "sorted", "set", "tuple"):
            return source.text(node.func) + b"(" + source.text(inner.args[0]) + b")"
    return None


def _is_number(node: ast.expr, number: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == number


def _bases(source: PythonFile) -> Iterator[SpliceEdit]:
    for node in source.outside_strings:
        if not isinstance(node, ast.ClassDef) or node.keywords or len(node.bases) != 1:
            continue
        if not source.is_builtin(node.bases[0], "object"):
            continue
        base_start, base_end = source.span(node.bases[0])
        head = source.content[source.span(node)[0] : base_start].rstrip()
        rest = source.content[base_end : source.span(node.body[0])[0]]
        close = rest.find(b")")
        if head.endswith(node.name.encode() + b"(") and not rest[:close].strip(b" ,"):
            opening = source.span(node)[0] + len(head) - 1
            yield SpliceEdit(start=opening, end=base_end + close + 1)


def _supers(source: PythonFile) -> Iterator[SpliceEdit]:
    for node in source.outside_strings:
        if not isinstance(node, ast.ClassDef):
            continue
        # A decorator, a metaclass or an assignment may put another class under the same name.
        bindings = sum(node.name in bound_by(one) for one in source.nodes)
        if node.decorator_list or node.keywords or bindings > 1:
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.decorator_list:
                yield from _supers_in(method, node.name, source)


def _supers_in(method: Function, name: str, source: PythonFile) -> Iterator[SpliceEdit]:
    first = next(iter([*method.args.posonlyargs, *method.args.args]), None)
    nodes = list(own_nodes(method))
    within = ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp
    rebound = any(
        isinstance(n, ast.Name)
        and not isinstance(n.ctx, ast.Load)
        and first is not None
        and n.id == first.arg
        for n in nodes
    )
    if first is None or rebound or any(isinstance(node, within) for node in nodes):
        return
    for node in nodes:
        if not isinstance(node, ast.Call) or not source.is_builtin(node.func, "super"):
            continue
        names = [one.id if isinstance(one, ast.Name) else None for one in node.args]
        if names == [name, first.arg] and not node.keywords:
            yield replaced(node, b"super()", source)


def replaced(node: ast.expr, new: bytes, source: PythonFile) -> SpliceEdit:
    """Return the edit that replaces an expression.

    Args:
        node: The expression.
        new: Its replacement.
        source: Its file.
    """
    start, end = source.span(node)
    return SpliceEdit(start=start, end=end, text=new)


RULES = (
    Rule(
        "negation",
        "simplify {things}",
        "negation",
        "`not a in b` and `a not in b` run the same operation and both give a boolean",
        _negations,
    ),
    Rule(
        "boolean-return",
        "return {things} directly",
        "condition",
        "the condition is always True or False",
        _boolean_returns,
    ),
    Rule(
        "boolean-choice",
        "use {things} directly",
        "condition",
        "the condition is always True or False",
        _boolean_choices,
    ),
    Rule(
        "call",
        "shorten {things} of builtins",
        "call",
        "the file never rebinds the builtin, and the shorter form gives the same value",
        _calls,
    ),
    Rule(
        "object-base",
        "remove {things}",
        "redundant base class",
        "every class of Python 3 derives from object",
        _bases,
        plural="redundant base classes",
    ),
    Rule(
        "super",
        "shorten {things} of super",
        "call",
        "inside a method of an undecorated class, both forms name the same class and object",
        _supers,
    ),
)
