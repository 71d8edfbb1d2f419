"""What decides whether a line runs, what makes its values, and what a returned value depends on."""

import ast
from typing import Any

from sandbox.guest.search.locate.flow import backward_slice, find_bindings, find_controllers

TEXT = """\
def price(items, kind):
    total = 0
    note = "none"
    if not items:
        return 0
    for item in items:
        if item.kind == kind:
            total += item.price
    if total > 100:
        raise ValueError(kind)
    return total
"""
CLASS = """\
class Cart:
    def __init__(self, rates):
        self.rates = dict(rates)
        self.other = 1

    def add(self, name, rate):
        self.rates[name] = rate

    def net(self, name):
        if self.rates[name] is None:
            raise KeyError(name)
"""


def statement(tree: ast.AST, line: int) -> Any:
    found = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno == line]
    return found[-1]


def function(text: str, name: str) -> Any:
    return next(
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name == name
    )


def test_conditions_around_a_line_count_most_and_guards_before_it_less() -> None:
    node = function(TEXT, "price")
    found = find_controllers(statement(node, 10), node)
    assert found[9] == 1.0
    assert 0 < found[4] < found[9]
    assert 6 not in found


def test_loops_and_conditions_around_a_line_decide_about_it() -> None:
    node = function(TEXT, "price")
    assert {7, 6} <= set(find_controllers(statement(node, 8), node))


def test_values_are_followed_to_where_they_are_made() -> None:
    node = function(TEXT, "price")
    assert set(find_bindings(statement(node, 11), node)) == {2, 8}


def test_attributes_of_self_are_followed_through_all_methods() -> None:
    tree = ast.parse(CLASS)
    methods = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    condition = statement(tree, 10)
    assert set(find_bindings(condition, methods[2], methods)) >= {3, 7}
    assert 4 not in find_bindings(condition, methods[2], methods)


def test_what_a_returned_value_does_not_depend_on_is_left_out() -> None:
    node = function(TEXT, "price")
    found = backward_slice(node, [11])
    assert {2, 6, 7, 8, 11} <= set(found)
    assert 3 not in found
