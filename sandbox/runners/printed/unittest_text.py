"""Parse the output of unittest and of similar tools, such as Django's test command."""

import posixpath
import re
from collections.abc import Iterator, Sequence

from sandbox.runners.findings import CheckoutPaths
from sandbox.runners.printed.blocks import (
    Frame,
    blocks,
    join_bounded,
    last_exception,
    python_frames,
)
from sandbox.types import TestResult, TestStatus

_HEAD = re.compile(
    r"^(FAIL|ERROR|UNEXPECTED SUCCESS): ([\w.\[\]-]{1,300})"
    r"(?: \(([\w.<>]{1,400})\))?(?: .{0,400})?$"
)
_END = re.compile(r"^={70}$|^Ran \d{1,9} tests? in |^FAILED \(|^-{5,} Captured |^={3,} ")
_RULE = re.compile(r"^-{70}$")
_LOADER = "unittest.loader._FailedTest"
_FIXTURES = frozenset({"setUpClass", "tearDownClass", "setUpModule", "tearDownModule"})


def unittest_failures(lines: Sequence[str], checkout: CheckoutPaths) -> Iterator[TestResult]:
    """Yield the failures in printed order."""
    for head, body in blocks(lines, _HEAD, _END):
        if not any(_RULE.match(line) for line in body[:5]):
            continue
        kind, test, place = head.groups()
        frames = python_frames(body, checkout)
        error, message = last_exception(body)
        name = node_id(test, place or "", frames, checkout)
        where: tuple[str | None, int | None, str] = (
            frames[-1] if frames else (name.split("::", 1)[0], None, "")
        )
        loading = place is not None and place.startswith(_LOADER)
        yield TestResult(
            name=name,
            status=TestStatus.FAIL if kind != "ERROR" else TestStatus.ERROR,
            error_message=message or None,
            error=error or None,
            traceback=join_bounded(body) or None,
            file=where[0],
            line=where[1],
            test=None if loading or test in _FIXTURES else test,
            frames=frames,
        )


def node_id(test: str, place: str, frames: Sequence[Frame], checkout: CheckoutPaths) -> str:
    """Return pytest's name of a test.

    `test_x (tests.test_m.Case.test_x)` becomes `tests/test_m.py::Case::test_x`.

    Args:
        test: The method's name, or the name of a module that failed to load.
        place: The text in the brackets.
        frames: The frames of the traceback, to find the file.
        checkout: The folder of the run.
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


def _file(module: str, frames: Sequence[Frame], checkout: CheckoutPaths) -> str:
    path = f"{module.replace('.', '/')}.py"
    for file, _, _ in frames:
        if file == path or file.endswith(f"/{path}"):
            return file
    return posixpath.normpath(posixpath.join(checkout.folder, path))
