"""Runs inside a sandbox, as a plugin of pytest: which tests execute which lines, in `covered-0.json` and so on."""

import itertools
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

MOST_TESTS = 30
"""A line that more tests execute is told without them."""
PIECE = 500_000
_ROOT = f"{Path.cwd()}/"


class Tracer:
    """Remembers lines by file, and the tests that executed them; number -1 is what stands outside of tests."""

    def __init__(self) -> None:
        self.lines: dict[str, dict[int, list[int]]] = {}
        self.tests: list[str] = []
        self.now = -1

    def enter(self, frame: FrameType, _: str, __: object) -> Any:
        """A function is called."""
        name = frame.f_code.co_filename
        if not name.startswith(_ROOT) or "/test" in name[len(_ROOT) - 1 :]:
            return None
        lines = self.lines.setdefault(name, {})

        def local(inner: FrameType, event: str, _: object) -> Any:
            if event == "line":
                tests = lines.setdefault(inner.f_lineno, [])
                if len(tests) <= MOST_TESTS and (not tests or tests[-1] != self.now):
                    tests.append(self.now)
            return local

        return local

    def told(self) -> Iterator[tuple[str, int, list[int]]]:
        """Path, line and tests."""
        for name, lines in sorted(self.lines.items()):
            for line, tests in sorted(lines.items()):
                yield (
                    name.removeprefix(_ROOT),
                    line,
                    tests if -1 not in tests and len(tests) <= MOST_TESTS else [],
                )


_TRACER = Tracer()


def pytest_configure() -> None:
    """Before any test module is imported, and so the program."""
    threading.settrace(_TRACER.enter)
    sys.settrace(_TRACER.enter)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Whose lines come now."""
    _TRACER.now = len(_TRACER.tests)
    _TRACER.tests.append(item.nodeid)
    yield
    _TRACER.now = -1


def pytest_unconfigure() -> None:
    """Write what was seen."""
    sys.settrace(None)
    text = json.dumps({"tests": _TRACER.tests, "lines": list(_TRACER.told())})
    for number in itertools.count():
        piece = text[number * PIECE : (number + 1) * PIECE]
        Path(f"covered-{number}.json").write_text(piece)
        if len(piece) < PIECE:
            return
