"""Find parentheses and empty statements of JavaScript and TypeScript without any effect.

Of parentheses only those around a whole value, around an operand of plain operators, and around the
one parameter of an arrow function. The tree without them must still be that of the other text.
"""

from sandbox.languages.leaves import Step, Visit, Walk, parts_of

_VALUES = frozenset(
    {
        "arguments", "array", "arrow_function", "jsx_expression", "pair",
        "parenthesized_expression", "return_statement", "template_substitution",
        "throw_statement", "variable_declarator",
    }
)  # fmt: skip
"""Nodes whose members are whole values, parted by brackets, commas or line ends."""
_BEHIND = frozenset({"assignment_expression", "augmented_assignment_expression"})
"""Nodes whose last member is a whole value."""
_ENDED = frozenset(
    {"jsx_expression", "parenthesized_expression", "return_statement", "template_substitution"}
)
"""Nodes in which no comma can follow a value, so that `<` in it begins no list of types."""
_SIMPLE = frozenset(
    {
        "call_expression", "identifier", "jsx_element", "jsx_self_closing_element",
        "member_expression", "number", "string", "subscript_expression", "template_string", "this",
    }
)  # fmt: skip
_WHOLE_VALUES = _SIMPLE | {
    "array", "arrow_function", "as_expression", "assignment_expression",
    "augmented_assignment_expression", "await_expression", "binary_expression", "new_expression",
    "object", "satisfies_expression", "ternary_expression", "unary_expression",
}  # fmt: skip
_BODIES = frozenset({"program", "statement_block"})
_OUTER = frozenset({"&&", "||", "+", "-", "*", "/", "%", "==", "===", "!=", "!=="})
_INNER = _OUTER | {"<", ">", "<=", ">="}
_NO_NAMES = frozenset({"async", "await", "let", "of", "static", "yield"})


def find_idle(walk: Walk, *, is_typed: bool) -> frozenset[int]:
    """Return the ids of nodes whose signs have no effect.

    Args:
        walk: All visits of a file.
        is_typed: It may have lists of types, which `<` begins.
    """
    found: set[int] = set()
    for one in walk.visits:
        if one.step is Step.LEAF and _is_empty(one, walk):
            found |= {one.parent.node.id} if one.parent and one.parent.node else set()
        if one.step is not Step.OPEN or one.node is None:
            continue
        if one.kind == "parenthesized_expression" and _is_idle(one, walk, is_typed=is_typed):
            found.add(one.node.id)
        elif one.kind == "formal_parameters" and one.above == "arrow_function":
            found |= _one_parameter(one, walk)
    return frozenset(found)


def _is_empty(leaf: Visit, walk: Walk) -> bool:
    """Return True for a semicolon alone, unless a string after it would become a directive."""
    if leaf.above != "empty_statement" or leaf.parent is None:
        return False
    after = walk.near(leaf, 1)
    return leaf.parent.above in _BODIES and (after is None or after.kind != "string")


def _is_idle(visit: Visit, walk: Walk, *, is_typed: bool) -> bool:
    inner = _content(visit)
    parent = visit.parent
    if inner is None or parent is None or parent.node is None:
        return False
    is_name = inner.kind == "identifier"
    if is_name and walk.text(inner) in _NO_NAMES:
        return False
    if is_typed and not _is_safe(inner, parent) and walk.has(inner, b"<"):
        return False
    if parent.kind == "binary_expression":
        return _is_operand(inner, parent)
    if parent.kind in _BEHIND:
        last = parent.node.child_by_field_name("right")
        is_value = last is not None and last.id == (visit.node.id if visit.node else None)
    elif parent.kind == "await_expression":
        return inner.kind in _SIMPLE
    elif parent.kind == "ternary_expression":
        return inner.kind in _SIMPLE or inner.kind == "binary_expression"
    else:
        is_value = parent.kind in _VALUES
    return is_value and inner.kind in _WHOLE_VALUES


def _is_safe(inner: Visit, parent: Visit) -> bool:
    return inner.kind.startswith("jsx_") or parent.kind in _ENDED


def _content(visit: Visit) -> Visit | None:
    """Return the only node in parentheses, comments not counted."""
    if visit.node is None:
        return None
    inside = [one for one in parts_of(visit.node) if one[0] != "comment"]
    if [inside[0][0], inside[-1][0], len(inside)] != ["(", ")", 3]:
        return None
    kind, start, end, node = inside[1]
    return Visit(Step.OPEN, kind, start, end, node, visit)


def _is_operand(inner: Visit, parent: Visit) -> bool:
    if _operator(parent) not in _OUTER:
        return False
    return inner.kind in _SIMPLE or (
        inner.kind == "binary_expression" and _operator(inner) in _INNER
    )


def _operator(visit: Visit) -> str:
    sign = visit.node.child_by_field_name("operator") if visit.node is not None else None
    return sign.type if sign is not None else ""


def _one_parameter(visit: Visit, walk: Walk) -> set[int]:
    """Return the nodes around the only parameter of an arrow function, if it is a plain name."""
    if visit.node is None:
        return set()
    inside = [one for one in visit.node.named_children if one.type != "comment"]
    if len(inside) != 1:
        return set()
    wrapper = inside[0]
    name = wrapper.named_children[0] if wrapper.child_count == 1 else wrapper
    found = Visit(Step.OPEN, name.type, name.start_byte, name.end_byte, name, visit)
    if name.type != "identifier" or walk.text(found) in _NO_NAMES:
        return set()
    return {visit.node.id, wrapper.id} if wrapper.id != name.id else {visit.node.id}
