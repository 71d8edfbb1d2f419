"""Control tests for unittest: one that must pass and one that must fail."""

import os
import sys
import types
import unittest
from typing import Any, Iterator, List, Sequence, Tuple

_TEXTS = (
    (
        "def {name}(self):\n    total = sum((1, 2))\n    self.assertEqual(total, 3)\n    "
        "self.assertTrue(self)\n"
    ),
    (
        "def {name}(self):\n    total = sum((1, 2))\n    self.assertEqual(total, 4)\n    "
        "self.assertTrue(None)\n"
    ),
)
MODULES = 8


def choose_modules(tests: Sequence[Any]) -> List[Any]:
    """Return the modules of the first tests; one of ours if there are no tests."""
    names = dict.fromkeys(type(test).__module__ for test in tests)
    found = [
        sys.modules[name]
        for name in list(names)[:MODULES]
        if hasattr(sys.modules.get(name), "__file__")
    ]
    return found or [sys.modules[unittest.__name__]]


def create_canaries(
    modules: Sequence[Any], names: Sequence[str], suites: Any
) -> Iterator[Tuple[int, Any]]:
    """Yield number and test of each canary, loaded as the command loads tests.

    Args:
        modules: Two tests are created in each of them.
        names: Names of the test that must pass and the one that must fail.
        suites: Returns the tests of a suite.
    """
    for module in modules:
        for number, name in enumerate(names):
            title = "".join(word.title() for word in name.split("_"))
            kind = type(
                title,
                (unittest.TestCase,),
                {"__module__": module.__name__, name: _method(module, number, name)},
            )
            for test in suites(unittest.defaultTestLoader.loadTestsFromTestCase(kind)):
                yield number, test


def _method(module: Any, number: int, name: str) -> Any:
    """Compile a method like one of the module's."""
    path = os.path.abspath(str(module.__file__))
    whole = compile(_TEXTS[number].format(name=name), path, "exec", dont_inherit=True)
    code = next(part for part in whole.co_consts if isinstance(part, types.CodeType))
    return types.FunctionType(code, vars(module), name)
