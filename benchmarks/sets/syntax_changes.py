"""Differences between two syntax trees, and the kind of change that they amount to."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

BLOCKS = ("body", "orelse", "finalbody", "handlers")
EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_TEXT_CALLS = frozenset((
    "open", "compile", "match", "search", "sub", "split", "fullmatch", "findall", "finditer",
    "strftime", "strptime", "format", "getLogger", "pack", "unpack", "encode", "decode",
))  # fmt: skip
_WORD = re.compile(r"[A-Za-z']{2,}")
_WORDS = 4
"""A text with so many words is a message for people."""
_PATTERN_SIGNS = ("\\", "(?", "[^", ".*", "+?", "{}", "%s", "%d", "%r")


@dataclass(frozen=True)
class Difference:
    """A part of a tree that another tree replaces.

    Args:
        ancestors: The nodes around it, outermost first.
        field: Its field in the nearest ancestor.
        old: The replaced nodes or values.
        new: What replaces them.
    """

    ancestors: tuple[ast.AST, ...]
    field: str
    old: tuple[Any, ...]
    new: tuple[Any, ...]

    @property
    def parent(self) -> ast.AST:
        """Return the nearest ancestor."""
        return self.ancestors[-1]

    @property
    def is_token(self) -> bool:
        """Return True if one name, constant or operator replaces another."""
        return len(self.old) == len(self.new) == 1 and all(map(_is_small, (*self.old, *self.new)))


def normalized_tree(text: str) -> ast.Module:
    """Parse a program and remove docstrings, annotations and casts.

    Args:
        text: The program.

    Raises:
        SyntaxError: It is no Python.
    """
    tree = ast.parse(text)
    if "cast(" in text:
        tree = _WithoutCasts().visit(tree)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [_without_annotation(s) for s in body if not _is_docstring(s)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
    return tree


class _WithoutCasts(ast.NodeTransformer):
    """Replaces `typing.cast(kind, value)` by the value."""

    @override
    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the second argument of a cast, and any other call."""
        self.generic_visit(node)
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return node.args[1] if name == "cast" and len(node.args) == 2 else node


def differences(old: ast.AST, new: ast.AST) -> list[Difference]:
    """Return the smallest parts in which two trees differ.

    Args:
        old: The tree before.
        new: The tree after.
    """
    return list(_compare(old, new, ()))


def equal_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """Return how many items two sequences share at their beginnings, and then at their ends.

    Args:
        one: A sequence.
        other: Another one.
    """
    shortest = min(len(one), len(other))
    head = next((i for i in range(shortest) if one[i] != other[i]), shortest)
    most = shortest - head
    return head, next((i for i in range(most) if one[-1 - i] != other[-1 - i]), most)


def classify(found: list[Difference]) -> str:
    """Return the kind of a change.

    Args:
        found: Its differences.
    """
    found = _without_dictionary_halves(found)
    if len(found) == 1:
        return _classify_one(found[0])
    if len(found) == 2 and all(one.is_token for one in found):
        return "two coupled tokens"
    if len({_classify_one(one) for one in found}) == 1:
        return _classify_one(found[0])
    return "several edits"


def changes_behaviour(found: list[Difference]) -> bool:
    """Return False if a change concerns nothing but messages for people, or imports.

    Args:
        found: Its differences.
    """
    return not all(_is_message(one) or _is_import(one) for one in found)


def _is_message(found: Difference) -> bool:
    # A text that becomes a formatted one, or the reverse, shows other values.
    if len({type(value) for value in (*found.old, *found.new)}) > 1:
        return False
    texts = [_plain_text(value) for value in (*found.old, *found.new)]
    nodes = found.ancestors[-2:]
    texts += [_plain_text(node) for node in nodes if isinstance(node, ast.JoinedStr)]
    known = [text for text in texts if text is not None]
    prose = [text for text in known if len(_WORD.findall(text)) >= _WORDS and "\\" not in text]
    return len(known) == len(texts) and len(prose) > 0


def _is_import(found: Difference) -> bool:
    return any(isinstance(node, ast.ImportFrom | ast.Import) for node in found.ancestors)


def _plain_text(value: Any) -> str | None:
    """Return the text of a string, also of a formatted one; None for anything else."""
    value = value.value if isinstance(value, ast.Constant) else value
    if isinstance(value, ast.JoinedStr):
        return " ".join(str(_plain_text(part) or "") for part in value.values)
    return value if isinstance(value, str) else None


