"""Expand a job's matrix into cells: the product of the axes, with `exclude` and `include`."""

from collections.abc import Mapping
from itertools import product
from typing import Any

from sandbox.recipe.actions.templates import resolve_value
from sandbox.recipe.actions.values import Context, Unknown, Value, as_text
from sandbox.recipe.document import mapping, sequence, text

Cell = dict[str, Value]

MOST_CELLS = 256
_DEEPEST = 6
_LONGEST = 500


def expand_matrix(strategy: object, context: Context) -> tuple[list[Cell], Unknown | None]:
    """Return every cell of a job, at least one.

    Args:
        strategy: The job's `strategy`.
        context: The context of its expressions.

    Returns:
        The cells, and the matrix if all of it is unknown. An axis that another job computes is
        unknown in each cell.
    """
    written = mapping(strategy).get("matrix")
    if written is None:
        return [{}], None
    matrix = resolve_value(written, context)
    if isinstance(matrix, Unknown):
        return [{}], matrix
    table = mapping(matrix)
    axes: dict[str, list[Value]] = {}
    for name, values in table.items():
        if name not in {"include", "exclude"}:
            axes[name] = _axis(values, context)
    cells = _product(axes)
    excluded = [_resolve_entry(entry, context) for entry in _entries(table.get("exclude"), context)]
    cells = [cell for cell in cells if not any(entry and _fits(entry, cell) for entry in excluded)]
    # GitHub applies `exclude` before `include`.
    included = [_resolve_entry(entry, context) for entry in _entries(table.get("include"), context)]
    return _include(cells, included, set(axes))[:MOST_CELLS] or [{}], None


def cell_words(cell: Mapping[str, Value]) -> list[str]:
    """Return the values of a cell in the order of the job's name."""
    found: list[str] = []
    for value in cell.values():
        found += _leaves(value, 0)
    return found


def plain_cell(cell: Mapping[str, Value]) -> dict[str, str]:
    """Return the cell for display: scalars as text, and nested mappings by path."""
    found: dict[str, str] = {}
    for name, value in cell.items():
        if isinstance(value, dict):
            found |= {
                f"{name}.{key}": as_text(inner)
                for key, inner in list(value.items())[:20]
                if not _nested(inner)
            }
        elif not _nested(value) and not isinstance(value, Unknown):
            found[name] = as_text(value)
    return {name[:_LONGEST]: value[:_LONGEST] for name, value in found.items()}


def agrees(cell: Mapping[str, Value], wanted: Mapping[str, str]) -> bool:
    """Return True if a cell has these values; an unknown value matches any."""
    known = plain_cell(cell)
    for name, value in wanted.items():
        if isinstance(cell.get(name), Unknown):
            continue
        if known.get(name) != value:
            return False
    return True


def _nested(value: Value) -> bool:
    return isinstance(value, list | dict)


def _leaves(value: Value, depth: int) -> list[str]:
    if isinstance(value, dict | list) and depth < _DEEPEST:
        inner = list(value.values()) if isinstance(value, dict) else value
        return [leaf for item in inner[:50] for leaf in _leaves(item, depth + 1)]
    return [] if value is None or isinstance(value, Unknown) else [as_text(value)]


def _axis(values: object, context: Context) -> list[Value]:
    found = resolve_value(values, context)
    if isinstance(found, Unknown):
        return [found]
    items = sequence(found) if isinstance(found, list) else [] if found is None else [found]
    return [_resolve_nested(item, context, 0) for item in items]


def _resolve_nested(value: Any, context: Context, depth: int) -> Value:
    """Resolve the expressions inside a value."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return {
            text(key): _resolve_nested(item, context, depth + 1)
            for key, item in list(value.items())[:100]
        }
    if isinstance(value, list):
        return [_resolve_nested(item, context, depth + 1) for item in value[:100]]
    return resolve_value(value, context)


def _entries(value: object, context: Context) -> list[dict[str, Any]]:
    found = resolve_value(value, context)
    return [mapping(entry) for entry in sequence(found) if isinstance(entry, dict)]


def _resolve_entry(entry: Mapping[str, Any], context: Context) -> Cell:
    return {name: _resolve_nested(value, context, 0) for name, value in entry.items()}


def _product(axes: Mapping[str, list[Value]]) -> list[Cell]:
    if not axes:
        return []
    found: list[Cell] = []
    for values in product(*axes.values()):
        found.append(dict(zip(axes, values, strict=True)))
        if len(found) >= MOST_CELLS * 4:  # exclude may still remove some
            break
    return found


def _include(cells: list[Cell], entries: list[Cell], axes: set[str]) -> list[Cell]:
    """Apply `include`: an entry extends the cells that it does not contradict, or is a new cell."""
    extended = [dict(cell) for cell in cells]
    added: list[Cell] = []
    for entry in entries[:MOST_CELLS]:
        fixed = {name: value for name, value in entry.items() if name in axes}
        fitting = [index for index, cell in enumerate(cells) if _fits(fixed, cell)]
        for index in fitting:
            extended[index] |= entry
        if not fitting:
            added.append(dict(entry))
    return extended + added


def _fits(entry: Mapping[str, Value], cell: Mapping[str, Value]) -> bool:
    return all(name in cell and _same(value, cell[name], 0) for name, value in entry.items())


def _same(left: Value, right: Value, depth: int) -> bool:
    """Return True if a value matches the cell's. A mapping or list may be a part of the cell's."""
    if depth > _DEEPEST:
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return all(
            name in right and _same(value, right[name], depth + 1) for name, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return all(_same(a, b, depth + 1) for a, b in zip(left, right, strict=False)) and len(
            left
        ) <= len(right)
    if _nested(left) or _nested(right) or isinstance(left, Unknown) or isinstance(right, Unknown):
        return False
    return as_text(left) == as_text(right)
