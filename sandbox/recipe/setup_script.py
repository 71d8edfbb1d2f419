"""Read the literal arguments of setup.py's `setup` call from its syntax tree."""

import ast
from typing import Any

from sandbox.recipe.files import CheckoutFiles, beside

_WANTED = frozenset(
    {
        "name",
        "version",
        "install_requires",
        "extras_require",
        "tests_require",
        "packages",
        "package_dir",
        "py_modules",
    }
    | {
        "description",
        "author",
        "author_email",
        "url",
        "entry_points",
        "ext_modules",
        "rust_extensions",
        "cffi_modules",
        "scripts",
    }
)
_DESCRIPTIVE = frozenset(
    {"version", "description", "author", "author_email", "url", "packages", "py_modules", "scripts"}
)
"""Arguments that install nothing."""
_PRESENT = frozenset({"ext_modules", "rust_extensions", "cffi_modules"})
"""Arguments of which only the presence counts."""
_MOST_NODES = 50_000
_MOST_STEPS = 20_000


class _Constants(dict[str, ast.expr]):
    """The assignments of a module, with the steps that are left to evaluate them."""

    steps = _MOST_STEPS


def read_setup_call(files: CheckoutFiles, folder: str) -> dict[str, Any]:
    """Return the literal arguments of the `setup` call in a folder's setup.py."""
    return files.remember(("setup.py", folder), lambda: _read_setup_call(files, folder))


def _read_setup_call(files: CheckoutFiles, folder: str) -> dict[str, Any]:
    path = beside(folder, "setup.py")
    tree = files.python(path)
    if tree is None:
        return {}
    constants = _Constants(read_constants(tree))
    found: dict[str, Any] = {}
    # The file is the repository's, so the walk has a limit.
    for _, node in zip(range(_MOST_NODES), ast.walk(tree), strict=False):
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup"
        ):
            for keyword in node.keywords:
                problem = _keep(keyword, constants, found)
                if problem:
                    files.log.dropped(
                        f"{path}: {problem}", "it is computed, and setup.py is not run"
                    )
    # None marks requirements that are computed, often from a file.
    if "install_requires" in found and found["install_requires"] is None:
        del found["install_requires"]
        found.update(_from_files(tree, files, path))
    return found


def read_constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the top-level assignments of a module; the last one of each name counts."""
    found: dict[str, ast.expr] = {}
    for node in tree.body[:2000]:
        if isinstance(node, ast.Assign):
            found.update(
                {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
            )
        elif (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.value is not None
        ):
            found[node.target.id] = node.value
    return found


def literal(node: ast.expr, constants: _Constants, depth: int = 0) -> Any:
    """Evaluate an expression of literals, names of such, and sums of lists or strings.

    Raises:
        ValueError: The value has to be computed.
    """
    # Constants that refer to each other could take exponential time.
    constants.steps -= 1
    if depth > 12 or constants.steps < 0:  # noqa: PLR2004 (deeper than anybody writes)
        raise ValueError("too deep")
    following = depth + 1
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in constants:
        return literal(constants[node.id], constants, following)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return _sequence(node, constants, following)
    if isinstance(node, ast.Dict):
        return {
            literal(key, constants, following): literal(value, constants, following)
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        }
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _sum(
            literal(node.left, constants, following), literal(node.right, constants, following)
        )
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, constants, following) for part in node.values)
    if isinstance(node, ast.Subscript):
        return _item(
            literal(node.value, constants, following), literal(node.slice, constants, following)
        )
    raise ValueError("computed")


_MOST_ITEMS = 2000


def _sequence(node: ast.List | ast.Tuple | ast.Set, constants: _Constants, depth: int) -> list[Any]:
    items: list[Any] = []
    for element in node.elts[:_MOST_ITEMS]:
        if isinstance(element, ast.Starred):
            inner = literal(element.value, constants, depth)
            items += inner if isinstance(inner, list) else []
        else:
            items.append(literal(element, constants, depth))
        if len(items) > _MOST_ITEMS:
            raise ValueError("too long")
    return items


def _sum(left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list) and len(left) + len(right) <= _MOST_ITEMS:
        return left + right
    if (
        isinstance(left, str)
        and isinstance(right, str)
        and len(left) + len(right) <= _MOST_ITEMS * 5
    ):
        return left + right
    raise ValueError("computed")


def _text(part: ast.expr, constants: _Constants, depth: int) -> str:
    inner = part.value if isinstance(part, ast.FormattedValue) else part
    value = literal(inner, constants, depth)
    if not isinstance(value, str | int | float) or len(str(value)) > _MOST_ITEMS:
        raise ValueError("computed")
    return str(value)


def _item(value: Any, key: Any) -> Any:
    if isinstance(value, dict) and isinstance(key, str | int) and key in value:
        return value[key]
    if isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
        return value[key]
    raise ValueError("computed")


def _keep(keyword: ast.keyword, constants: _Constants, found: dict[str, Any]) -> str:
    """Store one argument. Return its name if it has to be computed."""
    name, value = keyword.arg or "", keyword.value
    if name not in _WANTED:
        return ""
    if name in _PRESENT:
        found[name] = not (isinstance(value, ast.List | ast.Tuple) and not value.elts)
        return ""
    # `find_packages("src")` is never literal, but its folder is.
    if name == "packages" and isinstance(value, ast.Call):
        where = next(
            (k.value for k in value.keywords if k.arg == "where"), next(iter(value.args), None)
        )
        found["where"] = where.value if isinstance(where, ast.Constant) else None
        return ""
    try:
        found[name] = literal(value, constants)
    # A deep or huge expression must not end the reading of the other arguments.
    except (ValueError, TypeError, RecursionError, MemoryError):
        if name == "install_requires":
            found[name] = None
        if name in _DESCRIPTIVE:
            return ""
        return name
    return ""


def _from_files(tree: ast.Module, files: CheckoutFiles, path: str) -> dict[str, Any]:
    """Return the requirement files that setup.py names when it computes its requirements."""
    named = [
        node.value
        for _, node in zip(range(_MOST_NODES), ast.walk(tree), strict=False)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    likely = [
        name
        for name in named
        if name.endswith((".txt", ".in")) and "require" in name and len(name) < 100  # noqa: PLR2004
    ]
    main = [
        name
        for name in dict.fromkeys(likely)
        if not any(word in name for word in ("dev", "test", "doc", "opt"))
    ]
    if main:
        files.log.replaced(
            f"{path}: install_requires", f"the requirements in {', '.join(main[:3])} are installed"
        )
    return {"requirement_files": main[:3]}