def _compare(old: ast.AST, new: ast.AST, around: tuple[ast.AST, ...]) -> Iterator[Difference]:
    around = (*around, old)
    for field in old._fields:
        before, after = getattr(old, field, None), getattr(new, field, None)
        if isinstance(before, list) and isinstance(after, list):
            yield from _compare_lists(before, after, field, around)
        elif _dump(before) != _dump(after):
            yield from _compare_parts(before, after, field, around)


def _compare_parts(
    old: Any, new: Any, field: str, around: tuple[ast.AST, ...]
) -> Iterator[Difference]:
    if isinstance(old, ast.AST) and type(old) is type(new) and not _is_inserted_branch(old, new):
        yield from _compare(old, new, around)
    else:
        yield Difference(around, field, (old,), (new,))


def _compare_lists(
    old: list[Any], new: list[Any], field: str, around: tuple[ast.AST, ...]
) -> Iterator[Difference]:
    before, after = list(map(_dump, old)), list(map(_dump, new))
    if before == after:
        return
    head, tail = equal_ends(before, after)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(old) == len(new) and field != "keys":
        for one, other in zip(old, new, strict=True):
            if _dump(one) != _dump(other):
                yield from _compare_parts(one, other, field, around)
    else:
        yield Difference(around, field, tuple(old), tuple(new))


def _is_inserted_branch(old: ast.AST, new: Any) -> bool:
    """Return True if `new` is an `if` whose `else` part is the old `if`."""
    return isinstance(old, ast.If) and list(map(_dump, new.orelse)) == [_dump(old)]


def _classify_one(found: Difference) -> str:
    # Statements are lists of their block; everything else is a part of an expression.
    if found.field in BLOCKS and isinstance(found.parent, ast.mod | ast.stmt | ast.excepthandler):
        return _classify_statements(found)
    if any(isinstance(node, ast.arguments) for node in found.ancestors) and not any(
        isinstance(node, ast.Lambda) for node in found.ancestors
    ):
        return "parameter"
    if _names_exception(found.ancestors):
        return "exception type"
    if len(found.old) != len(found.new):
        return _classify_elements(found)
    return _classify_expression(found)


def _names_exception(ancestors: tuple[ast.AST, ...]) -> bool:
    """Return True inside of what is raised or caught, but not inside of its arguments."""
    for index, node in enumerate(ancestors):
        inside = ancestors[index + 1 :]
        if isinstance(node, ast.ExceptHandler):
            return not inside or inside[0] is node.type
        if isinstance(node, ast.Raise):
            called = bool(inside) and isinstance(inside[0], ast.Call)
            return not called or inside[1:2] == (getattr(inside[0], "func", None),)
    return False


def _classify_statements(found: Difference) -> str:
    old, new = found.old, found.new
    if not old:
        return _classify_insertion(found)
    if not new:
        return "deleted statements"
    if len(old) == len(new) == 1 and isinstance(new[0], ast.If):
        if list(map(_dump, new[0].orelse)) == [_dump(old[0])]:
            return "new branch"
        if _dump(old[0]) in map(_dump, new[0].body):
            return "statement made conditional"
    if isinstance(new[0], ast.If) and list(map(_dump, new[0].body)) == list(map(_dump, old)):
        return "statement made conditional"
    if isinstance(old[0], ast.If) and set(map(_dump, new)) <= set(map(_dump, old[0].body)):
        return "condition removed"
    if any(isinstance(node, ast.Try) for node in new) and not any(
        isinstance(node, ast.Try) for node in old
    ):
        return "exception handling"
    return "replaced statements"


def _classify_insertion(found: Difference) -> str:
    new = found.new
    if found.field == "handlers":
        return "exception handling"
    if found.field == "orelse":
        return "new branch" if isinstance(new[0], ast.If) else "else part"
    if len(new) == 1:
        return _classify_inserted_statement(found, new[0])
    return "added statements"


