"""Functions that a failing test calls by name, wherever its imports lead."""

from collections.abc import Sequence

from bot.fixers.rung2_model.failing import test_function
from bot.fixers.rung2_model.related_context import imported_sources
from bot.fixers.rung2_model.sources import Files, Source
from sandbox.changes import is_protected
from sandbox.languages.outline import Definition
from sandbox.types import TestResult

MOST = 8
_CLASS_LINES = 60
"""Longest class that is shown whole because a test names it."""


async def called_code(
    failures: Sequence[TestResult], files: Files
) -> tuple[tuple[Source, Definition], ...]:
    """Return the definitions that failing tests name, in the order of the tests.

    A failure without a frame in the program, such as a missing exception, has no other trace.

    Args:
        failures: The shown failures.
        files: Files of the checkout.
    """
    found: dict[tuple[str, str], tuple[Source, Definition]] = {}
    for failure in failures:
        source, test = await test_function(failure, files)
        if source is None or test is None:
            continue
        names = test.names.union(*(one.names for one in _helpers(source, test)))
        near = await imported_sources([source], files)
        # A package often only re-exports the names of its modules; in Rust, tests are often in the
        # file that they test.
        for one in [source, *near, *await imported_sources(near, files)]:
            if is_protected(one.path):
                continue
            for definition in one.definitions:
                if _is_called(definition, names) and _is_short(definition):
                    found.setdefault((one.path, definition.name), (one, definition))
    return tuple(found.values())[:MOST]


def _helpers(source: Source, test: Definition) -> list[Definition]:
    """Return code of the test's own file that it calls, or that runs around it."""
    called = [one for one in source.functions if one is not test and one.last_name in test.names]
    return [*source.setup(test), *called]


def _is_called(definition: Definition, names: frozenset[str]) -> bool:
    # The importing file chooses the name of a module's default export.
    return definition.last_name in names or definition.name == "default"


def _is_short(definition: Definition) -> bool:
    return not definition.is_class or definition.last - definition.first < _CLASS_LINES
