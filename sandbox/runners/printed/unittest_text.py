"""What unittest printed, and what prints like it: Django's test command, `setup.py test`, a script of tests."""

import posixpath
import re
from collections.abc import Iterator, Sequence

from sandbox.runners.findings import Checkout
from sandbox.runners.printed.blocks import Frame, blocks, python_frames, raised, text_of
from sandbox.types import TestResult, TestStatus

_HEAD = re.compile(r"^(FAIL|ERROR|UNEXPECTED SUCCESS): ([\w.\[\]-]{1,300})(?: \(([\w.<>]{1,400})\))?(?: .{0,400})?$")
_END = re.compile(r"^={70}$|^Ran \d{1,9} tests? in |^FAILED \(|^-{5,} Captured |^={3,} ")
_RULE = re.compile(r"^-{70}$")
_LOADER = "unittest.loader._FailedTest"
_FIXTURES = frozenset({"setUpClass", "tearDownClass", "setUpModule", "tearDownModule"})


def unittest_failures(lines: Sequence[str], checkout: Checkout) -> Iterator[TestResult]:
    """The failures in the order they are printed."""
    for head, body in blocks(lines, _HEAD, _END):
        if not any(_RULE.match(line) for line in body[:5]):
            continue
        kind, test, place = head.groups()
        frames = python_frames(body, checkout)
        error, message = raised(body)
        name = node_id(test, place or "", frames, checkout)
        where: tuple[str | None, int | None, str] = frames[-1] if frames else (name.split("::", 1)[0], None, "")
        loading = place is not None and place.startswith(_LOADER)
        yield TestResult(
            name=name,
            status=TestStatus.FAIL if kind != "ERROR" else TestStatus.ERROR,
            error_message=message or None,
            error=error or None,
            traceback=text_of(body) or None,
            file=where[0],
            line=where[1],
            test=None if loading or test in _FIXTURES else test,
            frames=frames,
        )


def node_id(test: str, place: str, frames: Sequence[Frame], checkout: Checkout) -> str:
    """What pytest would call a test: `test_x (tests.test_m.Case.test_x)` is `tests/test_m.py::Case::test_x`.

    Args:
        test: The method's name, or the module's that could not be loaded.
        place: What stands in the brackets.
        frames: Of the traceback, to find the file.
        checkout: Where it ran.
    """
    if place.startswith(_LOADER) or not place:
        return _file(test, frames, checkout)
    dotted = place.removesuffix(f".{test}")
    if test in {"setUpModule", "tearDownModule"}:
        return _file(dotted, frames, checkout)
    module, _, case = dotted.rpartition(".")
    if not module:
        return f"{case}::{test}"
    rest = f"::{case}" if test in _FIXTURES else f"::{case}::{test}"
    return _file(module, frames, checkout) + rest


def _file(module: str, frames: Sequence[Frame], checkout: Checkout) -> str:
    path = f"{module.replace('.', '/')}.py"
    for file, _, _ in frames:
        if file == path or file.endswith(f"/{path}"):
            return file
    return posixpath.normpath(posixpath.join(checkout.folder, path))