def _classify_inserted_statement(found: Difference, new: ast.stmt) -> str:
    if isinstance(new, ast.If):
        if isinstance(new.body[-1], ast.Raise):
            return "guard that raises"
        return "guard" if isinstance(new.body[-1], EXITS) else "new branch"
    if isinstance(new, ast.Expr) and isinstance(new.value, ast.Call):
        called = _callee(new.value)
        calls = (n for a in found.ancestors[1:2] for n in ast.walk(a) if isinstance(n, ast.Call))
        mirrors = any(_callee(call) == called for call in calls)
        return "added call that mirrors a sibling" if mirrors else "added call"
    if isinstance(new, ast.Assign | ast.AugAssign | ast.AnnAssign):
        return "added assignment"
    return "added statements"


def _classify_elements(found: Difference) -> str:
    parent, grows = found.parent, len(found.new) > len(found.old)
    if isinstance(parent, ast.BoolOp):
        return "extra boolean term" if grows else "removed boolean term"
    if isinstance(parent, ast.Call):
        if found.field == "keywords":
            return "added keyword argument" if grows else "removed argument"
        return "added argument" if grows else "removed argument"
    if isinstance(parent, ast.Dict | ast.List | ast.Set | ast.Tuple):
        return "table entries"
    if isinstance(parent, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return "bases or decorators"
    return "replaced expression"


def _classify_expression(found: Difference) -> str:
    old, new = found.old[0], found.new[0]
    if isinstance(old, ast.cmpop):
        return "comparison operator"
    if isinstance(old, ast.operator | ast.boolop | ast.unaryop):
        return "operator"
    if found.field == "id":
        return "name"
    if found.field in ("attr", "arg"):
        return "attribute name"
    if _is_text(old, new):
        return "text" if not _is_special_text(found) else "format, mode or pattern"
    if isinstance(found.parent, ast.Constant) or (
        isinstance(old, ast.Constant) and isinstance(new, ast.Constant)
    ):
        return "constant"
    if isinstance(old, ast.AST) and isinstance(new, ast.AST):
        return _classify_replacement(old, new)
    return "replaced expression"


def _classify_replacement(old: ast.AST, new: ast.AST) -> str:
    inside = {_dump(node) for node in ast.walk(new)}
    if isinstance(new, ast.BoolOp) and _dump(old) in map(_dump, new.values):
        return "extra boolean term"
    if isinstance(old, ast.BoolOp) and _dump(new) in map(_dump, old.values):
        return "removed boolean term"
    if _dump(old) in inside:
        if isinstance(new, ast.Attribute) or (
            isinstance(new, ast.Call)
            and isinstance(new.func, ast.Attribute)
            and _dump(old) in {_dump(node) for node in ast.walk(new.func)}
        ):
            return "attribute chain"
        if isinstance(new, ast.Call):
            return "wrapped in a call"
        if isinstance(new, ast.IfExp):
            return "conditional expression"
        return "extended expression"
    if _dump(new) in {_dump(node) for node in ast.walk(old)}:
        return "reduced expression"
    return "replaced expression"


def _without_dictionary_halves(found: list[Difference]) -> list[Difference]:
    """Drop the values of entries whose keys are a difference of their own."""
    keys = {id(one.parent) for one in found if one.field == "keys"}
    return [one for one in found if one.field != "values" or id(one.parent) not in keys]


def _is_special_text(found: Difference) -> bool:
    texts = [value for value in (*found.old, *found.new) if isinstance(value, str)]
    nodes = [value.value for value in (*found.old, *found.new) if isinstance(value, ast.Constant)]
    calls = [node for node in found.ancestors[-4:] if isinstance(node, ast.Call)]
    if any(_callee(call).rpartition(".")[2] in _TEXT_CALLS for call in calls):
        return True
    return any(sign in str(text) for text in (*texts, *nodes) for sign in _PATTERN_SIGNS)


def _is_text(*values: Any) -> bool:
    plain = [value.value if isinstance(value, ast.Constant) else value for value in values]
    return all(isinstance(value, str | bytes) for value in plain) or any(
        isinstance(value, ast.JoinedStr) for value in plain
    )


def _is_small(value: Any) -> bool:
    leaf = (ast.Name, ast.Constant, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
    return not isinstance(value, ast.AST) or isinstance(value, leaf)


def _callee(call: ast.Call) -> str:
    return ast.unparse(call.func)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _without_annotation(node: ast.stmt) -> ast.stmt:
    if not isinstance(node, ast.AnnAssign) or node.value is None:
        return node
    return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)


def _dump(value: Any) -> str:
    if isinstance(value, ast.AST):
        return ast.dump(value)
    return repr(value)
