"""Control tests for unittest in the modules of the real ones: one that must pass and one that must fail."""

import os
import sys
import types
import unittest
from typing import Any, Iterator, List, Sequence, Tuple

_TEXTS = (
    "def {name}(self):\n    total = sum((1, 2))\n    self.assertEqual(total, 3)\n    self.assertTrue(self)\n",
    "def {name}(self):\n    total = sum((1, 2))\n    self.assertEqual(total, 4)\n    self.assertTrue(None)\n",
)
MODULES = 8


def modules_of(tests: Sequence[Any]) -> List[Any]:
    """Return the modules of the first tests; one of our own where there is no test."""
    names = dict.fromkeys(type(test).__module__ for test in tests)
    found = [sys.modules[name] for name in list(names)[:MODULES] if hasattr(sys.modules.get(name), "__file__")]
    return found or [sys.modules[unittest.__name__]]


def made(modules: Sequence[Any], names: Sequence[str], suites: Any) -> Iterator[Tuple[int, Any]]:
    """Give the number and the test of each canary, loaded as the command loads tests.

    Args:
        modules: In each of them two tests are made.
        names: Of the test that must pass and the one that must fail.
        suites: Gives the tests of a suite.
    """
    for module in modules:
        for number, name in enumerate(names):
            title = "".join(word.title() for word in name.split("_"))
            kind = type(
                title, (unittest.TestCase,), {"__module__": module.__name__, name: _method(module, number, name)}
            )
            for test in suites(unittest.defaultTestLoader.loadTestsFromTestCase(kind)):
                yield number, test


def _method(module: Any, number: int, name: str) -> Any:
    """Compile a method as one of the module's."""
    path = os.path.abspath(str(module.__file__))
    whole = compile(_TEXTS[number].format(name=name), path, "exec", dont_inherit=True)
    code = next(part for part in whole.co_consts if isinstance(part, types.CodeType))
    return types.FunctionType(code, vars(module), name)
