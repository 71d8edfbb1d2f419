"""Functions that hold their dependencies as constants, out of reach of the code they judge.

Any code in the process can set a closure's cell or a module's name without a trace. A code object's
constants cannot be set, and reading a function's code raises an audit event (PEP 578), which
`tamper_watch` reports.
"""

import ast
import builtins
import copy
import types
import warnings
from typing import Any, Dict, Iterator, cast


class _Constants(ast.NodeTransformer):
    """Replaces every outer name of a function by a marker."""

    def __init__(self, function: Any) -> None:
        code = function.__code__
        self._own = set(code.co_varnames)
        self._outer = {**vars(builtins), **function.__globals__}
        cells = function.__closure__ or ()
        self._outer.update(
            (name, cell.cell_contents) for name, cell in zip(code.co_freevars, cells)
        )
        self.parts: Dict[Any, Any] = {}

    def visit_Name(self, node: ast.Name) -> Any:
        """Replace a name that is read."""
        if not isinstance(node.ctx, ast.Load) or node.id in self._own or node.id not in self._outer:
            return node
        # The compiler folds numbers, strings and tuples, but not sets.
        mark = frozenset(["\0" + node.id])
        self.parts[mark] = self._outer[node.id]
        return ast.copy_location(ast.Constant(value=cast(Any, mark)), node)


def _conditions(tree: Any) -> Iterator[Any]:
    """Yield the expressions that are evaluated as conditions."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield node.test
        elif isinstance(node, ast.BoolOp):
            yield from node.values
        elif isinstance(node, ast.UnaryOp):
            yield node.operand


_TREES: Dict[str, Any] = {}


def _definition(code: types.CodeType) -> Any:
    """Return the statement that defines one of our functions."""
    if code.co_filename not in _TREES:
        with open(code.co_filename, "rb") as file:
            _TREES[code.co_filename] = ast.parse(file.read())
    return next(
        node
        for node in ast.walk(_TREES[code.co_filename])
        if isinstance(node, ast.FunctionDef)
        and (node.name, node.lineno) == (code.co_name, code.co_firstlineno)
    )


def harden_function(function: Any) -> Any:
    """Return the function with the current values of its globals, builtins and cells as constants.

    It must be a plain function without inner functions or comprehensions, and keep its state in
    mutable objects.

    Raises:
        ValueError: The function uses an outer name as a condition, which the compiler would fold.
    """
    definition = copy.deepcopy(_definition(function.__code__))
    tree = ast.Module(body=[definition], type_ignores=[])
    definition.returns, definition.decorator_list = None, []
    for argument in definition.args.args + definition.args.kwonlyargs:
        argument.annotation = None
    constants = _Constants(function)
    definition.body = [constants.visit(statement) for statement in definition.body]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = compile(
            ast.fix_missing_locations(tree),
            function.__code__.co_filename,
            "exec",
            dont_inherit=True,
        )
    code = next(part for part in module.co_consts if isinstance(part, types.CodeType))
    if any(
        isinstance(value, ast.Constant) and isinstance(value.value, frozenset)
        for value in _conditions(definition)
    ):
        raise ValueError("%s uses an outer name as a condition" % function.__name__)
    values = tuple(
        constants.parts.get(part, part) if isinstance(part, frozenset) else part
        for part in code.co_consts
    )
    made = types.FunctionType(
        code.replace(co_consts=values),
        {"__builtins__": {}},
        function.__name__,
        function.__defaults__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made
