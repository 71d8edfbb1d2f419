"""The functions that a survivor changes, before and after the edit."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.source.functions import Unit, list_units, nearest_twin
from sandbox.guest.search.source.render import SourceFile

MOST_FILES = 8
"""Maximum number of files of a change that is examined; every function of each is compiled."""
LONGEST_FUNCTION = 400
"""Maximum number of lines of a function that is examined; a longer one takes too long."""


class PatchedFunction(NamedTuple):
    """A function that a survivor changes.

    Attributes:
        unit: The function as it was imported.
        twin: The same function in the edited file.
        lines: Numbers of the new lines in the edited file.
    """

    unit: Unit
    twin: Unit
    lines: Set[int]


def patched_functions(facts: Any, one: Alternative) -> List[PatchedFunction]:
    """Return the functions that a survivor changes; new functions and other code are left out.

    Return none if it changes one place that code cannot be swapped into, such as a signature, or
    too many files.

    Args:
        facts: What is known from the collected tests.
        one: The survivor.
    """
    found: List[PatchedFunction] = []
    if len(one.files) > MOST_FILES:
        return found
    for path, units in _units_by_path(facts, one).items():
        try:
            source = SourceFile(path, one.files[path])
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        found += [
            PatchedFunction(unit, twin, _lines(unit, twin))
            for unit, twin in _pairs(units, list_units(source, units[0].filename))
            if _text(unit) != _text(twin)
        ]
    if not one.swaps and len(one.files) < 2 and len(found) < 2:
        return []
    return [each for each in found if _line_count(each.twin) <= LONGEST_FUNCTION]


def _units_by_path(facts: Any, one: Alternative) -> Dict[str, Sequence[Unit]]:
    """Return the functions that may have changed, by the path of their file."""
    if one.swaps:
        return {unit.source.path: [unit] for unit in one.units if unit.source.path in one.files}
    # Such a survivor changes several places, or code outside functions.
    known = facts.located.files
    return {path: known[path].units for path in one.files if path in known and known[path].units}


def _pairs(units: Sequence[Unit], twins: Sequence[Unit]) -> Iterator[Tuple[Unit, Unit]]:
    """Yield each function with its twin.

    The functions of a property share one name, so equally many of a name are paired in order.
    """
    old, new = _by_name(units), _by_name(twins)
    for unit in units:
        alike, others = old[unit.names], new.get(unit.names, [])
        paired = others[alike.index(unit)] if len(alike) == len(others) else None
        twin = paired or nearest_twin(others, unit)
        if twin is not None:
            yield unit, twin


def _by_name(units: Sequence[Unit]) -> Dict[Tuple[str, ...], List[Unit]]:
    found: Dict[Tuple[str, ...], List[Unit]] = {}
    for unit in units:
        found.setdefault(unit.names, []).append(unit)
    return found


def _line_count(unit: Unit) -> int:
    return unit.last_line - unit.first_line + 1


def _text(unit: Unit) -> bytes:
    start, end = unit.source.line_span(unit.first_line, unit.last_line)
    return unit.source.data[start:end]


def _lines(unit: Unit, twin: Unit) -> Set[int]:
    """Return the numbers of a twin's new lines."""
    return {twin.first_line - 1 + line for line in new_lines(_text(unit), _text(twin))}


def new_lines(old: bytes, new: bytes) -> Set[int]:
    """Return the numbers of new lines; around a deletion, the lines next to it."""
    before, after = old.split(b"\n"), new.split(b"\n")
    start, end = equal_ends(before, after)
    found = set(range(start + 1, len(after) - end + 1))
    return found or {max(1, start), start + 1}


def equal_ends(before: Sequence[bytes], after: Sequence[bytes]) -> Tuple[int, int]:
    """Return the number of equal lines at the start and at the end."""
    most = min(len(before), len(after))
    start = next((i for i in range(most) if before[i] != after[i]), most)
    end = next((i for i in range(most - start) if before[-1 - i] != after[-1 - i]), most - start)
    return start, end
